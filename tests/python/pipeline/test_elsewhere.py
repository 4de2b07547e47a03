"""Iterables and pipelines in another process, and that nothing outlives either."""

import gc
import os
import random
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest
from patience import wait_until
from penstock.pipeline import (
    SharedMemoryRingBuffer,
    SharedMemorySegmentPool,
    build_pipeline,
    iterate_in_subinterpreter,
    iterate_in_subprocess,
    run_pipeline_in_subinterpreter,
    run_pipeline_in_subprocess,
)
from penstock.pipeline.defs import (
    MAIN_PROCESS,
    Aggregate,
    Pipe,
    PipelineConfig,
    PlacementConfig,
    SinkConfig,
    SourceConfig,
)

STARTS = ["fork", "spawn", "forkserver"]


def files():
    return len(os.listdir("/proc/self/fd"))


def children():
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.fixture
def nothing_is_left():
    resource_tracker.ensure_running()  # a process that multiprocessing keeps to the end
    before = files(), children()
    yield
    gc.collect()
    assert wait_until(lambda: children() <= before[1])
    assert wait_until(lambda: files() <= before[0])


class Numbers:
    def __init__(self, n, fail_at=None):
        self.n, self.fail_at = n, fail_at

    def __iter__(self):
        for i in range(self.n):
            if i == self.fail_at:
                raise ValueError(f"no {i}")
            yield i


def arrays(shapes):
    for i, shape in enumerate(shapes):
        yield {"x": np.full(shape, i, np.float32), "name": f"n{i}", "pid": os.getpid()}


def counting(log):
    for i in range(100):
        with open(log, "a") as file:
            file.write(f"{i}\n")
        yield i


def slow(seconds):
    time.sleep(seconds)
    yield 1


def refuse():
    raise OSError("refused")


def unpicklable():
    yield 1
    yield lambda: 2


def die():
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("nothing_is_left")
class TestIterate:
    @pytest.mark.parametrize("start", STARTS[:2])
    def test_items_come_in_order_and_again(self, start):
        numbers = iterate_in_subprocess(partial(Numbers, 5), mp_context=start)
        assert [list(numbers) for _ in range(3)] == [[0, 1, 2, 3, 4]] * 3

    def test_it_is_another_process_and_always_the_same(self):
        items = iterate_in_subprocess(partial(_Pids, 2))
        pids = {*items, *items}
        assert len(pids) == 1
        assert os.getpid() not in pids

    def test_a_loop_that_is_left_is_begun_anew(self):
        numbers = iterate_in_subprocess(partial(Numbers, 50))
        for item in numbers:
            if item == 3:
                break
        assert list(numbers) == list(range(50))

    def test_a_generator_can_be_iterated_once(self):
        items = iterate_in_subprocess(partial(slow, 0))
        assert list(items) == [1]
        assert list(items) == []

    def test_it_works_ahead_by_the_buffer_and_no_more(self, tmp_path):
        log = tmp_path / "log"
        items = iter(iterate_in_subprocess(partial(counting, log), buffer_size=3))
        assert next(items) == 0
        assert wait_until(lambda: len(log.read_text().split()) >= 4)
        time.sleep(0.2)
        assert len(log.read_text().split()) <= 5

    @pytest.mark.parametrize("shape", [(), (3,), (5000,), (1 << 20,), (0, 4)])
    def test_arrays_arrive_whole_and_can_be_written(self, shape):
        items = iterate_in_subprocess(partial(arrays, [shape] * 4))
        for i, item in enumerate(items):
            assert item["x"].dtype == np.float32
            assert item["x"].shape == shape
            assert (item["x"] == i).all()
            item["x"][...] = 7
            assert item["name"] == f"n{i}"

    def test_arrays_stay_valid_after_the_process_is_gone(self):
        got = list(iterate_in_subprocess(partial(arrays, [(100_000,)] * 5)))
        gc.collect()
        assert [float(one["x"].mean()) for one in got] == [0, 1, 2, 3, 4]

    def test_large_bytes_and_odd_layouts(self):
        items = [
            b"x" * 1_000_000,
            np.arange(60_000).reshape(200, 300).T,
            np.arange(60_000)[::2],
            [np.ones(10_000), {"a": np.zeros((100, 100), order="F")}],
        ]
        got = list(iterate_in_subprocess(partial(iter, items), mp_context="fork"))
        assert got[0] == items[0]
        assert (got[1] == items[1]).all()
        assert (got[2] == items[2]).all()
        assert got[3][1]["a"].flags.f_contiguous

    def test_tensors_travel_as_arrays_do(self):
        torch = pytest.importorskip("torch")
        items = [
            torch.arange(100_000).reshape(100, 1000),
            torch.ones(5, dtype=torch.bfloat16),
            torch.zeros(3, 4).T,
            torch.ones(20_000, requires_grad=True),
        ]
        got = list(iterate_in_subprocess(partial(iter, items), mp_context="fork"))
        for one, other in zip(got, items, strict=True):
            assert one.dtype == other.dtype
            assert torch.equal(one, other)
            assert one.requires_grad == other.requires_grad

    def test_initializers_run_first(self):
        initializers = [partial(os.environ.__setitem__, "PENSTOCK_TEST", "yes")]
        items = iterate_in_subprocess(partial(_Environment), initializer=initializers)
        assert list(items) == ["yes"]
        assert "PENSTOCK_TEST" not in os.environ

    @pytest.mark.parametrize(
        ("fn", "options", "text"),
        [
            (refuse, {}, "quit. Failed to create the iterable: refused"),
            (partial(Numbers, 1), {"initializer": refuse}, "quit. Initializer failed: refused"),
        ],
    )
    def test_what_fails_at_the_start_is_raised_there(self, fn, options, text):
        with pytest.raises(RuntimeError, match=text):
            iterate_in_subprocess(fn, **options)

    @pytest.mark.parametrize(
        ("fn", "options", "before", "text"),
        [
            (partial(Numbers, 9, 2), {}, [0, 1], "quit. Failed to fetch the next item: no 2"),
            (partial(int, 7), {}, [], "quit. Failed to create the iterator: 'int' object is not"),
            (unpicklable, {}, [1], "Failed to fetch the next item: .*local object .unpicklable"),
            (partial(slow, 9), {"timeout": 0.3}, [], "did not produce any data for"),
            (die, {}, [1], "exited unexpectedly"),
        ],
    )
    def test_what_fails_on_the_way_is_raised_and_ends_it(self, fn, options, before, text):
        items = iterate_in_subprocess(fn, **options)
        got = []
        with pytest.raises(RuntimeError, match=text):
            got.extend(items)
        assert got == before
        with pytest.raises(RuntimeError, match="Cannot iterate again"):
            list(items)

    @pytest.mark.parametrize(
        "arena", [SharedMemoryRingBuffer(1 << 20), SharedMemorySegmentPool(1 << 20, 4)]
    )
    def test_arenas_are_accepted(self, arena):
        items = iterate_in_subprocess(partial(arrays, [(10_000,)]), arena=arena)
        assert [one["x"].shape for one in items] == [(10_000,)]


