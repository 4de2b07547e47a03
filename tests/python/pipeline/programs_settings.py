"""Queues, and settings for all pipelines."""

import asyncio
import time
from contextlib import asynccontextmanager

import pytest
from both import built, drain, odd_fails, program, unlogged


@program
def queues_see_everything(p):
    log = []

    class Queue(p.AsyncQueue):
        def __init__(self, info, *, buffer_size=1):
            super().__init__(info, buffer_size=buffer_size)
            log.append(("made", info.stage_name, buffer_size))

        async def put(self, item):
            log.append(("put", self.info.stage_name, "EOF" if p.is_eof(item) else item))
            await super().put(item)

        @asynccontextmanager
        async def stage_hook(self):
            log.append(("begins", self.info.stage_name))
            yield
            log.append(("ends", self.info.stage_name))

    found = drain(built(p, [p.Pipe(repr)], source=range(3), queue_class=Queue))
    return found, sorted(log, key=str)


@program
def counts_of_the_usual_hook_and_queue(p):
    seen = []

    class Hook(p.TaskStatsHook):
        def _log_stats(self, stats):
            seen.append((self.info.stage_name, stats.num_tasks, stats.num_failures))
            assert stats.ave_time > 0
            assert 0 < stats.p90_time <= stats.p99_time

    class Queue(p.StatsQueue):
        def _log_stats(self, stats):
            seen.append((self.info.stage_name, "queue"))
            assert 0 <= stats.num_items <= 11
            assert 0 <= stats.occupancy_rate <= 1
            assert stats.elapsed > 0

    drain(
        built(
            p,
            [p.Pipe(odd_fails)],
            sink=20,
            queue_class=Queue,
            task_hook_factory=lambda info: [Hook(info)],
        )
    )
    return [one for one in seen if one[0] != "sink"]


@program
def a_queue_that_fails(p):
    class Queue(p.AsyncQueue):
        async def put(self, item):
            if item == 2 and self.info.stage_name == "abs":
                raise OSError("cannot put")
            await super().put(item)

    return drain(built(p, [p.Pipe(abs)], source=range(4), queue_class=Queue))


@program
def build_callbacks(p):
    seen = []
    p.set_default_build_callback(lambda definition: seen.append(definition.sink.buffer_size))
    try:
        built(p, [p.Pipe(repr)], sink=7)
    finally:
        p.set_default_build_callback(None)
    return seen, p.get_default_build_callback()


@program
def a_build_callback_that_fails(p):
    def callback(definition):
        raise ValueError

    p.set_default_build_callback(callback)
    try:
        return drain(built(p, [p.Pipe(abs)]))
    finally:
        p.set_default_build_callback(None)


@program
def default_hooks(p):
    made = []

    class Hook(p.TaskStatsHook):
        def __init__(self, info, interval=-1):
            super().__init__(info, interval)
            made.append((info.stage_name, interval))

    p.set_default_hook_class(Hook)
    try:
        found = drain(built(p, [p.Pipe(abs)], report_stats_interval=5))
        return found, made, p.get_default_hook_class() is Hook
    finally:
        p.set_default_hook_class()


@program
@unlogged  # logged twice there
def background_tasks(p):
    log = []

    class Task(p.BackgroundTask):
        async def run(self):
            log.append("begins")
            try:
                await asyncio.sleep(60)
            finally:
                log.append("cancelled")

    class Broken(p.BackgroundTask):
        async def run(self):
            raise ValueError("broken")

    tasks = [Task, Broken]
    found = drain(built(p, [p.Pipe(abs)], background_tasks=tasks))
    return found["items"], found["raised"], log


@program
def create_task_logs_failures(p):
    async def bad():
        raise ValueError("bad")

    async def main():
        return await asyncio.gather(p.create_task(bad(), name="mine"), return_exceptions=True)

    return [repr(one) for one in asyncio.run(main())]


@program
def compact_logs(p):
    p.set_compact_log(True)
    try:
        return drain(built(p, [p.Pipe(odd_fails)], source=[1]))
    finally:
        p.set_compact_log(None)


@program
def starting_twice(p):
    pipeline = built(p, [])
    pipeline.start()
    try:
        with pytest.raises(RuntimeError, match="already started"):
            pipeline.start()
    finally:
        pipeline.stop()


@program
def names_of_configs(p):
    stages = [p.Pipe(abs), p.Pipe(odd_fails, name="mine"), p.Aggregate(2), p.Disaggregate()]
    return [stage.name for stage in stages], repr(stages[2]), repr(stages[3])


@program
def create_task_holds_back_what_is_repeated(p):
    async def bad():
        raise ValueError("bad")

    async def main():
        for i in range(9):
            options = {"suppression_threshold": 3, "suppression_warning_interval": 4}
            task = p.create_task(bad(), name=f"task{i}", suppress_repeated_logs=True, **options)
            await asyncio.wait([task])

    asyncio.run(main())


@program
def create_task_and_cancelled_tasks(p):
    async def main():
        for log in (True, False):
            task = p.create_task(asyncio.sleep(60), name=f"nap {log}", log_cancelled=log)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(main())


@program
def statistics_as_values(p):
    numbers = [0.1 * i for i in range(9)]
    queue = p.QueuePerfStats(2.0, 10, *numbers[:7])
    task = p.TaskPerfStats(3, 1, 0.1, 0.2, 0.3)
    info = p.StageInfo(1, "2", "name", 4)
    return queue.qps, vars(queue), vars(task), str(info), str(p.StageInfo(1, "2", "name"))


@program
def intervals_of_hooks_and_queues(p):
    tasks, queues = [], []

    class Hook(p.TaskStatsHook):
        async def interval_stats_callback(self, stats):
            tasks.append(stats.num_tasks)

        def _log_stats(self, stats):
            tasks.append(("all", stats.num_tasks, stats.num_failures))

    class Queue(p.StatsQueue):
        async def interval_stats_callback(self, stats):
            queues.append((self.info.stage_name, sorted(vars(stats))))

    def queue(info, *, buffer_size=1):
        return Queue(info, buffer_size=buffer_size, interval=0.05)

    def nap(x):
        time.sleep(0.03)
        return odd_fails(x)

    options = {"queue_class": queue, "task_hook_factory": lambda info: [Hook(info, 0.1)]}
    found = drain(built(p, [p.Pipe(nap)], **options))
    laps = [one for one in tasks if isinstance(one, int)]
    assert laps
    assert sum(laps) <= 10
    return found["items"], tasks[-1], sorted({name for name, _ in queues}), queues[0][1]
