"""Executors that stages share by priority, in threads and in processes."""

import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
from concurrent.futures import CancelledError, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from concurrent.futures.thread import BrokenThreadPool

import numpy as np
import pytest
from patience import wait_until
from penstock.pipeline import (
    PipelineBuilder,
    PriorityExecutorEntrypoint,
    PriorityInterpreterPoolExecutor,
    PriorityProcessPoolExecutor,
    PriorityThreadPoolExecutor,
)
from test_life import script

BOTH = [PriorityThreadPoolExecutor, PriorityProcessPoolExecutor]


def double(x):
    return 2 * x


def write(path, word):
    with open(path, "a") as file:
        file.write(word + "\n")


def wait_for(path):
    path.with_suffix(".waiting").touch()
    while not path.exists():
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
        assert wait_until(gate.with_suffix(".waiting").exists)
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
        assert wait_until(gate.with_suffix(".waiting").exists)
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


def memory_files():
    with open("/proc/self/maps") as maps:
        return sum("/memfd:penstock" in line for line in maps)


def add_one(array):
    return array + 1, memory_files()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_arrays_cross_to_processes_and_back_in_memory_without_a_name(method):
    array = np.arange(1 << 20, dtype=np.float32)
    gc.collect()
    before = memory_files()
    with PriorityProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        entry = pool.get_executor()
        result, there = entry.submit(add_one, array).result(50)
        assert there >= 1
        assert memory_files() > before
        assert (result == array + 1).all()
        result += 1  # it is ours
        assert entry.submit(len, b"x" * (3 << 20)).result(50) == 3 << 20
    assert result[-1] == array[-1] + 2
    del result
    assert wait_until(lambda: memory_files() <= before)


def first_half(tensor):
    return tensor[: len(tensor) // 2]


def test_tensors_cross_as_well():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(1 << 19)
    with PriorityProcessPoolExecutor(1) as pool:
        result = pool.get_executor().submit(first_half, tensor).result(50)
    assert torch.equal(result, tensor[: 1 << 18])


def pid_of(x):
    return os.getpid()


def test_a_process_serves_as_many_calls_as_it_may():
    with PriorityProcessPoolExecutor(1, max_tasks_per_child=2) as pool:
        entry = pool.get_executor()
        pids = [entry.submit(pid_of, i).result(50) for i in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    context = multiprocessing.get_context("fork")
    with pytest.raises(ValueError, match="incompatible with the 'fork'"):
        PriorityProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=2)


class Stubborn(Exception):
    def __reduce__(self):
        raise TypeError("it does not pickle")


def raise_stubborn():
    raise Stubborn("no")


def make_lambda():
    return lambda: 1


def test_exceptions_of_processes_say_where_and_what_does_not_pickle_harms_nobody():
    with PriorityProcessPoolExecutor(1) as pool:
        entry = pool.get_executor()
        with pytest.raises(ValueError, match="failed there") as info:
            entry.submit(fail).result(20)
        assert "in fail" in str(info.value.__cause__)
        with pytest.raises(RuntimeError, match="Stubborn: no"):
            entry.submit(raise_stubborn).result(20)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            entry.submit(make_lambda).result(20)
        with pytest.raises((AttributeError, pickle.PicklingError)):
            entry.submit(lambda: 1).result(20)
        assert entry.submit(double, 2).result(20) == 4


def note(value):
    os.environ["PENSTOCK_TEST_NOTE"] = value


def noted():
    return os.environ["PENSTOCK_TEST_NOTE"]


def test_initializers_of_processes():
    with PriorityProcessPoolExecutor(2, initializer=note, initargs=("ready",)) as pool:
        assert pool.get_executor().submit(noted).result(20) == "ready"
    with (
        PriorityProcessPoolExecutor(1, initializer=fail) as pool,
        pytest.raises(BrokenProcessPool),
    ):
        pool.get_executor().submit(double, 1).result(20)


def test_a_killed_process_fails_all_calls_and_the_others_end(tmp_path):
    pool = PriorityProcessPoolExecutor(2)
    entry = pool.get_executor()
    pids = {entry.submit(pid_of, i).result(20) for i in range(8)}
    waiting = [entry.submit(wait_for, tmp_path / "never") for _ in range(3)]
    assert wait_until((tmp_path / "never.waiting").exists)
    os.kill(pids.pop(), signal.SIGKILL)
    for one in waiting:
        with pytest.raises(BrokenProcessPool):
            one.result(30)
    with pytest.raises(BrokenProcessPool):
        entry.submit(double, 1)
    pool.shutdown()


def test_processes_end_with_an_executor_that_nobody_shut_down():
    pool = PriorityProcessPoolExecutor(1)
    pid = pool.get_executor().submit(pid_of, 0).result(20)
    del pool
    gc.collect()
    assert wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_program_that_forgets_its_executor_ends():
    result, took = script("""
        import time
        from penstock.pipeline import PriorityProcessPoolExecutor
        pool = PriorityProcessPoolExecutor(2)
        entry = pool.get_executor()
        print(entry.submit(abs, -3).result())
        entry.submit(time.sleep, 60)
        time.sleep(0.2)
    """)
    assert (result.returncode, result.stdout) == (0, "3\n"), result.stderr
    assert took < 20


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
