"""Endless, resampled and mixed data over HTTP; and a stream that is only ever read forward."""

import itertools
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import penstock as ps
from penstock import io
from samples import Table, make_shards, options
from server import serve

BATCH = 16


def read(plan: ps.Dataset, batches: int, **kwargs: object) -> int:
    loader = plan.batch(BATCH, collate="list").loader(**kwargs)
    return sum(len(batch["cls"]) for batch in itertools.islice(loader, batches))


def classes(plan: ps.Dataset, batches: int) -> Counter:
    loader = plan.decode("cls").batch(BATCH, collate="list").loader()
    taken = itertools.islice(loader, batches)
    return Counter(int(label) for batch in taken for label in batch["cls"])


def goes_on(plan: ps.Dataset) -> None:
    """A token of an endless plan: the second loader goes on where the first was left."""
    plan = plan.select("__key__", "cls").batch(BATCH)
    straight = [list(batch["__key__"]) for batch in itertools.islice(plan.loader(), 6)]
    first = plan.loader()
    begun = [list(batch["__key__"]) for batch in itertools.islice(first, 2)]
    second = plan.loader(threads=1)
    second.load_state_dict(first.state_dict())
    begun += [list(batch["__key__"]) for batch in itertools.islice(second, 4)]
    assert begun == straight
    print("resumed after 2 batches: the next 4 are those of a run that was not stopped")


def main() -> None:
    small = options(__doc__).small
    count, batches = (60, 6) if small else (400, 60)
    with tempfile.TemporaryDirectory() as name, serve(Path(name)) as address:
        folder = Path(name)
        make_shards(folder, count, 2, "common")
        make_shards(folder, count // 4, 1, "rare")
        common = ps.open(f"{address}/common-{{0..1}}.tar")
        rare = ps.open(f"{address}/rare-0.tar")
        print(f"{len(common)} and {len(rare)} samples over HTTP")

        endless = common.shuffle(seed=0).repeat()
        loader = common.decode("cls").select("cls").batch(BATCH).loader()
        labels = [int(label) for batch in loader for label in batch["cls"]]
        weights = [4.0 if label == 0 else 1.0 for label in labels]
        resampled = common.sample(weights=weights, n=100_000, seed=1)
        mixed = ps.mix([endless, rare.shuffle(seed=1).repeat()], weights=[3, 1], seed=2)

        windowed = common.shuffle(seed=0, window=64).repeat()
        address_of_one = f"{address}/rare-0.tar"

        def twelve_passes() -> int:
            # Longer than the others: batches far ahead are asked for before the first pass is kept.
            kept = common.cache(memory="100MB").shuffle(seed=0).repeat()
            return read(kept, 5 * batches, threads=8)

        Table("samples").rows(
            {
                "endless, shuffled, 1 thread": lambda: read(endless, batches, threads=1),
                "endless, shuffled, 8 threads": lambda: read(endless, batches, threads=8),
                "shuffled in windows of 64": lambda: read(windowed, batches, threads=8),
                "resampled by weight": lambda: read(resampled, batches, threads=8),
                "mixed 3 to 1": lambda: read(mixed, batches, threads=8),
                "kept in memory, 12 passes": twelve_passes,
                "one shard, forward only": lambda: sum(1 for _ in io.iter_tar(address_of_one)),
            },
            1 if small else 3,
        )

        found = classes(resampled, batches)
        share = found[0] / found.total()
        print(f"class 0, drawn with weight 4 of 8: {share:.0%} of {found.total()} samples")
        assert 0.3 < share < 0.7
        goes_on(mixed)


if __name__ == "__main__":
    main()
