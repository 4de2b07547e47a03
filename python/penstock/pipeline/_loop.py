"""The event loop of a pipeline: one thread for all its async stages and executors.

Each stage has as many long-lived coroutines as its concurrency. A coroutine completes a task and
takes the next one in the same call, without a hop to another thread; only when there is none does
it wait for the lane's signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterable, Callable, Coroutine
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

from penstock._core import LoopTask, TaskLane


class Stage:
    """A stage on the loop. ``work`` carries out one task, completes it and returns the next."""

    def __init__(
        self,
        lane: TaskLane,
        concurrency: int,
        work: Callable[[TaskLane, LoopTask], Coroutine[Any, Any, LoopTask | None]],
    ) -> None:
        self._lane = lane
        self._concurrency = concurrency
        self._work = work
        self._idle: list[asyncio.Future[LoopTask]] = []
        self._flushing = False
        self._completed = 0  # since the last flush
        self._busy = False

    def start(self, loop: asyncio.AbstractEventLoop) -> list[asyncio.Task[None]]:
        self._loop = loop
        loop.add_reader(self._lane.fileno(), self._signalled)
        return [loop.create_task(self._run()) for _ in range(self._concurrency)]

    async def _run(self) -> None:
        lane = self._lane
        following: LoopTask | None = None
        while True:
            task = following or lane.claim() or await self._next()
            try:
                following = await self._work(lane, task)
            except asyncio.CancelledError:
                lane.abandon(task)
                raise
            # Whoever waits for results is woken once per turn of the loop; while results come in
            # great numbers, once per millisecond: each wake-up hands over the GIL.
            self._completed += 1
            if not self._flushing and lane.has_chores:
                self._flushing = True
                if self._busy:
                    self._loop.call_later(0.001, self._flush)
                else:
                    self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self._busy = self._completed > 4
        self._completed = 0
        self._lane.flush()

    async def _next(self) -> LoopTask:
        waiter: asyncio.Future[LoopTask] = self._loop.create_future()
        self._idle.append(waiter)
        self._deal()
        try:
            return await waiter
        finally:
            if waiter in self._idle:
                self._idle.remove(waiter)

    def _signalled(self) -> None:
        self._lane.acknowledge()
        self._deal()
        self._lane.flush()

    def _deal(self) -> None:
        """Hands tasks to idle coroutines; says that there are idle ones before looking again."""
        while self._idle:
            if self._idle[-1].done():  # cancelled
                self._idle.pop()
                continue
            self._lane.set_idle(True)
            task = self._lane.claim()
            if task is None:
                return
            self._idle.pop().set_result(task)
        self._lane.set_idle(False)


class Loop:
    """The thread and what runs on it. It does not keep its pipeline alive."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stages: list[Stage] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def add(self, stage: Stage) -> None:
        self._stages.append(stage)

    def start(self) -> None:
        if not self._stages:
            return
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._main, args=(started,), name=self._name, daemon=True
        )
        self._thread.start()
        started.wait()

    def stop(self, timeout: float) -> bool:
        """Cancels everything; True if the thread is gone."""
        if self._thread is None or self._loop is None:
            return True
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._cancel)
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _main(self, started: threading.Event) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            runner.run(self._serve(started))

    async def _serve(self, started: threading.Event) -> None:
        assert self._loop is not None
        self._tasks = [task for stage in self._stages for task in stage.start(self._loop)]
        started.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _failed(lane: TaskLane, task: LoopTask, error: BaseException, item: Any) -> LoopTask | None:
    """Records a failure. Anything but an Exception was meant to end the program: it is fatal.

    A CancelledError is ours if the loop is being stopped; else the user's function raised it, and
    it is a failure like others.
    """
    if isinstance(error, asyncio.CancelledError):
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise error
        return lane.fail(task, error, item, False)
    return lane.fail(task, error, item, not isinstance(error, Exception))


def call_async(op: Callable[[Any], Any]) -> Any:
    async def work(lane: TaskLane, task: LoopTask) -> LoopTask | None:
        item = task.item
        try:
            result = await op(item)
        except BaseException as error:
            return _failed(lane, task, error, item)
        return lane.finish(task, result)

    return work


def generate_async(op: Callable[[Any], Any]) -> Any:
    async def work(lane: TaskLane, task: LoopTask) -> LoopTask | None:
        kept: Any = task.item
        stream, item = kept if task.resumed else (None, kept)
        try:
            if stream is None:
                stream = op(item)
            output = await anext(stream)
        except StopAsyncIteration:
            return lane.finish(task, None)
        except BaseException as error:
            return _failed(lane, task, error, item)
        return lane.again(task, output, (stream, item))

    return work


def call_in_executor(op: Callable[[Any], Any], executor: Executor) -> Any:
    async def run(item: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(executor, _call, op, item)

    return call_async(run)


def _call(op: Callable[[Any], Any], item: Any) -> Any:
    try:
        return op(item)
    except StopIteration as error:  # futures do not carry it
        raise RuntimeError("the op raised StopIteration") from error


_END = object()


def _first(op: Callable[[Any], Any], item: Any) -> tuple[Any, Any]:
    stream = iter(op(item))
    return stream, next(stream, _END)


def _whole(op: Callable[[Any], Any], item: Any) -> list[Any]:
    return list(op(item))


def generate_in_executor(op: Callable[[Any], Any], executor: Executor) -> Any:
    """Outputs one by one; from a process pool all at once, because generators do not travel."""

    async def stream(item: Any) -> Any:
        run = asyncio.get_running_loop().run_in_executor
        if isinstance(executor, ProcessPoolExecutor):
            for output in await run(executor, _whole, op, item):
                yield output
            return
        iterator, output = await run(executor, _first, op, item)
        while output is not _END:
            yield output
            output = await run(executor, next, iterator, _END)

    return generate_async(stream)


def iterate_async(source: AsyncIterable[Any], continuous: bool) -> Any:
    iterator: Any = None

    async def work(lane: TaskLane, task: LoopTask) -> LoopTask | None:
        nonlocal iterator
        try:
            if iterator is None:
                iterator = aiter(source)
            item = await anext(iterator)
        except StopAsyncIteration:
            iterator = None
            if continuous:
                return lane.end_epoch(task)
            lane.end_source(task)
            return None
        except BaseException as error:
            return _failed(lane, task, error, None)
        return lane.finish(task, item)

    return work
