"""What comes out, for every kind of op and source."""

import asyncio

from both import built, drain, program, twice, twice_later


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
