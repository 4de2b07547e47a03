"""The same small programs on the reference and here agree: on what comes out, what is dropped, what
is raised where, and what is logged."""

import asyncio
import gc
from contextlib import asynccontextmanager
from fractions import Fraction

import pytest
from both import drain, outcome, package, reference_needed, unlogged
from penstock.pipeline import StatsQueue, config

pytestmark = [
    reference_needed,
    # The reference leaves coroutines behind when a pipeline is built and not started.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


class QueueOfMyOwn(StatsQueue):
    pass


@pytest.mark.parametrize("path", ["native", "loop"])
@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.__name__)
def test_it_behaves_as_in_the_reference(one, path):
    if path == "loop":
        config.set_default_queue_class(QueueOfMyOwn)
    try:
        here = outcome(one, package("penstock"))
    finally:
        config.set_default_queue_class()
    there = outcome(one, package("spdl"))
    gc.collect()
    assert here == there


def built(p, stages, source=range(10), sink=3, **options):
    definition = p.PipelineConfig(p.SourceConfig(source), stages, p.SinkConfig(sink))
    return p.build_pipeline(definition, **{"num_threads": 2, **options})


def odd_fails(x):
    if x % 2:
        raise ValueError(f"odd {x}")
    return x


def always_fails(x):
    raise KeyError(x)


async def odd_fails_later(x):
    await asyncio.sleep(0)
    return odd_fails(x)


def twice(x):
    yield x
    yield x


async def twice_later(x):
    yield x
    await asyncio.sleep(0)
    yield x


# What comes out


@program
def items_pass(p):
    return drain(built(p, [p.Pipe(lambda x: x + 1), p.Pipe(repr)]))


@program
def none_drops(p):
    return drain(built(p, [p.Pipe(lambda x: x if x % 3 else None)]))


@program
def falsy_results_stay(p):
    return drain(built(p, [p.Pipe(lambda x: [0, "", [], False][x])], source=range(4)))


@program
def containers(p):
    return drain(built(p, [p.Pipe({0: "a", 1: "b"}), p.Pipe("ab".index)], source=[1, 0, 1]))


@program
def a_missing_key_is_a_failure(p):
    return drain(built(p, [p.Pipe({0: "a"})], source=[0, 7, 0]))


@program
def generators(p):
    return drain(built(p, [p.Pipe(twice), p.Pipe(twice_later)], source=range(3)))


@program
def a_generator_that_yields_none(p):
    def some(x):
        yield x
        yield None
        yield x + 1

    return drain(built(p, [p.Pipe(some)], source=range(3)))


@program
def a_generator_that_fails_midway(p):
    def some(x):
        yield x
        if x == 1:
            raise ValueError("midway")
        yield x

    return drain(built(p, [p.Pipe(some)], source=range(3)))


@program
def input_order(p):
    def late(x):
        import time

        time.sleep(0.02 if x == 0 else 0)
        return x

    return drain(built(p, [p.Pipe(late, concurrency=2, output_order="input")], source=range(4)))


@program
def aggregate_and_disaggregate(p):
    stages = [p.Aggregate(4), p.Pipe(lambda items: items[::-1]), p.Disaggregate()]
    return drain(built(p, stages))


@program
def drop_last(p):
    return drain(built(p, [p.Aggregate(4, drop_last=True)]))


@program
def an_async_source(p):
    async def items():
        for i in range(4):
            await asyncio.sleep(0)
            yield i

    return drain(built(p, [p.Pipe(repr)], source=items()))


@program
def epochs(p):
    definition = p.PipelineConfig(
        p.SourceConfig(range(5), continuous=True), [p.Aggregate(2)], p.SinkConfig(3)
    )
    pipeline = p.build_pipeline(definition, num_threads=1)
    with pipeline.auto_stop():
        loops = [list(pipeline) for _ in range(3)]
        loops.append([pipeline.get_item(timeout=20) for _ in range(3)])
        try:
            pipeline.get_item(timeout=20)
        except EOFError as error:
            return loops, str(error)


@program
def empty_sources(p):
    return drain(built(p, [p.Pipe(repr), p.Aggregate(2)], source=[]))


@program
def a_second_loop_is_empty(p):
    pipeline = built(p, [], source=range(3))
    with pipeline.auto_stop():
        return list(pipeline), list(pipeline)


