"""The life of pipelines with queues of the user's, on the event loop as a whole, and of those with
hooks, on it in part: every way to leave one, and nothing is left behind."""

import gc
import os
import threading
import time
from collections import Counter

import pytest
from patience import wait_until
from penstock.pipeline import AsyncQueue, PipelineBuilder, TaskStatsHook
from test_life import script


@pytest.fixture(params=["queues", "hooks"])
def options(request):
    if request.param == "queues":
        return {"queue_class": AsyncQueue}
    return {"task_hook_factory": lambda info: [TaskStatsHook(info)]}


# The same for scripts.
OPTIONS = [
    "queue_class=AsyncQueue",
    "task_hook_factory=lambda info: [TaskStatsHook(info)]",
]


def endless(options, op=lambda x: x, sink=3):
    def items():
        i = 0
        while True:
            yield i
            i += 1

    builder = PipelineBuilder().add_source(items())
    builder.pipe(op, concurrency=2, output_order="input").add_sink(sink)
    return builder.build(num_threads=2, **options)


def our_threads():
    return [one.name for one in threading.enumerate() if one.name.startswith("penstock")]


def our_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def nothing_is_left():
    threads, files = Counter(our_threads()), our_files()
    yield
    gc.collect()
    # What was abandoned ends in its own time, and closes its files after Python has forgotten it.
    assert wait_until(lambda: not Counter(our_threads()) - threads), our_threads()
    assert wait_until(lambda: our_files() <= files)


def test_leaving_the_loop_and_coming_back(options):
    pipeline = endless(options)
    with pipeline.auto_stop():
        for item in pipeline:
            if item == 10:
                break
        assert pipeline.get_item(timeout=20) == 11


def test_del_without_stop(options):
    pipeline = endless(options)
    assert pipeline.get_item(timeout=20) == 0
    assert our_threads()
    del pipeline


def test_what_waits_at_the_sink_can_be_read_after_stop(options):
    pipeline = endless(options, sink=5)
    pipeline.start()
    got = [pipeline.get_item(timeout=20)]
    assert wait_until(lambda: pipeline.stats()[-1].queue_size >= 5)
    pipeline.stop()
    got += list(pipeline)
    assert len(set(got)) == len(got) >= 6
    with pytest.raises(EOFError):
        pipeline.get_item()


def test_a_timeout_loses_nothing(options):
    gate = threading.Event()

    def wait(x):
        gate.wait(20)
        return x

    builder = PipelineBuilder().add_source(range(3)).pipe(wait).add_sink()
    pipeline = builder.build(**options)
    with pipeline.auto_stop():
        for timeout in (0, 0.05):
            with pytest.raises(TimeoutError, match="not available"):
                pipeline.get_item(timeout=timeout)
        gate.set()
        assert list(pipeline.get_iterator(timeout=20)) == [0, 1, 2]


def test_a_long_call_is_abandoned_and_named(options, caplog):
    called, done = threading.Event(), threading.Event()

    def sleeper(x):
        called.set()
        done.wait(20)
        return x

    pipeline = endless(options, sleeper)
    pipeline.start()
    assert called.wait(20)
    begun = time.monotonic()
    pipeline.stop(timeout=0.1)
    assert time.monotonic() - begun < 15
    assert "sleeper[2] on " in caplog.text
    assert " on 0" in caplog.text  # and perhaps on 1, before it or after
    done.set()


def test_many_pipelines_leave_nothing(options):
    for _ in range(50):
        pipeline = endless(options)
        with pipeline.auto_stop():
            assert pipeline.get_item(timeout=20) == 0


def test_two_threads_read_everything_once(options):
    builder = PipelineBuilder().add_source(range(2000)).pipe(lambda x: x).add_sink(8)
    pipeline = builder.build(**options)
    got = [[], []]
    with pipeline.auto_stop():
        readers = [threading.Thread(target=lambda i=i: got[i].extend(pipeline)) for i in (0, 1)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert sorted(got[0] + got[1]) == list(range(2000))


def read_twice(pipeline, got):
    got.extend(pipeline)
    got.extend(pipeline)


def test_who_asks_after_the_end_leaves_the_others_their_mark(options):
    for _ in range(30):
        pipeline = PipelineBuilder().add_source(range(3)).pipe(abs).add_sink(8).build(**options)
        got = []
        with pipeline.auto_stop():
            readers = [threading.Thread(target=read_twice, args=(pipeline, got)) for _ in range(3)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
        assert sorted(got) == [0, 1, 2]


@pytest.mark.parametrize("given", OPTIONS, ids=["queues", "hooks"])
def test_the_parents_pipeline_says_so_in_a_forked_child(given):
    result, _ = script(
        """
        import os
        from penstock.pipeline import AsyncQueue, PipelineBuilder, TaskStatsHook
        builder = PipelineBuilder().add_source(range(9)).pipe(abs).add_sink(1)
        pipeline = builder.build(GIVEN)
        with pipeline.auto_stop():
            pipeline.get_item()
            child = os.fork()
            if child == 0:
                try:
                    pipeline.get_item(timeout=1)
                except RuntimeError as error:
                    os._exit(7 if "belongs to the parent" in str(error) else 1)
                os._exit(2)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            print(list(pipeline))
    """.replace("GIVEN", given)
    )
    assert result.stdout.split("\n")[:2] == ["7", "[1, 2, 3, 4, 5, 6, 7, 8]"], result.stderr


@pytest.mark.parametrize("given", OPTIONS, ids=["queues", "hooks"])
def test_exit_does_not_wait_for_functions_that_sleep(given):
    result, took = script(
        """
        import time
        from penstock.pipeline import AsyncQueue, PipelineBuilder, TaskStatsHook
        def nap(x):
            time.sleep(60)
        def items():
            yield 1
            time.sleep(60)
        builder = PipelineBuilder().add_source(items()).pipe(nap).add_sink()
        pipeline = builder.build(GIVEN)
        pipeline.start()
        time.sleep(0.2)
    """.replace("GIVEN", given)
    )
    assert result.returncode == 0, result.stderr
    assert took < 30


@pytest.mark.parametrize("given", OPTIONS, ids=["queues", "hooks"])
def test_ctrl_c_while_waiting_is_answered(given):
    result, _ = script(
        """
        import os, signal, threading, time
        from penstock.pipeline import AsyncQueue, PipelineBuilder, TaskStatsHook
        gate = threading.Event()
        def wait(x):
            gate.wait(20)
            return x
        builder = PipelineBuilder().add_source(range(3)).pipe(wait).add_sink()
        pipeline = builder.build(GIVEN)
        with pipeline.auto_stop():
            try:
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
                pipeline.get_item()
            except KeyboardInterrupt:
                print("answered")
            gate.set()
            print(list(pipeline))
    """.replace("GIVEN", given)
    )
    assert result.stdout.split("\n")[:2] == ["answered", "[0, 1, 2]"], result.stderr
