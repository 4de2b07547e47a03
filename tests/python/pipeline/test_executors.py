"""Executors that stages share by priority, in threads and in processes."""

import os
import pickle
import threading
import time
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from concurrent.futures.thread import BrokenThreadPool

import pytest
from penstock.pipeline import (
    PipelineBuilder,
    PriorityExecutorEntrypoint,
    PriorityInterpreterPoolExecutor,
    PriorityProcessPoolExecutor,
    PriorityThreadPoolExecutor,
)

BOTH = [PriorityThreadPoolExecutor, PriorityProcessPoolExecutor]


def double(x):
    return 2 * x


def write(path, word):
    with open(path, "a") as file:
        file.write(word + "\n")


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.005)


def fail():
    raise ValueError("failed there")


def leave():
    os._exit(3)


@pytest.mark.parametrize("kind", BOTH)
def test_the_more_urgent_go_first_and_equals_in_turn(kind, tmp_path):
    gate, log = tmp_path / "gate", tmp_path / "log"
    with kind(1) as pool:
        early, late = pool.get_executor(), pool.get_executor()
        urgent = pool.get_executor(priority=100)
        urgent.submit(wait_for, gate)
        time.sleep(0.05)
        for i in range(3):
            early.submit(write, log, f"early {i}")
        for i in range(2):
            late.submit(write, log, f"late {i}")
        last = urgent.submit(write, log, "urgent")
        gate.touch()
        last.result(20)
    words = log.read_text().splitlines()
    assert words == ["urgent", "late 0", "late 1", "early 0", "early 1", "early 2"]


@pytest.mark.parametrize("kind", BOTH)
def test_stages_share_it(kind):
    with kind(2) as pool:
        builder = PipelineBuilder().add_source(range(20))
        for _ in range(3):
            builder.pipe(double, executor=pool.get_executor(), concurrency=2, output_order="input")
        pipeline = builder.add_sink().build(num_threads=1)
        with pipeline.auto_stop():
            assert list(pipeline.get_iterator(timeout=30)) == [8 * i for i in range(20)]


def twice(x):
    yield x
    yield x


@pytest.mark.parametrize("kind", BOTH)
def test_generators_run_in_it(kind):
    with kind(1) as pool:
        builder = PipelineBuilder().add_source([1, 2]).pipe(twice, executor=pool.get_executor())
        pipeline = builder.add_sink().build(num_threads=1)
        with pipeline.auto_stop():
            assert list(pipeline.get_iterator(timeout=30)) == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", BOTH)
def test_exceptions_and_shutdown(kind):
    pool = kind(1)
    entry = pool.get_executor()
    assert isinstance(entry, PriorityExecutorEntrypoint)
    with pytest.raises(ValueError, match="failed there"):
        entry.submit(fail).result(20)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        entry.submit(double, 1)


@pytest.mark.parametrize("kind", BOTH)
def test_shutdown_can_cancel_what_waits_or_leave_it_to_finish(kind, tmp_path):
    for cancel in (True, False):
        pool, gate = kind(1), tmp_path / f"gate{cancel}"
        entry = pool.get_executor()
        first, second = entry.submit(wait_for, gate), entry.submit(double, 4)
        time.sleep(0.1)
        pool.shutdown(wait=False, cancel_futures=cancel)
        gate.touch()
        assert first.result(20) is None
        if cancel:
            with pytest.raises(CancelledError):
                second.result(20)
        else:
            assert second.result(20) == 8


@pytest.mark.parametrize("kind", BOTH)
def test_an_entry_finds_its_executor_after_pickling(kind):
    with kind(1) as pool:
        entry = pickle.loads(pickle.dumps(pool.get_executor()))
        assert entry._owner is pool
        assert entry.submit(double, 3).result(20) == 6
        assert pickle.loads(pickle.dumps(pool)) is pool


def pid_by(entry):
    return os.getpid(), entry.submit(double, 5).result(20)


def test_in_another_process_it_is_made_anew():
    with PriorityThreadPoolExecutor(1) as pool, ProcessPoolExecutor(1) as processes:
        pid, result = processes.submit(pid_by, pool.get_executor()).result(30)
    assert pid != os.getpid()
    assert result == 10


def test_an_initializer_that_fails_breaks_the_pool():
    pool = PriorityThreadPoolExecutor(1, initializer=fail)
    entry = pool.get_executor()
    with pytest.raises(BrokenThreadPool):
        entry.submit(double, 1).result(20)
    with pytest.raises(BrokenThreadPool):
        entry.submit(double, 1)


def test_a_process_that_dies_breaks_the_pool():
    with PriorityProcessPoolExecutor(1) as pool, pytest.raises(BrokenProcessPool):
        pool.get_executor().submit(leave).result(30)


def test_threads_are_named_initialized_and_gone_after_shutdown():
    ready = []
    pool = PriorityThreadPoolExecutor(
        2, thread_name_prefix="mine", initializer=ready.append, initargs=(1,)
    )
    name = pool.get_executor().submit(lambda: threading.current_thread().name).result(20)
    assert name == "mine_0"
    assert ready == [1]
    pool.shutdown()
    assert not [one for one in threading.enumerate() if one.name.startswith("mine")]


def test_interpreters_are_not_there():
    with pytest.raises(NotImplementedError, match="PriorityThreadPoolExecutor"):
        PriorityInterpreterPoolExecutor(2)
