"""Tasks of an event loop: failures are logged, and some work is carried through when cancelled."""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections import Counter
from collections.abc import Awaitable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

T = TypeVar("T")

_LOG = logging.getLogger("penstock.pipeline")

_compact: bool | None = None
_repeated: Counter[str] = Counter()


def setting(name: str) -> str | None:
    """A setting from the environment: PENSTOCK_PIPELINE_<name>, or the reference's own."""
    for prefix in ("PENSTOCK_PIPELINE_", "SPDL_PIPELINE_"):
        if (value := os.environ.get(prefix + name)) is not None:
            return value
    return None


def is_on(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true", "on", "yes")


def set_compact_log(value: bool | None) -> None:
    """True: a failed task is logged in one line, without its traceback.

    None: as the environment variable PENSTOCK_PIPELINE_COMPACT_LOG says (off by default).

    >>> from penstock.pipeline import config
    >>> config.set_compact_log(True)
    >>> config.set_compact_log(None)
    """
    global _compact
    _compact = value


def compact_log() -> bool:
    return is_on(setting("COMPACT_LOG")) if _compact is None else _compact


def log_failure(task: str, error: BaseException, item: str = "") -> None:
    """One failed task in the log: ``item`` is what it worked on, ready to be printed."""
    about = f" Item: {item}" if item else ""
    if isinstance(error, TimeoutError):
        _LOG.error("Task [%s] timeout.%s", task, about)
    elif compact_log():
        place = _place_of(error)
        where = f" ({place.filename}:{place.lineno}:{place.name})" if place else ""
        _LOG.error("Task [%s]: %s: %s%s%s", task, type(error).__name__, error, where, about)
    else:
        _LOG.error("Task [%s] failed.%s", task, about, exc_info=error)


def _place_of(error: BaseException) -> traceback.FrameSummary | None:
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return frames[-1] if frames else None


def create_task(
    coro: Coroutine[Any, Any, T],
    name: str | None = None,
    log_cancelled: bool = False,
    suppress_repeated_logs: bool = False,
    suppression_threshold: int = 5,
    suppression_warning_interval: int = 100,
) -> asyncio.Task[T]:
    """:func:`asyncio.create_task` whose failure is logged, whoever awaits it.

    With ``suppress_repeated_logs`` failures from the same line are logged until there are
    ``suppression_threshold`` of them, and from then on counted.

    >>> async def main():
    ...     return await create_task(asyncio.sleep(0, "done"), name="rest")
    >>> asyncio.run(main())
    'done'
    """
    task = asyncio.create_task(coro, name=name)

    def log(done: asyncio.Task[T]) -> None:
        if done.cancelled():
            if log_cancelled:
                _LOG.warning("Task [%s] was cancelled.", done.get_name())
            return
        error = done.exception()
        if error is None:
            return
        place = _place_of(error)
        if suppress_repeated_logs and place is not None:
            at = f"{place.filename}:{place.lineno}:{place.name}"
            _repeated[at] += 1
            count = _repeated[at]
            if count == suppression_threshold:
                _LOG.warning("Errors are repeated at %s, holding on logging.", at)
            elif count > suppression_threshold and count % suppression_warning_interval == 0:
                _LOG.warning("%d errors were logged at %s.", count, at)
            if count >= suppression_threshold:
                return
        log_failure(done.get_name(), error)

    task.add_done_callback(log)
    return task


async def finish(coro: Coroutine[Any, Any, T]) -> T:
    """Awaits to the end even if this task is cancelled meanwhile; that is raised afterwards."""
    task = asyncio.ensure_future(coro)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if not task.cancelled():
                cancelled = error
        except BaseException:
            break
    if cancelled is not None and not task.cancelled() and task.exception() is None:
        raise cancelled
    return task.result()


async def not_cancelled(work: Awaitable[T]) -> T:
    """User code may raise a CancelledError of its own, which must not pass for ours."""
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("CancelledError was raised, though nothing was cancelled") from error


async def tame(work: Awaitable[T]) -> T:
    """What is meant to end the program would end the event loop, and leave all others waiting."""
    try:
        return await work
    except (KeyboardInterrupt, SystemExit) as error:
        raise RuntimeError(f"{type(error).__name__} was raised on the event loop") from error


class Unbroken(AbstractAsyncContextManager[Any]):
    """A context manager whose beginning and end are carried through when cancelled."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        try:
            return await finish(tame(self._inner.__aenter__()))
        except asyncio.CancelledError:
            await finish(tame(self._inner.__aexit__(None, None, None)))
            raise

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            return bool(await finish(tame(self._inner.__aexit__(*error))))
        except asyncio.CancelledError:
            if error[0] is None:
                raise
            return False  # what was under way when it was cancelled is raised instead


async def cancel_all(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits until they have ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await finish(_ended(tasks))


async def _ended(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.wait(tasks)
