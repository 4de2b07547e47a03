"""The event loop of a pipeline: one thread for all its async stages and executors.

Each stage has as many long-lived coroutines as its concurrency. A coroutine completes a task and
takes the next one in the same call, without a hop to another thread; only when there is none does
it wait for the lane's signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterable, Callable, Coroutine, Sequence
from typing import Any

from penstock._core import LoopSlot, TaskLane
from penstock.pipeline._background import BackgroundTaskFactory
from penstock.pipeline._stage import EOF, EPOCH_END
from penstock.pipeline._tasks import cancel_all, create_task, tame

_LOG = logging.getLogger("penstock.pipeline")

# What a slot returns when there is no task: no item can be this.
NOTHING = object()

Run = Callable[["Stage", LoopSlot], Coroutine[Any, Any, None]]


class Stage:
    """A stage on the loop. ``run`` is the life of one of its coroutines: it asks ``first`` for an
    item when it has none, and completes its tasks through its slot.
    """

    def __init__(self, lane: TaskLane, concurrency: int, run: Run) -> None:
        self._lane = lane
        self._concurrency = concurrency
        self._run = run
        self._idle: list[tuple[asyncio.Future[Any], LoopSlot]] = []

    def start(self, loop: asyncio.AbstractEventLoop) -> list[asyncio.Task[None]]:
        self._loop = loop
        loop.add_reader(self._lane.fileno(), self._signalled)
        self._lane.when_due(lambda: loop.call_soon(self._lane.flush))
        return self._begin()

    def end(self) -> None:
        """The loop has ended."""
        self._lane.when_due(None)

    def _begin(self) -> list[asyncio.Task[None]]:
        return [self._live() for _ in range(self._concurrency)]

    def _live(self) -> asyncio.Task[None]:
        slot = LoopSlot(self._lane, NOTHING, EPOCH_END, EOF)
        task = self._loop.create_task(self._run(self, slot))
        task.add_done_callback(lambda _: slot.abandon())
        return task

    def fail(self, error: BaseException) -> None:
        """Ends the pipeline, whatever the tasks of this stage are doing."""
        self._lane.fail(error)
        self._lane.flush()

    async def first(self, slot: LoopSlot) -> Any:
        """An item for a coroutine that has none; waits for it."""
        item = slot.claim()
        if item is not NOTHING:
            return item
        waiter: asyncio.Future[Any] = self._loop.create_future()
        place = (waiter, slot)
        self._idle.append(place)
        self._deal()
        try:
            return await waiter
        finally:
            if place in self._idle:
                self._idle.remove(place)

    def _signalled(self) -> None:
        self._lane.acknowledge()
        self._deal()
        self._lane.flush()

    def _deal(self) -> None:
        """Hands tasks to idle coroutines; says that there are idle ones before looking again."""
        while self._idle:
            waiter, slot = self._idle[-1]
            if waiter.done():  # cancelled
                self._idle.pop()
                continue
            self._lane.set_idle(True)
            item = slot.claim()
            if item is NOTHING:
                return
            self._idle.pop()
            waiter.set_result(item)
        self._lane.set_idle(False)


def run_beside(factories: Sequence[BackgroundTaskFactory]) -> set[asyncio.Task[Any]]:
    """Starts background tasks. One that cannot be made is logged, as is one that fails."""
    tasks: set[asyncio.Task[Any]] = set()
    for factory in factories:
        try:
            tasks.add(create_task(tame(factory().run()), name="background_task"))
        except Exception:
            _LOG.exception("Failed to start a background task.")
    return tasks


class Loop:
    """The thread and what runs on it. It does not keep its pipeline alive."""

    def __init__(self, name: str, background: Sequence[BackgroundTaskFactory]) -> None:
        self._name = name
        self._background = list(background)
        self._stages: list[Stage] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def add(self, stage: Stage) -> None:
        self._stages.append(stage)

    def start(self) -> None:
        if not self._stages and not self._background:
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
        self._stopped.set()
        for task in self._tasks:
            task.cancel()

    def _main(self, started: threading.Event) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                runner.run(self._serve(started))
        except BaseException as error:  # a task of the user's own wants to end the program
            for stage in self._stages:
                stage.fail(error)
        finally:
            for stage in self._stages:
                stage.end()
            started.set()

    async def _serve(self, started: threading.Event) -> None:
        assert self._loop is not None
        self._stopped = asyncio.Event()
        self._tasks = [task for stage in self._stages for task in stage.start(self._loop)]
        started.set()  # before any code of the user's, which may block the loop
        beside = run_beside(self._background)
        await asyncio.sleep(0)  # they begin, however soon it is stopped
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if beside:  # they stay until the pipeline is stopped
            await self._stopped.wait()
            await cancel_all(beside)


def was_cancelled(error: BaseException) -> bool:
    """A CancelledError is ours if the loop is being stopped; else the user's function raised it:
    a failure like others."""
    current = asyncio.current_task()
    stopping = current is not None and bool(current.cancelling())
    return stopping and isinstance(error, asyncio.CancelledError)


def is_fatal(error: BaseException) -> bool:
    """Anything but an Exception was meant to end the program."""
    return not isinstance(error, Exception | asyncio.CancelledError)


def _failed(slot: LoopSlot, error: BaseException, item: Any) -> Any:
    if was_cancelled(error):
        raise error
    return slot.fail(error, item, is_fatal(error))


def call_async(op: Callable[[Any], Any]) -> Run:
    async def run(stage: Stage, slot: LoopSlot) -> None:
        item = NOTHING
        while True:
            if item is NOTHING:
                item = await stage.first(slot)
            try:
                result = await op(item)
            except BaseException as error:
                item = _failed(slot, error, item)
            else:
                item = slot.finish(result)

    return run


def generate_async(op: Callable[[Any], Any]) -> Run:
    async def run(stage: Stage, slot: LoopSlot) -> None:
        item: Any = NOTHING
        while True:
            if item is NOTHING:
                item = await stage.first(slot)
            stream, item = item if slot.resumed else (None, item)
            try:
                if stream is None:
                    stream = op(item)
                output = await anext(stream)
            except StopAsyncIteration:
                item = slot.finish(None)
            except BaseException as error:
                item = _failed(slot, error, item)
            else:
                item = slot.again(output, (stream, item))

    return run


def iterate_async(source: AsyncIterable[Any], continuous: bool) -> Run:
    async def run(stage: Stage, slot: LoopSlot) -> None:
        iterator: Any = None
        poll: Any = NOTHING
        while True:
            if poll is NOTHING:
                await stage.first(slot)
            try:
                if iterator is None:
                    iterator = aiter(source)
                item = await anext(iterator)
            except StopAsyncIteration:
                iterator = None
                if not continuous:
                    slot.end_source()
                    return
                poll = slot.end_epoch()
            except BaseException as error:
                poll = _failed(slot, error, None)
            else:
                poll = slot.finish(item)

    return run
