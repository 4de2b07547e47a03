"""The life of a pipeline: every way to leave one, and nothing is left behind."""

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections import Counter

import pytest
from patience import wait_until
from penstock.pipeline import PipelineBuilder
from penstock.pipeline.defs import Aggregator, Pipe


def endless(**options):
    def items():
        i = 0
        while True:
            yield i
            i += 1

    builder = PipelineBuilder().add_source(items()).pipe(lambda x: x, concurrency=2).add_sink(3)
    return builder.build(num_threads=2, **options)


def our_threads():
    names = [thread.name for thread in threading.enumerate()]
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except FileNotFoundError:
            pass
    return [name for name in names if name.startswith("penstock")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = Counter(our_threads())  # loaders of other tests share threads that stay
    yield
    gc.collect()
    # Less, where one of another test has ended meanwhile.
    assert wait_until(lambda: not Counter(our_threads()) - before), our_threads()


def script(text, timeout=50):
    """Runs a program of its own; gives its result and how long it took."""
    begun = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return result, time.monotonic() - begun


def test_breaking_out_of_the_loop():
    pipeline = endless()
    with pipeline.auto_stop():
        for item in pipeline:
            if item == 10:
                break
        assert next(iter(pipeline)) == 11  # a new loop goes on with the next item


def test_an_exception_in_the_loop():
    def consume(pipeline):
        with pipeline.auto_stop():
            for item in pipeline:
                1 / (item - 5)

    with pytest.raises(ZeroDivisionError):
        consume(endless())


def test_del_without_stop():
    pipeline = endless()
    pipeline.start()
    pipeline.get_item(timeout=20)
    assert our_threads()
    del pipeline


def test_an_iterator_keeps_its_pipeline():
    items = iter(endless())
    assert [next(items) for _ in range(3)] == [0, 1, 2]


def test_starting_and_stopping_twice():
    pipeline = endless()
    pipeline.stop()  # before start: nothing
    pipeline.start()
    with pytest.raises(RuntimeError, match="already started"):
        pipeline.start()
    pipeline.stop()
    pipeline.stop()
    with pytest.raises(RuntimeError, match="already started"):
        pipeline.start()


def test_a_second_iteration_is_empty_and_get_item_says_eof():
    pipeline = PipelineBuilder().add_source(range(3)).add_sink().build()
    with pipeline.auto_stop():
        assert list(pipeline) == [0, 1, 2]
        assert list(pipeline) == []
        with pytest.raises(EOFError, match="Reached the end of the pipeline"):
            pipeline.get_item()


def test_what_waits_at_the_sink_can_be_read_after_stop():
    pipeline = PipelineBuilder().add_source(range(3)).add_sink(5).build()
    with pipeline.auto_stop():
        assert pipeline.get_item(timeout=20) == 0
        assert wait_until(lambda: pipeline.stats()[0].items_out == 3)
    assert list(pipeline) == [1, 2]
    with pytest.raises(EOFError):
        pipeline.get_item()


def test_a_timeout_loses_nothing():
    gate = threading.Event()

    def wait(x):
        gate.wait(20)
        return x

    pipeline = PipelineBuilder().add_source(range(2)).pipe(wait).add_sink().build()
    with pipeline.auto_stop():
        with pytest.raises(TimeoutError, match=r"not available after 0\.05 sec"):
            pipeline.get_item(timeout=0.05)
        items = pipeline.get_iterator(timeout=0.05)
        with pytest.raises(TimeoutError):
            next(items)
        gate.set()
        got = []
        while len(got) < 2:
            with contextlib.suppress(TimeoutError):
                got.append(next(items))
        assert got == [0, 1]


def test_stopping_with_full_queues_waits_for_nobody():
    for _ in range(20):
        pipeline = endless()
        pipeline.start()
        pipeline.get_item(timeout=20)
        begun = time.monotonic()
        pipeline.stop(timeout=1000)
        assert time.monotonic() - begun < 30


def with_op(function):
    return PipelineBuilder().add_source([7]).pipe(function, name="sleeper")


def with_aggregator(function):
    class Sleeper(Aggregator):
        def accumulate(self, item):
            return function(item)

        def flush(self):
            return None

        def __repr__(self):
            return "sleeper"

    return PipelineBuilder().add_source([7]).aggregate(Sleeper())


def with_router(function):
    paths = [[Pipe(str)], [Pipe(str)]]
    return PipelineBuilder().add_source([7]).path_variants(function, paths, name="sleeper")


@pytest.mark.parametrize("stage", [with_op, with_aggregator, with_router])
def test_a_long_call_is_abandoned_and_named(stage, caplog):
    entered, done = threading.Event(), threading.Event()

    def sleep(x):
        entered.set()
        done.wait(20)
        return 0

    pipeline = stage(sleep).add_sink().build()
    pipeline.start()
    assert entered.wait(20)
    begun = time.monotonic()
    pipeline.stop(timeout=0.1)
    assert time.monotonic() - begun < 15
    assert any(
        "sleeper" in record.message and record.message.endswith(" on 7")
        for record in caplog.records
    )
    done.set()


def test_async_stages_are_cancelled():
    script_text = """
        import asyncio, time
        from penstock.pipeline import PipelineBuilder
        begun, cancelled = [], []
        async def op(x):
            begun.append(x)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.append(x)
                raise
        p = PipelineBuilder().add_source(range(9)).pipe(op, concurrency=4).add_sink().build()
        p.start()
        while len(begun) < 4:
            time.sleep(0.01)
        p.stop(timeout=1000)
        assert sorted(cancelled) == begun == [0, 1, 2, 3], cancelled
    """
    result, took = script(script_text)
    assert result.returncode == 0, result.stderr
    assert took < 30


def test_interpreter_exit_with_a_running_pipeline():
    result, took = script("""
        from penstock.pipeline import PipelineBuilder
        import itertools
        p = PipelineBuilder().add_source(itertools.count()).pipe(lambda x: x).add_sink().build()
        print(p.get_item())
    """)
    assert (result.returncode, result.stdout, result.stderr) == (0, "0\n", "")
    assert took < 30


@pytest.mark.parametrize("where", ["op", "source", "async"])
def test_exit_does_not_wait_for_a_function_that_sleeps_for_a_minute(where):
    result, took = script(f"""
        import asyncio, time
        from penstock.pipeline import PipelineBuilder
        def items():
            yield 0
            if {where!r} == "source":
                time.sleep(60)
            yield 1
        def op(x):
            if {where!r} == "op" and x == 1:
                time.sleep(60)
            return x
        async def later(x):
            if {where!r} == "async" and x == 1:
                await asyncio.sleep(60)
            return x
        p = PipelineBuilder().add_source(items()).pipe(op).pipe(later).add_sink().build()
        assert p.get_item() == 0
        time.sleep(0.2)
    """)
    assert result.returncode == 0, result.stderr
    assert took < 30


@pytest.mark.parametrize("where", ["op", "source", "background"])
def test_neither_start_nor_exit_waits_for_async_code_that_blocks_its_loop(where):
    result, took = script(f"""
        import time
        from penstock.pipeline import BackgroundTask, PipelineBuilder
        from penstock.pipeline.config import set_default_background_tasks
        class Blocks(BackgroundTask):
            async def run(self):
                time.sleep(60)
        async def items():
            if {where!r} == "source":
                time.sleep(60)
            yield 0
        async def op(x):
            if {where!r} == "op":
                time.sleep(60)
            return x
        factories = [Blocks] if {where!r} == "background" else []
        builder = PipelineBuilder().add_source(items()).pipe(op, concurrency=4).add_sink()
        set_default_background_tasks(factories)
        p = builder.build()
        p.start()
        time.sleep(0.2)
    """)
    assert result.returncode == 0, result.stderr
    assert took < 30


def test_ctrl_c_while_waiting_is_answered_and_the_pipeline_goes_on():
    result, _ = script("""
        import os, signal, threading, time
        from penstock.pipeline import PipelineBuilder
        go = threading.Event()
        def wait(x):
            go.wait(25)
            return x
        p = PipelineBuilder().add_source(range(3)).pipe(wait).add_sink().build()
        with p.auto_stop():
            try:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                p.get_item()
                assert False, "it was not interrupted"
            except KeyboardInterrupt:
                assert not go.is_set()
            go.set()
            assert list(p) == [0, 1, 2]
    """)
    assert result.returncode == 0, result.stderr


def test_ctrl_c_ends_a_program():
    program = textwrap.dedent("""
        import time
        from penstock.pipeline import PipelineBuilder
        def slow(x):
            time.sleep(0.01)
            return x
        p = PipelineBuilder().add_source(iter(int, 1)).pipe(slow).add_sink().build()
        with p.auto_stop():
            print("running", flush=True)
            for _ in p:
                pass
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "running\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode in (1, -signal.SIGINT, 130)
    assert "KeyboardInterrupt" in stderr
    assert "Fatal" not in stderr


def test_fork_while_running():
    result, _ = script("""
        import os, sys
        from penstock.pipeline import PipelineBuilder
        def make():
            return PipelineBuilder().add_source(iter(int, 1)).pipe(lambda x: x).add_sink().build()
        p = make()
        p.start()
        p.get_item()
        child = os.fork()
        if child == 0:
            try:
                p.get_item()
            except RuntimeError as error:
                assert "belongs to the parent process" in str(error)
            else:
                os._exit(1)
            p.stop()
            mine = make()  # a new pipeline works in the child
            assert mine.get_item() == 0
            mine.stop()
            del p
            sys.exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
        assert p.get_item() == 0
        p.stop()
    """)
    assert result.returncode == 0, result.stderr


def test_fork_between_build_and_start():
    result, _ = script("""
        import os
        from penstock.pipeline import PipelineBuilder
        def make():
            return PipelineBuilder().add_source(range(5)).pipe(lambda x: x).add_sink().build()
        p = make()
        child = os.fork()
        if child == 0:
            try:
                p.start()
            except RuntimeError as error:
                assert "Build a new pipeline in the child" in str(error)
                with (mine := make()).auto_stop():
                    assert list(mine) == [0, 1, 2, 3, 4]
                os._exit(0)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0, status
        with p.auto_stop():
            assert list(p) == [0, 1, 2, 3, 4]
    """)
    assert result.returncode == 0, result.stderr


def test_a_consumer_that_comes_back_late_finds_everything_in_order():
    """Longer than anything waits in the engine: an hour is no different from then on."""
    pipeline = PipelineBuilder().add_source(range(1000)).pipe(lambda x: x).add_sink(3).build()
    with pipeline.auto_stop():
        assert pipeline.get_item(timeout=20) == 0
        time.sleep(2)
        assert list(pipeline) == list(range(1, 1000))


def test_a_thousand_pipelines_leave_no_thread_and_no_file():
    def files():
        return len(os.listdir("/proc/self/fd"))

    before = files()
    for i in range(300):
        pipeline = endless()
        pipeline.start()
        for _ in range(i % 4):
            pipeline.get_item(timeout=20)
        if i % 2:
            pipeline.stop()
        del pipeline
    gc.collect()
    assert wait_until(lambda: files() <= before + 1)


@pytest.mark.parametrize("started", [False, True, "in a loop"])
def test_a_cycle_through_an_op_is_collected(started):
    class Loader:
        def __init__(self):
            builder = PipelineBuilder().add_source(range(5)).pipe(self.op)
            self.pipeline = builder.add_sink().build()

        def op(self, x):
            return x

    loader = Loader()
    if started == "in a loop":
        loader.items = iter(loader.pipeline)
        assert next(loader.items) == 0
    elif started:
        assert loader.pipeline.get_item(timeout=20) == 0
    gone = weakref.ref(loader)
    del loader
    # While a call is under way it has its loader.
    assert wait_until(lambda: gc.collect() is not None and gone() is None)


@pytest.mark.parametrize("sink", [3, 16, 64])
def test_what_waited_at_the_sink_can_be_read_after_stop_without_a_gap(sink):
    pipeline = PipelineBuilder().add_source(range(100_000)).pipe(lambda x: x).add_sink(sink)
    pipeline = pipeline.build(num_threads=1)
    pipeline.start()
    got = [pipeline.get_item(timeout=30) for _ in range(501)]
    while pipeline.stats()[-1].queue_size == 0:
        time.sleep(0.001)
    pipeline.stop()
    with contextlib.suppress(EOFError):
        while True:
            got.append(pipeline.get_item(timeout=30))
    assert len(got) > 501
    assert got == list(range(len(got)))


def test_two_threads_share_a_pipeline_and_nothing_is_lost():
    pipeline = PipelineBuilder().add_source(range(50_000)).pipe(lambda x: x).add_sink(64)
    pipeline = pipeline.build(num_threads=1)
    got = [[], []]

    def consume(place):
        with contextlib.suppress(EOFError):
            while True:
                got[place].append(pipeline.get_item(timeout=30))

    with pipeline.auto_stop():
        threads = [threading.Thread(target=consume, args=(place,)) for place in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(got[0] + got[1]) == list(range(50_000))


@pytest.mark.parametrize("timeout", [0, 1e-9, 1e-6])
def test_polling_gets_everything_although_a_quick_source_blocks(timeout):
    block = threading.Event()

    def numbers():
        yield from range(500)
        block.wait(60)

    async def wait(x):
        await asyncio.sleep(0.05 if x >= 497 else 0)
        return x

    pipeline = (
        PipelineBuilder()
        .add_source(numbers())
        .pipe(wait, concurrency=4)
        .pipe(lambda x: x)
        .add_sink(8)
        .build(num_threads=2)
    )
    got = []
    with pipeline.auto_stop():
        deadline = time.monotonic() + 30
        while len(got) < 500 and time.monotonic() < deadline:
            try:
                got.append(pipeline.get_item(timeout=timeout))
            except TimeoutError:
                time.sleep(0.0005)
        block.set()
    assert sorted(got) == list(range(500))