# Merges and routers


def part(p, items, *stages):
    return p.PipelineConfig(p.SourceConfig(items), stages, p.SinkConfig(1))


@program
def merges(p):
    merge = p.Merge([part(p, [1, 2], p.Pipe(repr)), part(p, [3]), part(p, [])])
    definition = p.PipelineConfig(merge, [p.Pipe(lambda x: int(x) * 2)], p.SinkConfig(3))
    found = drain(p.build_pipeline(definition, num_threads=2))
    return sorted(found["items"]), found["raised"]


@program
def a_merge_op_in_turn(p):
    async def in_turn(info, inputs, output):
        going = list(inputs)
        while going:
            for queue in list(going):
                item = await queue.get()
                if p.is_eof(item):
                    going.remove(queue)
                else:
                    await output.put(item)

    merge = p.Merge([part(p, "abcd"), part(p, range(2))], op=in_turn)
    definition = p.PipelineConfig(merge, [], p.SinkConfig(3))
    return drain(p.build_pipeline(definition, num_threads=2))


@program
def a_merge_op_that_returns_early(p):
    async def first_three(info, inputs, output):
        for _ in range(3):
            await output.put(await inputs[0].get())

    merge = p.Merge([part(p, range(100)), part(p, range(100))], op=first_three)
    definition = p.PipelineConfig(merge, [p.Pipe(repr)], p.SinkConfig(3))
    return drain(p.build_pipeline(definition, num_threads=2))


@program
def a_merge_op_that_fails(p):
    async def bad(info, inputs, output):
        await output.put(await inputs[0].get())
        raise ValueError("bad merge")

    merge = p.Merge([part(p, range(9))], op=bad)
    return drain(p.build_pipeline(p.PipelineConfig(merge, [], p.SinkConfig(3)), num_threads=2))


@program
def merged_epochs(p):
    def endless(items):
        return p.PipelineConfig(p.SourceConfig(items, continuous=True), [], p.SinkConfig(1))

    definition = p.PipelineConfig(
        p.Merge([endless([1, 2]), endless([3])]), [p.Pipe(repr)], p.SinkConfig(3)
    )
    pipeline = p.build_pipeline(definition, num_threads=2)
    with pipeline.auto_stop():
        return [sorted(pipeline) for _ in range(3)]


@program
def routes(p):
    paths = [[p.Pipe(lambda x: x * 10)], [p.Pipe(lambda x: -x), p.Pipe(lambda x: x - 100)]]
    found = drain(built(p, [p.PathVariants(lambda x: x % 2, paths)]))
    return sorted(found["items"]), found["raised"]


@program
def async_routes(p):
    async def router(x):
        await asyncio.sleep(0)
        return x % 2

    paths = [[p.Pipe(repr)], [p.Pipe(repr), p.Aggregate(2)]]
    found = drain(built(p, [p.PathVariants(router, paths)]))
    return sorted(found["items"], key=str), found["raised"]


@program
def batched_routes(p):
    paths = [
        [p.Pipe(lambda items: [f"even {x}" for x in items])],
        [p.Pipe(lambda items: [f"odd {x}" for x in items if x != 3])],
    ]
    router = p.PathVariants(lambda items: [x % 2 for x in items], paths, batched=True)
    return drain(built(p, [p.Aggregate(3), router]))


@program
def batched_epochs(p):
    paths = [[p.Pipe(lambda items: items)], [p.Pipe(lambda items: [-x for x in items])]]
    router = p.PathVariants(lambda items: [x % 2 for x in items], paths, batched=True)
    definition = p.PipelineConfig(
        p.SourceConfig(range(5), continuous=True), [p.Aggregate(2), router], p.SinkConfig(2)
    )
    pipeline = p.build_pipeline(definition, num_threads=2)
    with pipeline.auto_stop():
        return [list(pipeline) for _ in range(3)]


@program
def a_route_that_does_not_exist(p):
    return drain(built(p, [p.PathVariants(lambda x: 5, [[p.Pipe(repr)]])]))["raised"]


@program
def a_batched_router_with_too_few_answers(p):
    router = p.PathVariants(lambda items: [0], [[p.Pipe(sorted)]], batched=True)
    return drain(built(p, [p.Aggregate(3), router]))


