"""Where batches are made: in the loop itself, or in a pipeline beside it.

A run is an iterator over results (see _fetch) that can be stopped.
"""

from __future__ import annotations

import contextlib
import queue
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from typing import Any, Protocol

from penstock.dataloader._fetch import Fetch, Result
from penstock.dataloader._workers import Workers
from penstock.pipeline import PipelineBuilder, PipelineFailure


class LoaderTimeout(RuntimeError, TimeoutError):
    """No batch came in time. A RuntimeError, because that is what torch raises."""


class Run(Protocol):
    def __next__(self) -> Result: ...

    def stop(self) -> None: ...


class InlineRun:
    """Nothing happens before the loop asks for it, and nothing beside it."""

    def __init__(self, tasks: Iterable[Any], fetch: Callable[[Any], Result]) -> None:
        self._results: Iterator[Result] = map(fetch, tasks)

    def __next__(self) -> Result:
        return next(self._results)

    def stop(self) -> None:
        self._results = iter(())


class PipelineRun:
    """Reads tasks from a source on a thread of its own, and works on them on ``count`` threads."""

    def __init__(
        self,
        source: Iterable[Any],
        fetch: Fetch,
        *,
        count: int,
        workers: Workers | None,
        buffer: int,
        in_order: bool,
        timeout: float,
        finish: Callable[[Result], Result] | None = None,
    ) -> None:
        builder = PipelineBuilder().add_source(source)
        builder.pipe(
            fetch if workers is None else workers.op(fetch),
            name="fetch",
            concurrency=count,
            executor=None if workers is None else workers.executor,
            output_order="input" if in_order else "completion",
        )
        if finish is not None:
            builder.pipe(finish, name="pin_memory")
        self.pipeline = builder.add_sink(buffer).build(
            num_threads=count if workers is None else 1, max_failures=0
        )
        self._timeout = timeout
        self.pipeline.start()
        self._results = self.pipeline.get_iterator(timeout=timeout or None)

    def __next__(self) -> Result:
        try:
            result: Result = next(self._results)
        except TimeoutError:
            raise LoaderTimeout(
                f"DataLoader timed out after {self._timeout} seconds: no batch came"
            ) from None
        return result

    def stop(self) -> None:
        self._results = iter(())  # a failure's traceback leads here: it must not lead on
        with contextlib.suppress(PipelineFailure):
            self.pipeline.stop()


class FedRun:
    """Takes tasks in the loop's thread, as torch does: a few ahead, and one for each result.

    So a sampler is asked for the same indices at the same moments, and no other thread draws from
    its generator. If it fails, that is raised after the batches before. ``source`` is what becomes
    of the tasks on their way.
    """

    def __init__(
        self,
        tasks: Iterator[Any],
        fetch: Fetch,
        *,
        ahead: int,
        source: Callable[[Iterator[Any]], Iterable[Any]] = iter,
        **options: Any,
    ) -> None:
        self._tasks = tasks
        self._under_way = 0
        self._problem: Exception | None = None
        self._feed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Wakes the source if it waits. Before the pipeline is stopped, also where the garbage
        # collector chooses what goes first.
        self._end = weakref.finalize(self, self._feed.put, None)
        self._end.atexit = False
        for _ in range(ahead):
            self._feed_one()
        given = source(iter(self._feed.get, None))
        # All that is under way has room, and so have workers that will leave a batch to others.
        buffer = ahead + options["count"]
        self._run = PipelineRun(given, fetch, buffer=buffer, **options)
        self.pipeline = self._run.pipeline

    def __next__(self) -> Result:
        if self._under_way == 0:
            problem, self._problem = self._problem, None
            raise problem or StopIteration
        result = next(self._run)
        self._under_way -= 1
        self._feed_one()
        return result

    def stop(self) -> None:
        self._end()
        self._run.stop()

    def _feed_one(self) -> None:
        try:
            task = next(self._tasks, None)
        except Exception as problem:
            self._problem, task = problem, None
        if task is not None:
            self._under_way += 1
            self._feed.put(task)


def cause_of(failure: PipelineFailure) -> BaseException:
    """What went wrong in a run as a whole; what goes wrong in a batch is in its result."""
    error: BaseException | None = failure.exceptions[0]
    while error is not None:
        if isinstance(error, BrokenExecutor):
            return RuntimeError(
                "a worker process of PyTorchDataLoader ended unexpectedly: it was killed (out of "
                "memory?) or has crashed"
            )
        error = error.__cause__
    return failure.exceptions[0].__cause__ or failure
