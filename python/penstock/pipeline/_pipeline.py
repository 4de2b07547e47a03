"""A pipeline that was built: start it, read its items, stop it."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock._whole import as_seconds
from penstock.pipeline import _stats
from penstock.pipeline._run import Got
from penstock.pipeline.defs._ops import Subscriptable

if TYPE_CHECKING:
    from penstock.pipeline._failure import PipelineFailure
    from penstock.pipeline._run import Run
    from penstock.pipeline._stats import StageStats

_LOG = logging.getLogger("penstock.pipeline")

_STOP_TIMEOUT = 1.0

_running: weakref.WeakSet[Pipeline] = weakref.WeakSet()


class Pipeline(Subscriptable):
    """Runs the stages and hands out what they make. Made by :meth:`PipelineBuilder.build`.

    One thread at a time may read. Everything else may be called from any thread.

    >>> from penstock.pipeline import PipelineBuilder
    >>> pipeline = PipelineBuilder().add_source(range(3)).pipe(lambda x: 2 * x).add_sink().build()
    >>> with pipeline.auto_stop():
    ...     list(pipeline)
    [0, 2, 4]
    """

    def __init__(self, run: Run, description: str, report_interval: float) -> None:
        self._run = run
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
        self._run.start()
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
        self._shut_down(_STOP_TIMEOUT if timeout is None else _wait(timeout, "stop"))
        if not self._failure_was_read:
            self._raise_failure_if_any()

    def _shut_down(self, timeout: float) -> None:
        with self._state_lock:
            if self._state != "running":
                return
            self._state = "stopped"
        self._report_ended.set()
        _running.discard(self)
        self._run.stop(timeout)

    @contextmanager
    def auto_stop(self, *, timeout: float | None = None) -> Iterator[None]:
        """Starts the pipeline and stops it at the end of the block, whatever happens in it."""
        if timeout is not None:
            _wait(timeout, "auto_stop")
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
        if kind == Got.ITEM:
            return item
        self._raise_if_wrong(kind, timeout)
        raise EOFError("Reached the end of the pipeline.")

    def get_iterator(self, *, timeout: float | None = None) -> Iterator[Any]:
        """Iterates to the end, or to the end of the epoch; ``timeout`` is for each item."""
        wait = -1.0 if timeout is None else _wait(timeout, "get_iterator")
        if self._state == "built":
            self.start()
        return self._run.items(wait, lambda kind: self._raise_if_wrong(kind, timeout))

    def __iter__(self) -> Iterator[Any]:
        return self.get_iterator()

    def _take(self, timeout: float | None) -> tuple[int, Any]:
        wait = -1.0 if timeout is None else _wait(timeout, "get_item")
        if self._state == "built":
            self.start()
        return self._run.take(wait)

    def _raise_if_wrong(self, kind: int, timeout: float | None) -> None:
        if kind == Got.TIMEOUT:
            raise TimeoutError(f"The next item is not available after {timeout} sec.")
        if kind in (Got.FAILED, Got.STOPPED):
            self._check_process()
            self._raise_failure_if_any()

    def _raise_failure_if_any(self) -> None:
        if self._failure is None:
            self._failure = self._run.failure()
        if self._failure is not None:
            self._failure_was_read = True
            raise self._failure

    def stats(self) -> list[StageStats]:
        """What each stage has done so far, in the order of the flow, the sink last."""
        self._check_process()
        return self._run.stats()

    def __str__(self) -> str:
        return f"{self._description}\n{_stats.shown(self.stats())}"

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError(
                "This pipeline belongs to the parent process: threads do not survive fork(). "
                "Build a new pipeline in the child."
            )

    def __del__(self) -> None:
        if getattr(self, "_process", None) == os.getpid() and self._state == "running":
            self._shut_down(_STOP_TIMEOUT)


def _wait(timeout: float, method: str) -> float:
    return max(as_seconds(timeout, f"{method}: timeout"), 0.0)


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
