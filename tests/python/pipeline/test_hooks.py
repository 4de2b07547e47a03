"""Hooks, queues and background tasks: what they are told, and how often. What they may do to items
and failures is compared with the reference in test_differential.py."""

import asyncio
import logging
import os
import threading
import time
from contextlib import asynccontextmanager

import numpy as np
import pytest
from penstock import io, ops
from penstock.pipeline import (
    AsyncQueue,
    BackgroundTask,
    PipelineBuilder,
    PipelineFailure,
    ProcessGroupStatsMonitor,
    StatsQueue,
    TaskHook,
    TaskStatsHook,
    build_pipeline,
    config,
)
from penstock.pipeline._times import Times
from penstock.pipeline.defs import Pipe, PipelineConfig, SinkConfig, SourceConfig


def nap(x):
    time.sleep(0.01)
    return x


def drain(builder, **options):
    pipeline = builder.add_sink().build(num_threads=2, **options)
    with pipeline.auto_stop():
        return list(pipeline.get_iterator(timeout=30))


class Quiet(TaskHook):
    @asynccontextmanager
    async def task_hook(self, input_item=None):
        yield


def test_task_statistics_are_true():
    found = []

    class Hook(TaskStatsHook):
        def _log_stats(self, stats):
            found.append(stats)

    builder = PipelineBuilder().add_source(range(20)).pipe(nap)
    begun = time.monotonic()
    drain(builder, task_hook_factory=lambda info: [Hook(info)])
    took = time.monotonic() - begun
    (stats,) = found
    assert (stats.num_tasks, stats.num_failures) == (20, 0)
    assert 0.01 <= stats.ave_time <= took / 20  # one after the other
    assert 0.009 <= stats.p90_time <= stats.p99_time < 1.1 * took


def test_they_are_reported_at_intervals_and_add_up():
    laps = []

    class Hook(TaskStatsHook):
        async def interval_stats_callback(self, stats):
            laps.append(stats.num_tasks)

    class Queue(StatsQueue):
        def __init__(self, info, *, buffer_size=1):
            super().__init__(info, buffer_size=buffer_size, interval=0.05)

        async def interval_stats_callback(self, stats):
            waits.append(stats)

    waits = []
    builder = PipelineBuilder().add_source(range(30)).pipe(nap)
    drain(builder, queue_class=Queue, task_hook_factory=lambda info: [Hook(info, interval=0.05)])
    assert len(laps) >= 2
    assert 0 < sum(laps) <= 30
    assert len(waits) >= 2
    assert all(0 <= one.occupancy_rate <= 1 and one.elapsed > 0 for one in waits)
    assert any(one.qps > 0 for one in waits)


def test_a_report_that_fails_is_logged_and_harms_nobody(caplog):
    class Hook(TaskStatsHook):
        async def interval_stats_callback(self, stats):
            raise OSError("no network")

    builder = PipelineBuilder().add_source(range(10)).pipe(nap)
    out = drain(builder, task_hook_factory=lambda info: [Hook(info, interval=0.02)])
    assert out == list(range(10))
    assert "A periodic report failed." in caplog.text


def test_the_usual_classes_log_their_lines(caplog):
    caplog.set_level(logging.INFO, "penstock.pipeline")
    builder = PipelineBuilder().add_source(range(5)).pipe(abs)
    drain(builder, queue_class=StatsQueue, task_hook_factory=lambda info: [TaskStatsHook(info)])
    assert "abs]\tCompleted     5 tasks (  0 failed). Ave task time: " in caplog.text
    assert "src_queue]\tProcessed     " in caplog.text
    assert "Occupancy rate: " in caplog.text


def test_a_native_pipeline_logs_its_table_at_the_end(caplog):
    caplog.set_level(logging.INFO, "penstock.pipeline")
    drain(PipelineBuilder().add_source(range(5)).pipe(abs))
    (record,) = caplog.records
    assert record.message.startswith("The pipeline has ended.\nstage ")
    assert ":1:abs " in record.message


