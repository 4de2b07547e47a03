"""From the definition of a pipeline to the engine that runs it."""

from __future__ import annotations

import inspect
import itertools
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock._core import EngineBuilder, NativeOp, as_tensor
from penstock.pipeline import _loop
from penstock.pipeline._failure import describe_item
from penstock.pipeline._pipeline import Pipeline
from penstock.pipeline.defs import (
    AggregateConfig,
    Collate,
    DisaggregateConfig,
    MergeConfig,
    PathVariantsConfig,
    PipeConfig,
    PipelineConfig,
    SourceConfig,
    _any_of,
    _is_async,
    _is_container,
    _PipeType,
)

_LOG = logging.getLogger("penstock.pipeline")
_pipeline_ids = itertools.count()

_Limit = tuple[int, int] | None


@dataclass(frozen=True)
class StageInfo:
    """Which stage of which pipeline this is."""

    pipeline_id: int
    stage_id: str
    stage_name: str
    concurrency: int | None = None

    def __str__(self) -> str:
        many = f"[{self.concurrency}]" if self.concurrency and self.concurrency > 1 else ""
        return f"{self.pipeline_id}:{self.stage_id}:{self.stage_name}{many}"


def build_pipeline(
    pipeline_cfg: PipelineConfig,
    /,
    *,
    num_threads: int | None = 4,
    max_failures: int | Fraction = -1,
    report_stats_interval: float | None = None,
    queue_class: Any = None,
    task_hook_factory: Any = None,
    stage_id: int = 0,
    use_thread_output_queue: bool = False,
) -> Pipeline:
    """Builds what a :class:`PipelineConfig` describes; see :meth:`PipelineBuilder.build`."""
    for name, value in (("queue_class", queue_class), ("task_hook_factory", task_hook_factory)):
        if value is not None:
            raise NotImplementedError(
                f"build: {name} is not supported yet; statistics are in Pipeline.stats()"
            )
    if num_threads is None:
        num_threads = 4
    if not isinstance(num_threads, int) or num_threads < 1:
        raise ValueError(
            f"max_workers must be greater than 0. build: num_threads is {num_threads!r}; "
            "give 1 or more."
        )
    if isinstance(max_failures, Fraction) and not 0 < max_failures <= 1:
        raise ValueError(
            f"`max_global_failures` Fraction must be in range (0, 1]. Got: {max_failures}"
        )
    if not isinstance(max_failures, int | Fraction):
        raise TypeError(f"build: max_failures is {max_failures!r}; give an int or a Fraction")
    return _Build(num_threads, max_failures, stage_id).run(
        pipeline_cfg, report_stats_interval or -1.0
    )


def _limit(max_failures: int | Fraction | None) -> _Limit:
    if max_failures is None:
        return None
    if isinstance(max_failures, Fraction):
        return max_failures.numerator, max_failures.denominator
    return max_failures, 0


class _Build:
    """One walk over a definition. Stages get their numbers in the order of the walk."""

    def __init__(self, num_threads: int, max_failures: int | Fraction, first_id: int) -> None:
        self._num_threads = num_threads
        self._limit = _limit(max_failures)
        self._pipeline_id = next(_pipeline_ids)
        self._ids = itertools.count(first_id)
        self._names: list[str] = []
        self._limits: list[tuple[_Limit, bool]] = []
        self._after_native = False
        self._loop = _loop.Loop(f"penstock-loop-{self._pipeline_id}")

    def run(self, config: PipelineConfig, report_interval: float) -> Pipeline:
        self._engine = EngineBuilder(self._num_threads, len(list(_sources(config.src))))
        try:
            self._add_upstream(config)
            sink = self._info("sink")
            self._engine.sink(config.sink.buffer_size)
            engine = self._engine.build(self._limit, _report_to_log)
        except Exception as error:
            error.add_note(f"PipelineConfig: {config!r}")
            raise
        return Pipeline(
            engine,
            self._loop,
            [*self._names, str(sink)],
            self._limits,
            repr(config),
            report_interval,
        )

    def _info(self, name: str, concurrency: int | None = None) -> StageInfo:
        return StageInfo(self._pipeline_id, str(next(self._ids)), name, concurrency)

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

    def _add_merge(self, config: MergeConfig) -> None:
        if config.op is not None:
            raise NotImplementedError("Merge: an op of your own is not supported yet")
        if len({source.continuous for source in _sources(config)}) > 1:
            raise ValueError(
                "Mixed continuous mode is not supported. All sources in a pipeline (including "
                "merged sub-pipelines) must have the same continuous setting."
            )
        next(self._ids)  # the merge has a number of its own, though it is only a queue here
        ends = []
        for upstream in config.pipeline_configs:
            self._add_upstream(upstream)
            ends.append((self._engine.last(), 0))
        self._engine.from_outputs(ends)

    def _add(self, config: Any) -> None:
        self._add_stage(config)
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
        elif isinstance(config, PathVariantsConfig):
            self._add_paths(config)
        else:
            raise TypeError(
                f"a pipeline cannot have a {type(config).__name__} as a stage; use Pipe, "
                "Aggregate, Disaggregate or PathVariants"
            )

    def _add_paths(self, config: PathVariantsConfig) -> None:
        if config.batched:
            raise NotImplementedError("PathVariants: batched routing is not supported yet")
        if _is_async(config.router):
            raise NotImplementedError("PathVariants: an async router is not supported yet")
        router = self._engine.route(self._name(config.name), config.router, len(config.paths))
        ends = []
        for number, path in enumerate(config.paths):
            self._engine.from_outputs([(router, number)])
            self._after_native = False
            for stage in path:
                self._add(stage)
            ends.append((self._engine.last(), 0))
        next(self._ids)  # of the join, which is only a queue here
        self._engine.from_outputs(ends)

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
        if _is_container(op):
            op = op.__getitem__
        problem = _signature_problem(op)
        if problem is not None:
            self._engine.call(name, _refuse(name, problem), concurrency, ordered, limit, fatal=True)
        elif _any_of(op, inspect.iscoroutinefunction):
            self._on_loop(name, "one", concurrency, ordered, limit, _loop.call_async(op))
        elif _any_of(op, inspect.isasyncgenfunction):
            self._on_loop(name, "many", concurrency, ordered, limit, _loop.generate_async(op))
        elif _any_of(op, inspect.isgeneratorfunction):
            if executor is None:
                self._engine.generate(name, op, concurrency, ordered, limit)
            else:
                work = _loop.generate_in_executor(op, executor)
                self._on_loop(name, "many", concurrency, ordered, limit, work)
        elif executor is None:
            self._engine.call(name, op, concurrency, ordered, limit)
        else:
            work = _loop.call_in_executor(op, executor)
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


def _signature_problem(op: Callable[..., Any]) -> str | None:
    """Why ``op(item)`` cannot work, where that can be known."""
    try:
        signature = inspect.signature(op)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(object())
    except TypeError as error:
        return f"{getattr(op, '__qualname__', op)}{signature}: {error}"
    return None


def _refuse(stage: str, problem: str) -> Callable[[Any], Any]:
    def refuse(item: Any) -> Any:
        raise TypeError(
            f"stage '{stage}': the op cannot be called with one argument: {problem}. "
            "Wrap it in a function of one argument."
        )

    return refuse


def _report_to_log(stage: str, task: int, error: BaseException, item: Any) -> None:
    if isinstance(error, TimeoutError):
        _LOG.error("Task [%s:%d] timeout. Item: %s", stage, task, describe_item(item))
    else:
        _LOG.error(
            "Task [%s:%d] failed. Item: %s", stage, task, describe_item(item), exc_info=error
        )
