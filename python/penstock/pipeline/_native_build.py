"""From the definition of a pipeline to the native engine that runs it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from penstock._core import EngineBuilder, NativeOp, as_tensor
from penstock.pipeline import _loop
from penstock.pipeline._background import BackgroundTaskFactory
from penstock.pipeline._convert import as_async_generator, as_coroutine
from penstock.pipeline._failure import describe_item
from penstock.pipeline._native import NativeRun
from penstock.pipeline._signature import refusal
from penstock.pipeline._stage import StageInfo
from penstock.pipeline._tasks import log_failure
from penstock.pipeline.defs import (
    AggregateConfig,
    Collate,
    DisaggregateConfig,
    MergeConfig,
    PathVariantsConfig,
    PipeConfig,
    PipelineConfig,
    SourceConfig,
    _PipeType,
)
from penstock.pipeline.defs._ops import any_of, is_container

_Limit = tuple[int, int] | None


def run(
    config: PipelineConfig,
    pipeline_id: int,
    first_id: int,
    num_threads: int,
    max_failures: int | Fraction,
    background: Sequence[BackgroundTaskFactory],
) -> NativeRun:
    """The whole pipeline, ready to start."""
    return _Build(num_threads, max_failures, pipeline_id, first_id, background).run(config)


def _limit(max_failures: int | Fraction | None) -> _Limit:
    if max_failures is None:
        return None
    if isinstance(max_failures, Fraction):
        return max_failures.numerator, max_failures.denominator
    return max_failures, 0


class _Build:
    """One walk over a definition. Stages get their numbers in the order of the walk."""

    def __init__(
        self,
        num_threads: int,
        max_failures: int | Fraction,
        pipeline_id: int,
        first_id: int,
        background: Sequence[BackgroundTaskFactory],
    ) -> None:
        self._num_threads = num_threads
        self._limit = _limit(max_failures)
        self._pipeline_id = pipeline_id
        self._ids = itertools.count(first_id)
        self._names: list[str] = []
        self._limits: list[tuple[_Limit, bool]] = []
        self._after_native = False
        self._ends: list[tuple[int, int]] = []  # outputs that the next stage reads: (stage, port)
        self._loop = _loop.Loop(f"penstock-loop-{self._pipeline_id}", background)

    def run(self, config: PipelineConfig) -> NativeRun:
        self._engine = EngineBuilder(self._num_threads, len(list(_sources(config.src))))
        self._add_upstream(config)
        sink = self._info("sink")
        self._engine.sink(config.sink.buffer_size)
        engine = self._engine.build(self._limit, _report_to_log)
        return NativeRun(engine, self._loop, [*self._names, str(sink)], self._limits)

    def _info(self, name: str, concurrency: int | None = None) -> StageInfo:
        many = concurrency if concurrency is not None and concurrency > 1 else None
        return StageInfo(self._pipeline_id, str(next(self._ids)), name, many)

    def _name(self, name: str, concurrency: int | None = None, limit: _Limit = None) -> str:
        """The name of the next stage; what is known of it is kept by its place in the flow."""
        self._names.append(str(self._info(name, concurrency)))
        self._limits.append((self._limit if limit is None else limit, limit is None))
        return self._names[-1]

    def _add_upstream(self, config: PipelineConfig) -> None:
        if isinstance(config.src, MergeConfig):
            self._add_merge(config.src)
        else:
            self._add_source(config.src)
        for pipe in config.pipes:
            self._add(pipe)

    def _add_source(self, config: SourceConfig) -> None:
        name = self._name("src")
        if hasattr(config.source, "__aiter__"):
            lane = self._engine.loop(name, "source", 1, False, None)
            work = _loop.iterate_async(config.source, config.continuous)  # type: ignore[arg-type]
            self._loop.add(_loop.Stage(lane, 1, work))
        else:
            self._engine.source(name, config.source, config.continuous)
        self._ends = [(self._engine.last(), 0)]

    def _add_merge(self, config: MergeConfig) -> None:
        next(self._ids)  # the merge has a number of its own, though it is only a queue here
        ends = []
        for upstream in config.pipeline_configs:
            self._add_upstream(upstream)
            ends += self._ends
        self._read_from(ends)

    def _read_from(self, ends: list[tuple[int, int]]) -> None:
        self._ends = ends
        self._engine.from_outputs(ends)

    def _add(self, config: Any) -> None:
        if isinstance(config, PathVariantsConfig):
            self._add_paths(config)
        else:
            self._add_stage(config)
            self._ends = [(self._engine.last(), 0)]
        self._after_native = _is_native(config)

    def _add_stage(self, config: Any) -> None:
        if isinstance(config, PipeConfig):
            self._add_pipe(config)
        elif isinstance(config, AggregateConfig):
            name = self._name(config.name)
            if type(config.op) is Collate:
                self._engine.collect(name, config.op.n, config.drop_last)
            else:
                self._engine.aggregate(name, config.op, config.drop_last)
        elif isinstance(config, DisaggregateConfig):
            self._engine.disaggregate(self._name(config.name))
        else:
            raise TypeError(
                f"a pipeline cannot have a {type(config).__name__} as a stage; use Pipe, "
                "Aggregate, Disaggregate or PathVariants"
            )

    def _add_paths(self, config: PathVariantsConfig) -> None:
        router = self._engine.route(self._name(config.name), config.router, len(config.paths))
        ends = []
        for number, path in enumerate(config.paths):
            self._read_from([(router, number)])
            self._after_native = False
            for stage in path:
                self._add(stage)
            ends += self._ends
        next(self._ids)  # of the join, which is only a queue here
        self._read_from(ends)

    def _add_pipe(self, config: PipeConfig) -> None:
        op, executor, concurrency = (
            config._args.op,
            config._args.executor,
            config._args.concurrency,
        )
        ordered = config._type is _PipeType.OrderedPipe
        limit = _limit(config._max_failures)
        if isinstance(op, NativeOp) and op.takes_tensors and not self._after_native:
            # The memory of Python's arrays can be borrowed under the GIL only: in a stage before.
            self._engine.call(self._name("as_tensor", None, limit), as_tensor, 1, False, limit)
        name = self._name(config.name, concurrency, limit)
        if isinstance(op, NativeOp):
            self._engine.native(name, op, concurrency, ordered, limit)
            return
        if is_container(op):
            op = op.__getitem__
        problem = refusal(name, op)
        if problem is not None:
            self._engine.call(name, _refuse(problem), concurrency, ordered, limit, fatal=True)
        elif any_of(op, inspect.iscoroutinefunction):
            self._on_loop(name, "one", concurrency, ordered, limit, _loop.call_async(op))
        elif any_of(op, inspect.isasyncgenfunction):
            self._on_loop(name, "many", concurrency, ordered, limit, _loop.generate_async(op))
        elif any_of(op, inspect.isgeneratorfunction):
            if executor is None:
                self._engine.generate(name, op, concurrency, ordered, limit)
            else:
                work = _loop.generate_async(as_async_generator(op, executor))
                self._on_loop(name, "many", concurrency, ordered, limit, work)
        elif executor is None:
            self._engine.call(name, op, concurrency, ordered, limit)
        else:
            work = _loop.call_async(as_coroutine(op, executor))
            self._on_loop(name, "one", concurrency, ordered, limit, work)

    def _on_loop(
        self, name: str, kind: str, concurrency: int, ordered: bool, limit: _Limit, work: Any
    ) -> None:
        lane = self._engine.loop(name, kind, concurrency, ordered, limit)
        self._loop.add(_loop.Stage(lane, concurrency, work))


def _is_native(config: Any) -> bool:
    return isinstance(config, PipeConfig) and isinstance(config._args.op, NativeOp)


def _sources(src: SourceConfig | MergeConfig) -> Iterator[SourceConfig]:
    if isinstance(src, MergeConfig):
        for config in src.pipeline_configs:
            yield from _sources(config.src)
    else:
        yield src


def _refuse(problem: TypeError) -> Callable[[Any], Any]:
    def refuse(item: Any) -> Any:
        raise problem

    return refuse


def _report_to_log(stage: str, task: int, error: BaseException, item: Any) -> None:
    log_failure(f"{stage}:{task}", error, describe_item(item))
