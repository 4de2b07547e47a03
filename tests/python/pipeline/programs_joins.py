"""Merges and routers."""

import asyncio

from both import built, drain, part, program


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


@program
def a_merge_op_that_sees_epochs(p):
    async def together(info, inputs, output):
        marks = None
        while True:
            items = [await queue.get() for queue in inputs]
            if any(p.is_eof(item) for item in items):
                return
            if all(p.is_epoch_end(item) for item in items):
                marks = items[0]
                await output.put(marks)
            else:
                await output.put(tuple(items))

    def endless(items):
        return p.PipelineConfig(p.SourceConfig(items, continuous=True), [], p.SinkConfig(1))

    merge = p.Merge([endless("ab"), endless([1, 2])], op=together)
    pipeline = p.build_pipeline(p.PipelineConfig(merge, [], p.SinkConfig(3)), num_threads=2)
    with pipeline.auto_stop():
        return [list(pipeline) for _ in range(2)]


@program
def a_failure_in_one_of_several_merged_pipelines(p):
    def bad(x):
        raise ValueError("bad")

    merge = p.Merge([part(p, [1, 2], p.Pipe(bad, max_failures=0)), part(p, [3, 4])])
    definition = p.PipelineConfig(merge, [p.Pipe(abs)], p.SinkConfig(9))
    found = drain(p.build_pipeline(definition, num_threads=2))
    return found["raised"]
