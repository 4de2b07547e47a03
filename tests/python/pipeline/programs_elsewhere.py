"""Other processes, executors, profiles, definitions as values."""

import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

from both import built, drain, odd_fails, part, program, unlogged


class Numbers:
    def __init__(self, n, fail_at=None):
        self.n, self.fail_at = n, fail_at

    def __iter__(self):
        for i in range(self.n):
            if i == self.fail_at:
                raise ValueError(f"no {i}")
            yield i


def refuse():
    raise OSError("refused")


def text_of(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).partition("(")[0]


@program
def iterating_elsewhere_again_and_again(p):
    numbers = p.iterate_in_subprocess(partial(Numbers, 3), mp_context="fork")
    return [list(numbers) for _ in range(3)]


@program
def leaving_a_loop_elsewhere(p):
    numbers = p.iterate_in_subprocess(partial(Numbers, 20), mp_context="fork")
    first = next(iter(numbers))
    return first, list(numbers)


@program
@unlogged  # the reference has to terminate its process
def failing_elsewhere(p):
    numbers = p.iterate_in_subprocess(partial(Numbers, 5, 2), mp_context="fork")
    got = []
    first = text_of(lambda: got.extend(numbers))
    return first, got, text_of(lambda: list(numbers))


@program
def failing_at_the_start_elsewhere(p):
    return [
        text_of(lambda: p.iterate_in_subprocess(refuse, mp_context="fork")),
        text_of(
            lambda: p.iterate_in_subprocess(
                partial(Numbers, 1), initializer=refuse, mp_context="fork"
            )
        ),
    ]


@program
def initializers_elsewhere(p):
    set_it = partial(os.environ.__setitem__, "PENSTOCK_TEST", "yes")
    items = p.iterate_in_subprocess(partial(_Environment), initializer=[set_it], mp_context="fork")
    return list(items)


class _Environment:
    def __iter__(self):
        yield os.environ.get("PENSTOCK_TEST")


@program
def a_pipeline_elsewhere(p):
    definition = p.PipelineConfig(
        p.SourceConfig(range(6)), [p.Pipe(abs), p.Aggregate(4)], p.SinkConfig(2)
    )
    items = p.run_pipeline_in_subprocess(definition, num_threads=1, mp_context="fork")
    return [list(items) for _ in range(2)]


@program
def a_continuous_pipeline_elsewhere(p):
    definition = p.PipelineConfig(
        p.SourceConfig(range(3), continuous=True), [p.Pipe(abs)], p.SinkConfig(2)
    )
    items = p.run_pipeline_in_subprocess(definition, num_threads=1, mp_context="fork")
    return [list(items) for _ in range(3)]


@program
def a_pipeline_with_a_pool_elsewhere(p):
    definition = p.PipelineConfig(
        p.SourceConfig(range(4)), [p.Pipe(abs, executor=ThreadPoolExecutor(1))], p.SinkConfig(2)
    )
    items = p.run_pipeline_in_subprocess(definition, num_threads=1, mp_context="fork")
    return [list(items) for _ in range(2)]


@program
@unlogged  # the exception itself comes back here
def process_pools(p):
    with ProcessPoolExecutor(1) as pool:
        return drain(built(p, [p.Pipe(odd_fails, executor=pool)]))


@program
def thread_pools(p):
    with ThreadPoolExecutor(1) as pool:
        return drain(built(p, [p.Pipe(odd_fails, executor=pool)]))


@program
def priorities(p):
    done, taken, gate = [], threading.Event(), threading.Event()
    with p.PriorityThreadPoolExecutor(1) as pool:
        early, late = pool.get_executor(), pool.get_executor()
        most = pool.get_executor(priority=50)
        early.submit(lambda: (taken.set(), gate.wait(20)))
        assert taken.wait(20)
        for name, entry in (("early", early), ("late", late), ("most", most), ("early", early)):
            entry.submit(done.append, name)
        gate.set()
    return done


@program
def profiles(p):
    definition = part(p, range(100), p.Pipe(abs), p.Aggregate(2), p.Disaggregate())
    results = p.profile_pipeline(definition, 10)
    return [(one.name, [stats.concurrency for stats in one.stats]) for one in results]


@program
def profiles_without_items(p):
    return p.profile_pipeline(part(p, [], p.Pipe(abs)), 10)


@program
def definitions_pickle(p):
    paths = p.PathVariants(abs, [[p.Pipe(abs)], [p.Aggregate(2), p.Disaggregate()]])
    definition = p.PipelineConfig(
        p.Merge([part(p, [0, 1], p.Pipe(abs, concurrency=2, output_order="input"))]),
        [paths],
        p.SinkConfig(3),
    )
    again = pickle.loads(pickle.dumps(definition))
    return sorted(drain(p.build_pipeline(again, num_threads=1))["items"], key=str)


@program
def definitions_are_readable(p):
    definition = p.PipelineConfig(
        p.Merge([part(p, [0, 1], p.Pipe(odd_fails, concurrency=2, output_order="input"))]),
        [p.Pipe(odd_fails, name="mine"), p.Aggregate(2), p.Disaggregate()],
        p.SinkConfig(3),
    )
    lines = repr(definition).splitlines()
    return [line.partition(" at ")[0].replace("both.", "").partition("<")[0] for line in lines]


@program
def definitions_that_make_no_sense(p):
    calls = [
        lambda: p.Merge([]),
        lambda: p.PathVariants(5, [[p.Pipe(abs)]]),
        lambda: p.PathVariants(abs, []),
        lambda: p.PathVariants(abs, [[]]),
        lambda: p.PathVariants(abs, [[p.SourceConfig([1])]]),
        lambda: p.PathVariants(abs, [[p.SinkConfig(1)]]),
        lambda: p.PipelineBuilder().get_config(),
        lambda: p.PipelineBuilder().add_source([1]).get_config(),
    ]
    return [text_of(call) for call in calls]


@program
def caches(p):
    return list(p.cache_iterator(range(10), 2, return_caches_after=3, stop_after=7))
