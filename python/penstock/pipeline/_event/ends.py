"""Both ends of a pipeline on the loop: sources and the sink, and how a queue is ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from penstock.pipeline._event.stage import Stage
from penstock.pipeline._queues import AsyncQueue
from penstock.pipeline._stage import EOF, EPOCH_END
from penstock.pipeline._tasks import Unbroken
from penstock.pipeline._threads import Threads

_END = object()


async def end(queue: AsyncQueue) -> None:
    """Tells the next stage that there is no more. A queue that refuses is ended, too."""
    try:
        await queue.put(EOF)
    except Exception:
        end_now(queue)
        raise


def end_now(queue: AsyncQueue) -> None:
    """The same without waiting for room: items that are in the way are dropped."""
    while queue.full():
        queue.get_nowait()
    queue.put_nowait(EOF)


@asynccontextmanager
async def ending(queue: AsyncQueue) -> AsyncIterator[None]:
    """Around a stage that fills a queue: it is ended whatever happens, unless all is stopped."""
    ended = False
    try:
        async with Unbroken(queue.stage_hook()):
            try:
                yield
            except Exception:
                ended = True
                await end(queue)
                raise
            ended = True
            await end(queue)
    except Exception:
        if not ended:
            await end(queue)
        raise


async def read_source(
    stage: Stage, source: Iterable[Any] | AsyncIterable[Any], continuous: bool, thread: Threads
) -> None:
    """Puts the source's items; the next one is asked for when there is room for it."""
    try:
        while True:
            if isinstance(source, AsyncIterable):
                await _read_async(stage, source)
            else:
                await _read(stage, source, thread)
            if not continuous:
                return
            await stage.put(EPOCH_END)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise stage.interrupted(error) from error


async def _read_async(stage: Stage, source: AsyncIterable[Any]) -> None:
    items = aiter(source)
    try:
        async for item in items:
            await stage.put(item)
            del item
    finally:
        if hasattr(items, "aclose"):
            await items.aclose()


async def _read(stage: Stage, source: Iterable[Any], thread: Threads) -> None:
    run = asyncio.get_running_loop().run_in_executor
    iterator: Any = None
    try:
        iterator = await run(thread, iter, source)
        while (item := await run(thread, _next, iterator)) is not _END:
            await stage.put(item)
        iterator = None
    finally:
        if hasattr(iterator, "close"):
            thread.submit(_close, iterator)  # after a call that may be under way


def _next(iterator: Any) -> Any:
    return next(iterator, _END)


def _close(iterator: Any) -> None:
    with contextlib.suppress(Exception):
        iterator.close()


async def drain_to_sink(stage: Stage) -> None:
    while (item := await stage.get()) is not EOF:
        await stage.put(item)
        del item
