"""From the definition of a pipeline to nodes: coroutines joined by queues."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from fractions import Fraction
from typing import Any

from penstock.pipeline._convert import as_async_generator, as_coroutine, elements, is_generator
from penstock.pipeline._event import ends, joins, stages
from penstock.pipeline._event.calls import Calls
from penstock.pipeline._event.stage import Stage, Totals
from penstock.pipeline._hooks import HookFactory, TaskHook
from penstock.pipeline._queues import AsyncQueue
from penstock.pipeline._signature import refusal
from penstock.pipeline._stage import StageInfo
from penstock.pipeline._tasks import Unbroken, not_cancelled
from penstock.pipeline.defs import (
    AggregateConfig,
    DisaggregateConfig,
    MergeConfig,
    PathVariantsConfig,
    PipeConfig,
    PipelineConfig,
    SourceConfig,
    _PipeType,
)
from penstock.pipeline.defs._ops import is_async, is_container

MakeQueue = Callable[..., AsyncQueue]
_BETWEEN_STAGES = 2  # items that may wait there


class Node:
    """A stage, what it does, and where its input comes from."""

    def __init__(
        self, stage: Stage, work: Callable[[], Coroutine[Any, Any, None]], upstream: Sequence[Node]
    ) -> None:
        self.stage = stage
        self.work = work
        self.upstream = list(upstream)
        self.consumers: list[Node] = []
        for node in upstream:
            node.consumers.append(self)


class Graph:
    """All nodes in the order of the flow; ``output`` is where the consumer reads."""

    def __init__(
        self,
        config: PipelineConfig,
        pipeline_id: int,
        first_id: int,
        calls: Calls,
        max_failures: int | Fraction,
        make_queue: MakeQueue,
        hooks: HookFactory,
    ) -> None:
        self.nodes: list[Node] = []
        self._pipeline_id = pipeline_id
        self._ids = itertools.count(first_id)
        self._calls = calls
        self._totals = Totals(max_failures)
        self._make_queue = make_queue
        self._hooks = hooks
        last, queue = self._pipeline(config)
        info = self._info("sink")
        self.output = make_queue(info, buffer_size=config.sink.buffer_size)
        sink = Stage(info, self._totals, input=queue, output=self.output)

        async def work() -> None:
            async with Unbroken(self.output.stage_hook()):
                await ends.drain_to_sink(sink)

        self._add(sink, work, [last])

    def _info(self, name: str, concurrency: int | None = None) -> StageInfo:
        many = concurrency if concurrency is not None and concurrency > 1 else None
        return StageInfo(self._pipeline_id, str(next(self._ids)), name, many)

    def _queue(self, info: StageInfo) -> AsyncQueue:
        return self._make_queue(info, buffer_size=_BETWEEN_STAGES)

    def _hooks_for(self, info: StageInfo) -> list[TaskHook]:
        return list(self._hooks(info))

    def _add(
        self, stage: Stage, work: Callable[[], Coroutine[Any, Any, None]], upstream: Sequence[Node]
    ) -> Node:
        self.nodes.append(Node(stage, work, upstream))
        return self.nodes[-1]

    def _add_filling(
        self, stage: Stage, work: Callable[[], Coroutine[Any, Any, None]], upstream: Sequence[Node]
    ) -> tuple[Node, AsyncQueue]:
        """A stage with one output queue: with its hooks, and the queue ended after it."""
        assert stage.output is not None
        queue = stage.output

        async def whole() -> None:
            async with ends.ending(queue), stage.around:
                await not_cancelled(work())

        return self._add(stage, whole, upstream), queue

    def _pipeline(self, config: PipelineConfig) -> tuple[Node, AsyncQueue]:
        if isinstance(config.src, MergeConfig):
            end = self._merge(config.src)
        else:
            end = self._source(config.src)
        for pipe in config.pipes:
            end = self._stage(pipe, *end)
        return end

    def _source(self, config: SourceConfig) -> tuple[Node, AsyncQueue]:
        info = self._info("src")
        stage = Stage(info, self._totals, output=self._queue(info))
        thread = self._calls.thread_for(info)

        async def work() -> None:
            await ends.read_source(stage, config.source, config.continuous, thread)

        return self._add_filling(stage, work, [])

    def _merge(self, config: MergeConfig) -> tuple[Node, AsyncQueue]:
        info = self._info("merge")
        queue = self._queue(info)
        upstream = [self._pipeline(one) for one in config.pipeline_configs]
        return self._join(info, queue, upstream, config.op or joins.merge)

    def _join(
        self,
        info: StageInfo,
        queue: AsyncQueue,
        upstream: Sequence[tuple[Node, AsyncQueue]],
        op: Any,
    ) -> tuple[Node, AsyncQueue]:
        stage = Stage(info, self._totals, output=queue, hooks=self._hooks_for(info))
        queues = [one for _, one in upstream]

        async def work() -> None:
            await op(info, queues, queue)

        return self._add_filling(stage, work, [node for node, _ in upstream])

    def _stage(self, config: Any, before: Node, queue: AsyncQueue) -> tuple[Node, AsyncQueue]:
        if isinstance(config, PathVariantsConfig):
            return self._paths(config, before, queue)
        concurrency = config._args.concurrency if isinstance(config, PipeConfig) else None
        info = self._info(config.name, concurrency)
        stage = Stage(
            info,
            self._totals,
            input=queue,
            output=self._queue(info),
            hooks=self._hooks_for(info),
            limit=config._max_failures if isinstance(config, PipeConfig) else None,
        )
        return self._add_filling(stage, self._work_of(config, stage), [before])

    def _work_of(self, config: Any, stage: Stage) -> Callable[[], Coroutine[Any, Any, None]]:
        if isinstance(config, AggregateConfig):
            return lambda: stages.aggregate(stage, config.op, config.drop_last)
        if isinstance(config, DisaggregateConfig):
            take_apart = stages.generate(stage, elements, count=True)
            return lambda: stages.pipe(stage, take_apart, 1)
        assert isinstance(config, PipeConfig)
        ordered = config._type is _PipeType.OrderedPipe
        work = self._op(config, stage, count=not ordered)
        run = stages.ordered_pipe if ordered else stages.pipe
        return lambda: run(stage, work, config._args.concurrency)

    def _op(self, config: PipeConfig, stage: Stage, count: bool) -> stages.Work:
        op, executor = config._args.op, config._args.executor
        if is_container(op):
            op = op.__getitem__
        problem = refusal(str(stage.info), op)
        if problem is not None:
            return _refuse(stage, problem)
        if is_generator(op):
            stream = op if is_async(op) else as_async_generator(op, executor or self._calls.ops)
            return stages.generate(stage, stream, count)
        if not is_async(op):
            if executor is None:
                op, executor = self._calls.watch(stage.info, op), self._calls.ops
            op = as_coroutine(op, executor)
        return stages.call(stage, op, count)

    def _paths(
        self, config: PathVariantsConfig, before: Node, queue: AsyncQueue
    ) -> tuple[Node, AsyncQueue]:
        info = self._info(config.name)
        stage = Stage(info, self._totals, input=queue, hooks=self._hooks_for(info))
        router = config.router
        if not is_async(router):
            router = as_coroutine(self._calls.watch(info, router), self._calls.ops)
        heads = [
            self._queue(StageInfo(info.pipeline_id, info.stage_id, f"path_variants_path{i}"))
            for i in range(len(config.paths))
        ]
        route = joins.route_batches if config.batched else joins.route

        async def work() -> None:
            async with AsyncExitStack() as stack:
                for head in heads:
                    await stack.enter_async_context(Unbroken(head.stage_hook()))
                async with stage.around:
                    await not_cancelled(route(stage, router, heads))

        node = self._add(stage, lambda: _ended(heads, work), [before])
        upstream = []
        for path, head in zip(config.paths, heads, strict=True):
            end = (node, head)
            for one in path:
                end = self._stage(one, *end)
            upstream.append(end)
        joined = self._info("path_variants_merge")
        op = joins.merge_batches if config.batched else joins.merge
        return self._join(joined, self._queue(joined), upstream, op)


async def _ended(
    heads: Sequence[AsyncQueue], work: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Ends all paths after the router. If that is cancelled, one of them may have failed: the
    others must end all the same."""
    try:
        try:
            await work()
        except Exception:
            await _end(heads)
            raise
        await _end(heads)
    except asyncio.CancelledError:
        for head in heads:
            ends.end_now(head)
        raise


async def _end(heads: Sequence[AsyncQueue]) -> None:
    for head in heads:
        await ends.end(head)


def _refuse(stage: Stage, problem: TypeError) -> stages.Work:
    async def work(item: Any, put: Any) -> None:
        stage.fail(problem, None)

    return work
