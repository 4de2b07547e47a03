"""A server that is far away: what requests in flight, windows, caches and prefetch buy.

The server waits before each answer, as a line of that length would. The best of three rounds in
which all variants took turns.
"""

import itertools
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import penstock as ps
from penstock import io
from penstock.pipeline import PipelineBuilder
from samples import Table, make_shards, options
from server import serve

BATCH, WAIT = 16, 0.02


def one_by_one(data: ps.Dataset, count: int, in_flight: int) -> int:
    """Sample by sample, each asked for when it is wanted, so many at a time."""
    pipeline = (
        PipelineBuilder()
        .add_source([7919 * i % len(data) for i in range(count)])
        .pipe(lambda i: data[i], concurrency=in_flight)
        .add_sink(BATCH)
        .build(num_threads=in_flight)
    )
    with pipeline.auto_stop():
        return sum(1 for _ in pipeline)


def read(plan: ps.Dataset, count: int, uneven: bool = False, **kwargs: int) -> int:
    """`count` samples in batches; if `uneven`, every eighth step takes 160 ms and the others 5."""
    loader = plan.batch(BATCH, collate="list").loader(**kwargs)
    rows = 0
    for number, batch in enumerate(itertools.islice(loader, count // BATCH)):
        rows += len(batch["cls"])
        if uneven:
            time.sleep(0.16 if number % 8 == 7 else 0.005)
    return rows


def forward(address: str) -> int:
    return sum(1 for _ in io.iter_tar(address))


def main() -> None:
    small = options(__doc__).small
    count, repeat = (64, 1) if small else (960, 3)
    with tempfile.TemporaryDirectory() as name, serve(Path(name), WAIT) as address:
        make_shards(Path(name), min(count, 480))
        data = ps.open(f"{address}/train-{{0..1}}.tar")
        shuffled = data.shuffle(seed=0).repeat()
        windows = data.shuffle(seed=0, window=64).repeat()
        kept = data.cache(memory="100MB").shuffle(seed=0).repeat()
        read(kept, 2 * len(data))
        Table("samples").rows(
            {
                "a request at a time": lambda: one_by_one(data, count // 8, 1),
                "8 requests at a time, from 8 threads": lambda: one_by_one(data, count, 8),
                "loader, 1 thread": lambda: read(shuffled, count, threads=1),
                "loader, 2 threads": lambda: read(shuffled, count, threads=2),
                "loader, 8 threads": lambda: read(shuffled, count, threads=8),
                "and windows of 64": lambda: read(windows, count, threads=2),
                "and kept in memory, after the first pass": lambda: read(kept, count, threads=2),
                "one shard, forward only": lambda: forward(f"{address}/train-0.tar"),
                "uneven steps, `prefetch=1`": lambda: read(shuffled, count, True, prefetch=1),
                "uneven steps, `prefetch=2`": lambda: read(shuffled, count, True, prefetch=2),
                "uneven steps, `prefetch=8`": lambda: read(shuffled, count, True, prefetch=8),
                "uneven steps, kept in memory": lambda: read(kept, count, True),
            },
            repeat,
        )


if __name__ == "__main__":
    main()
