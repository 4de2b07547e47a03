"""Sequential plans: iterables, read from front to back."""

import itertools

import makers
import numpy as np
import penstock as ps
import pytest


class Numbers:
    """Counts, and can say where it is."""

    def __init__(self, n):
        self.n, self.at, self.loaded = n, 0, None

    def __iter__(self):
        start, self.loaded = self.loaded or 0, None
        for number in range(start, self.n):
            self.at = number + 1
            yield number

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.loaded = state["at"]


def numbers(loader):
    return [int(x) for batch in loader for x in batch["data"]]


def test_samples_come_as_they_are_read():
    ds = ps.from_iterable(range(10))
    assert ds.sequential
    loader = ds.map(lambda sample: {"data": sample["data"] * 2}).batch(4).loader()
    assert [batch["data"].tolist() for batch in loader] == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18]]
    assert loader.epoch == 1
    assert numbers(loader) == list(range(0, 20, 2))
    assert [sample["data"] for sample in list(ds)] == list(range(10))


def test_len_and_global_shuffle_raise_and_name_the_fix():
    # 12: "len and global shuffle raise and name the fix"
    ds = ps.from_iterable(range(10))
    for wrong in (lambda: len(ds), lambda: ds.shuffle(), lambda: ds[3], lambda: ds.concat(ds)):
        with pytest.raises((ps.PlanError, TypeError), match="list"):
            wrong()
    with pytest.raises(TypeError, match="no length"):
        len(ds.batch(2).loader())


def test_a_window_is_read_permuted_and_emitted():
    # 12: "shuffle(window=n) reads n, permutes, emits"
    ds = ps.from_iterable(range(50)).shuffle(seed=1, window=20)
    order = numbers(ds.batch(7).loader())
    assert sorted(order[:20]) == list(range(20))
    assert sorted(order[40:]) == list(range(40, 50))
    assert order[:20] != list(range(20))
    assert order != numbers(ds.batch(7).loader(epoch=1))
    assert order == numbers(ds.batch(3).loader(threads=3))
    assert sorted(numbers(ds.skip(10).take(5).batch(2).loader())) == sorted(order[10:15])
    assert len(numbers(ps.from_iterable(range(5)).repeat(3).batch(2).loader())) == 15


def test_each_rank_reads_all_and_keeps_its_stride():
    # 12: "each rank reads all and keeps its stride"
    for ends in ("pad", "short"):
        ranks = [
            numbers(ps.from_iterable(range(23)).shard(r, 4).batch(3, ends=ends).loader())
            for r in range(4)
        ]
        valid = [ranks[r][: len(range(r, 23, 4))] for r in range(4)]
        assert valid == [list(range(r, 23, 4)) for r in range(4)]
        assert {len(rank) for rank in ranks} == ({6} if ends == "pad" else {5, 6})
    assert ranks[3][-1] == 19
    dropped = [
        numbers(ps.from_iterable(range(23)).shard(r, 4).batch(2, drop_last=True).loader())
        for r in range(4)
    ]
    assert dropped == [list(range(r, 16, 4)) for r in range(4)]


def test_resume_uses_the_source_or_replays_or_raises():
    # 12: "resume uses the source's own state_dict if it has one, else raises unless
    # resume="replay""
    loader = ps.from_iterable(range(20)).batch(3).loader()
    next(iter(loader))
    with pytest.raises(ValueError, match='resume="replay"'):
        ps.from_iterable(range(20)).batch(3).loader().load_state_dict(loader.state_dict())

    def rest(make):
        loader = make().batch(3).loader(prefetch=4)
        batches = iter(loader)
        head = [int(x) for batch in itertools.islice(batches, 2) for x in batch["data"]]
        state = loader.state_dict()
        assert state["position"] == 6
        other = make().batch(4).loader()
        other.load_state_dict(state)
        return head + numbers(other)

    assert rest(lambda: ps.from_iterable(range(20), resume="replay")) == list(range(20))
    shuffled = rest(lambda: ps.from_iterable(range(20), resume="replay").shuffle(window=8))
    assert sorted(shuffled) == list(range(20))
    sources = []

    def counted():
        sources.append(Numbers(20))
        return ps.from_iterable(sources[-1])

    assert rest(counted) == list(range(20))


@pytest.mark.parametrize("samples", [22, 23, 24, 25])
@pytest.mark.parametrize("stop", [1, 2])
def test_the_last_round_of_a_resumed_stream_is_filled_as_if_nothing_had_happened(samples, stop):
    # 11: "ranks with fewer rows in the last round are filled by wrap-around"
    def batches(rank, world, token, source):
        ds = ps.from_iterable(source, resume="replay").shard(rank, world)
        loader = ds.batch(2, mask=True).loader()
        if token is not None:
            loader.load_state_dict(token)
        for batch in loader:
            valid = batch["_valid"].tolist()
            yield list(zip(batch["data"].tolist(), valid, strict=True)), loader.state_dict()

    for make in (lambda: Numbers(samples), lambda: range(samples)):
        whole = [[rows for rows, _ in batches(rank, 4, None, make())] for rank in range(4)]
        (*_, (_, token)) = itertools.islice(batches(0, 4, None, make()), stop)
        rest = [[rows for rows, _ in batches(rank, 4, token, make())] for rank in range(4)]
        assert rest == [rank[stop:] for rank in whole]

        # Another number of ranks: still equally many rows, and the fill is that of the beginning.
        token["position"] = min(token["position"], samples)
        other = [
            [one for rows, _ in batches(r, 5, token, make()) for one in rows] for r in range(5)
        ]
        assert len({len(rank) for rank in other}) == 1
        valid = sorted(number for rank in other for number, ok in rank if ok)
        assert valid == list(range(token["position"], samples))
        fill = [number for rank in other for number, ok in rank if not ok]
        assert fill == [i % samples for i in range(len(fill))]


