"""Queues between stages on the event loop. Give a class of yours by ``build(queue_class=...)``."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from penstock.pipeline._hooks import every
from penstock.pipeline._stage import StageInfo
from penstock.pipeline._times import Times, in_words

_LOG = logging.getLogger("penstock.pipeline")


class AsyncQueue(asyncio.Queue[Any]):
    """The queue behind a stage. Override ``put``, ``get`` or ``stage_hook`` to watch it.

    It is made as ``queue_class(info, buffer_size=n)``, and holds items and the marks that
    :func:`is_eof` and :func:`is_epoch_end` recognise.
    """

    def __init__(self, info: StageInfo, *, buffer_size: int = 1) -> None:
        super().__init__(buffer_size)
        self.info = info

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        """Around the life of the stage that fills this queue."""
        yield


@dataclass
class QueuePerfStats:
    """What went through a queue. Times are in seconds."""

    elapsed: float
    num_items: int
    ave_put_time: float
    ave_get_time: float
    p90_put_time: float
    p99_put_time: float
    p90_get_time: float
    p99_get_time: float
    occupancy_rate: float
    """The share of time in which it was not empty."""

    @property
    def qps(self) -> float:
        """Items per second."""
        return self.num_items / self.elapsed if self.elapsed > 0 else 0.0


class _Lap:
    """What was measured since some moment."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.puts = Times()
        self.gets = Times()
        self.empty = 0.0

    def stats(self) -> QueuePerfStats:
        elapsed = time.monotonic() - self.start
        return QueuePerfStats(
            elapsed=elapsed,
            num_items=self.gets.count,
            ave_put_time=self.puts.mean,
            ave_get_time=self.gets.mean,
            p90_put_time=self.puts.percentile(90),
            p99_put_time=self.puts.percentile(99),
            p90_get_time=self.gets.percentile(90),
            p99_get_time=self.gets.percentile(99),
            occupancy_rate=max(0.0, 1 - self.empty / elapsed) if elapsed > 0 else 0.0,
        )


class StatsQueue(AsyncQueue):
    """Measures itself; logs it at the end, and every ``interval`` seconds if that is given.

    Override :meth:`interval_stats_callback` to send the numbers elsewhere.
    """

    def __init__(self, info: StageInfo, *, buffer_size: int = 1, interval: float = -1) -> None:
        super().__init__(info, buffer_size=buffer_size)
        self.interval = interval
        self._whole, self._lap = _Lap(), _Lap()
        self._empty_since = time.monotonic()

    async def get(self) -> Any:
        start = time.monotonic()
        item = await super().get()
        took = time.monotonic() - start
        self._whole.gets.add(took)
        self._lap.gets.add(took)
        return item

    async def put(self, item: Any) -> None:
        start = time.monotonic()
        await super().put(item)
        took = time.monotonic() - start
        self._whole.puts.add(took)
        self._lap.puts.add(took)

    # asyncio.Queue calls these two when an item really comes or goes.
    def _put(self, item: Any) -> None:
        self._count_empty_time()
        super()._put(item)

    def _get(self) -> Any:
        item = super()._get()
        self._empty_since = time.monotonic()
        return item

    def _count_empty_time(self) -> None:
        if self.empty():
            now = time.monotonic()
            self._whole.empty += now - self._empty_since
            self._lap.empty += now - self._empty_since
            self._empty_since = now

    @asynccontextmanager
    async def stage_hook(self) -> AsyncIterator[None]:
        self._whole, self._lap = _Lap(), _Lap()
        self._empty_since = time.monotonic()
        try:
            async with every(self.interval, self._report):
                yield
        finally:
            self._count_empty_time()
            self._log_stats(self._whole.stats())

    async def _report(self) -> None:
        await self.interval_stats_callback(self._get_lap_stats())

    def _get_lap_stats(self) -> QueuePerfStats:
        self._count_empty_time()
        lap, self._lap = self._lap, _Lap()
        return lap.stats()

    async def interval_stats_callback(self, stats: QueuePerfStats) -> None:
        """Gets what happened since the last call. By default it is logged."""
        self._log_stats(stats)

    def _log_stats(self, stats: QueuePerfStats) -> None:
        _LOG.info(
            "[%s_queue]\tProcessed %5d items in %s (QPS: %6.1f) "
            "Ave wait time: put: %s, get (by next stage): %s. "
            "P90: put: %s, get: %s. P99: put: %s, get: %s. Occupancy rate: %d%%",
            self.info,
            stats.num_items,
            in_words(stats.elapsed),
            stats.qps,
            in_words(stats.ave_put_time),
            in_words(stats.ave_get_time),
            in_words(stats.p90_put_time),
            in_words(stats.p90_get_time),
            in_words(stats.p99_put_time),
            in_words(stats.p99_get_time),
            100 * stats.occupancy_rate,
        )


_default_queue_class: type[AsyncQueue] = StatsQueue


def set_default_queue_class(queue_class: type[AsyncQueue] | None = StatsQueue) -> None:
    """Which queue is used when ``queue_class`` is not given; None for the usual one.

    It is made as ``queue_class(info, buffer_size=n, interval=...)``. The default,
    :class:`StatsQueue`, costs nothing: the engine counts for it, see :meth:`Pipeline.stats`.

    >>> from penstock.pipeline import AsyncQueue, config
    >>> config.set_default_queue_class(AsyncQueue)
    >>> config.set_default_queue_class()  # as it was
    """
    global _default_queue_class
    _default_queue_class = queue_class or StatsQueue


def get_default_queue_class() -> type[AsyncQueue]:
    """What :func:`set_default_queue_class` has set.

    >>> get_default_queue_class().__name__
    'StatsQueue'
    """
    return _default_queue_class
