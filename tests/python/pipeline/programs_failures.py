"""What is dropped, what is raised where, what is logged."""

import threading
import time
from fractions import Fraction

from both import always_fails, built, drain, odd_fails, odd_fails_later, part, program, unlogged


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
    tried = threading.Event()

    def fail(x):
        tried.set()
        raise KeyError(x)

    pipeline = built(p, [p.Pipe(fail)], max_failures=0)
    pipeline.start()
    assert tried.wait(20)
    time.sleep(1.0)  # until the failure is noticed
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
