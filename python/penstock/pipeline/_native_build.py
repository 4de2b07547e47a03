"""From the definition of a pipeline to the native engine that runs it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any

from penstock._core import EngineBuilder, NativeOp, as_tensor
from penstock.pipeline import _hooked, _loop
from penstock.pipeline._background import BackgroundTaskFactory
from penstock.pipeline._callers import Callers
from penstock.pipeline._convert import (
    as_async_generator,
    as_coroutine,
    elements,
    is_generator,
)
from penstock.pipeline._failure import describe_item
from penstock.pipeline._hooks import HookFactory, TaskHook
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
from penstock.pipeline.defs._ops import is_async, is_container

_Limit = tuple[int, int] | None
_MOST = 1 << 20  # items that may wait in a queue


def run(
    config: PipelineConfig,
    pipeline_id: int,
    first_id: int,
    num_threads: int,
    max_failures: int | Fraction,
    hooks: HookFactory,
    background: Sequence[BackgroundTaskFactory],
) -> NativeRun:
    """The whole pipeline, ready to start."""
    return _Build(num_threads, max_failures, pipeline_id, first_id, hooks, background).run(config)


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
        hooks: HookFactory,
        background: Sequence[BackgroundTaskFactory],
    ) -> None:
        self._num_threads = num_threads
        self._limit = _limit(max_failures)
        self._pipeline_id = pipeline_id
        self._ids = itertools.count(first_id)
        self._hooks = hooks
        self._names: list[str] = []
        self._executors: dict[str, Executor] = {}  # of stages, by name
        self._limits: list[tuple[_Limit, bool]] = []
        self._after_native = False
        self._ends: list[tuple[int, int]] = []  # outputs that the next stage reads: (stage, port)
        self._loop = _loop.Loop(f"penstock-loop-{self._pipeline_id}", background)

    def run(self, config: PipelineConfig) -> NativeRun:
        self._engine = EngineBuilder(self._num_threads, len(list(_sources(config.src))))
        self._add_upstream(config)
        sink = self._info("sink")
        if config.sink.buffer_size > _MOST:
            raise ValueError(
                f"add_sink: buffer_size is {config.sink.buffer_size}; give {_MOST} at most"
            )
        self._engine.sink(config.sink.buffer_size)
        engine = self._engine.build(self._limit, _report_to_log)
        names = [*self._names, str(sink)]
        return NativeRun(engine, self._loop, names, self._limits, self._executors)

    def _info(self, name: str, concurrency: int | None = None) -> StageInfo:
        many = concurrency if concurrency is not None and concurrency > 1 else None
        return StageInfo(self._pipeline_id, str(next(self._ids)), name, many)

    def _next(self, name: str, concurrency: int | None = None) -> tuple[str, list[TaskHook]]:
        """The name of the next stage, and its hooks."""
        info = self._info(name, concurrency)
        return str(info), list(self._hooks(info))

    def _note(self, name: str, limit: _Limit = None) -> str:
        """Keeps what is known of a stage by its place in the flow."""
        self._names.append(name)
        self._limits.append((self._limit if limit is None else limit, limit is None))
        return name

    def _add_upstream(self, config: PipelineConfig) -> None:
        if isinstance(config.src, MergeConfig):
            self._add_merge(config.src)
        else:
            self._add_source(config.src)
        for pipe in config.pipes:
            self._add(pipe)

    def _add_source(self, config: SourceConfig) -> None:
        name = self._note(str(self._info("src")))
        if hasattr(config.source, "__aiter__"):
            lane = self._engine.loop(name, "source", 1, False, None)
            work = _loop.iterate_async(config.source, config.continuous)  # type: ignore[arg-type]
            self._loop.add(_loop.Stage(lane, 1, work))
        else:
            self._engine.source(name, config.source, config.continuous)
        self._ends = [(self._engine.last(), 0)]

    def _add_merge(self, config: MergeConfig) -> None:
        info = self._info("merge")
        ends = []
        for upstream in config.pipeline_configs:
            self._add_upstream(upstream)
            ends += self._ends
        self._join(info, ends)

    def _join(self, info: StageInfo, ends: list[tuple[int, int]]) -> None:
        """Only a queue, unless there are hooks."""
        self._read_from(ends)
        hooks = list(self._hooks(info))
        if hooks:
            self._on_loop(str(info), "one", _hooked.join(), hooks)
            self._ends = [(self._engine.last(), 0)]

    def _read_from(self, ends: list[tuple[int, int]]) -> None:
        self._ends = ends
        self._engine.from_outputs(ends)

    def _add(self, config: Any) -> None:
        if isinstance(config, PathVariantsConfig):
            self._add_paths(config)
            self._after_native = False
        else:
            self._add_stage(config)
            self._ends = [(self._engine.last(), 0)]

    def _add_stage(self, config: Any) -> None:
        after_native, self._after_native = self._after_native, False
        if isinstance(config, PipeConfig):
            name, hooks = self._next(config.name, config._args.concurrency)
            if hooks:
                self._add_hooked_pipe(config, name, hooks)
            else:
                self._add_pipe(config, name, after_native)
        elif isinstance(config, AggregateConfig):
            name, hooks = self._next(config.name)
            if hooks:
                work = _hooked.aggregate(config.op, config.drop_last, hooks)
                self._on_loop(name, "aggregate", work, hooks)
            elif type(config.op) is Collate:
                self._engine.collect(self._note(name), config.op.n, config.drop_last)
            else:
                self._engine.aggregate(self._note(name), config.op, config.drop_last)
        elif isinstance(config, DisaggregateConfig):
            name, hooks = self._next(config.name)
            if hooks:
                self._on_loop(name, "many", _hooked.generate(elements, hooks, name, False), hooks)
            else:
                self._engine.disaggregate(self._note(name))
        else:
            raise TypeError(
                f"a pipeline cannot have a {type(config).__name__} as a stage; use Pipe, "
                "Aggregate, Disaggregate or PathVariants"
            )

    def _add_paths(self, config: PathVariantsConfig) -> None:
        name, hooks = self._next(config.name)
        router, paths = config.router, len(config.paths)
        if hooks or is_async(router):
            if not is_async(router):
                router = as_coroutine(router, self._callers(name))
            self._on_loop(name, "route", _hooked.route(router, paths), hooks, paths=paths)
        else:
            self._engine.route(self._note(name), router, paths)
        fork = self._engine.last()
        ends = []
        for number, path in enumerate(config.paths):
            self._read_from([(fork, number)])
            self._after_native = False
            for stage in path:
                self._add(stage)
            ends += self._ends
        self._join(self._info("path_variants_merge"), ends)

    def _add_pipe(self, config: PipeConfig, name: str, after_native: bool) -> None:
        op, executor = _op_of(config), config._args.executor
        if executor is not None:
            self._executors[name] = executor
        limit = _limit(config._max_failures)
        how = config._args.concurrency, config._type is _PipeType.OrderedPipe, limit
        if isinstance(op, NativeOp):
            if op.takes_tensors and not after_native:
                # The memory of Python's arrays can be borrowed under the GIL only: in a stage
                # before.
                before = self._note(f"{name}:as_tensor", limit)
                self._engine.call(before, as_tensor, 1, False, limit)
            self._engine.native(self._note(name, limit), op, *how)
            self._after_native = True
        elif (problem := refusal(name, op)) is not None:
            self._engine.call(self._note(name, limit), _refuse(problem), *how, fatal=True)
        elif executor is None and not is_async(op):
            add = self._engine.generate if is_generator(op) else self._engine.call
            add(self._note(name, limit), op, *how)
        elif is_generator(op):
            stream = op if executor is None else as_async_generator(op, executor)
            self._on_loop(name, "many", _loop.generate_async(stream), (), *how)
        else:
            function = op if executor is None else as_coroutine(op, executor)
            self._on_loop(name, "one", _loop.call_async(function), (), *how)

    def _add_hooked_pipe(self, config: PipeConfig, name: str, hooks: Sequence[TaskHook]) -> None:
        op, executor = _op_of(config), config._args.executor
        if executor is not None:
            self._executors[name] = executor
        executor = executor or self._callers(name)
        limit = _limit(config._max_failures)
        ordered = config._type is _PipeType.OrderedPipe
        how = config._args.concurrency, ordered, limit
        if (problem := refusal(name, op)) is not None:
            self._engine.call(self._note(name, limit), _refuse(problem), *how, fatal=True)
        elif is_generator(op):
            stream = op if is_async(op) else as_async_generator(op, executor)
            work = _hooked.generate(stream, hooks, name, ordered)
            self._on_loop(name, "many", work, hooks, *how)
        else:
            function = op if is_async(op) else as_coroutine(op, executor)
            work = _hooked.call(function, hooks, name, ordered)
            self._on_loop(name, "one", work, hooks, *how)

    def _callers(self, stage: str) -> Callers:
        return Callers(self._engine.callers(), stage)

    def _on_loop(
        self,
        name: str,
        kind: str,
        work: _loop.Run,
        hooks: Sequence[TaskHook],
        concurrency: int = 1,
        ordered: bool = False,
        limit: _Limit = None,
        paths: int = 1,
    ) -> None:
        self._note(name, limit)
        lane = self._engine.loop(name, kind, concurrency, ordered, limit, bool(hooks), paths)
        if hooks:
            self._loop.add(_hooked.HookedStage(lane, concurrency, work, hooks))
        else:
            self._loop.add(_loop.Stage(lane, concurrency, work))


def _op_of(config: PipeConfig) -> Any:
    op = config._args.op
    return op.__getitem__ if is_container(op) else op


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
