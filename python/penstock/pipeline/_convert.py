"""Functions of all kinds as coroutines or async generators, for an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

from penstock.pipeline.defs._ops import any_of

AsyncFunction = Callable[[Any], Awaitable[Any]]
AsyncGeneratorFunction = Callable[[Any], AsyncIterator[Any]]

_END = object()


def runs_elsewhere(executor: Executor) -> bool:
    """Whether an executor calls functions in another process."""
    return bool(getattr(executor, "runs_elsewhere", isinstance(executor, ProcessPoolExecutor)))


def workers_of(executor: Any) -> int | None:
    """How many calls an executor makes at once, where it says."""
    while executor is not None:
        most = getattr(executor, "_max_workers", None)
        if isinstance(most, int):
            return most
        inner = (getattr(executor, name, None) for name in ("_owner", "_workers", "_threads"))
        executor = next((one for one in inner if one is not None), None)
    return None


def is_generator(op: Any) -> bool:
    return any_of(op, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def as_coroutine(op: Callable[[Any], Any], executor: Executor) -> AsyncFunction:
    """Calls a plain function in the executor."""

    async def run(item: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(executor, _call, op, item)

    return run


def _call(op: Callable[[Any], Any], item: Any) -> Any:
    try:
        return op(item)
    except StopIteration as error:  # futures do not carry it
        raise RuntimeError("the op raised StopIteration") from error


def as_async_generator(op: Callable[[Any], Any], executor: Executor) -> AsyncGeneratorFunction:
    """Outputs one by one; from a process pool all at once, because generators do not travel."""

    async def stream(item: Any) -> AsyncIterator[Any]:
        run = asyncio.get_running_loop().run_in_executor
        if runs_elsewhere(executor):
            for output in await run(executor, _whole, op, item):
                yield output
            return
        iterator, output = await run(executor, _first, op, item)
        try:
            while output is not _END:
                yield output
                output = await run(executor, _more, iterator, item)
        finally:
            if output is not _END and hasattr(iterator, "close"):
                with contextlib.suppress(RuntimeError):  # the executor is shut down
                    executor.submit(_close, iterator)

    return stream


async def elements(items: Any) -> AsyncIterator[Any]:
    """The op of a disaggregate stage."""
    for item in items:
        yield item


def checked_path(index: Any, paths: int) -> int:
    """What a router has returned, if there is such a path."""
    if not 0 <= index < paths:
        raise IndexError(
            f"Router returned index {index}, but there are only {paths} paths "
            f"(valid range: [0, {paths}))."
        )
    return int(index)


def _whole(op: Callable[[Any], Any], item: Any) -> list[Any]:
    return list(op(item))


def _first(op: Callable[[Any], Any], item: Any) -> tuple[Any, Any]:
    iterator = iter(op(item))
    return iterator, next(iterator, _END)


def _more(iterator: Any, item: Any) -> Any:
    return next(iterator, _END)


def _close(iterator: Any) -> None:
    with contextlib.suppress(ValueError):  # it is running: it ends when that call returns
        iterator.close()
