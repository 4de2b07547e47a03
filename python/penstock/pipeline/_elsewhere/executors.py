"""Executors in the definition of a pipeline that goes to another process: made there, and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from penstock.pipeline._elsewhere.processes import Processes
from penstock.pipeline.defs import MergeConfig, PathVariantsConfig, PipeConfig, PipelineConfig


class LazyExecutor(Executor):
    """Makes its executor at the first call, in the process where that happens. It pickles.

    It is kept from then on: a pipeline that is built anew for each epoch finds its processes.
    """

    def __init__(self, kind: type[Executor], arguments: dict[str, Any]) -> None:
        self._kind = kind
        self._arguments = arguments
        self._lock = threading.Lock()
        self._executor: Executor | None = None

    @property
    def runs_elsewhere(self) -> bool:
        return issubclass(self._kind, Processes)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with self._lock:
            if self._executor is None:
                self._executor = self._kind(**self._arguments)
        return self._executor.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait, cancel_futures=cancel_futures)

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyExecutor, (self._kind, self._arguments)


def lazily(executor: Any) -> Any:
    """The same executor as a :class:`LazyExecutor`, if it is one of the two usual kinds."""
    kind: Any = type(executor)
    if kind is ThreadPoolExecutor:
        _check_unused(executor, executor._threads)
        names = ["max_workers", "thread_name_prefix", "initializer", "initargs"]
        return LazyExecutor(ThreadPoolExecutor, {n: getattr(executor, f"_{n}") for n in names})
    if kind is ProcessPoolExecutor:
        _check_unused(executor, executor._queue_count)
        names = ["max_workers", "initializer", "initargs", "max_tasks_per_child"]
        arguments = {n: getattr(executor, f"_{n}") for n in names}
        arguments["mp_context"] = executor._mp_context.get_start_method()
        return LazyExecutor(Processes, arguments)  # its processes are made there anyway
    return executor


def _check_unused(executor: Any, used: Any) -> None:
    if used:
        raise ValueError(
            "run_pipeline_in_subprocess() requires a freshly constructed executor with no work "
            f"submitted yet, and {executor!r} has been used: its workers are made in the other "
            "process. Make an executor for this pipeline alone."
        )


def with_lazy_executors(config: PipelineConfig) -> PipelineConfig:
    """The same definition, able to travel. Stages that share an executor still do."""
    found: dict[int, Any] = {}

    def convert(stage: Any) -> Any:
        if isinstance(stage, PipeConfig):
            executor = stage._args.executor
            if id(executor) not in found:
                found[id(executor)] = lazily(executor)
            return replace(stage, _args=replace(stage._args, executor=found[id(executor)]))
        if isinstance(stage, PathVariantsConfig):
            return replace(stage, paths=tuple(tuple(map(convert, path)) for path in stage.paths))
        return stage

    def walk(one: PipelineConfig) -> PipelineConfig:
        src = one.src
        if isinstance(src, MergeConfig):
            src = replace(src, pipeline_configs=tuple(map(walk, src.pipeline_configs)))
        return replace(one, src=src, pipes=[convert(stage) for stage in one.pipes])

    return walk(config)
