"""The user's functions on rows, made into what the engine calls: one row at a time, on threads."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.data._arrays import viewer
from penstock.data._arrow_columns import unpacker
from penstock.data._plan import Filter, Map, PlanError, TableValues, ViewRows

if TYPE_CHECKING:
    import asyncio


def name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", None) or type(fn).__name__


def wants_rng(fn: Callable[..., Any]) -> bool:
    try:
        return "rng" in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def is_async(fn: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        getattr(fn, "__call__", None)  # noqa: B004
    )


def row_rng(seed: int, epoch: int, position: int, ordinal: int) -> np.random.Generator:
    """The generator of one row: the same whichever thread asks, and when."""
    mask = 2**64 - 1
    key = np.array([seed & mask, epoch], np.uint64)
    counter = np.array([0, 0, ordinal, position], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


class EventLoop:
    """A thread with an event loop, from the first coroutine on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Any) -> Any:
        import asyncio  # not before it is needed: it is large

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._serve, args=(self._loop,), name="penstock-loop", daemon=True
                ).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(self._stop, loop)

    def __del__(self) -> None:
        self.close()

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        loop.run_forever()
        loop.close()

    @staticmethod
    def _stop(loop: asyncio.AbstractEventLoop) -> None:
        import asyncio

        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.call_soon(loop.stop)


class Call:
    """A map or a late filter."""

    def __init__(
        self, step: Map | Filter | ViewRows | TableValues, seed: int, ordinal: int, loop: EventLoop
    ) -> None:
        self.with_row = False
        self.concurrency: int | None = None
        if isinstance(step, ViewRows):
            self.name = "view rows"
            self.function: Callable[..., Any] = viewer(step)
            return
        if isinstance(step, TableValues):
            self.name = "table values"
            self.function = unpacker(step.names)
            return
        self.name = f"{'map' if isinstance(step, Map) else 'filter'} {name_of(step.fn)}"
        self.with_row = wants_rng(step.fn)
        call = _caller(step, loop)
        if isinstance(step, Filter):
            call = _keep_if(call)
        else:
            self.concurrency = step.concurrency
        if not self.with_row:
            self.function = call
            return

        def with_rng(sample: Any, epoch: int, position: int) -> Any:
            return call(sample, rng=row_rng(seed, epoch, position, ordinal))

        self.function = with_rng


def _caller(step: Map | Filter, loop: EventLoop) -> Callable[..., Any]:
    fn = step.fn
    executor = step.executor if isinstance(step, Map) else None
    if is_async(fn):
        if executor is not None:
            raise PlanError("map: an async function has no executor")
        return lambda *args, **kwargs: loop.run(fn(*args, **kwargs))
    if executor is not None:
        return lambda sample, **kwargs: executor.submit(fn, _portable(sample), **kwargs).result()
    return fn


def _portable(sample: dict[str, Any]) -> dict[str, Any]:
    """Views of memory do not travel to other processes."""
    return {
        name: bytes(value) if isinstance(value, memoryview) else value
        for name, value in sample.items()
    }


def _keep_if(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda sample, **kwargs: sample if call(sample, **kwargs) else None


def default_concurrency(threads: int | None) -> int:
    return threads or len(os.sched_getaffinity(0))
