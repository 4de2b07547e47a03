"""The samplers: what each rank gets, and that it is what the reference gives."""

import importlib.util
import inspect
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.source import DistributedDeterministicSampler, DistributedRandomSampler

needs_spdl = pytest.mark.skipif(
    importlib.util.find_spec("spdl") is None, reason="spdl is not installed"
)
sizes = st.integers(1, 60)
worlds = st.integers(1, 7)


def test_ranks_share_the_dataset_without_overlap() -> None:
    ranks = [DistributedRandomSampler(12, rank=rank, world_size=3, seed=5) for rank in range(3)]
    assert [len(sampler) for sampler in ranks] == [4, 4, 4]
    assert sorted(itertools.chain.from_iterable(ranks)) == list(range(12))


@given(n=sizes, world=worlds)
def test_every_index_is_dealt_once_if_nothing_is_dropped(n: int, world: int) -> None:
    for kind in (DistributedRandomSampler, DistributedDeterministicSampler):
        ranks = [
            kind(n, rank=rank, world_size=world, ddp_drop_last_distributed_round=False)
            for rank in range(world)
        ]
        dealt = [list(sampler) for sampler in ranks]
        assert [len(one) for one in dealt] == [len(sampler) for sampler in ranks]
        assert sorted(itertools.chain.from_iterable(dealt)) == list(range(n))
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_an_uneven_dataset_loses_its_last_round_and_says_so() -> None:
    with pytest.warns(UserWarning, match="Some samples are never visited"):
        sampler = DistributedDeterministicSampler(11, rank=3, world_size=4)
    assert list(sampler) == [3, 7]


def test_the_order_depends_on_the_seed_alone() -> None:
    sampler = DistributedRandomSampler(50, rank=0, world_size=1, seed=3)
    first = list(sampler)
    assert list(sampler) == first
    sampler.shuffle(seed=4)
    assert list(sampler) != first
    assert list(sampler) == list(DistributedRandomSampler(50, rank=0, world_size=1, seed=4))
    sampler.set_epoch(0)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) == list(DistributedRandomSampler(50, rank=0, world_size=1, seed=4))


def test_indices_are_plain_integers() -> None:
    assert {type(i) for i in DistributedRandomSampler(5, rank=0, world_size=1)} == {int}


def test_weights_decide_how_often_an_index_comes() -> None:
    sampler = DistributedRandomSampler(
        4, rank=0, world_size=1, weights=[0, 1, 3, 0], num_draws=40_000
    )
    counts = [list(sampler).count(index) for index in range(4)]
    assert counts[0] == counts[3] == 0
    assert counts[2] / counts[1] == pytest.approx(3, rel=0.1)


WRONG = [
    {"n": 0, "rank": 0, "world_size": 1},
    {"n": 5, "rank": 0, "world_size": 0},
    {"n": 5, "rank": 2, "world_size": 2},
    {"n": 5, "rank": -1, "world_size": 2},
    {"n": 1, "rank": 0, "world_size": 2},
]
WRONG_DRAWS = [
    {"num_draws": 0},
    {"num_draws": -1},
    {"num_draws": 6},
    {"weights": [1, 2]},
    {"weights": [1, 1, 1, 1, -1]},
    {"weights": [1, 1, 1, 1, float("nan")]},
    {"weights": [0] * 5},
    {"weights": [1e308] * 5},
]


def refused(kind: type, n: int, **options: object) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 the text is what is compared
        kind(n, **options)
    return str(caught.value)


@needs_spdl
@pytest.mark.parametrize("options", WRONG, ids=str)
def test_wrong_ranks_are_refused_in_the_words_of_the_reference(options: dict) -> None:
    import spdl.source

    for kind in (DistributedRandomSampler, DistributedDeterministicSampler):
        reference = getattr(spdl.source, kind.__name__)
        assert refused(kind, **options) == refused(reference, **options)


@needs_spdl
@pytest.mark.parametrize("options", WRONG_DRAWS, ids=str)
def test_wrong_draws_are_refused_in_the_words_of_the_reference(options: dict) -> None:
    import spdl.source

    given = dict(n=5, rank=0, world_size=1, **options)
    ours = refused(DistributedRandomSampler, **given)
    assert ours == refused(spdl.source.DistributedRandomSampler, **given)


@needs_spdl
@given(
    n=sizes,
    world=worlds,
    seed=st.integers(0, 2**32),
    weighted=st.booleans(),
    draws=st.none() | st.integers(1, 100),
    drop=st.booleans(),
)
def test_random_order_is_the_one_of_the_reference(
    n: int, world: int, seed: int, weighted: bool, draws: int | None, drop: bool
) -> None:
    import spdl.source

    total = n if draws is None else draws
    if (drop and total < world) or (not weighted and total > n):
        return
    options = {
        "world_size": world,
        "num_draws": draws,
        "weights": [index % 4 + 0.25 for index in range(n)] if weighted else None,
        "seed": seed,
        "ddp_drop_last_distributed_round": drop,
    }
    for rank in range(world):
        ours = DistributedRandomSampler(n, rank=rank, **options)
        theirs = spdl.source.DistributedRandomSampler(n, rank=rank, **options)
        for _ in range(2):
            assert list(ours) == list(theirs)
            assert len(ours) == len(theirs)
            ours.shuffle(seed=seed + 1)
            theirs.shuffle(seed=seed + 1)


@needs_spdl
def test_all_names_and_signatures_of_the_reference_are_here() -> None:
    for module in ("source", "source.utils", "source.local_directory", "source.imagenet"):
        theirs = importlib.import_module(f"spdl.{module}")
        ours = importlib.import_module(f"penstock.{module}")
        for name in theirs.__all__:
            assert name in ours.__all__
            for place in ("__init__", "shuffle", "__call__"):
                their_place = getattr(getattr(theirs, name), place, None)
                if inspect.isfunction(their_place):
                    wanted = inspect.signature(their_place).parameters
                    got = inspect.signature(getattr(getattr(ours, name), place)).parameters
                    assert [(p.name, p.kind, p.default) for p in wanted.values()] == [
                        (p.name, p.kind, p.default) for p in got.values()
                    ], f"{module}.{name}.{place}"