@program
def nested_routes(p):
    inner = p.PathVariants(lambda x: x > 5, [[p.Pipe(lambda x: x)], [p.Pipe(lambda x: x * 10)]])
    outer = p.PathVariants(lambda x: x % 2, [[inner], [p.Pipe(lambda x: -x)]])
    found = drain(built(p, [outer]))
    return sorted(found["items"]), found["raised"]


# Failures


@program
def failures_are_dropped_and_logged(p):
    return drain(built(p, [p.Pipe(odd_fails, name="odd")]))


@program
def failures_in_input_order(p):
    return drain(built(p, [p.Pipe(odd_fails, name="odd", output_order="input")]))


@program
def async_failures(p):
    return drain(built(p, [p.Pipe(odd_fails_later)]))


@program
def a_timeout_is_logged_in_one_line(p):
    def slow(x):
        raise TimeoutError("too slow")

    return drain(built(p, [p.Pipe(slow)], source=[1]))


@program
def too_many_failures(p):
    return drain(built(p, [p.Pipe(odd_fails)], max_failures=1))


@program
@unlogged  # more items are under way there
def too_many_failures_in_input_order(p):
    return drain(built(p, [p.Pipe(odd_fails, output_order="input")], max_failures=1))


@program
def too_many_failures_of_one_stage(p):
    stages = [p.Pipe(odd_fails, max_failures=2), p.Pipe(repr)]
    return drain(built(p, stages))


@program
def a_stage_may_fail_more_than_the_pipeline(p):
    return drain(built(p, [p.Pipe(odd_fails, max_failures=100)], max_failures=0))


@program
def failures_of_all_stages_count_together(p):
    stages = [p.Pipe(lambda x: 1 / x if x == 0 else x, name="a"), p.Pipe(odd_fails, name="b")]
    found = drain(built(p, stages, max_failures=2))
    (failure,) = found["raised"]  # there, stage a notices that b has failed, and fails as well
    return found["items"], [one for one in failure["inside"] if "(N:2:b)" in one["text"]]


@program
def a_rate(p):
    stages = [p.Pipe(odd_fails, max_failures=Fraction(1, 4))]
    return drain(built(p, stages, source=range(300)))


@program
def a_rate_that_is_kept(p):
    stages = [p.Pipe(odd_fails)]
    found = drain(built(p, stages, source=range(300), max_failures=Fraction(1, 2)))
    return len(found["items"]), found["raised"]


@program
def a_failing_source(p):
    def items():
        yield 1
        yield 2
        raise OSError("no more")

    return drain(built(p, [p.Pipe(repr)], source=items()))


@program
def a_failing_async_source(p):
    async def items():
        yield 1
        raise OSError("no more")

    return drain(built(p, [p.Pipe(repr)], source=items()))


@program
def a_failing_aggregator(p):
    class Bad(p.Aggregator):
        def accumulate(self, item):
            if item == 2:
                raise ValueError("full")

        def flush(self):
            return None

        def __repr__(self):
            return "Bad()"

    return drain(built(p, [p.Aggregate(Bad())]))["raised"]


@program
def a_failing_router(p):
    return drain(built(p, [p.PathVariants(always_fails, [[p.Pipe(repr)]])]))


@program
def a_failure_that_nobody_read(p):
    pipeline = built(p, [p.Pipe(always_fails)], max_failures=0)
    pipeline.start()
    import time

    time.sleep(0.3)
    return pipeline.stop()


@program
def what_except_star_sees(p):
    found = []
    try:
        with (pipeline := built(p, [p.Pipe(always_fails)], max_failures=0)).auto_stop():
            list(pipeline)
    except* RuntimeError as group:
        found.append([type(one).__name__ for one in group.exceptions])
    return found


@program
def mixed_sources(p):
    endless = p.PipelineConfig(p.SourceConfig([1], continuous=True), [], p.SinkConfig(1))
    merge = p.Merge([endless, part(p, [2])])
    return p.build_pipeline(p.PipelineConfig(merge, [], p.SinkConfig(1)), num_threads=1)


@program
def limits_that_make_no_sense(p):
    return built(p, [p.Pipe(repr)], max_failures=Fraction(3, 2))


# Hooks


