"""Lines of the contract that no other file here quotes."""

import threading
import time

import numpy as np
import penstock as ps
import pytest
from makers import image_tars


def keys(loader):
    return [key for batch in loader for key in batch["__key__"]]


def test_holes_do_not_move_the_token():
    # 2: "Batch count, len(loader) and the token count positions and stay exact"
    ds = ps.from_list(range(20)).map(lambda s: None if s["data"] % 3 else s).batch(4)
    loader = ds.loader()
    batches = iter(loader)
    seen = [int(x) for _ in range(2) for x in next(batches)["data"]]
    assert loader.state_dict()["position"] == 8
    other = ds.loader()
    assert len(other) == 5
    other.load_state_dict(loader.state_dict())
    seen += [int(x) for batch in other for x in batch["data"]]
    assert seen == [0, 3, 6, 9, 12, 15, 18]


def test_take_counts_over_all_ranks():
    # 7: "take(n) counts global samples", "shard applies last wherever it is written"
    ds = ps.from_list(range(100)).shuffle(seed=5)
    parts = []
    for rank in range(3):
        for plan in (ds.shard(rank, 3).take(10), ds.take(10).shard(rank, 3)):
            loader = plan.batch(2, ends="short").loader()
            parts.append([int(x) for batch in loader for x in batch["data"]])
    assert parts[::2] == parts[1::2]
    assert sorted(x for part in parts[::2] for x in part) == sorted(
        sample["data"] for sample in ds.take(10)
    )


def test_joins_freeze_the_shuffles_to_their_left():
    # 7: "take, skip, split, concat, mix, zip freeze every shuffle to their left at epoch 0"
    def shuffled(n, name="data"):
        return ps.from_arrays(**{name: np.arange(n)}).shuffle(seed=1)

    plans = [
        shuffled(12).concat(shuffled(8)),
        shuffled(12).zip(shuffled(12, "other")),
        ps.mix([shuffled(12), shuffled(12)], seed=3),
        shuffled(12).split(0.5, seed=2)[1],
        shuffled(12).skip(2),
    ]
    for ds in plans:
        first, second = (list(next(iter(ds.batch(24).loader(epoch=e)))["data"]) for e in (0, 1))
        assert first == second, ds
        third, fourth = (
            list(next(iter(ds.shuffle(seed=9).batch(24).loader(epoch=e)))["data"]) for e in (0, 1)
        )
        assert third != fourth, ds
        assert sorted(third) == sorted(first)


def test_a_window_in_bytes_is_part_of_the_orders_digest(tmp_path):
    # 9: '"64MB" becomes a number of samples through the index's mean record size, recorded in the
    # order digest'
    ds = ps.open(image_tars(tmp_path))
    state = ds.shuffle(seed=1, window="20KB").batch(4).loader().state_dict()
    ds.shuffle(seed=1, window="20KB").batch(4).loader().load_state_dict(state)
    with pytest.raises(ValueError, match="another order"):
        ds.shuffle(seed=1, window="10KB").batch(4).loader().load_state_dict(state)


def test_the_loaders_seed_is_for_rows_and_the_shuffles_for_the_order():
    # 13: "loader(seed=0) is the one seed for row randomness; shuffle(seed=) ... key the order only"
    def draw(sample, rng):
        return {"i": sample["data"], "r": int(rng.integers(1 << 40))}

    def rows(shuffle, seed, epoch=0):
        ds = ps.from_list(range(30)).shuffle(seed=shuffle).map(draw).batch(30)
        (batch,) = ds.loader(seed=seed, epoch=epoch)
        return batch["i"].tolist(), batch["r"].tolist()

    order, drawn = rows(1, 0)
    assert rows(1, 7)[0] == order
    assert rows(1, 7)[1] != drawn
    assert rows(2, 0)[0] != order
    assert rows(2, 0)[1] == drawn, "numbers belong to positions"
    assert rows(1, 0, epoch=1)[1] != drawn


def test_the_schema_is_that_of_the_loaders_first_batch_in_all_epochs():
    # 14: "the schema is that of the first row by position of the loader's first batch, then fixed"
    def grow(sample):
        return {"x": np.zeros(2 if epoch[0] == 0 else 3)}

    epoch = [0]
    loader = ps.from_list(range(8)).map(grow).batch(4).loader()
    assert [batch["x"].shape for batch in loader] == [(4, 2), (4, 2)]
    epoch[0] = 1
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\).*collate"):
        list(loader)


def test_python_objects_are_bounded_by_count():
    # 17: "Python objects are bounded by count"
    made = []
    lock = threading.Lock()

    def note(sample):
        with lock:
            made.append(sample["data"])
        return sample

    loader = ps.from_list(range(100_000)).map(note).batch(10).loader(threads=2, prefetch=2)
    batches = iter(loader)
    next(batches)
    for _ in range(50):
        before = len(made)
        time.sleep(0.05)
        if len(made) == before:
            break
    assert 10 <= len(made) <= 10 * 20
    loader.close()


def test_ranks_end_together_however_the_samples_fall():
    # 11: "ranks with fewer rows in the last round are filled by wrap-around so that all ranks have
    # equally many rows and batches"
    for n, world, batch in ((10, 3, 2), (7, 4, 3), (3, 5, 2), (12, 4, 3)):
        ranks = [
            list(ps.from_list(range(n)).shard(r, world).batch(batch, mask=True).loader())
            for r in range(world)
        ]
        shapes = [[len(one["data"]) for one in batches] for batches in ranks]
        assert all(shape == shapes[0] for shape in shapes)
        valid = [
            int(x)
            for batches in ranks
            for one in batches
            for x, ok in zip(one["data"], one["_valid"], strict=True)
            if ok
        ]
        assert sorted(valid) == list(range(n))


def test_damage_costs_the_same_samples_however_the_shards_are_read(tmp_path):
    # design: "Thread count, prefetch depth, rank count and timing never change it"
    names = image_tars(tmp_path, bad=(7, 8, 40))
    ds = ps.open(names).shuffle(seed=2).decode_image("jpg", size=(8, 8))
    outcomes = set()
    for threads, prefetch in ((1, 1), (2, 3), (8, 2)):
        loader = ds.batch(6).loader(threads=threads, prefetch=prefetch, on_error="skip")
        seen = tuple(keys(loader))
        outcomes.add((seen, tuple(error.position for error in loader.errors())))
    assert len(outcomes) == 1
    ((seen, bad),) = outcomes
    assert len(seen) == 47
    assert len(bad) == 3


def test_python_objects_are_let_go_where_no_lock_is_held():
    # 22: "The GIL is never taken while an engine lock is held, and no Python object is released
    # under one"
    class Nosy:
        """Asks the loader for what needs its locks when it goes."""

        def __del__(self):
            asked.append(len(loader.stats()["stages"]))

    def make(sample):
        if sample["data"] % 7 == 3:
            raise ValueError(Nosy())
        return None if sample["data"] % 5 == 1 else {"x": Nosy()}

    asked = []
    ds = ps.from_list(range(200)).map(make, concurrency=3).batch(4)
    for left_behind in (False, True):
        loader = ds.loader(threads=2, on_error="skip")
        for batch in loader:
            del batch
            if left_behind:
                break
    assert len(asked) > 100