@pytest.mark.parametrize("samples", [23, 24, 25, 32])
@pytest.mark.parametrize("ends", ["pad", "short", "drop_last"])
@pytest.mark.parametrize("world", [1, 2])
def test_after_the_last_batch_the_token_is_that_of_the_next_epoch(samples, ends, world):
    # 5: "At an epoch's end the token is (epoch + 1, 0)"
    how = {"drop_last": True} if ends == "drop_last" else {"ends": ends}
    for make in (lambda: Numbers(samples), lambda: range(samples)):
        ds = ps.from_iterable(make(), resume="replay").shard(0, world).batch(4, **how)
        loader = ds.loader(prefetch=3)
        whole, tokens = [], []
        for batch in loader:
            whole.append(batch["data"].tolist())
            tokens.append(loader.state_dict())
        places = [(token["epoch"], token["position"]) for token in tokens]
        before = [(0, 4 * world * n) for n in range(1, len(whole))]
        indexed = ps.from_list(range(samples)).shard(0, world).batch(4, **how).loader()
        assert len(whole) == len(indexed)
        assert places == [*before, (1, 0)]

        fresh = ps.from_iterable(make(), resume="replay").shard(0, world).batch(4, **how).loader()
        fresh.load_state_dict(tokens[-1])
        assert fresh.epoch == 1
        assert [batch["data"].tolist() for batch in fresh] == whole, "no empty epoch"


def test_a_token_that_is_taken_before_the_first_batch_is_the_one_that_was_loaded():
    loader = ps.from_iterable(Numbers(20)).batch(3).loader()
    next(iter(loader))
    token = loader.state_dict()
    other = ps.from_iterable(Numbers(20)).batch(3).loader()
    other.load_state_dict(token)
    assert other.state_dict() == token
    iterator = iter(other)
    assert other.state_dict() == token
    assert next(iterator)["data"].tolist() == [3, 4, 5]


@pytest.mark.parametrize("samples", [6, 7])
def test_an_iterable_that_fails_does_so_after_what_it_gave(samples):
    def broken():
        yield from range(samples)
        raise OSError("the line is dead")

    for ds in (ps.from_iterable(broken()), ps.from_iterable(broken()).map(dict)):
        batches = iter(ds.batch(2).loader())
        assert [next(batches)["data"].tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
        with pytest.raises(OSError, match="the line is dead"):
            next(batches)


def test_samples_that_come_one_by_one_may_differ_in_shape_and_fields():
    samples = [{"x": np.zeros(i)} for i in range(4)] + [{"y": "text"}]
    for ds in (ps.from_iterable(samples), ps.from_list(samples)):
        got = list(ds.loader())
        assert [sample["x"].shape for sample in got[:4]] == [(0,), (1,), (2,), (3,)]
        assert got[4] == {"y": "text"}


def test_late_filters_and_images_work_on_streams():
    ds = ps.from_iterable([makers.jpeg(i) for i in range(6)])
    (batch,) = ds.decode_image("data", size=(8, 8)).batch(6).loader()
    assert batch["data"].shape == (6, 8, 8, 3)
    odd = ps.from_iterable(range(6)).filter(lambda sample: sample["data"] % 2)
    assert numbers(odd.batch(3).loader()) == [1, 3, 5]


def test_endless_iterables_are_read_only_as_far_as_needed():
    read = []

    def count():
        for i in itertools.count():
            read.append(i)
            yield i

    loader = ps.from_iterable(count()).batch(4).loader(prefetch=1)
    next(iter(loader))
    loader.close()
    assert len(read) < 100


@pytest.mark.parametrize("passes", [2, None])
def test_an_iterator_that_is_repeated_says_that_it_can_be_read_once(passes):
    batches = iter(ps.from_iterable(iter(range(4))).repeat(passes).batch(2).loader())
    assert next(batches)["data"].tolist() == [0, 1]
    with pytest.raises(ValueError, match="pass 1 over the iterable gave nothing"):
        list(batches)
    again = iter(ps.from_iterable(range(2)).repeat(passes).batch(4).loader())
    assert next(again)["data"].tolist() == [0, 1, 0, 1]


def test_an_iterator_has_no_second_epoch_and_says_so():
    loader = ps.from_iterable(iter(range(4))).batch(2).loader()
    assert numbers(loader) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"epoch 1 of the iterator is empty.*begins anew"):
        list(loader)
    empty = ps.from_iterable(iter([])).batch(2).loader()
    assert list(empty) == []  # there never was anything
    again = ps.from_iterable(range(4)).batch(2).loader()
    assert [numbers(again) for _ in range(3)] == [[0, 1, 2, 3]] * 3


def test_a_generator_that_was_read_is_no_empty_dataset():
    ds = ps.from_iterable(i for i in range(4))
    assert numbers(ds.batch(2).loader()) == [0, 1, 2, 3]
    for read in (lambda: list(ds.batch(2).loader()), lambda: list(ds), lambda: list(ds.take(2))):
        with pytest.raises(ValueError, match=r"the generator was read before.*begins anew"):
            read()


def test_an_iterator_that_was_left_goes_on_and_a_generator_was_closed():
    loader = ps.from_iterable(iter(range(100))).batch(2).loader(prefetch=1)
    next(iter(loader))
    loader.set_epoch(1)
    left = numbers(loader)
    assert left == list(range(left[0], 100))
    loader = ps.from_iterable(i for i in range(100)).batch(2).loader(prefetch=1)
    next(iter(loader))
    loader.set_epoch(1)
    with pytest.raises(ValueError, match="the generator was read before"):
        list(loader)