class Recorder:
    """A hook that writes down what it sees. ``fail`` names the place where it raises."""

    def __new__(cls, p, log, fail=None, name="hook"):
        class Hook(p.TaskHook):
            @asynccontextmanager
            async def stage_hook(self):
                log.append(f"{name} stage begins")
                if fail == "stage begins":
                    raise RuntimeError(fail)
                try:
                    yield
                finally:
                    log.append(f"{name} stage ends")
                    if fail == "stage ends":
                        raise RuntimeError(fail)

            @asynccontextmanager
            async def task_hook(self, input_item=None):
                log.append(f"{name} {input_item} begins")
                if fail == "task begins" and input_item == 1:
                    raise RuntimeError(fail)
                try:
                    yield
                except StopAsyncIteration:
                    log.append(f"{name} {input_item} is over")
                    raise
                except Exception as error:
                    log.append(f"{name} {input_item} raised {type(error).__name__}")
                    if fail != "swallow":
                        raise
                else:
                    log.append(f"{name} {input_item} ends")
                    if fail == "task ends" and input_item == 1:
                        raise RuntimeError(fail)

        return Hook()


def hooked(p, stages, fail=None, hooks=1, **options):
    log = []

    def factory(info):
        assert info.stage_name
        return [Recorder(p, log, fail, f"hook{i}") for i in range(hooks)]

    found = drain(built(p, stages, task_hook_factory=factory, **options))
    return found, log


@program
def hooks_see_everything(p):
    return hooked(p, [p.Pipe(odd_fails)], source=range(4))


@program
def several_hooks_are_nested(p):
    return hooked(p, [p.Pipe(odd_fails)], source=range(3), hooks=3)


@program
def hooks_around_generators(p):
    return hooked(p, [p.Pipe(twice)], source=range(2))


@program
def hooks_around_async_generators(p):
    return hooked(p, [p.Pipe(twice_later)], source=range(2))


@program
def hooks_in_input_order(p):
    found, log = hooked(p, [p.Pipe(odd_fails, output_order="input")], source=range(4))
    return found, sorted(log)  # two more items are under way there


@program
def hooks_around_aggregation(p):
    return hooked(p, [p.Aggregate(2)], source=range(3))


@program
def hooks_around_disaggregation(p):
    return hooked(p, [p.Disaggregate()], source=[[1, 2], [3]])


@program
def a_hook_that_fails_before_a_task(p):
    return hooked(p, [p.Pipe(lambda x: x)], "task begins", source=range(3), max_failures=0)


@program
def a_hook_that_fails_after_a_task(p):
    return hooked(p, [p.Pipe(lambda x: x)], "task ends", source=range(3), max_failures=0)


@program
def a_hook_that_fails_in_input_order(p):
    stages = [p.Pipe(lambda x: x, output_order="input")]
    found, log = hooked(p, stages, "task ends", source=range(3), max_failures=0)
    return found, "hook0 1 ends" in log


@program
def a_hook_that_fails_when_the_stage_begins(p):
    return hooked(p, [p.Pipe(lambda x: x)], "stage begins", source=range(3))


@program
def a_hook_that_fails_when_the_stage_ends(p):
    return hooked(p, [p.Pipe(lambda x: x)], "stage ends", source=range(3))


@program
@unlogged  # there, swallowing makes another exception
def a_swallowed_failure_is_still_counted(p):
    return hooked(p, [p.Pipe(always_fails)], "swallow", source=range(3), max_failures=1)[0]


@program
def hooks_with_too_many_failures(p):
    return hooked(p, [p.Pipe(always_fails)], max_failures=0)


@program
def a_stage_hook_that_is_no_context_manager(p):
    class Bad(p.TaskHook):
        def stage_hook(self):
            return None

        def task_hook(self, input_item=None):
            return None

    return built(p, [p.Pipe(repr)], task_hook_factory=lambda info: [Bad()])


@program
def stages_that_get_hooks(p):
    seen = []

    def factory(info):
        seen.append((info.stage_id, info.stage_name, info.concurrency))
        return []

    merge = p.Merge([part(p, [1], p.Pipe(abs))])
    paths = p.PathVariants(lambda x: 0, [[p.Pipe(repr, concurrency=2)]], name="fork")
    stages = [paths, p.Aggregate(2), p.Disaggregate()]
    definition = p.PipelineConfig(merge, stages, p.SinkConfig(1))
    drain(p.build_pipeline(definition, num_threads=1, task_hook_factory=factory))
    return seen


# Queues


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


# Around


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
