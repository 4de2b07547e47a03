"""Hooks on some stages only, and hooks where several things come together: limits, epochs, paths,
failures elsewhere, the end before the end."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from fractions import Fraction

from both import always_fails, built, drain, odd_fails, part, program, twice, unlogged
from programs_hooks import Recorder


def only(p, log, *stages, fail=None, hooks=1):
    """Hooks for stages of these names."""

    def factory(info):
        if info.stage_name not in stages:
            return []
        return [Recorder(p, log, fail, f"{info.stage_name}{i}") for i in range(hooks)]

    return factory


def run(p, stages, *names, fail=None, hooks=1, **options):
    log = []
    found = drain(
        built(p, stages, task_hook_factory=only(p, log, *names, fail=fail, hooks=hooks), **options)
    )
    return found, log


@program
def hooks_in_the_middle(p):
    stages = [p.Pipe(abs), p.Pipe(odd_fails, name="odd"), p.Pipe(repr)]
    return run(p, stages, "odd", source=range(5))


@program
def hooks_at_both_ends(p):
    stages = [p.Pipe(abs, name="a"), p.Pipe(twice, name="b"), p.Pipe(repr, name="c")]
    found, log = run(p, stages, "a", "c", source=range(3))
    return found, [one for one in log if one[0] == "a"], [one for one in log if one[0] == "c"]


@program
def failures_with_and_without_hooks_count_together(p):
    def not_two(x):
        if x == 2:
            raise ValueError("two")
        return x

    stages = [p.Pipe(not_two, name="a"), p.Pipe(odd_fails, name="b")]
    return run(p, stages, "b", source=[2, 2, 4, 5], max_failures=2)


@program
def a_limit_of_a_stage_with_hooks(p):
    stages = [p.Pipe(odd_fails, name="odd", max_failures=1), p.Pipe(repr)]
    return run(p, stages, "odd", source=range(6))[0]


@program
def a_rate_with_hooks(p):
    stages = [p.Pipe(odd_fails, name="odd", max_failures=Fraction(1, 4)), p.Pipe(repr)]
    found, log = run(p, stages, "odd", source=range(300))
    return found, len(log)


@program
def a_rate_that_hooks_do_not_count_for(p):
    def factory(info):
        class Bad(p.TaskHook):
            @asynccontextmanager
            async def task_hook(self, input_item=None):
                if input_item % 2:
                    raise ValueError("before")
                yield

        return [Bad()]

    stages = [p.Pipe(lambda x: 1 // (x % 10), name="a")]
    options = {"source": range(300), "max_failures": Fraction(1, 5)}
    return drain(built(p, stages, task_hook_factory=factory, **options))


def midway(x):
    yield x
    if x % 2:
        raise ValueError(f"odd {x}")
    yield x


@program
def a_rate_counts_the_steps_of_a_generator(p):
    stages = [p.Pipe(midway, max_failures=Fraction(1, 5))]
    return drain(built(p, stages, source=range(200)))


@program
def a_rate_that_a_generator_keeps(p):
    stages = [p.Pipe(midway, max_failures=Fraction(1, 4))]
    found = drain(built(p, stages, source=range(200)))
    return len(found["items"]), found["raised"]


@program
def a_rate_counts_the_steps_of_a_generator_with_hooks(p):
    stages = [p.Pipe(midway, name="midway", max_failures=Fraction(1, 5))]
    found, log = run(p, stages, "midway", source=range(200))
    return found, len(log)


@program
def a_rate_does_not_count_routers(p):
    paths = [[p.Pipe(odd_fails, name="odd")]]
    stages = [p.PathVariants(lambda x: 0, paths)]
    return drain(built(p, stages, source=range(300), max_failures=Fraction(2, 5)))


@program
def hooks_around_a_router(p):
    paths = [[p.Pipe(lambda x: x * 10)], [p.Pipe(lambda x: -x)]]
    fork = p.PathVariants(lambda x: x % 2, paths, name="fork")
    found, log = run(p, [fork], "fork", "path_variants_merge", source=range(6))
    return sorted(found["items"]), found["raised"], sorted(log)


@program
def hooks_inside_a_path(p):
    paths = [[p.Pipe(odd_fails, name="odd")], [p.Pipe(lambda x: -x)]]
    found, log = run(p, [p.PathVariants(lambda x: x > 3, paths)], "odd", source=range(8))
    return sorted(found["items"]), found["raised"], log


@program
def hooks_around_a_router_that_fails(p):
    fork = p.PathVariants(always_fails, [[p.Pipe(repr)]], name="fork")
    return run(p, [fork], "fork", source=range(3))


@program
def hooks_around_an_async_router(p):
    async def router(x):
        await asyncio.sleep(0)
        return x % 2

    paths = [[p.Pipe(lambda x: x * 10)], [p.Pipe(lambda x: -x)]]
    found, log = run(p, [p.PathVariants(router, paths, name="fork")], "fork", source=range(6))
    return sorted(found["items"]), found["raised"], log


@program
def hooks_around_a_merge(p):
    log = []
    merge = p.Merge([part(p, [1, 2], p.Pipe(abs, name="a")), part(p, [3])])
    definition = p.PipelineConfig(merge, [p.Pipe(lambda x: 2 * x)], p.SinkConfig(3))
    factory = only(p, log, "merge", "a")
    found = drain(p.build_pipeline(definition, num_threads=2, task_hook_factory=factory))
    mine = [one for one in log if one.startswith("merge")]
    return sorted(found["items"]), found["raised"], mine, len(log)


def epochs(p, stages, *names):
    log = []
    definition = p.PipelineConfig(
        p.SourceConfig(range(3), continuous=True), stages, p.SinkConfig(20)
    )
    factory = only(p, log, *names)
    pipeline = p.build_pipeline(definition, num_threads=1, task_hook_factory=factory)
    with pipeline.auto_stop():
        found = [list(pipeline) for _ in range(2)]
        seen = [one for one in log if "stage" in one]
    return found, seen, [one for one in log if "stage" in one]


@program
def hooks_over_epochs(p):
    return epochs(p, [p.Pipe(repr), p.Aggregate(2)], "repr")


@program
def hooks_around_aggregation_over_epochs(p):
    return epochs(p, [p.Aggregate(2)], "aggregate(op=collate(2), drop_last=False)")


@program
def hooks_around_aggregation_that_drops_the_last_over_epochs(p):
    return epochs(p, [p.Aggregate(2, drop_last=True)], "aggregate(op=collate(2), drop_last=True)")


@program
def hooks_around_aggregation_that_drops_the_last(p):
    stage = p.Aggregate(2, drop_last=True)
    return run(p, [stage], stage.name, source=range(5))


@program
def a_hook_that_fails_around_aggregation(p):
    stage = p.Aggregate(2)
    return run(p, [stage], stage.name, fail="task ends", source=range(5))


@program
def a_hook_that_fails_around_disaggregation(p):
    log = []

    class Bad(p.TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            log.append(str(input_item))
            if input_item == [3]:
                raise ValueError("three")
            yield

    factory = lambda info: [Bad()]  # noqa: E731
    stages = [p.Disaggregate()]
    return drain(built(p, stages, source=[[1, 2], [3], [4]], task_hook_factory=factory)), log


@program
def a_stage_hook_that_fails_in_the_middle(p):
    stages = [p.Pipe(abs), p.Pipe(lambda x: x, name="mid"), p.Pipe(repr)]
    found, log = run(p, stages, "mid", fail="stage begins", source=range(100))
    return found, log


@program
def a_stage_hook_that_fails_at_the_end_in_the_middle(p):
    stages = [p.Pipe(abs), p.Pipe(lambda x: x, name="mid"), p.Pipe(repr)]
    return run(p, stages, "mid", fail="stage ends", source=range(4))


@program
def a_stage_hook_that_fails_before_there_is_an_item(p):
    def slow():
        time.sleep(0.3)
        yield 1

    return run(p, [p.Pipe(abs, name="a")], "a", fail="stage begins", source=slow())


@program
def hooks_before_a_stage_that_fails(p):
    stages = [p.Pipe(abs, name="a"), p.Pipe(always_fails, max_failures=0)]
    found, log = run(p, stages, "a", source=range(100))
    return found, log[0], log[-1]


@program
def hooks_behind_a_stage_that_fails(p):
    stages = [p.Pipe(odd_fails, max_failures=0), p.Pipe(abs, name="a")]
    return run(p, stages, "a", source=range(100))


@program
def hooks_and_the_stop_before_the_end(p):
    log = []
    stages = [p.Pipe(abs, name="a"), p.Pipe(lambda x: x, name="b")]
    pipeline = built(p, stages, source=range(1000), task_hook_factory=only(p, log, "a"))
    with pipeline.auto_stop():
        first = pipeline.get_item(timeout=20)
    return first, log[0], log[-1]


@program
def a_hook_that_fails_inside_another(p):
    log = []

    class Bad(p.TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            if input_item == 1:
                raise ValueError("inner")
            yield
            if input_item == 2:
                raise ValueError("inner, after")

    def factory(info):
        return [Recorder(p, log, None, "outer"), Bad(), Recorder(p, log, None, "inner")]

    return drain(built(p, [p.Pipe(abs)], source=range(4), task_hook_factory=factory)), log


@program
def a_hook_that_raises_something_else(p):
    class Other(p.TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            try:
                yield
            except ValueError as error:
                raise KeyError("mine") from error

    factory = lambda info: [Other()]  # noqa: E731
    stages = [p.Pipe(odd_fails, name="odd")]
    return drain(built(p, stages, task_hook_factory=factory, max_failures=3))


@program
def a_hook_that_ends_tasks_that_take_too_long(p):
    class Limit(p.TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            async with asyncio.timeout(0.2 if input_item == 1 else 30):
                yield

    async def nap(x):
        await asyncio.sleep(30 if x == 1 else 0)
        return x

    factory = lambda info: [Limit()]  # noqa: E731
    return drain(built(p, [p.Pipe(nap)], source=range(3), task_hook_factory=factory))


@program
def a_hook_that_ends_calls_that_take_too_long(p):
    over = threading.Event()  # a call goes on; at the end nothing waits for it in vain

    class Limit(p.TaskHook):
        @asynccontextmanager
        async def task_hook(self, input_item=None):
            try:
                async with asyncio.timeout(0.2 if input_item == 1 else 30):
                    yield
            finally:
                if input_item == 1:
                    over.set()

    def nap(x):
        if x == 1:
            over.wait(30)
        return x

    factory = lambda info: [Limit()]  # noqa: E731
    return drain(built(p, [p.Pipe(nap)], source=range(3), task_hook_factory=factory))


@program
def a_task_group_in_a_stage_hook(p):
    log = []

    class Beside(p.TaskHook):
        @asynccontextmanager
        async def stage_hook(self):
            over = asyncio.Event()

            async def beside():
                await over.wait()
                log.append("beside")

            async with asyncio.TaskGroup() as group:
                group.create_task(beside())
                yield
                over.set()
            log.append("all")

        @asynccontextmanager
        async def task_hook(self, input_item=None):
            yield

    factory = lambda info: [Beside()]  # noqa: E731
    return drain(built(p, [p.Pipe(abs)], task_hook_factory=factory)), log


@program
def hooks_around_an_executor(p):
    with ThreadPoolExecutor(2) as pool:
        stages = [p.Pipe(odd_fails, name="odd", executor=pool), p.Pipe(repr)]
        return run(p, stages, "odd", source=range(4))


@program
def hooks_around_a_container(p):
    return run(p, [p.Pipe({0: "a", 2: "c"}, name="table")], "table", source=range(3))


@program
def hooks_around_none(p):
    stages = [p.Pipe(lambda x: None if x == 1 else x, name="some")]
    return run(p, stages, "some", source=range(3))


@program
@unlogged  # two more items are under way there
def hooks_in_input_order_with_too_many_failures(p):
    odd = p.Pipe(odd_fails, name="odd", output_order="input", max_failures=1)
    return run(p, [odd, p.Pipe(repr)], "odd", source=range(9))[0]


@program
def several_hooks_at_several_stages(p):
    stages = [p.Pipe(abs, name="a"), p.Pipe(odd_fails, name="b"), p.Aggregate(2)]
    found, log = run(p, stages, "a", "b", hooks=2, source=range(4))
    return found, [one for one in log if one[0] == "a"], [one for one in log if one[0] == "b"]
