"""The thread of a pipeline on the loop, and the consumer's side."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from penstock import _torch_range
from penstock.pipeline._background import BackgroundTaskFactory
from penstock.pipeline._event.calls import Calls
from penstock.pipeline._event.graph import Graph
from penstock.pipeline._event.run import run
from penstock.pipeline._failure import PipelineFailure
from penstock.pipeline._loop import run_beside
from penstock.pipeline._run import Got
from penstock.pipeline._stage import EPOCH_END
from penstock.pipeline._stats import StageStats
from penstock.pipeline._tasks import cancel_all
from penstock.pipeline._usage import stolen

_LOG = logging.getLogger("penstock.pipeline")


class EventRun:
    """A pipeline on an event loop; see :class:`penstock.pipeline._run.Run`.

    An item leaves the output queue when the consumer asks for it, not before: what the user's
    queue counts is true. Items that were asked for, but not waited for, are kept in ``_ready``.
    """

    def __init__(
        self, graph: Graph, calls: Calls, background: Sequence[BackgroundTaskFactory]
    ) -> None:
        self._graph = graph
        self._calls = calls
        self._background = list(background)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._ready: queue.SimpleQueue[tuple[Got, Any]] = queue.SimpleQueue()
        self._waiting = 0
        self._asked = 0
        self._end: Got | None = None
        self._failure: PipelineFailure | None = None
        self._started_at = self._ended_at = 0.0
        self._cpu_at_start = self._stolen_at_start = 0.0
        self._used: dict[str, Any] = {}  # when it ended
        self._requests = self._found_ready = 0
        self._wait = 0.0

    def start(self) -> None:
        started = threading.Event()
        self._started_at = time.monotonic()
        self._cpu_at_start = time.process_time()
        self._stolen_at_start = stolen()
        self._thread = threading.Thread(
            target=self._main, args=(started,), name="penstock-loop", daemon=True
        )
        self._thread.start()
        started.wait()

    def stop(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        if self._thread is None or self._loop is None:
            return
        with self._lock:
            if self._end is None:
                self._loop.call_soon_threadsafe(self._serving.cancel)
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
        left = self._calls.stop(deadline)
        if self._thread.is_alive():
            left = left or "stop: a coroutine has not ended although it was cancelled"
        if left is not None:
            _LOG.warning("%s", left)

    def _main(self, started: threading.Event) -> None:
        try:
            with self._calls.usage.of_this_thread(), asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                runner.run(self._serve(started))
        finally:
            started.set()

    async def _serve(self, started: threading.Event) -> None:
        self._demand = asyncio.Semaphore(0)
        self._serving = asyncio.create_task(self._live())
        started.set()
        try:
            (error,) = await asyncio.gather(self._serving, return_exceptions=True)
            if isinstance(error, Exception) and self._failure is None:  # of the user's queue
                sink = str(self._graph.nodes[-1].stage.info)
                self._failure = PipelineFailure([(sink, error)])
        finally:
            self._finish()

    async def _live(self) -> None:
        """Until everything was read, or until it is cancelled."""
        running = asyncio.create_task(run(self._graph.nodes))
        ended = asyncio.create_task(self._await_end(running))
        try:
            while await self._give(ended):
                pass
        finally:
            running.cancel()
            await asyncio.wait({ended})

    async def _await_end(self, running: asyncio.Task[PipelineFailure | None]) -> None:
        beside = run_beside(self._background)
        self._failure = await running
        self._used = self._usage()
        self._ended_at = time.monotonic()
        await cancel_all(beside)

    async def _give(self, ended: asyncio.Task[None]) -> bool:
        """Hands out one item for one request; False if there will be none."""
        await self._demand.acquire()
        output = self._graph.output
        if not output.empty():
            self._hand_over(await output.get())
            return True
        get = asyncio.create_task(output.get())
        try:
            await asyncio.wait({get, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not get.done():
                await cancel_all({get})
            if not get.cancelled():  # it may have come at the last moment
                self._hand_over(get.result())
        return not get.cancelled()

    def _hand_over(self, item: Any) -> None:
        self._ready.put((Got.EPOCH_END, None) if item is EPOCH_END else (Got.ITEM, item))

    def _finish(self) -> None:
        """No more items but those that wait at the sink."""
        output = self._graph.output
        with self._lock:
            while not output.empty():
                self._hand_over(output.get_nowait())
            self._end = Got.END if self._failure is None else Got.FAILED
            for _ in range(self._asked):
                self._ready.put((self._end, None))

    def take(self, timeout: float) -> tuple[Got, Any]:
        if self._process != os.getpid():
            return Got.STOPPED, None
        start = time.monotonic()
        with self._lock:
            self._requests += 1
            self._found_ready += not self._ready.empty() or not self._graph.output.empty()
            if self._end is not None:
                return self._left()
            self._waiting += 1
            if self._asked < self._waiting:
                self._asked += 1
                assert self._loop is not None
                self._loop.call_soon_threadsafe(self._demand.release)
        got: tuple[Got, Any] | None = None
        try:
            got = self._await(timeout)
        except queue.Empty:
            return Got.TIMEOUT, None
        finally:
            with self._lock:
                self._waiting -= 1
                self._asked -= got is not None
                self._wait += time.monotonic() - start
        return got

    def _await(self, timeout: float) -> tuple[Got, Any]:
        with contextlib.suppress(queue.Empty):
            return self._ready.get_nowait()
        with _torch_range.shown():
            return self._ready.get(timeout=None if timeout < 0 else timeout)

    def _left(self) -> tuple[Got, Any]:
        """What waits once the end is known. The marks behind the items are of those who wait."""
        assert self._end is not None
        try:
            got = self._ready.get_nowait()
        except queue.Empty:
            return self._end, None
        if got[0] is self._end:
            self._ready.put(got)
        return got

    def items(self, timeout: float, ended: Callable[[int], None]) -> Iterator[Any]:
        return _Items(self, timeout, ended)

    def failure(self) -> PipelineFailure | None:
        return self._failure

    def stats(self) -> list[StageStats]:
        if not self._started_at:
            elapsed = 0.0
        else:
            elapsed = (self._ended_at or time.monotonic()) - self._started_at
        *stages, sink = [node.stage.stats(elapsed) for node in self._graph.nodes]
        ready = self._found_ready / self._requests if self._requests else 0.0
        sink = sink.as_sink(self._requests, self._wait, ready)
        return [*stages, replace(sink, python=False, **(self._used or self._usage()))]

    def _usage(self) -> dict[str, Any]:
        if not self._started_at:
            return {}
        cpu, delay = self._calls.usage.totals()
        process = time.process_time() - self._cpu_at_start
        return {
            "python_cpu": cpu,
            "python_delay": delay,
            "stolen": stolen() - self._stolen_at_start,
            "process_cpu": process,
        }


class _Items(Iterator[Any]):
    """Not a generator: it goes on after a TimeoutError."""

    def __init__(self, run: EventRun, timeout: float, ended: Callable[[int], None]) -> None:
        self._run: EventRun | None = run
        self._timeout = timeout
        self._ended = ended

    def __next__(self) -> Any:
        if self._run is not None:
            kind, item = self._run.take(self._timeout)
            if kind is Got.ITEM:
                return item
            self._ended(kind)
            self._run = None
        raise StopIteration
