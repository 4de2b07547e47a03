"""Stages with hooks, and async routers: on the event loop of a pipeline that is native else.

The tasks of such a stage are done by coroutines of the loop, each step of them inside the task
hooks; another coroutine lives inside the stage hooks for as long as the stage does.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from penstock._core import LoopSlot, TaskLane
from penstock.pipeline._convert import AsyncFunction, AsyncGeneratorFunction, checked_path
from penstock.pipeline._failure import describe_item
from penstock.pipeline._hooks import TaskHook, around_stage, around_task
from penstock.pipeline._loop import NOTHING, Run, Stage, is_fatal, was_cancelled
from penstock.pipeline._stage import EOF, EPOCH_END
from penstock.pipeline._tasks import cancel_all, log_failure, not_cancelled
from penstock.pipeline.defs import Aggregator

# Completes the task that the slot holds; returns what the slot returns, the next one.
_Do = Callable[[LoopSlot, Any], Awaitable[Any]]


class HookedStage(Stage):
    """A stage on the loop inside its stage hooks. The next stage learns of the end after them."""

    def __init__(
        self, lane: TaskLane, concurrency: int, run: Run, hooks: Sequence[TaskHook]
    ) -> None:
        super().__init__(lane, concurrency, run)
        self._around = around_stage(hooks)
        self._last: LoopSlot | None = None  # the one that holds the end back

    def _begin(self) -> list[asyncio.Task[None]]:
        self._over: asyncio.Future[None] = self._loop.create_future()
        return [self._loop.create_task(self._whole())]

    async def _whole(self) -> None:
        try:
            async with self._around:
                coroutines = set(super()._begin())
                try:
                    await self._over
                finally:
                    await cancel_all(coroutines)
        except Exception as error:
            self.fail(error)
        finally:
            if self._last is not None:
                self._last.pass_on(None)
            self._lane.flush()
        if self._last is not None:  # the next stage may have no room yet for the end
            await self.first(self._last)

    def _live(self) -> asyncio.Task[None]:
        return self._loop.create_task(self._serve())

    async def _serve(self) -> None:
        slot = LoopSlot(self._lane, NOTHING, EPOCH_END, EOF)
        try:
            await self._run(self, slot)
            self._last = slot
            if not self._over.done():
                self._over.set_result(None)
        except BaseException as error:
            slot.abandon()
            if not was_cancelled(error) and not self._over.done():
                self._over.set_exception(error)


def _each(do: _Do, flush: _Do | None = None) -> Run:
    """The life of a coroutine: task by task. With ``flush`` an epoch's end, and the end of all, is
    a task, too; the latter is over when it comes again."""

    async def run(stage: Stage, slot: LoopSlot) -> None:
        item = NOTHING
        while True:
            if item is NOTHING:
                item = await stage.first(slot)
            if item is EOF and (flush is None or slot.resumed):
                return
            if flush is not None and (item is EOF or item is EPOCH_END):
                item = await flush(slot, item)
            elif item is EPOCH_END:
                item = slot.pass_on(None)
            else:
                item = await do(slot, item)

    return run


class _Step:
    """What became of a step of the user's code inside hooks. A hook may fail where the code did
    not, swallow what it raised, or raise something else."""

    def __init__(self) -> None:
        self.result: Any = None
        self.began = False
        self.raised: BaseException | None = None  # by the code itself
        self.error: BaseException | None = None  # what came out of the hooks


async def _inside(
    hooks: Sequence[TaskHook], item: Any, code: Callable[[], Awaitable[Any]]
) -> _Step:
    step = _Step()
    try:
        async with around_task(hooks, item):
            step.began = True
            try:
                step.result = await not_cancelled(code())
            except BaseException as error:
                step.raised = error
                raise
    except BaseException as error:
        if was_cancelled(error):
            raise
        step.error = error
    return step


def _fail(slot: LoopSlot, error: BaseException, item: Any, fatal: bool = False) -> Any:
    return slot.fail(error, item, fatal or is_fatal(error), True)


def _is_failure(error: BaseException | None) -> bool:
    return isinstance(error, Exception) and not isinstance(error, StopAsyncIteration)


class _Judge:
    """Logs what fails, and decides what counts as a failure of the stage."""

    def __init__(self, name: str, in_order: bool) -> None:
        self._name = name
        self._in_order = in_order

    def failed(self, slot: LoopSlot, step: _Step, item: Any, number: int) -> Any:
        """Completes a task that has failed. Hooks that fail drop the item, and do not count, unless
        outputs are in input order: there the task and its hooks are judged together."""
        if step.error is not None:
            log_failure(f"{self._name}:{number}", step.error, describe_item(item))
        if self._in_order or not isinstance(step.error, Exception | None):
            counted = step.error
        else:
            counted = step.raised if _is_failure(step.raised) else None
        if counted is not None:
            return _fail(slot, counted, item)
        return slot.finish(None) if step.began else slot.pass_on(None)


def call(op: AsyncFunction, hooks: Sequence[TaskHook], name: str, in_order: bool) -> Run:
    """A function: one output, or none if it is None."""
    judge, numbers = _Judge(name, in_order), itertools.count(1)

    async def do(slot: LoopSlot, item: Any) -> Any:
        number = next(numbers)
        step = await _inside(hooks, item, lambda: op(item))
        if step.error is not None or step.raised is not None:
            return judge.failed(slot, step, item, number)
        return slot.finish(step.result)

    return _each(do)


def generate(
    op: AsyncGeneratorFunction, hooks: Sequence[TaskHook], name: str, in_order: bool
) -> Run:
    """A generator function: hooks surround each step, also the last, which finds the end."""
    judge, numbers = _Judge(name, in_order), itertools.count(1)

    async def do(slot: LoopSlot, item: Any) -> Any:
        stream, item, number = item if slot.resumed else (op(item), item, next(numbers))
        step = await _inside(hooks, item, lambda: anext(stream))
        if step.error is None and step.raised is None:
            return slot.again(step.result, (stream, item, number))
        if isinstance(step.raised, StopAsyncIteration) and step.error in (None, step.raised):
            return slot.finish(None)
        if hasattr(stream, "aclose"):
            try:
                await stream.aclose()
            except Exception as error:
                log_failure(f"{name}:{number}", error, describe_item(item))
        return judge.failed(slot, step, item, number)

    return _each(do)


def aggregate(op: Aggregator, drop_last: bool, hooks: Sequence[TaskHook]) -> Run:
    """Gathers items. If the aggregator fails, what it has gathered is lost: that ends all."""

    async def accumulate(item: Any) -> Any:
        return op.flush() if item is EOF else op.accumulate(item)

    async def do(slot: LoopSlot, item: Any) -> Any:
        step = await _inside(hooks, item, lambda: accumulate(item))
        if step.error is not None:
            return _fail(slot, step.error, item, fatal=True)
        return slot.again(step.result, EOF) if item is EOF else slot.finish(step.result)

    async def flush(slot: LoopSlot, mark: Any) -> Any:
        if mark is EOF and not drop_last:
            return await do(slot, EOF)
        try:
            left = None if mark is EOF else op.flush()
        except Exception as error:
            return _fail(slot, error, None, fatal=True)
        if mark is EOF:
            return slot.again(None, EOF)
        return slot.pass_on(None if drop_last else left)

    return _each(do, flush)


def route(router: AsyncFunction, paths: int) -> Run:
    """Each item goes to the path that the router names. What it raises ends the pipeline."""

    async def do(slot: LoopSlot, item: Any) -> Any:
        try:
            path = checked_path(await not_cancelled(router(item)), paths)
        except BaseException as error:
            if was_cancelled(error):
                raise
            return _fail(slot, error, item, fatal=True)
        return slot.finish_on(item, path)

    return _each(do)


def join() -> Run:
    """Where pipelines or paths come together: items pass."""

    async def do(slot: LoopSlot, item: Any) -> Any:
        return slot.pass_on(item)

    return _each(do)