def test_percentiles_are_close():
    times = Times()
    for i in range(1, 1001):
        times.add(i / 1000)
    for percent in (50, 90, 99):
        assert times.percentile(percent) == pytest.approx(percent / 100, rel=0.05)
    assert Times().percentile(99) == Times().mean == 0


@pytest.mark.parametrize("queue", [None, AsyncQueue], ids=["native", "loop"])
def test_statistics_on_the_loop(queue):
    def odd(x):
        if x == 5:
            raise ValueError
        return x if x % 2 else None

    builder = PipelineBuilder().add_source(range(100)).pipe(odd, concurrency=2, name="odd")
    pipeline = builder.add_sink(7).build(
        queue_class=queue, task_hook_factory=lambda info: [Quiet()]
    )
    with pipeline.auto_stop():
        assert len(list(pipeline)) == 49
        source, stage, sink = pipeline.stats()
    assert (source.items_out, stage.items_in, stage.items_out) == (100, 100, 49)
    assert (stage.failures, stage.dropped, stage.tasks, stage.concurrency) == (1, 50, 100, 2)
    assert stage.p99 >= stage.p50 > 0
    assert sink.items_in == 49
    assert 0 <= sink.readiness <= 1
    assert "odd[2]" in str(pipeline)


def test_only_stages_with_hooks_leave_the_native_engine():
    def hooks(info):
        return [Quiet()] if info.stage_name == "b" else []

    builder = PipelineBuilder().add_source(range(9)).pipe(nap, name="a").pipe(nap, name="b")
    builder = builder.pipe(nap, name="c").aggregate(2)
    pipeline = builder.add_sink().build(num_threads=2, task_hook_factory=hooks)
    with pipeline.auto_stop():
        assert len(list(pipeline)) == 5
    assert len(pipeline._run._loop._stages) == 1


def test_calls_with_and_without_hooks_share_the_threads():
    changed = threading.Condition()
    threads, running, most = 0, 0, 0

    def count(x):
        nonlocal running, most
        with changed:
            running += 1
            most = max(most, running)
            changed.notify_all()
            changed.wait_for(lambda: most >= threads, 20)
        time.sleep(0.001)  # more may come
        with changed:
            running -= 1
        return x

    def hooks(info):
        return [Quiet()] if info.stage_name == "b" else []

    for threads in (1, 3):
        running, most = 0, 0
        builder = PipelineBuilder().add_source(range(60))
        for name in "abc":
            builder.pipe(count, name=name, concurrency=4)
        pipeline = builder.add_sink().build(num_threads=threads, task_hook_factory=hooks)
        with pipeline.auto_stop():
            assert sorted(pipeline.get_iterator(timeout=30)) == list(range(60))
        assert most == threads


def test_hooks_around_a_native_op():
    seen = []

    class Hook(Quiet):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            seen.append(type(input_item))
            yield

    def hooks(info):
        return [Hook()] if info.stage_name == "decode" else []

    file = io.encode_image(np.zeros((8, 6, 3), np.uint8), "png")
    builder = PipelineBuilder().add_source([file] * 3)
    builder.pipe(ops.decode_image(), name="decode").pipe(ops.resize((4, 4)), name="small")
    pipeline = builder.add_sink().build(task_hook_factory=hooks)
    with pipeline.auto_stop():
        assert [np.asarray(one).shape for one in pipeline] == [(4, 4, 3)] * 3
    assert seen == [bytes] * 3


@pytest.mark.parametrize("queue", [None, AsyncQueue], ids=["native", "loop"])
def test_a_stage_hook_that_fails_when_it_is_stopped_is_raised(queue):
    class Bad(Quiet):
        @asynccontextmanager
        async def stage_hook(self):
            try:
                yield
            finally:
                raise OSError("cannot close")

    builder = PipelineBuilder().add_source(range(1000)).pipe(nap).add_sink()
    pipeline = builder.build(queue_class=queue, task_hook_factory=lambda info: [Bad()])
    with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
        assert pipeline.get_item(timeout=20) == 0
    assert [str(error) for error in info.value.exceptions] == ["cannot close"]


