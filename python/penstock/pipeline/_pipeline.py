"""A pipeline that was built: start it, read its items, stop it."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.pipeline import _stats
from penstock.pipeline._failure import PipelineFailure, describe_item

if TYPE_CHECKING:
    from penstock._core import Engine
    from penstock.pipeline._loop import Loop
    from penstock.pipeline._stats import StageStats

_LOG = logging.getLogger("penstock.pipeline")

# What the engine says instead of an item, as numbers: see bindings/py_engine.h.
_ITEM, _EPOCH_END, _END, _FAILED, _TIMEOUT, _STOPPED = range(6)

_STOP_TIMEOUT = 1.0

_running: weakref.WeakSet[Pipeline] = weakref.WeakSet()


class Pipeline:
    """Runs the stages and hands out what they make. Made by :meth:`PipelineBuilder.build`.

    One thread at a time may read. Everything else may be called from any thread.

    >>> from penstock.pipeline import PipelineBuilder
    >>> pipeline = PipelineBuilder().add_source(range(3)).pipe(lambda x: 2 * x).add_sink().build()
    >>> with pipeline.auto_stop():
    ...     list(pipeline)
    [0, 2, 4]
    """

    def __init__(
        self,
        engine: Engine,
        loop: Loop,
        names: Sequence[str],
        limits: Sequence[Any],
        description: str,
        report_interval: float,
    ) -> None:
        self._engine = engine
        self._loop = loop
        self._names = list(names)
        self._limits = list(limits)  # of failures, by stage: (limit, over the whole pipeline)
        self._description = description
        self._report_interval = report_interval
        self._report_ended = threading.Event()
        self._state_lock = threading.Lock()
        self._state = "built"
        self._failure: PipelineFailure | None = None
        self._failure_was_read = False
        self._process = os.getpid()

    def start(self, *, timeout: float | None = None, **kwargs: Any) -> None:
        """Begins to work in the background. Reading an item does this too."""
        self._check_process()
        with self._state_lock:
            if self._state != "built":
                raise RuntimeError(
                    "The pipeline was already started. Start it once; build another one to begin "
                    "again."
                )
            self._state = "running"
        self._engine.start()
        self._loop.start()
        _running.add(self)
        if self._report_interval > 0:
            threading.Thread(
                target=_report_every,
                args=(weakref.ref(self), self._report_ended, self._report_interval),
                name="penstock-report",
                daemon=True,
            ).start()

    def stop(self, *, timeout: float | None = None) -> None:
        """Ends all work and frees what is under way; items at the sink can still be read.

        Returns when all calls of user functions have returned. One that takes longer than the
        timeout (1 s) is logged and abandoned. Raises the :class:`PipelineFailure` if the pipeline
        has failed and nobody has read that yet.
        """
        if self._process != os.getpid():
            return
        self._shut_down(_STOP_TIMEOUT if timeout is None else max(timeout, 0.0))
        if not self._failure_was_read and self._engine.fatal_failures():
            self._raise_failure()

    def _shut_down(self, timeout: float) -> None:
        with self._state_lock:
            if self._state != "running":
                return
            self._state = "stopped"
        self._report_ended.set()
        _running.discard(self)
        deadline = time.monotonic() + timeout
        self._engine.request_stop()
        self._loop.stop(timeout)
        abandoned = self._engine.stop(max(0.0, deadline - time.monotonic()))
        if abandoned is not None:
            _LOG.warning("%s", abandoned)

    @contextmanager
    def auto_stop(self, *, timeout: float | None = None) -> Iterator[None]:
        """Starts the pipeline and stops it at the end of the block, whatever happens in it."""
        self.start(timeout=timeout)
        try:
            yield
        finally:
            self.stop(timeout=timeout)

    def get_item(self, *, timeout: float | None = None) -> Any:
        """The next item.

        Raises EOFError at the end (of an epoch, if the source is continuous), TimeoutError if
        nothing came in time, :class:`PipelineFailure` if the pipeline has failed.
        """
        kind, item = self._take(timeout)
        if kind == _ITEM:
            return item
        self._raise_if_wrong(kind, timeout)
        raise EOFError("Reached the end of the pipeline.")

    def get_iterator(self, *, timeout: float | None = None) -> Iterator[Any]:
        """Iterates to the end, or to the end of the epoch; ``timeout`` is for each item."""
        if self._state == "built":
            self.start()
        wait = -1.0 if timeout is None else max(timeout, 0.0)
        return self._engine.items(wait, lambda kind: self._raise_if_wrong(kind, timeout))

    def __iter__(self) -> Iterator[Any]:
        return self.get_iterator()

    def _take(self, timeout: float | None) -> tuple[int, Any]:
        if self._state == "built":
            self.start()
        return self._engine.take(-1.0 if timeout is None else max(timeout, 0.0))

    def _raise_if_wrong(self, kind: int, timeout: float | None) -> None:
        if kind == _TIMEOUT:
            raise TimeoutError(f"The next item is not available after {timeout} sec.")
        if kind in (_FAILED, _STOPPED):
            self._check_process()
        if kind == _FAILED or (kind == _STOPPED and self._engine.fatal_failures()):
            self._failure_was_read = True
            self._raise_failure()

    def _raise_failure(self) -> NoReturn:
        self._failure_was_read = True
        if self._failure is None:
            errors = [self._explain(*failure) for failure in self._engine.fatal_failures()]
            self._failure = PipelineFailure(sorted(errors, key=lambda error: error[0]))
        raise self._failure

    def _explain(
        self,
        place: int,
        error: BaseException,
        item: Any,
        failed: int,
        processed: int,
        all_failed: int,
        all_processed: int,
    ) -> tuple[str, Exception]:
        """The stage that failed and the exception that says why."""
        name = self._names[place]
        limit, of_all = self._limits[place]
        if of_all:
            failed, processed = all_failed, all_processed
        result: BaseException = error
        if limit is not None and limit[0] >= 0 and isinstance(error, Exception):
            bound, per = limit
            if per == 0 and failed > bound:
                result = RuntimeError(
                    f"The pipeline stage ({name}) failed {failed} times, which exceeds the "
                    f"threshold ({bound})."
                )
            elif per > 0 and processed >= 100 and failed * per > bound * processed:
                result = RuntimeError(
                    f"The pipeline stage ({name}) failed {failed} times out of {processed} "
                    f"invocations ({failed / processed:.1%}), which exceeds the threshold "
                    f"({bound / per:.1%})."
                )
        if not isinstance(result, Exception):
            result = RuntimeError(f"The pipeline stage ({name}) raised {type(error).__name__}.")
        if result is not error:
            result.__cause__ = error
        assert isinstance(result, Exception)
        if item is not None:
            result.add_note(f"Item: {describe_item(item)}")
        return name, result

    def stats(self) -> list[StageStats]:
        """What each stage has done so far, in the order of the flow, the sink last."""
        return _stats.from_engine(self._engine.stats(), self._names)

    def __str__(self) -> str:
        return f"{self._description}\n{_stats.table(self.stats())}"

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError(
                "This pipeline belongs to the parent process: threads do not survive fork(). "
                "Build a new pipeline in the child."
            )

    def __del__(self) -> None:
        if getattr(self, "_process", None) == os.getpid() and self._state == "running":
            self._shut_down(_STOP_TIMEOUT)


def _report_every(pipeline: weakref.ref[Pipeline], ended: threading.Event, interval: float) -> None:
    while not ended.wait(interval):
        alive = pipeline()
        if alive is None:
            return
        _LOG.info("%s", alive)
        del alive


def _stop_all() -> None:
    for pipeline in list(_running):
        if pipeline._process == os.getpid():
            pipeline._shut_down(_STOP_TIMEOUT)


atexit.register(_stop_all)