class _Pids:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter([os.getpid()] * self.n)


class _Environment:
    def __iter__(self):
        yield os.environ["PENSTOCK_TEST"]


def double(x):
    return 2 * x


def with_pid(x):
    return x, os.getpid()


def draw(x):
    return random.random()


def definition(n=6, *stages, continuous=False):
    stages = stages or (Pipe(double), Aggregate(4))
    return PipelineConfig(SourceConfig(range(n), continuous=continuous), stages, SinkConfig(2))


@pytest.mark.usefixtures("nothing_is_left")
class TestPipelines:
    @pytest.mark.parametrize("start", STARTS[:2])
    def test_each_loop_is_an_epoch(self, start):
        items = run_pipeline_in_subprocess(definition(), num_threads=2, mp_context=start)
        assert [list(items) for _ in range(2)] == [[[0, 2, 4, 6], [8, 10]]] * 2

    def test_a_continuous_one_is_built_once(self):
        items = run_pipeline_in_subprocess(definition(continuous=True), num_threads=1)
        assert [list(items) for _ in range(3)] == [[[0, 2, 4, 6], [8, 10]]] * 3

    @pytest.mark.parametrize("start", STARTS[:2])
    def test_process_pools_are_reused_over_epochs(self, start):
        pool = ProcessPoolExecutor(1)
        config = definition(4, Pipe(with_pid, executor=pool))
        items = run_pipeline_in_subprocess(config, num_threads=2, mp_context=start)
        epochs = [list(items) for _ in range(3)]
        assert [[x for x, _ in epoch] for epoch in epochs] == [[0, 1, 2, 3]] * 3
        assert len({pid for epoch in epochs for _, pid in epoch}) == 1

    def test_an_executor_that_was_used_is_refused(self):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
            with pytest.raises(ValueError, match="freshly constructed executor"):
                run_pipeline_in_subprocess(definition(1, Pipe(double, executor=pool)))

    def test_random_generators_begin_as_they_are_here(self):
        random.seed(3)
        state = random.getstate()
        here = [random.random() for _ in range(3)]
        random.setstate(state)
        config = definition(3, Pipe(draw))
        items = run_pipeline_in_subprocess(config, num_threads=1, mp_context="spawn")
        assert list(items) == here

    def test_a_failure_there_is_raised_here(self):
        config = definition(3, Pipe(refuse_item))
        items = run_pipeline_in_subprocess(config, num_threads=1, max_failures=0)
        with pytest.raises(RuntimeError, match="pipeline stages failed"):
            list(items)

    def test_a_builder_is_taken_with_a_warning(self):
        from penstock.pipeline import PipelineBuilder

        builder = PipelineBuilder().add_source([1]).pipe(double).add_sink()
        with pytest.warns(UserWarning, match="get_config"):
            items = run_pipeline_in_subprocess(builder)
        assert list(items) == [2]


def refuse_item(x):
    raise OSError("refused")


@pytest.mark.parametrize(
    "call",
    [
        iterate_in_subinterpreter,
        run_pipeline_in_subinterpreter,
        lambda: build_pipeline(definition(1, PlacementConfig(MAIN_PROCESS))),
    ],
)
def test_what_is_not_there_says_so(call):
    with pytest.raises(NotImplementedError, match="process"):
        call()
