"""What a stage has: its place, queues and hooks, what it counts, and when it has failed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from fractions import Fraction
from typing import Any

from penstock.pipeline._failure import describe_item
from penstock.pipeline._hooks import TaskHook, around_stage
from penstock.pipeline._queues import AsyncQueue
from penstock.pipeline._stage import StageInfo, is_mark
from penstock.pipeline._stats import StageStats
from penstock.pipeline._tasks import cancel_all
from penstock.pipeline._times import Times

_PROBATION = 100  # tasks before a rate is judged


class Totals:
    """What all stages of a pipeline have done together."""

    def __init__(self, limit: int | Fraction) -> None:
        self.limit = limit
        self.tasks = 0
        self.failures = 0


class Stage:
    """One stage. ``input`` and ``output`` are None where there is no queue, or several."""

    def __init__(
        self,
        info: StageInfo,
        totals: Totals,
        *,
        input: AsyncQueue | None = None,
        output: AsyncQueue | None = None,
        hooks: Sequence[TaskHook] = (),
        limit: int | Fraction | None = None,
    ) -> None:
        self.info = info
        self.input = input
        self.output = output
        self.hooks = list(hooks)
        self.around = around_stage(self.hooks)
        self._totals = totals
        self._limit = limit
        self.tasks = 0
        self.failures = 0
        self.dropped = 0
        self._taken = 0
        self._given = 0
        self._times = Times()
        self._waiting = 0.0
        self._blocked = 0.0
        self._puts = self._queued = 0  # how often something was put, and what was there then
        self._failure: Exception | None = None
        self._failed: asyncio.Event = asyncio.Event()

    async def get(self) -> Any:
        assert self.input is not None
        start = time.monotonic()
        item = await self.input.get()
        self._waiting += time.monotonic() - start
        self._taken += not is_mark(item)
        return item

    async def put(self, item: Any) -> None:
        assert self.output is not None
        start = time.monotonic()
        await self.output.put(item)
        self._blocked += time.monotonic() - start
        self._given += not is_mark(item)
        self._puts += 1
        self._queued += self.output.qsize()

    def count(self, seconds: float | None) -> None:
        """Counts a task that succeeded; None: a step that only found the end of a generator."""
        self.tasks += 1
        self._totals.tasks += 1
        if seconds is not None:
            self._times.add(seconds)
        if isinstance(self._limit or self._totals.limit, Fraction):
            self._judge(None, None)  # the failures before may now be judged

    def count_failure(self, error: Exception, item: Any) -> None:
        """Counts a task that failed, and finds out whether too many have."""
        self.tasks += 1
        self._totals.tasks += 1
        self.failures += 1
        self._totals.failures += 1
        self._judge(error, item)

    def _judge(self, error: Exception | None, item: Any) -> None:
        own = self._limit is not None
        limit = self._totals.limit if self._limit is None else self._limit
        tasks = self.tasks if own else self._totals.tasks
        failures = self.failures if own else self._totals.failures
        if isinstance(limit, Fraction):
            if tasks < _PROBATION or failures <= limit * tasks:
                return
            text = (
                f"failed {failures} times out of {tasks} invocations ({failures / tasks:.1%}), "
                f"which exceeds the threshold ({float(limit):.1%})."
            )
        else:
            if limit < 0 or failures <= limit:
                return
            text = f"failed {failures} times, which exceeds the threshold ({limit})."
        failure = RuntimeError(f"The pipeline stage ({self.info}) {text}")
        if item is not None:
            failure.add_note(f"Item: {describe_item(item)}")
        self.fail(failure, error)

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def fail(self, failure: Exception, cause: BaseException | None) -> None:
        """Ends the stage with this failure. The first one counts."""
        if self._failure is None:
            failure.__cause__ = cause
            self._failure = failure
            self._failed.set()

    def interrupted(self, error: BaseException) -> RuntimeError:
        """Anything but an Exception was meant to end the program: here it ends the pipeline."""
        failure = RuntimeError(f"The pipeline stage ({self.info}) raised {type(error).__name__}.")
        self.fail(failure, error)
        return failure

    async def until_failed(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work, unless the stage fails meanwhile; raises what it failed with."""
        task = asyncio.create_task(work)
        failed = asyncio.create_task(self._failed.wait())
        try:
            await asyncio.wait({task, failed}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            failed.cancel()
            if not task.done():
                await cancel_all({task})
        if self._failure is not None:
            raise self._failure
        task.result()

    def stats(self, elapsed: float) -> StageStats:
        queue = self.output
        return StageStats(
            name=str(self.info),
            concurrency=self.info.concurrency or 1,
            items_in=self._taken,
            items_out=self._given,
            dropped=self.dropped,
            failures=self.failures,
            tasks=self.tasks,
            task_seconds=self._times.total,
            mean=self._times.mean,
            p50=self._times.percentile(50),
            p99=self._times.percentile(99),
            waiting=self._waiting,
            blocked=self._blocked,
            queue_size=queue.qsize() if queue is not None else 0,
            queue_capacity=queue.maxsize if queue is not None else 0,
            queue_mean=self._queued / max(self._puts, 1),
            python=True,
            elapsed=elapsed,
        )
