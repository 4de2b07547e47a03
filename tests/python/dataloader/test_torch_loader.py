"""PyTorchDataLoader as a torch loader: arguments, datasets, errors."""

import contextlib
import copy
import inspect
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

# ruff: noqa: E402
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from patience import wait_until
from penstock.dataloader import PyTorchDataLoader
from torch.utils.data import DataLoader, IterableDataset, SequentialSampler, get_worker_info

WORKERS = pytest.mark.parametrize("workers", [0, 1, 3])


class Numbers(IterableDataset):
    def __init__(self, n: int = 7) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.n))


class Sized(Numbers):
    def __len__(self) -> int:
        return self.n


def lists(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


# ---- what it is


def test_it_is_a_torch_loader() -> None:
    loader = PyTorchDataLoader(range(3), batch_size=2)
    assert isinstance(loader, DataLoader)
    assert isinstance(loader, PyTorchDataLoader)
    assert isinstance(loader.sampler, SequentialSampler)
    assert (loader.batch_size, loader.drop_last, loader.num_workers) == (2, False, 0)
    with pytest.raises(ValueError, match="should not be set after"):
        loader.batch_size = 3


def test_it_takes_the_arguments_of_torch() -> None:
    theirs = inspect.signature(DataLoader.__init__).parameters
    ours = inspect.signature(PyTorchDataLoader.__init__).parameters
    assert [(p.name, p.kind, p.default) for p in theirs.values()] == [
        (p.name, p.kind, p.default) for p in ours.values() if p.name != "executor"
    ]


def test_torch_is_imported_only_for_the_first_loader() -> None:
    code = """
import sys, penstock, penstock.dataloader, penstock.source
from penstock.dataloader import *
class Mine(PyTorchDataLoader): pass
assert "torch" not in sys.modules
Mine(range(3))
assert "torch" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_torch_the_message_says_what_to_do() -> None:
    code = """
import sys
sys.modules["torch"] = None
from penstock.dataloader import PyTorchDataLoader
try:
    PyTorchDataLoader(range(3))
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "PyTorchDataLoader needs PyTorch: pip install torch\n"


class Doubled(PyTorchDataLoader):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.factor = 2

    def __iter__(self) -> Iterator[Any]:
        return (self.factor * batch for batch in super().__iter__())


def test_subclasses_and_copies_and_pickles() -> None:
    loader = Doubled(range(4), batch_size=2)
    for other in (loader, copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        assert isinstance(other, Doubled)
        assert isinstance(other, DataLoader)
        assert lists(other) == [[0, 2], [4, 6]]


def test_from_torch_takes_over_a_loader() -> None:
    data = list(range(10))
    generator = torch.Generator()
    for options in (
        {"batch_size": 3},
        {"batch_size": 3, "drop_last": True, "shuffle": True},
        {"batch_size": None, "sampler": [3, 1]},
        {"batch_sampler": [[1, 2], [0]]},
        {"batch_size": 4, "sampler": [5, 4, 3, 2, 1], "collate_fn": torch.tensor},
    ):
        theirs = DataLoader(data, generator=generator, **options)
        ours = PyTorchDataLoader.from_torch(theirs, num_workers=2)
        assert ours.batch_size == theirs.batch_size
        generator.manual_seed(3)
        if options.get("batch_size", 0) is None:
            expected, got = list(theirs), list(ours)
        else:
            expected = lists(theirs)
            generator.manual_seed(3)
            got = lists(ours)
        assert got == expected
    theirs = DataLoader(Numbers(), batch_size=3, drop_last=True)
    assert lists(PyTorchDataLoader.from_torch(theirs)) == [[0, 1, 2], [3, 4, 5]]


# ---- wrong arguments

WRONG = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True},
    {"shuffle": True, "sampler": [0]},
    {"batch_sampler": [[0]], "batch_size": 2},
    {"batch_sampler": [[0]], "shuffle": True},
    {"batch_sampler": [[0]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": 1.5},
    {"batch_size": "2"},
    {"multiprocessing_context": "fork"},
    {"multiprocessing_context": "nonsense", "num_workers": 1},
    {"multiprocessing_context": 3, "num_workers": 1},
    {"nonsense": 1},
    {"dataset": Numbers(), "shuffle": True},
    {"dataset": Numbers(), "sampler": [1]},
    {"dataset": Numbers(), "batch_sampler": [[1]]},
    {"dataset": [], "shuffle": True},
    {"dataset": iter([1])},
    {"timeout": 1},
]


def problem(kind: Any, options: dict[str, Any]) -> type[BaseException] | None:
    try:
        list(kind(**({"dataset": [1, 2]} | options)))
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_wrong_arguments_are_refused_as_torch_does(options: dict[str, Any]) -> None:
    assert problem(PyTorchDataLoader, options) is problem(DataLoader, options)


def test_an_unknown_executor_is_refused() -> None:
    with pytest.raises(ValueError, match="'thread' or 'process'"):
        PyTorchDataLoader([1], executor="gpu")
    with pytest.raises(ValueError, match="map-style"):
        PyTorchDataLoader(Numbers(), executor="process")


# ---- datasets


@WORKERS
def test_single_samples_without_a_batch_size(workers: int) -> None:
    loader = PyTorchDataLoader(["a", None, 3.5], batch_size=None, num_workers=workers)
    assert list(loader) == ["a", None, 3.5]
    assert len(loader) == 3


@WORKERS
def test_batches_that_are_none_arrive(workers: int) -> None:
    loader = PyTorchDataLoader(range(4), 2, collate_fn=lambda items: None, num_workers=workers)
    assert list(loader) == [None, None]


@WORKERS
def test_getitems_is_called_once_for_a_batch(workers: int) -> None:
    class Many:
        def __len__(self) -> int:
            return 5

        def __getitem__(self, index: int) -> int:
            raise AssertionError("not one by one")

        def __getitems__(self, indices: list[int]) -> list[int]:
            return [10 * index for index in indices]

    loader = PyTorchDataLoader(Many(), batch_size=2, num_workers=workers)
    assert lists(loader) == [[0, 10], [20, 30], [40]]


@WORKERS
def test_an_iterable_dataset_is_read_once(workers: int) -> None:
    assert lists(PyTorchDataLoader(Numbers(), 3, num_workers=workers)) == [
        [0, 1, 2],
        [3, 4, 5],
        [6],
    ]
    dropped = PyTorchDataLoader(Numbers(), 3, num_workers=workers, drop_last=True)
    assert lists(dropped) == [[0, 1, 2], [3, 4, 5]]
    assert list(PyTorchDataLoader(Numbers(), None, num_workers=workers)) == list(range(7))


def test_length_is_torchs() -> None:
    for options in ({"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}):
        for data in (range(10), Sized(10)):
            assert len(PyTorchDataLoader(data, **options)) == len(DataLoader(data, **options))
    with pytest.raises(TypeError):
        len(PyTorchDataLoader(Numbers()))


def test_an_endless_stream_is_read_only_so_far() -> None:
    read = []

    class Endless(IterableDataset):
        def __iter__(self) -> Iterator[int]:
            i = 0
            while True:
                read.append(i)
                yield i
                i += 1

    batches = iter(PyTorchDataLoader(Endless(), batch_size=2, num_workers=2))
    assert next(batches).tolist() == [0, 1]
    time.sleep(0.05)
    assert len(read) < 60


def test_prefetch_is_bounded() -> None:
    read = []

    class Noting:
        def __len__(self) -> int:
            return 1000

        def __getitem__(self, index: int) -> int:
            read.append(index)
            return index

    batches = iter(PyTorchDataLoader(Noting(), batch_size=5, num_workers=2, prefetch_factor=3))
    next(batches)
    assert wait_until(lambda: len(read) >= 35)
    time.sleep(0.05)
    assert len(read) == 35  # one batch that was taken, two times three ahead


def test_all_workers_read_one_batch_together() -> None:
    together = threading.Barrier(4, timeout=20)

    class Meeting:
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> int:
            together.wait()  # all four samples of the only batch are being read
            return index

    assert lists(PyTorchDataLoader(Meeting(), batch_size=4, num_workers=4)) == [[0, 1, 2, 3]]


# ---- errors


class Broken:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if index == 5:
            raise self.error
        return index


@WORKERS
@pytest.mark.parametrize("kind", [KeyError, RuntimeError, SystemExit])
def test_an_error_of_the_dataset_is_raised_in_its_place(
    workers: int, kind: type[BaseException]
) -> None:
    batches = iter(PyTorchDataLoader(Broken(kind("bad")), batch_size=2, num_workers=workers))
    assert [next(batches).tolist(), next(batches).tolist()] == [[0, 1], [2, 3]]
    with pytest.raises(kind) as caught:
        next(batches)
    assert caught.value.__notes__ == ["PyTorchDataLoader: reading index 5, batch 2"]
    assert next(batches).tolist() == [6, 7]
    assert list(batches) == []


def test_of_several_errors_in_a_batch_the_first_one_by_place_is_raised() -> None:
    class Bad:
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> int:
            if index in (1, 2, 3):
                time.sleep(0.01 * (4 - index))  # the last one fails first
                raise LookupError(index)
            return index

    for _ in range(5):
        batches = iter(PyTorchDataLoader(Bad(), batch_size=4, num_workers=4))
        with pytest.raises(LookupError, match="1") as caught:
            next(batches)
        assert caught.value.__notes__ == ["PyTorchDataLoader: reading index 1, batch 0"]
        assert next(batches).tolist() == [4, 5, 6, 7]


@WORKERS
def test_stop_iteration_does_not_end_the_loop_in_silence(workers: int) -> None:
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(PyTorchDataLoader(Broken(StopIteration()), batch_size=2, num_workers=workers))


@WORKERS
def test_an_error_of_collate_names_the_indices(workers: int) -> None:
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size") as caught:
        list(PyTorchDataLoader([torch.zeros(1), torch.zeros(2)], 2, num_workers=workers))
    assert caught.value.__notes__ == ["PyTorchDataLoader: collating indices [0, 1], batch 0"]


@WORKERS
def test_an_error_of_an_iterable_dataset_comes_after_its_batches(workers: int) -> None:
    class Failing(IterableDataset):
        def __iter__(self) -> Iterator[int]:
            yield from range(3)
            raise OSError("disk")

    batches = iter(PyTorchDataLoader(Failing(), batch_size=2, num_workers=workers))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(OSError, match="disk"):
        next(batches)
    assert list(batches) == []


@WORKERS
def test_an_error_of_the_sampler_comes_after_its_batches(workers: int) -> None:
    class Sampler:
        def __iter__(self) -> Iterator[int]:
            yield from range(4)
            raise OSError("no more indices")

    batches = iter(PyTorchDataLoader(range(9), 2, sampler=Sampler(), num_workers=workers))
    assert [next(batches).tolist(), next(batches).tolist()] == [[0, 1], [2, 3]]
    with pytest.raises(OSError, match="no more indices"):
        next(batches)


def test_a_timeout_is_the_error_of_torch_and_of_python() -> None:
    gate = threading.Event()

    class Stuck(Broken):
        def __getitem__(self, index: int) -> int:
            gate.wait(20)
            return index

    batches = iter(PyTorchDataLoader(Stuck(ValueError()), num_workers=1, timeout=0.05))
    with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds"):
        next(batches)
    with pytest.raises(TimeoutError):
        next(batches)
    gate.set()
    got: list[Any] = []
    while not got:  # no batch is lost
        with contextlib.suppress(TimeoutError):
            got += next(batches).tolist()
    assert got == [0]


# ---- workers


def test_worker_init_fn_is_called_once_on_each_thread() -> None:
    calls, readers = {}, set()
    lock = threading.Lock()

    class Noting:
        def __len__(self) -> int:
            return 40

        def __getitem__(self, index: int) -> int:
            with lock:
                readers.add(threading.get_ident())
            time.sleep(0.001)
            return index

    def init(number: int) -> None:
        assert number not in calls
        calls[number] = threading.get_ident()

    loader = PyTorchDataLoader(Noting(), num_workers=3, worker_init_fn=init)
    assert len(list(loader)) == 40
    assert sorted(calls) == [0, 1, 2]
    assert len(set(calls.values())) == 3
    assert readers <= set(calls.values())
    calls.clear()
    assert len(list(loader)) == 40
    assert sorted(calls) == [0, 1, 2]


def test_persistent_workers_are_begun_once() -> None:
    calls = []
    loader = PyTorchDataLoader(
        range(6), 2, num_workers=2, worker_init_fn=calls.append, persistent_workers=True
    )
    assert lists(loader) == lists(loader) == [[0, 1], [2, 3], [4, 5]]
    assert sorted(calls) == [0, 1]
    loader.close()


def test_an_error_of_worker_init_fn_is_raised_in_the_loop() -> None:
    def init(number: int) -> None:
        raise LookupError(f"no worker {number}")

    for batch_size in (1, 4, None):
        loader = PyTorchDataLoader(range(9), batch_size, num_workers=2, worker_init_fn=init)
        batches = iter(loader)
        with pytest.raises(LookupError, match="no worker") as caught:
            next(batches)
        assert caught.value.__notes__[0].startswith("PyTorchDataLoader: worker_init_fn(")


def test_threads_are_no_worker_processes() -> None:
    class Asking:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> bool:
            return get_worker_info() is None

    assert list(PyTorchDataLoader(Asking(), None, num_workers=2)) == [True, True]


def test_more_threads_than_cores_are_no_reason_to_warn() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert lists(PyTorchDataLoader(range(3), num_workers=99)) == [[0], [1], [2]]
    assert warned == []


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is a device")
def test_pinned_memory_without_a_device_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert lists(PyTorchDataLoader(range(2), 2, pin_memory=True)) == [[0, 1]]
