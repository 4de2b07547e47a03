"""The same batches in the same order as torch's DataLoader, from the same draws."""

from collections.abc import Callable
from typing import Any

import pytest

# ruff: noqa: E402
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.dataloader import PyTorchDataLoader
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)


class Squares(Dataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> tuple[int, float]:
        return index, float(index**2)


def plain(batch: Any) -> Any:
    """Tensors as lists, so that batches can be compared."""
    if isinstance(batch, torch.Tensor):
        return batch.tolist()
    return [plain(one) for one in batch] if isinstance(batch, list | tuple) else batch


Samplers = Callable[[Dataset, Any], dict[str, Any]]

ORDERS: dict[str, Samplers] = {
    "in turn": lambda data, generator: {},
    "shuffle": lambda data, generator: {"shuffle": True},
    "sequential": lambda data, generator: {"sampler": SequentialSampler(data)},
    "random": lambda data, generator: {"sampler": RandomSampler(data, generator=generator)},
    "replacement": lambda data, generator: {
        "sampler": RandomSampler(data, True, 2 * len(data) + 1, generator)
    },
    "subset": lambda data, generator: {
        "sampler": SubsetRandomSampler(range(0, len(data), 2), generator)
    },
    "weighted": lambda data, generator: {
        "sampler": WeightedRandomSampler([1.0 + i % 3 for i in range(len(data))], len(data) + 3)
    },
    "distributed": lambda data, generator: {
        "sampler": DistributedSampler(data, 2, 1, shuffle=True)
    },
    "list": lambda data, generator: {"sampler": list(reversed(range(len(data))))},
}


def epochs_of(kind: Any, n: int, order: str, seeded: bool, epochs: int, **options: Any) -> Any:
    """The batches of some epochs, and what the generators give afterwards."""
    torch.manual_seed(7)
    generator = torch.Generator().manual_seed(11) if seeded else None
    data = Squares(n)
    loader = kind(data, generator=generator, **ORDERS[order](data, generator), **options)
    batches = []
    for _ in range(epochs):
        got = []
        for batch in loader:
            # A loop draws, too; what it gets depends on when the sampler has drawn.
            got.append((plain(batch), float(torch.rand(()))))
        batches.append(got)
    after = torch.rand(2).tolist()
    return batches, after, torch.rand(2, generator=generator).tolist()


@pytest.mark.parametrize("order", ORDERS)
@given(
    n=st.integers(1, 40),
    batch_size=st.none() | st.integers(1, 9),
    drop_last=st.booleans(),
    seeded=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_without_workers_as_torch(
    order: str, n: int, batch_size: int | None, drop_last: bool, seeded: bool
) -> None:
    options = {"batch_size": batch_size, "drop_last": drop_last and batch_size is not None}
    theirs = epochs_of(DataLoader, n, order, seeded, 3, **options)
    assert epochs_of(PyTorchDataLoader, n, order, seeded, 3, **options) == theirs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_with_workers_as_torch(order: str, seeded: bool, persistent: bool) -> None:
    options = {"batch_size": 3, "num_workers": 2, "persistent_workers": persistent}
    theirs = epochs_of(DataLoader, 23, order, seeded, 2, **options)
    assert epochs_of(PyTorchDataLoader, 23, order, seeded, 2, **options) == theirs


@given(
    n=st.integers(1, 60),
    batch_size=st.none() | st.integers(1, 9),
    drop_last=st.booleans(),
    workers=st.integers(1, 5),
    prefetch=st.integers(1, 4),
)
@settings(max_examples=40, deadline=None)
def test_threads_do_not_change_the_order(
    n: int, batch_size: int | None, drop_last: bool, workers: int, prefetch: int
) -> None:
    options = {"batch_size": batch_size, "drop_last": drop_last and batch_size is not None}
    expected = epochs_of(PyTorchDataLoader, n, "shuffle", True, 2, **options)
    options |= {"num_workers": workers, "prefetch_factor": prefetch}
    assert epochs_of(PyTorchDataLoader, n, "shuffle", True, 2, **options) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_a_batch_sampler_decides_everything(workers: int) -> None:
    data = Squares(10)
    sampler = BatchSampler(RandomSampler(data, generator=torch.Generator().manual_seed(1)), 3, True)
    ours = PyTorchDataLoader(data, batch_sampler=sampler, num_workers=workers)
    got = [plain(batch)[0] for batch in ours]
    sampler.sampler.generator.manual_seed(1)
    assert got == list(sampler)
    assert len(ours) == len(sampler)


def test_completion_order_loses_nothing() -> None:
    class Slow(Squares):
        def __getitem__(self, index: int) -> tuple[int, float]:
            if index == 0:
                gate.wait(10)
            return super().__getitem__(index)

    import threading

    gate = threading.Event()
    loader = PyTorchDataLoader(Slow(20), batch_size=2, num_workers=2, in_order=False)
    got = []
    for batch in loader:
        got += batch[0].tolist()
        gate.set() if len(got) >= 4 else None
    assert got[0] != 0
    assert sorted(got) == list(range(20))


def test_tensors_and_their_collation_are_torchs() -> None:
    data = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    ours = PyTorchDataLoader(data, batch_size=4, num_workers=2)
    for mine, theirs in zip(ours, DataLoader(data, batch_size=4), strict=True):
        assert type(mine) is type(theirs)
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))
