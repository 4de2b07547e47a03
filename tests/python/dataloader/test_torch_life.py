"""PyTorchDataLoader ends what it has begun."""

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

# ruff: noqa: E402
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from patience import wait_until
from penstock.dataloader import PyTorchDataLoader
from torch.utils.data import IterableDataset


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    list(PyTorchDataLoader(range(4), num_workers=2))
    before = threads()
    yield
    gc.collect()
    assert wait_until(lambda: threads() <= before)


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(100))


def made_in_many_ways() -> list[PyTorchDataLoader]:
    return [
        PyTorchDataLoader(range(100), 2, num_workers=2),
        PyTorchDataLoader(range(100), 2, num_workers=3, in_order=False),
        PyTorchDataLoader(range(100), 2, num_workers=2, worker_init_fn=lambda number: None),
        PyTorchDataLoader(range(100), 2, num_workers=2, persistent_workers=True),
        PyTorchDataLoader(Stream(), 2, num_workers=2),
    ]


@pytest.mark.usefixtures("no_threads_left")
def test_the_end_of_an_epoch_ends_the_threads() -> None:
    for loader in made_in_many_ways():
        for _ in range(2):
            assert sum(len(batch) for batch in loader) == 100


@pytest.mark.usefixtures("no_threads_left")
def test_leaving_the_loop_ends_the_threads() -> None:
    for loader in made_in_many_ways():
        for _ in loader:
            break
        assert sum(len(batch) for batch in loader) == 100


@pytest.mark.usefixtures("no_threads_left")
def test_an_exception_in_the_loop_ends_the_threads() -> None:
    def fail(loader: Any) -> None:
        for batch in loader:
            raise LookupError(batch)

    for loader in made_in_many_ways():
        with pytest.raises(LookupError):
            fail(loader)


@pytest.mark.usefixtures("no_threads_left")
def test_a_failed_batch_ends_the_threads() -> None:
    class Failing:
        def __len__(self) -> int:
            return 9

        def __getitem__(self, index: int) -> int:
            raise LookupError(index)

    with pytest.raises(LookupError):
        list(PyTorchDataLoader(Failing(), num_workers=2))


class Broken(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> int:
        if index == 5:
            raise ValueError("five")
        return index


@pytest.mark.parametrize("options", [{}, {"worker_init_fn": lambda number: None}])
def test_what_was_raised_does_not_keep_the_iteration_alive(options: dict[str, Any]) -> None:
    gc.disable()
    try:
        batches = iter(PyTorchDataLoader(Broken(), 2, num_workers=2, **options))
        alive = weakref.ref(batches)
        try:
            for _ in batches:
                pass
        except ValueError:
            pass
        del batches
        assert wait_until(lambda: alive() is None)  # without a collection
    finally:
        gc.enable()


def test_garbage_in_a_cycle_is_collected_without_waiting_for_workers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for loader in made_in_many_ways():
        batches = iter(loader)
        next(batches)
        cycle: list[Any] = [batches]
        cycle.append(cycle)
        del batches, cycle
        gc.collect()
    assert "abandoned" not in caplog.text


@pytest.mark.usefixtures("no_threads_left")
def test_two_loops_at_once_do_not_disturb_each_other() -> None:
    for loader in made_in_many_ways():
        pairs = list(zip(loader, loader, strict=True))
        if loader.in_order:
            assert all(torch.equal(a, b) for a, b in pairs)
        assert len(pairs) == 50


@pytest.mark.usefixtures("no_threads_left")
def test_loaders_and_datasets_are_freed() -> None:
    class Data(list):
        pass

    for options in ({}, {"worker_init_fn": print}, {"persistent_workers": True}):
        data = Data(range(20))
        alive = weakref.ref(data)
        options = options | {"worker_init_fn": lambda number: None} if options else {}
        loader = PyTorchDataLoader(data, 2, num_workers=2, **options)
        batches = iter(loader)
        next(batches)
        del data, loader, batches
        assert wait_until(lambda alive=alive: gc.collect() is not None and alive() is None)


def test_stats_show_the_stages() -> None:
    batches = iter(PyTorchDataLoader(range(20), 2, num_workers=2))
    next(batches)
    assert [stage.name.split(":")[-1] for stage in batches.stats()] == ["src", "fetch[2]", "sink"]
    assert iter(PyTorchDataLoader(range(20))).stats() == []


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=False
    )


ENDINGS = {
    "in the middle of a loop": "next(batches)",
    "with slow samples under way": "next(batches); pause = 0.2; next(batches)",
}
OPTIONS = {
    "threads": "num_workers=2",
    "threads with worker_init_fn": "num_workers=2, worker_init_fn=do_nothing",
    "threads that persist": "num_workers=2, persistent_workers=True",
    "processes": "num_workers=2, executor='process'",
    "processes that persist": "num_workers=2, executor='process', persistent_workers=True",
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_can_end_at_any_time(options: str, ending: str) -> None:
    code = f"""
import time
from penstock.dataloader import PyTorchDataLoader

pause = 0
def do_nothing(number): pass

class Data:
    def __len__(self): return 1000
    def __getitem__(self, index):
        time.sleep(pause)
        return index

loader = PyTorchDataLoader(Data(), batch_size=2, {OPTIONS[options]})
batches = iter(loader)
{ENDINGS[ending]}
"""
    ended = run(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_loops_that_end_before_their_threads_have_begun() -> None:
    code = """
import time
from penstock.dataloader import PyTorchDataLoader

def begin_slowly(number): time.sleep(0.002 * number)

for turn in range(200):
    loader = PyTorchDataLoader(range(9), num_workers=5, worker_init_fn=begin_slowly)
    batches = iter(loader)
    if turn % 3 == 0:
        next(batches)
    del batches
"""
    ended = run(code)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_forked_child_is_told_and_can_make_its_own() -> None:
    code = """
import os
from penstock.dataloader import PyTorchDataLoader

batches = iter(PyTorchDataLoader(range(100), batch_size=2, num_workers=2))
next(batches)
child = os.fork()
if child == 0:
    try:
        for _ in batches: pass
        os._exit(1)
    except RuntimeError as error:
        assert "parent process" in str(error)
    assert len(list(PyTorchDataLoader(range(10), num_workers=2))) == 10
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert len(list(batches)) == 49
"""
    ended = run(code)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_while_waiting_is_raised_at_once() -> None:
    code = """
import os, signal, threading, time
from penstock.dataloader import PyTorchDataLoader

gate = threading.Event()
class Data:
    def __len__(self): return 4
    def __getitem__(self, index):
        gate.wait()
        return index

batches = iter(PyTorchDataLoader(Data(), num_workers=1))
try:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    next(batches)
except KeyboardInterrupt:
    gate.set()
print(len(list(batches)))
"""
    ended = run(code)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("4\n", "", 0)


def test_threads_have_names_that_tell() -> None:
    names: set[str] = set()

    def init(number: int) -> None:
        names.add(threading.current_thread().name)

    list(PyTorchDataLoader(range(4), num_workers=2, worker_init_fn=init))
    assert names == {"penstock-worker_0", "penstock-worker_1"}