@pytest.mark.parametrize("place", ["begins", "ends", "task"])
@pytest.mark.parametrize("queue", [None, AsyncQueue], ids=["native", "loop"])
def test_a_hook_that_wants_to_end_the_program_ends_the_pipeline(queue, place):
    class Exits(TaskHook):
        @asynccontextmanager
        async def stage_hook(self):
            if place == "begins":
                raise SystemExit(3)
            yield
            if place == "ends":
                raise SystemExit(3)

        @asynccontextmanager
        async def task_hook(self, input_item=None):
            if place == "task":
                raise SystemExit(3)
            yield

    def hooks(info):
        return [Exits()] if info.stage_name == "b" else []

    builder = PipelineBuilder().add_source(range(9)).pipe(nap, name="a").pipe(nap, name="b")
    pipeline = builder.add_sink().build(queue_class=queue, task_hook_factory=hooks)
    with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
        list(pipeline.get_iterator(timeout=20))
    (error,) = info.value.exceptions
    assert isinstance(error.__cause__, SystemExit)


def test_hooks_end_when_the_pipeline_is_stopped_midway():
    log = []

    class Hook(Quiet):
        @asynccontextmanager
        async def stage_hook(self):
            log.append("begins")
            try:
                yield
            finally:
                await asyncio.sleep(0.01)
                log.append("ends")

    class Queue(AsyncQueue):
        @asynccontextmanager
        async def stage_hook(self):
            yield
            log.append("queue ends")

    def endless():
        while True:
            yield 1

    builder = PipelineBuilder().add_source(endless()).pipe(nap).add_sink()
    pipeline = builder.build(queue_class=Queue, task_hook_factory=lambda info: [Hook()])
    with pipeline.auto_stop():
        assert pipeline.get_item(timeout=20) == 1
    assert log == ["begins", "ends"]


