"""Hooks: code of yours around each stage and each task, on the event loop."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from penstock.pipeline._stage import StageInfo
from penstock.pipeline._tasks import Unbroken, tame
from penstock.pipeline._times import Times, in_words

_LOG = logging.getLogger("penstock.pipeline")


class TaskHook(ABC):
    """Runs around the tasks of a stage. A pipeline gets hooks by ``build(task_hook_factory=...)``.

    Both methods are async context managers. What ``task_hook`` raises, before or after the task,
    drops the item. What ``stage_hook`` raises ends the pipeline. Hooks of one stage are entered in
    their order and left in the opposite one. For a generator, ``task_hook`` surrounds each step;
    its last step raises StopAsyncIteration, which must not be swallowed.

    >>> from penstock.pipeline import PipelineBuilder
    >>> class Slow(TaskHook):
    ...     @asynccontextmanager
    ...     async def task_hook(self, input_item=None):
    ...         start = time.monotonic()
    ...         yield
    ...         if time.monotonic() - start > 60:
    ...             print(input_item, "took long")
    >>> builder = PipelineBuilder().add_source([1, 2]).pipe(str).add_sink()
    >>> pipeline = builder.build(num_threads=1, task_hook_factory=lambda info: [Slow()])
    >>> with pipeline.auto_stop():
    ...     list(pipeline)
    ['1', '2']
    """

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        """Around the life of the stage."""
        yield

    @abstractmethod
    @asynccontextmanager
    async def task_hook(self, input_item: Any = None) -> AsyncIterator[None]:
        """Around one task; ``input_item`` is what it works on."""
        yield


HookFactory = Callable[[StageInfo], Sequence[TaskHook]]


def around_stage(hooks: Sequence[TaskHook]) -> AbstractAsyncContextManager[None]:
    return _all([Unbroken(_checked(hook.stage_hook(), "stage_hook")) for hook in hooks])


def around_task(hooks: Sequence[TaskHook], item: Any) -> AbstractAsyncContextManager[None]:
    return _all([_checked(hook.task_hook(item), "task_hook") for hook in hooks])


def _checked(context: Any, name: str) -> Any:
    if not (hasattr(context, "__aenter__") and hasattr(context, "__aexit__")):
        if hasattr(context, "close"):
            context.close()  # a coroutine that nobody will await
        raise ValueError(
            f"`{name}()` must return an object that has `__aenter__` and `__aexit__` method. "
            f"Make sure that `{name}()` is decorated with `asynccontextmanager`."
        )
    return context


@asynccontextmanager
async def _all(contexts: Sequence[Any]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for context in contexts:
            await stack.enter_async_context(context)
        yield


@dataclass
class TaskPerfStats:
    """What the tasks of a stage did. Times are in seconds, of tasks that succeeded."""

    num_tasks: int
    num_failures: int
    ave_time: float
    p90_time: float
    p99_time: float


class TaskStatsHook(TaskHook):
    """Counts and times tasks; logs it at the end, and every ``interval`` seconds if that is given.

    Override :meth:`interval_stats_callback` to send the numbers elsewhere.
    """

    def __init__(self, info: StageInfo, interval: float = -1) -> None:
        self.info = info
        self.interval = interval
        self.num_tasks = 0
        self.num_success = 0
        self._times = Times()
        self._lap = Times()
        self._lap_tasks = 0

    @property
    def ave_time(self) -> float:
        """The mean time of the tasks that succeeded."""
        return self._times.mean

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        try:
            async with every(self.interval, self._report):
                yield
        finally:
            self._log_stats(_stats(self._times, self.num_tasks))

    @asynccontextmanager
    async def task_hook(self, input_item: Any = None) -> AsyncIterator[None]:
        start = time.monotonic()
        try:
            yield
        except StopAsyncIteration:
            raise
        except Exception:
            self.num_tasks += 1
            raise
        took = time.monotonic() - start
        self.num_tasks += 1
        self.num_success += 1
        self._times.add(took)
        self._lap.add(took)

    async def _report(self) -> None:
        lap, self._lap = self._lap, Times()
        tasks, self._lap_tasks = self.num_tasks - self._lap_tasks, self.num_tasks
        await self.interval_stats_callback(_stats(lap, tasks))

    async def interval_stats_callback(self, stats: TaskPerfStats) -> None:
        """Gets what happened since the last call. By default it is logged."""
        self._log_stats(stats)

    def _log_stats(self, stats: TaskPerfStats) -> None:
        _LOG.info(
            "[%s]\tCompleted %5d tasks (%3d failed). Ave task time: %s. P90: %s. P99: %s.",
            self.info,
            stats.num_tasks,
            stats.num_failures,
            in_words(stats.ave_time),
            in_words(stats.p90_time),
            in_words(stats.p99_time),
        )


def _stats(times: Times, tasks: int) -> TaskPerfStats:
    return TaskPerfStats(
        tasks, tasks - times.count, times.mean, times.percentile(90), times.percentile(99)
    )


@asynccontextmanager
async def every(interval: float, report: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Awaits ``report()`` every so many seconds; never, if that is not above zero.

    A report that fails is logged, and the next one is tried all the same.
    """
    if interval <= 0:
        yield
        return
    over = asyncio.Event()

    async def run() -> None:
        while True:
            try:
                await asyncio.wait_for(over.wait(), interval)
                return
            except TimeoutError:
                pass
            try:
                await tame(report())
            except Exception:
                _LOG.exception("A periodic report failed.")

    reports = asyncio.create_task(run())
    try:
        yield
    finally:
        over.set()
        await reports


_default_hook_class: type[TaskHook] | None = TaskStatsHook


def set_default_hook_class(hook_class: type[TaskHook] | None = TaskStatsHook) -> None:
    """Which hook stages get when ``task_hook_factory`` is not given; None for no hook.

    It is called as ``hook_class(info, interval=...)``. The default, :class:`TaskStatsHook`, costs
    nothing: the engine counts for it, see :meth:`Pipeline.stats`.

    >>> from penstock.pipeline import TaskStatsHook, config
    >>> config.set_default_hook_class(None)
    >>> config.set_default_hook_class(TaskStatsHook)
    """
    global _default_hook_class
    _default_hook_class = hook_class


def get_default_hook_class() -> type[TaskHook] | None:
    """What :func:`set_default_hook_class` has set.

    >>> get_default_hook_class().__name__
    'TaskStatsHook'
    """
    return _default_hook_class
