"""Worker processes: PyTorchDataLoader(executor="process"), get_pytorch_dataloader."""

import gc
import importlib.util
import inspect
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# ruff: noqa: E402
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np
from patience import wait_until
from penstock.dataloader import PyTorchDataLoader, get_pytorch_dataloader
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

needs_spdl = pytest.mark.skipif(
    importlib.util.find_spec("spdl") is None, reason="spdl is not installed"
)
CONTEXTS = pytest.mark.parametrize("context", ["fork", "spawn"])


@pytest.fixture(autouse=True)
def no_processes_left() -> Iterator[None]:
    yield
    gc.collect()  # a loop that has failed lives as long as the traceback
    assert wait_until(lambda: multiprocessing.active_children() == [])


class Numbers(Dataset):
    def __init__(self, n: int = 10) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        return index, torch.full((3,), index)


class Failing(Numbers):
    def __getitem__(self, index: int) -> Any:
        if index == 4:
            raise Strange("bad", "sample")
        return index


class Strange(ValueError):
    """Cannot be unpickled: pickle gives the constructor one argument."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


def plain(batch: Any) -> Any:
    return [part.tolist() for part in batch] if isinstance(batch, list) else batch.tolist()


@CONTEXTS
def test_the_same_batches_as_threads(context: str) -> None:
    options = {"batch_size": 4, "shuffle": True, "num_workers": 2}
    expected = [
        [plain(batch) for batch in PyTorchDataLoader(Numbers(), generator=generator, **options)]
        for generator in [torch.Generator().manual_seed(5)]
        for _ in range(2)
    ]
    loader = PyTorchDataLoader(
        Numbers(),
        generator=torch.Generator().manual_seed(5),
        executor="process",
        multiprocessing_context=context,
        persistent_workers=context == "spawn",
        **options,
    )
    # Workers that persist draw no seed for their second epoch: only the first one is the same.
    epochs = 1 if context == "spawn" else 2
    assert [[plain(batch) for batch in loader] for _ in range(epochs)] == expected[:epochs]
    loader.close()


class Draws(Numbers):
    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        return (
            info.id,
            info.seed,
            info.num_workers,
            random.random(),
            torch.rand(()).item(),
            np.random.rand(),
        )


def test_worker_processes_are_seeded_as_those_of_torch() -> None:
    options = {"batch_size": None, "num_workers": 1}
    drawn = []
    for kind, more in ((DataLoader, {}), (PyTorchDataLoader, {"executor": "process"})):
        generator = torch.Generator().manual_seed(3)
        drawn.append(list(kind(Draws(4), generator=generator, **options, **more)))
    assert drawn[0] == drawn[1]


def test_an_error_comes_with_its_traceback_even_if_it_cannot_travel() -> None:
    loader = PyTorchDataLoader(Failing(), batch_size=2, num_workers=1, executor="process")
    batches = iter(loader)
    assert [next(batches).tolist(), next(batches).tolist()] == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="Strange: bad sample") as caught:
        next(batches)
    (note,) = caught.value.__notes__
    assert "__getitem__" in note
    assert "reading index 4, batch 2" in note
    assert next(batches).tolist() == [6, 7]
    del batches


class Killed(Numbers):
    def __getitem__(self, index: int) -> Any:
        if index == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


def test_a_worker_that_dies_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(RuntimeError, match="ended unexpectedly"):
        list(PyTorchDataLoader(Killed(), batch_size=2, num_workers=2, executor="process"))


def fail_to_begin(number: int) -> None:
    raise LookupError(f"worker {number}")


def test_worker_init_fn_is_called_in_each_process() -> None:
    def init(number: int) -> None:
        get_worker_info().dataset.n = 100 + number

    class Asking(Numbers):
        def __getitem__(self, index: int) -> int:
            return self.n

    loader = PyTorchDataLoader(
        Asking(), None, num_workers=2, worker_init_fn=init, executor="process"
    )
    assert set(loader) <= {100, 101}
    loader = PyTorchDataLoader(
        Numbers(), num_workers=1, worker_init_fn=fail_to_begin, executor="process"
    )
    batches = iter(loader)
    with pytest.raises(LookupError, match="worker 0"):
        next(batches)
    del batches


def test_state_of_a_loader_with_processes() -> None:
    options = {"batch_size": 3, "num_workers": 2, "shuffle": True}
    loader = PyTorchDataLoader(
        Numbers(), executor="process", generator=torch.Generator().manual_seed(5), **options
    )
    batches = iter(loader)
    next(batches)
    other = PyTorchDataLoader(Numbers(), generator=torch.Generator(), **options)
    other.load_state_dict(loader.state_dict())
    assert [plain(batch) for batch in other] == [plain(batch) for batch in batches]


# ---- get_pytorch_dataloader


@needs_spdl
def test_its_signature_is_the_one_of_the_reference() -> None:
    import spdl.dataloader

    ours = inspect.signature(get_pytorch_dataloader).parameters.values()
    theirs = inspect.signature(spdl.dataloader.get_pytorch_dataloader).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [
        (p.name, p.kind, p.default) for p in theirs
    ]


class Plain(Numbers):
    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


class Poor(Numbers):
    def __getitem__(self, index: int) -> int:
        if index in (2, 7):
            raise ValueError(f"bad sample {index}")
        return index


RUNS: list[dict[str, Any]] = [
    {"dataset": Plain(), "batch_size": 3},
    {"dataset": Plain(), "batch_size": 3, "drop_last": True, "num_workers": 2},
    {"dataset": Plain(), "batch_size": None},
    {"dataset": Plain(), "batch_size": None, "sampler": [4, 2, 2]},
    {"dataset": Plain(), "batch_size": 2, "sampler": []},
    {"dataset": Plain(), "batch_size": None, "batch_sampler": [[1, 2], [3]]},
    {"dataset": Plain(), "batch_size": 4, "collate_fn": tuple},
    {"dataset": Poor(), "batch_size": 3},
    {"dataset": Poor(), "batch_size": None},
]


@needs_spdl
@pytest.mark.parametrize("options", RUNS, ids=lambda options: str(sorted(options)))
def test_it_gives_what_the_reference_gives(options: dict[str, Any]) -> None:
    import spdl.dataloader

    options = options | {"in_order": True}
    ours = get_pytorch_dataloader(**options)
    theirs = spdl.dataloader.get_pytorch_dataloader(**options)
    assert len(ours) == len(theirs)
    assert isinstance(ours, PyTorchDataLoader)
    for _ in range(2):
        assert [str(batch) for batch in ours] == [str(batch) for batch in theirs]
    theirs._shmem.close()
    theirs._shmem.unlink()


WRONG: list[dict[str, Any]] = [
    {"batch_size": None, "sampler": [1], "batch_sampler": [[1]]},
    {"batch_sampler": [[1]]},
    {"sampler": [1], "shuffle": True},
    {"batch_size": None, "batch_sampler": [[1]], "shuffle": True},
    {"batch_size": None, "batch_sampler": [[1]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"worker_init_fn": print},
    {"pin_memory_device": "cuda"},
    {"persistent_workers": True},
    {"timeout": -1},
    {"num_workers": -1},
    {"worker_init_concurrency": 0},
    {"dataset": Stream()},
]


@needs_spdl
@pytest.mark.parametrize("options", WRONG, ids=str)
def test_it_refuses_what_the_reference_refuses(options: dict[str, Any]) -> None:
    import spdl.dataloader

    words = []
    for make in (get_pytorch_dataloader, spdl.dataloader.get_pytorch_dataloader):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 the text is what is compared
            make(**({"dataset": Plain()} | options))
        words.append(str(caught.value))
    assert words[0] == words[1]


def test_no_workers_means_one_and_a_warning() -> None:
    with pytest.warns(UserWarning, match="Setting `num_workers` to 1"):
        loader = get_pytorch_dataloader(Plain(3), num_workers=0)
    assert [batch.tolist() for batch in loader] == [[0], [1], [2]]


def test_failed_batches_are_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    loader = get_pytorch_dataloader(Poor(), batch_size=2, in_order=True)
    assert [batch.tolist() for batch in loader] == [[0, 1], [4, 5], [8, 9]]
    assert [record.getMessage() for record in caplog.records] == [
        "batch 1 has failed and is left out",
        "batch 3 has failed and is left out",
    ]


class SlowToUnpickle(Plain):
    """Notes in files how many copies are being unpickled at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(12)
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        mine = self.folder / f"{os.getpid()}"
        mine.touch()
        (self.folder / f"most-{len(list(self.folder.glob('[0-9]*')))}").touch()
        time.sleep(0.1)
        mine.unlink()


def test_datasets_are_unpickled_so_many_at_a_time(tmp_path: Path) -> None:
    loader = get_pytorch_dataloader(
        SlowToUnpickle(tmp_path), num_workers=3, worker_init_concurrency=1
    )
    assert len(list(loader)) == 12
    assert [path.name for path in tmp_path.iterdir()] == ["most-1"]
