"""Stages that turn items into others: pipes in both orders, aggregation."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from penstock.pipeline._convert import AsyncFunction, AsyncGeneratorFunction
from penstock.pipeline._event.stage import Stage
from penstock.pipeline._failure import describe_item
from penstock.pipeline._hooks import around_task
from penstock.pipeline._stage import EOF, EPOCH_END
from penstock.pipeline._tasks import cancel_all, log_failure, not_cancelled
from penstock.pipeline.defs import Aggregator

_Put = Callable[[Any], Awaitable[None]]
# Works on an item and hands each output over.
Work = Callable[[Any, _Put], Awaitable[None]]


async def _try(stage: Stage, item: Any, step: Awaitable[Any], count: bool = True) -> Any:
    """A step of the user's code on an item. What it raises is counted, unless it is the end."""
    start = time.monotonic()
    try:
        result = await not_cancelled(step)
    except StopAsyncIteration:
        if count:
            stage.count(None)
        raise
    except asyncio.CancelledError:
        raise
    except Exception as error:
        if count:
            stage.count_failure(error, item)
        raise
    except BaseException as error:
        raise stage.interrupted(error) from error
    if count:
        stage.count(time.monotonic() - start)
    return result


def call(stage: Stage, op: AsyncFunction, count: bool) -> Work:
    """A function: one output, or none if it is None."""

    async def work(item: Any, put: _Put) -> None:
        result = None  # a hook may swallow the exception: the item is dropped
        async with around_task(stage.hooks, item):
            result = await _try(stage, item, op(item), count)
            stage.dropped += result is None
        if result is not None:
            await put(result)

    return work


def generate(stage: Stage, op: AsyncGeneratorFunction, count: bool) -> Work:
    """A generator function: hooks surround each step, also the last, which finds the end."""

    async def work(item: Any, put: _Put) -> None:
        stream = op(item)
        try:
            while await _step(stream, item, put):
                pass
        finally:
            if hasattr(stream, "aclose"):
                await stream.aclose()

    async def _step(stream: AsyncIterator[Any], item: Any, put: _Put) -> bool:
        over, result = False, None
        try:
            async with around_task(stage.hooks, item):
                try:
                    result = await _try(stage, item, anext(stream), count)
                except StopAsyncIteration:
                    over = True
                    raise
        except StopAsyncIteration:
            over = True
        if result is not None:
            await put(result)
        return not over

    return work


async def _tame(stage: Stage, work: Awaitable[None]) -> None:
    """A hook may want to end the program, too."""
    try:
        await work
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise stage.interrupted(error) from error


async def _one(stage: Stage, name: str, work: Work, item: Any, put: _Put) -> None:
    """A failed task is logged; its item is gone, and that is all."""
    try:
        await _tame(stage, work(item, put))
    except Exception as error:
        log_failure(name, error, describe_item(item))


async def pipe(stage: Stage, work: Work, concurrency: int) -> None:
    """Outputs leave as they are done."""
    await stage.until_failed(_pipe(stage, work, concurrency))


async def _pipe(stage: Stage, work: Work, concurrency: int) -> None:
    running: set[asyncio.Task[Any]] = set()
    numbers = itertools.count(1)
    try:
        while not stage.has_failed and (item := await stage.get()) is not EOF:
            if item is EPOCH_END:
                if running:
                    await asyncio.wait(running)
                    running.clear()
                await stage.put(EPOCH_END)
                continue
            name = f"{stage.info}:{next(numbers)}"
            running.add(asyncio.create_task(_one(stage, name, work, item, stage.put), name=name))
            del item
            if len(running) >= concurrency:
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if running:
            await asyncio.wait(running)
    finally:
        await cancel_all({task for task in running if not task.done()})


async def ordered_pipe(stage: Stage, work: Work, concurrency: int) -> None:
    """Outputs leave in the order of their items. ``work`` does not count: that is done in order,
    so that what comes before a failure that is one too many is delivered."""
    await stage.until_failed(_ordered_pipe(stage, work, concurrency))


async def _ordered_pipe(stage: Stage, work: Work, concurrency: int) -> None:
    room = asyncio.Semaphore(concurrency)
    under_way: asyncio.Queue[Any] = asyncio.Queue()
    tasks: set[asyncio.Task[Any]] = set()

    async def outputs_of(item: Any) -> tuple[float, list[Any]]:
        start = time.monotonic()
        outputs: list[Any] = []

        async def keep(output: Any) -> None:
            outputs.append(output)

        await _tame(stage, work(item, keep))
        return time.monotonic() - start, outputs

    async def begin() -> None:
        numbers = itertools.count(1)
        item = None
        while item is not EOF and not stage.has_failed:
            item = await stage.get()
            if item is EOF or item is EPOCH_END:
                under_way.put_nowait((item, item))
                continue
            await room.acquire()
            task = asyncio.create_task(outputs_of(item), name=f"{stage.info}:{next(numbers)}")
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            under_way.put_nowait((task, item))

    async def deliver() -> None:
        while True:
            task, item = await under_way.get()
            if task is EOF:
                return
            if task is EPOCH_END:
                await stage.put(EPOCH_END)
                continue
            await asyncio.wait([task])
            try:
                seconds, outputs = task.result()
            except Exception as error:
                log_failure(task.get_name(), error, describe_item(item))
                stage.count_failure(error, item)
            else:
                stage.count(seconds)
                for output in outputs:
                    await stage.put(output)
                del outputs
            room.release()
            del task, item

    halves = {asyncio.create_task(begin()), asyncio.create_task(deliver())}
    try:
        await asyncio.gather(*halves)
    finally:
        await cancel_all({task for task in halves | tasks if not task.done()})


async def aggregate(stage: Stage, op: Aggregator, drop_last: bool) -> None:
    """Gathers items. If the aggregator fails, what it has gathered is lost: that ends all."""
    while True:
        item = await stage.get()
        if item is EPOCH_END:
            left = op.flush()
            if left is not None and not drop_last:
                await stage.put(left)
            await stage.put(EPOCH_END)
            continue
        if item is EOF and drop_last:
            return
        result = None
        async with around_task(stage.hooks, item):
            result = await _try(stage, item, _gather(op, item))
        if result is not None:
            await stage.put(result)
        if item is EOF:
            return


async def _gather(op: Aggregator, item: Any) -> Any:
    return op.flush() if item is EOF else op.accumulate(item)