def test_default_classes_move_pipelines_to_the_loop_and_back():
    calls = []

    class Hook(TaskStatsHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            calls.append(input_item)
            yield

    config.set_default_hook_class(Hook)
    try:
        assert drain(PipelineBuilder().add_source([1, 2]).pipe(abs)) == [1, 2]
    finally:
        config.set_default_hook_class()
    assert drain(PipelineBuilder().add_source([3]).pipe(abs)) == [3]
    assert calls == [1, 2]


@pytest.mark.parametrize("queue", [None, AsyncQueue], ids=["native", "loop"])
def test_background_tasks_run_and_are_cancelled(queue, caplog):
    log = []

    class Task(BackgroundTask):
        async def run(self):
            log.append("begins")
            try:
                await asyncio.sleep(60)
            finally:
                log.append("cancelled")

    class Broken(BackgroundTask):
        async def run(self):
            raise ValueError("broken")

    def cannot_be_made():
        raise TypeError("no")

    definition = PipelineConfig(SourceConfig([1]), [Pipe(abs)], SinkConfig(1))
    pipeline = build_pipeline(
        definition,
        num_threads=1,
        queue_class=queue,
        background_tasks=[Task, Broken, cannot_be_made],
    )
    with pipeline.auto_stop():
        assert list(pipeline) == [1]
    assert log == ["begins", "cancelled"]
    assert "Failed to start a background task." in caplog.text
    assert "Task [background_task] failed." in caplog.text


def test_the_process_group_is_watched():
    seen = []
    enough = threading.Event()

    async def look(usage):
        seen.append(usage)
        if len(seen) == 2:
            enough.set()

    def wait(x):
        assert enough.wait(20)
        return x

    config.set_default_background_tasks([lambda: ProcessGroupStatsMonitor(look, interval=0.05)])
    try:
        assert drain(PipelineBuilder().add_source([1]).pipe(wait)) == [1]
    finally:
        config.set_default_background_tasks(None)
    first, second = seen[:2]
    assert first.pid == os.getpid()
    assert first.num_procs >= 1
    assert first.rss_bytes > 1 << 20
    assert first.cpu_percent is None
    assert second.cpu_percent >= 0
    assert second.net_rx_bytes is None or second.net_rx_bytes >= 0


@pytest.mark.parametrize("queue", [None, AsyncQueue], ids=["native", "loop"])
def test_a_failure_in_one_path_ends_the_others(queue):
    from penstock.pipeline.defs import PathVariants

    def bad(x):
        raise ValueError("bad")

    paths = [[Pipe(bad, max_failures=0)], [Pipe(nap), Pipe(nap)]]
    definition = PipelineConfig(
        SourceConfig(range(1000)), [PathVariants(lambda x: x % 2, paths)], SinkConfig(1)
    )
    pipeline = build_pipeline(
        definition, queue_class=queue, task_hook_factory=lambda info: [Quiet()]
    )
    with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
        list(pipeline.get_iterator(timeout=20))
    assert "failed 1 times" in str(info.value.exceptions[0])


@pytest.mark.parametrize("queue", [None, AsyncQueue], ids=["native", "loop"])
def test_interrupts_in_ops_and_sources_end_the_pipeline(queue):
    def interrupted(x):
        raise KeyboardInterrupt

    async def interrupted_later(x):
        raise SystemExit

    def source():
        yield 1
        raise KeyboardInterrupt

    one = [1]
    for items, op in ((one, interrupted), (one, interrupted_later), (source(), abs)):
        builder = PipelineBuilder().add_source(items).pipe(op).add_sink()
        pipeline = builder.build(queue_class=queue, task_hook_factory=lambda info: [Quiet()])
        with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
            list(pipeline.get_iterator(timeout=20))
        (error,) = info.value.exceptions
        assert isinstance(error, RuntimeError)
        assert isinstance(error.__cause__, KeyboardInterrupt | SystemExit)


@pytest.mark.parametrize(
    "stage", ["src", "abs", "path_variants_path0", "path_variants_merge", "sink"]
)
@pytest.mark.parametrize("place", ["begins", "ends", "end mark", "get"])
def test_a_queue_that_fails_anywhere_ends_the_pipeline(stage, place):
    from penstock.pipeline import is_eof
    from penstock.pipeline.defs import PathVariants

    class Queue(AsyncQueue):
        def fails(self, where):
            if (self.info.stage_name, where) == (stage, place):
                raise OSError(f"{stage} {place}")

        @asynccontextmanager
        async def stage_hook(self):
            self.fails("begins")
            yield
            self.fails("ends")

        async def put(self, item):
            if is_eof(item):
                self.fails("end mark")
            await super().put(item)

        async def get(self):
            self.fails("get")
            return await super().get()

    paths = PathVariants(lambda x: 0, [[Pipe(repr)]])
    definition = PipelineConfig(SourceConfig(range(9)), [Pipe(abs), paths], SinkConfig(1))
    pipeline = build_pipeline(definition, queue_class=Queue)
    if (stage, place) == ("sink", "end mark"):  # there is none
        with pipeline.auto_stop():
            assert len(list(pipeline.get_iterator(timeout=20))) == 9
        return
    with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
        list(pipeline.get_iterator(timeout=20))
    assert f"{stage} {place}" in [str(error) for error in info.value.exceptions]


@pytest.mark.parametrize("order", ["input", "completion"])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_the_end_passes_a_stage_with_hooks_however_full_the_next_queue_is(order, concurrency):
    async def same(x):
        return x

    def hooks(info):
        return [Quiet()] if info.stage_name == "a" else []

    for _ in range(40):
        builder = PipelineBuilder().add_source(range(50))
        for name in "abc":
            builder.pipe(same, name=name, concurrency=concurrency, output_order=order)
        pipeline = builder.add_sink(2).build(num_threads=1, task_hook_factory=hooks)
        with pipeline.auto_stop():
            assert sorted(pipeline.get_iterator(timeout=20)) == list(range(50))
