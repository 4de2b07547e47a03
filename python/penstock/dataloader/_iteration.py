"""One pass over a PyTorchDataLoader: takes batches, raises what went wrong, counts."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from penstock.dataloader._progress import Progress
from penstock.dataloader._run import Run, cause_of
from penstock.dataloader._workers import close_all
from penstock.pipeline import PipelineFailure

_LOG = logging.getLogger("penstock.dataloader")
_running: weakref.WeakSet[Iteration] = weakref.WeakSet()


class Iteration:
    """Its workers end with it: at the end of the epoch, or when nobody holds it any more."""

    def __init__(
        self, loader: Any, run: Run, progress: Progress, close: Callable[[], Any] | None
    ) -> None:
        self._loader = loader
        self._run: Run | None = run
        self._progress = progress
        self._close = close
        self._process = os.getpid()
        _running.add(self)

    def __iter__(self) -> Iteration:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        while self._run is not None:
            try:
                result = next(self._run)
            except StopIteration:
                self.stop()
                self._loader._position.ended(self._progress)
                break
            except PipelineFailure as failure:
                self.stop()
                raise cause_of(failure) from failure
            number, batch, error = result
            result.clear()
            self._progress.received(number)
            if not self._loader._skip_failed:
                if error is not None:
                    try:
                        raise error
                    finally:
                        del error  # its traceback leads here, and would keep the workers alive
                return batch
            if error is not None:
                _LOG.error("batch %d has failed and is left out", number, exc_info=error)
            elif batch is not None:
                return batch
        raise StopIteration

    def stats(self) -> list[Any]:
        """What the stages of the pipeline have done; empty without workers."""
        pipeline = getattr(self._run, "pipeline", None)
        if pipeline is None or self._process != os.getpid():
            return []
        return list(pipeline.stats())

    def stop(self) -> None:
        """Ends all work; the loop then ends too."""
        measured = self.stats()
        run, self._run = self._run, None
        if run is None or self._process != os.getpid():
            return
        self._loader._measured = measured
        run.stop()
        if self._close is not None:
            self._close()

    def __del__(self) -> None:
        if getattr(self, "_run", None) is not None:
            self.stop()


def _stop_all() -> None:
    for iteration in list(_running):
        iteration.stop()
    close_all()


# Before the interpreter goes down, and before concurrent.futures closes its pools, which it does
# when threads are joined: that is too early for atexit.
getattr(threading, "_register_atexit", atexit.register)(_stop_all)
