"""From the definition of a pipeline to one that can be started."""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from penstock._whole import as_seconds, as_whole
from penstock.pipeline import _native_build, _profile
from penstock.pipeline._background import BackgroundTaskFactory, get_default_background_tasks
from penstock.pipeline._event.calls import Calls
from penstock.pipeline._event.engine import EventRun
from penstock.pipeline._event.graph import Graph
from penstock.pipeline._hooks import HookFactory, TaskHook, TaskStatsHook, get_default_hook_class
from penstock.pipeline._pipeline import Pipeline
from penstock.pipeline._queues import AsyncQueue, StatsQueue, get_default_queue_class
from penstock.pipeline._run import Run
from penstock.pipeline.defs import (
    MergeConfig,
    PathVariantsConfig,
    PipelineConfig,
    PlacementConfig,
    SourceConfig,
    _SubprocessPipelineConfig,
)

_LOG = logging.getLogger("penstock.pipeline")
_pipeline_ids = itertools.count()


def continue_numbering() -> Callable[[], None]:
    """For another process: has its pipelines numbered on from those that were built here."""
    global _pipeline_ids
    here = next(_pipeline_ids)
    _pipeline_ids = itertools.count(here)
    return functools.partial(_number_from, here)


def _number_from(first: int) -> None:
    global _pipeline_ids
    _pipeline_ids = itertools.count(first)


_build_callback: Callable[[PipelineConfig], None] | None = None


def get_default_build_callback() -> Callable[[PipelineConfig], None] | None:
    """What :func:`set_default_build_callback` has set.

    >>> get_default_build_callback() is None
    True
    """
    return _build_callback


def set_default_build_callback(callback: Callable[[PipelineConfig], None] | None) -> None:
    """Has ``callback(config)`` called for each pipeline that is built; None for nothing.

    What it raises is logged. Use it to record what a program builds.

    >>> from penstock.pipeline import PipelineBuilder, config
    >>> built = []
    >>> config.set_default_build_callback(built.append)
    >>> pipeline = PipelineBuilder().add_source(range(3)).pipe(str).add_sink(1).build()
    >>> config.set_default_build_callback(None)
    >>> built[0].pipes[0].name
    'str'
    """
    global _build_callback
    _build_callback = callback


def build_pipeline(
    pipeline_cfg: PipelineConfig,
    /,
    *,
    num_threads: int | None = 4,
    max_failures: int | Fraction = -1,
    report_stats_interval: float | None = None,
    queue_class: type[AsyncQueue] | None = None,
    task_hook_factory: HookFactory | None = None,
    stage_id: int = 0,
    background_tasks: Sequence[BackgroundTaskFactory] | None = None,
    use_thread_output_queue: bool = False,
) -> Pipeline:
    """Builds what a :class:`PipelineConfig` describes; see :meth:`PipelineBuilder.build`.

    >>> from penstock.pipeline.defs import Pipe, PipelineConfig, SinkConfig, SourceConfig
    >>> config = PipelineConfig(SourceConfig(range(3)), [Pipe(str)], SinkConfig(3))
    >>> pipeline = build_pipeline(config, num_threads=1)
    >>> with pipeline.auto_stop():
    ...     list(pipeline)
    ['0', '1', '2']
    """
    if _profile.is_wanted():
        return _profile.ProfilingPipeline(pipeline_cfg)
    config = pipeline_cfg
    if _build_callback is not None:
        try:
            _build_callback(config)
        except Exception:
            _LOG.exception("Build callback failed.")
    threads = _checked_threads(num_threads)
    _check_limit(max_failures)
    interval = -1.0
    if report_stats_interval is not None:
        interval = as_seconds(report_stats_interval, "build: report_stats_interval") or -1.0
    background = [*(get_default_background_tasks() or ()), *(background_tasks or ())]
    pipeline_id = next(_pipeline_ids)
    try:
        _check_definition(config)
        run: Run
        if _needs_loop(config, queue_class):
            calls = Calls(threads)
            queues = queue_class or functools.partial(get_default_queue_class(), interval=interval)  # type: ignore[call-arg]
            hooks = task_hook_factory or _default_hooks(interval)
            graph = Graph(config, pipeline_id, stage_id, calls, max_failures, queues, hooks)
            run, interval = EventRun(graph, calls, background), -1.0
        else:
            hooks = task_hook_factory or _default_hooks(interval, unless=TaskStatsHook)
            run = _native_build.run(
                config, pipeline_id, stage_id, threads, max_failures, hooks, background
            )
    except Exception as error:
        error.add_note(f"PipelineConfig: {config!r}")
        raise
    return Pipeline(run, repr(config), interval)


def _needs_loop(config: PipelineConfig, queue_class: type[AsyncQueue] | None) -> bool:
    """Whether an event loop has to see every item, hooks or not."""
    if queue_class is not None or get_default_queue_class() is not StatsQueue:
        return True
    for part in _parts(config):
        if isinstance(part, MergeConfig) and part.op is not None:
            return True
        if isinstance(part, PathVariantsConfig) and part.batched:
            return True
    return False


def _parts(config: PipelineConfig) -> Iterator[Any]:
    """Sources, merges and stages, also those inside others."""
    yield config.src
    if isinstance(config.src, MergeConfig):
        for one in config.src.pipeline_configs:
            yield from _parts(one)
    stages = list(config.pipes)
    for stage in stages:
        yield stage
        if isinstance(stage, PathVariantsConfig):
            stages += [inner for path in stage.paths for inner in path]


def _default_hooks(interval: float, unless: type[TaskHook] | None = None) -> HookFactory:
    """None where the class is ``unless``: the usual hook only counts, and so does the engine."""
    hook_class: Any = get_default_hook_class()
    if hook_class in (None, unless):
        return lambda info: []
    return lambda info: [hook_class(info, interval=interval)]


def _check_definition(config: PipelineConfig) -> None:
    parts = list(_parts(config))
    if len({part.continuous for part in parts if isinstance(part, SourceConfig)}) > 1:
        raise ValueError(
            "Mixed continuous mode is not supported. All sources in a pipeline (including merged "
            "sub-pipelines) must have the same continuous setting."
        )
    for part in parts:
        if isinstance(part, PlacementConfig | _SubprocessPipelineConfig):
            raise NotImplementedError(
                "to(): regions in other processes are not supported. Give single stages an "
                "executor, pipe(op, executor=ProcessPoolExecutor(n)), or run the whole pipeline "
                "elsewhere with run_pipeline_in_subprocess()."
            )


def _checked_threads(num_threads: int | None) -> int:
    if num_threads is None:
        return 4
    if as_whole(num_threads, "build: num_threads") < 1:
        raise ValueError(
            f"max_workers must be greater than 0. build: num_threads is {num_threads!r}; "
            "give 1 or more."
        )
    return num_threads


def _check_limit(max_failures: int | Fraction) -> None:
    if isinstance(max_failures, Fraction) and not 0 < max_failures <= 1:
        raise ValueError(
            f"`max_global_failures` Fraction must be in range (0, 1]. Got: {max_failures}\n"
            f"build: max_failures is {max_failures}; a Fraction must be above 0 and at most 1"
        )
    if not isinstance(max_failures, int | Fraction):
        raise TypeError(f"build: max_failures is {max_failures!r}; give an int or a Fraction")
