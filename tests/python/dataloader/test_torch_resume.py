"""PyTorchDataLoader goes on exactly where the loop was, wherever it was stopped."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

# ruff: noqa: E402
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.dataloader import PyTorchDataLoader
from penstock.source import DistributedRandomSampler
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

N = 23


def lists(batches: Any) -> list[Any]:
    return [batch.tolist() for batch in batches]


def make(order: str, seed: int = 3, **options: Any) -> PyTorchDataLoader:
    """A loader, always the same one for the same seed of its generator."""
    data = list(range(N))
    generator = torch.Generator().manual_seed(seed)
    orders: dict[str, Any] = {
        "in turn": {},
        "shuffle": {"shuffle": True, "generator": generator},
        "shuffle, torch's own generator": {"shuffle": True},
        "sampler": {"sampler": RandomSampler(data, generator=generator)},
        "replacement": {"sampler": RandomSampler(data, True, 50, generator)},
        "two generators": {
            "sampler": RandomSampler(data, generator=generator),
            "generator": torch.Generator().manual_seed(8),
        },
        "subset": {"sampler": SubsetRandomSampler(range(3, 20))},
        "weighted": {"sampler": WeightedRandomSampler([1.0] * N, 30)},
        "distributed": {"sampler": DistributedSampler(data, 2, 0)},
        "penstock": {"sampler": DistributedRandomSampler(N, rank=0, world_size=1, seed=4)},
    }
    chosen = orders[order]
    if options.pop("batch_sampler", False) and "shuffle" not in chosen:
        sampler = chosen.pop("sampler", data)
        chosen["batch_sampler"] = BatchSampler(sampler, options.pop("batch_size"), False)
    return PyTorchDataLoader(data, **(chosen | options))


ORDERS = [
    "in turn",
    "shuffle",
    "shuffle, torch's own generator",
    "sampler",
    "replacement",
    "two generators",
    "subset",
    "weighted",
    "distributed",
    "penstock",
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_sampler", [False, True])
def test_resume_at_every_batch_of_two_epochs(order: str, workers: int, batch_sampler: bool) -> None:
    torch.manual_seed(1)
    whole = make(order, num_workers=workers, batch_size=4, batch_sampler=batch_sampler)
    saved = []  # (state, what torch's own generator was, what comes after it)
    everything: list[Any] = []
    for _ in range(2):
        saved.append((whole.state_dict(), torch.get_rng_state(), len(everything)))
        for batch in whole:
            everything.append(batch.tolist())
            saved.append((whole.state_dict(), torch.get_rng_state(), len(everything)))
    everything += lists(whole)  # a third epoch, which follows from the others

    for number, (state, shared, done) in enumerate(saved):
        workers_now = (0, 1, 3)[number % 3]  # another number of workers goes on as well
        options = {"num_workers": workers_now, "batch_size": 4, "batch_sampler": batch_sampler}
        other = make(order, 99, **options)
        torch.set_rng_state(shared)  # as any program that wants to go on with its own draws
        other.load_state_dict(json.loads(json.dumps(state)))
        got = []
        while len(got) < len(everything) - done:
            got += lists(other)
        assert got == everything[done:], f"state {number}: {state['epoch']}, {state['batches']}"


@given(
    batch_size=st.none() | st.integers(1, 9),
    drop_last=st.booleans(),
    stops=st.lists(st.integers(0, 8), min_size=1, max_size=5),
    workers=st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_a_chain_of_resumes_is_one_run(
    batch_size: int | None, drop_last: bool, stops: list[int], workers: int
) -> None:
    options = {"batch_size": batch_size, "drop_last": drop_last and batch_size is not None}
    options |= {"num_workers": workers}

    def plain(batch: Any) -> Any:
        return batch.tolist() if isinstance(batch, torch.Tensor) else batch

    whole = make("shuffle", **options)
    expected = [plain(batch) for _ in range(len(stops) + 2) for batch in whole]
    got: list[Any] = []
    loader = make("shuffle", **options)
    for stop in stops:
        batches = iter(loader)
        got += [plain(batch) for _, batch in zip(range(stop), batches, strict=False)]
        state = loader.state_dict()
        loader = make("shuffle", 99, **options)
        loader.load_state_dict(state)
    for _ in range(2):
        got += [plain(batch) for batch in loader]
    assert got == expected[: len(got)]


def test_it_is_what_the_loop_has_received_not_what_is_prefetched() -> None:
    loader = make("in turn", batch_size=2, num_workers=3, prefetch_factor=4)
    batches = iter(loader)
    for count in range(1, 5):
        next(batches)
        assert loader.state_dict()["batches"] == count


def test_epochs_are_counted() -> None:
    loader = make("shuffle", batch_size=10)
    assert loader.epoch == 0
    epochs = [loader.epoch for _ in range(2) for _ in loader]
    assert epochs == [0, 0, 1, 1, 1, 2]  # after its last batch an epoch is complete
    assert loader.epoch == 2
    other = make("shuffle", batch_size=10)
    other.load_state_dict(loader.state_dict())
    assert other.epoch == 2


def test_a_loop_that_does_not_ask_after_the_last_batch_has_completed_its_epoch() -> None:
    loader = make("shuffle", batch_size=10)
    for epoch in range(3):
        assert loader.epoch == epoch
        for _, _ in zip(range(3), loader, strict=False):
            pass
    for _ in loader:
        break
    iter(loader)
    assert loader.epoch == 3  # one that was broken off is begun again


def test_a_state_that_was_loaded_can_be_saved_again() -> None:
    loader = make("shuffle", batch_size=4)
    next(iter(loader))
    state = loader.state_dict()
    other = make("shuffle", 99, batch_size=4)
    other.load_state_dict(state)
    assert other.state_dict() == state


def test_loading_begins_anew() -> None:
    loader = make("shuffle", batch_size=4)
    batches = iter(loader)
    first = next(batches).tolist()
    state = loader.state_dict()
    rest = lists(batches)
    for _ in range(2):
        loader.load_state_dict(state)
        assert lists(loader) == rest
    assert first not in rest


def test_batches_in_order_of_completion_are_neither_lost_nor_repeated() -> None:
    import threading

    gate = threading.Event()

    class Slow:
        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> int:
            if index == 3 and not gate.is_set():
                gate.wait(10)
            return index

    for taken in (1, 2, 3):
        gate.clear()
        options = {"batch_size": 2, "num_workers": 2, "in_order": False}
        loader = PyTorchDataLoader(Slow(), **options)
        batches = iter(loader)
        got = [next(batches).tolist() for _ in range(taken)]
        assert [2, 3] not in got
        state = json.loads(json.dumps(loader.state_dict()))
        gate.set()
        del batches
        for more in ({}, {"in_order": True}, {"num_workers": 0, "in_order": True}):
            other = PyTorchDataLoader(Slow(), **(options | more))
            other.load_state_dict(state)
            rest = []
            for batch in other:
                rest.append(batch.tolist())
                again = PyTorchDataLoader(Slow(), batch_size=2)
                again.load_state_dict(other.state_dict())
                everything = got + rest + (lists(again) if other.epoch == 0 else [])
                assert sorted(itertools.chain.from_iterable(everything)) == list(range(40))


def test_the_draws_of_the_program_are_left_alone() -> None:
    torch.manual_seed(5)
    loader = make("shuffle, torch's own generator", batch_size=4)
    batches = iter(loader)
    next(batches)
    state, shared = loader.state_dict(), torch.get_rng_state()
    expected = lists(batches), torch.rand(3).tolist()
    other = make("shuffle, torch's own generator", batch_size=4)
    torch.set_rng_state(shared)
    other.load_state_dict(state)
    assert (lists(other), torch.rand(3).tolist()) == expected


def test_the_state_is_small() -> None:
    for order in ORDERS:
        loader = make(order, batch_size=4, num_workers=2)
        batches = iter(loader)
        next(batches)
        most = 8192 if order == "two generators" else 4096
        assert len(json.dumps(loader.state_dict())) < most


# ---- iterable datasets


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(N))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_a_stream_is_read_again_to_where_it_was(workers: int, batch_size: int | None) -> None:
    options = {"batch_size": batch_size, "num_workers": workers}
    expected = [torch.as_tensor(one).tolist() for one in PyTorchDataLoader(Stream(), **options)]
    for taken in range(len(expected)):
        loader = PyTorchDataLoader(Stream(), **options)
        batches = iter(loader)
        for _ in range(taken):
            next(batches)
        other = PyTorchDataLoader(Stream(), **options)
        other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        got = [torch.as_tensor(one).tolist() for one in other]
        assert got == expected[taken:]
        assert other.epoch == 1


# ---- refusals


def test_a_state_of_something_else_is_refused() -> None:
    loader = make("in turn", batch_size=4)
    state = loader.state_dict()
    for wrong, words in [
        ({}, "not the state of a PyTorchDataLoader"),
        ({"epoch": 1}, "not the state of a PyTorchDataLoader"),
        (state | {"version": 9}, "version 9"),
        (state | {"origin": 3}, "not the state of a PyTorchDataLoader"),
    ]:
        with pytest.raises(ValueError, match=words):
            loader.load_state_dict(wrong)
    for other in (make("in turn", batch_size=5), make("in turn", batch_size=4, drop_last=True)):
        with pytest.raises(ValueError, match=r"of another loader: of .*batch_size"):
            other.load_state_dict(state)
    with pytest.raises(ValueError, match=r"'samples': 23.*'samples': 5"):
        PyTorchDataLoader(range(5), batch_size=4).load_state_dict(state)
    assert lists(loader) == lists(make("in turn", batch_size=4))


def test_an_order_that_is_not_the_same_is_refused() -> None:
    loader = make("in turn", batch_size=4)
    next(iter(loader))
    state = loader.state_dict()
    other = PyTorchDataLoader(range(N), 4, sampler=list(reversed(range(N))))
    other.load_state_dict(state)
    with pytest.raises(ValueError, match="are not the 1 that were received"):
        iter(other)
    loader = make("shuffle", batch_size=4)
    next(iter(loader))
    other = make("in turn", batch_size=4)
    other.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match=r"generators of \['loader'\], this loader has"):
        iter(other)


def test_the_state_of_one_rank_serves_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def on_rank(rank: int) -> PyTorchDataLoader:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        sampler = DistributedSampler(list(range(N)), 2, rank, seed=6)
        sampler.set_epoch(2)
        return PyTorchDataLoader(list(range(N)), 4, sampler=sampler)

    expected = lists(on_rank(1))
    loader = on_rank(0)
    next(iter(loader))
    state = loader.state_dict()
    other = on_rank(1)
    other.sampler.set_epoch(0)
    other.load_state_dict(state)
    assert other.sampler.epoch == 2
    assert lists(other) == expected[1:]
