"""Hooks: what they see, and what becomes of items when they fail."""

from contextlib import asynccontextmanager

from both import always_fails, built, drain, odd_fails, part, program, twice, twice_later, unlogged


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
