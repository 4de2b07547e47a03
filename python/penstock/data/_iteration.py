"""One pass over an epoch: takes batches, judges them, counts positions."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import warnings
import weakref
from typing import TYPE_CHECKING, Any, NoReturn

from penstock import _core
from penstock.data._output import first_row
from penstock.data._tally import Measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from penstock.data.loader import Loader
    from penstock.pipeline._executors import Executors

_LOG = logging.getLogger("penstock.data")
_running: weakref.WeakSet[Iteration] = weakref.WeakSet()


def raise_from_loop(error: BaseException) -> NoReturn:
    """Raises it out of __next__, where a StopIteration would end the loop in silence."""
    if isinstance(error, StopIteration):
        raise RuntimeError(f"a function of this loader raised StopIteration: {error}") from error
    raise error


def in_words(error: BaseException) -> str:
    """Its kind, what it says, and what was noted of it: the sample."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return "; ".join([said, *getattr(error, "__notes__", [])])


def _watched(executors: Mapping[str, Executor]) -> Executors | None:
    if not executors:
        return None
    from penstock.pipeline._executors import Executors  # not before it is needed: it is large

    found = Executors(executors)
    found.begin()
    return found


class Iteration:
    """One pass over an epoch, or over the rest of it. Threads may share one: each batch goes to
    one of them."""

    def __init__(self, loader: Loader, start: int, state: Any) -> None:
        self._loader = loader
        self._start = start
        self._round = loader._batch.size * loader.world  # positions of a batch on all ranks
        # Batches in front of what drop_last drops, equally many on all ranks. Otherwise this rank
        # may have fewer than others, and only positions tell where all of them are.
        self._dropping = loader._batches(start) if loader._batch.drop_last else None
        self._ended: str | None = None
        self._warned = False
        self._taking = threading.RLock()  # batches are counted in their order
        self._executors = _watched(loader._rows.executors)
        self.run: _core.DataRun | None = loader._start_run(start, state)
        _running.add(self)

    def __iter__(self) -> Iteration:
        return self

    def __next__(self) -> Any:
        self._loader._check_process()
        with self._taking:
            return self._next()

    def _next(self) -> Any:
        loader = self._loader
        while (run := self.run) is not None:
            got = None
            try:
                asked = time.perf_counter()
                got = run.next()
                came = time.perf_counter()
                if got is None:
                    self._exhausted()
                    break
                value, kept, number, errors, failure, valid, state = got
                if errors:
                    loader._failures.judge(errors, loader.epoch, loader._tally)
                if failure is not None:
                    raise_from_loop(failure)
                if kept == 0 and loader.world > 1:
                    raise RuntimeError(
                        f"no row is left of batch {number} on rank {loader.rank}, and ranks must "
                        'not fall out of step: use on_error="replace" or an early filter'
                    )
            except BaseException as error:
                # Ctrl-C while waiting costs nothing: the loop may go on.
                if got is not None or not isinstance(error, KeyboardInterrupt):
                    self.end("it has failed")
                    loader._tally.failure = in_words(error)
                raise
            if not self._advance(number, valid, state):
                break
            tally = loader._tally
            tally.samples += valid
            if kept > 0:
                tally.batches += 1
                return self._finished(value, asked, came)
        if self._ended is not None and self._ended != "it has failed":
            raise RuntimeError(f"this iteration is over: {self._ended}")
        raise StopIteration

    def end(self, why: str) -> None:
        self._ended = why
        self._stop()

    def _stop(self) -> None:
        run, self.run = self.run, None
        if run is None:
            return
        if self._executors is not None:
            self._executors.end()
        stuck = run.stop(1.0)
        self._loader._last_stats = self.measured(run)
        if stuck is not None:
            _LOG.warning("a loader was stopped while a call was running: %s", stuck)
        self._loader._rows.loop.close()

    def measured(self, run: _core.DataRun) -> Measured:
        """What its stages have measured so far."""
        records = run.stats()
        names = [record.get("name", "sink") for record in records]
        own = self._executors
        if own is None:
            return Measured(records, names)
        workers = {name: own.fewest(name.split(", ")) for name in names}
        return Measured(records, names, workers, own.used())

    def _exhausted(self) -> None:
        loader = self._loader
        with loader._place:
            if self._ended is not None:
                return
            loader._iteration = None
            loader.epoch += 1
            loader._position = 0
            loader._source_state = None
        self._stop()

    def _advance(self, number: int, valid: int, state: tuple[int | None, Any] | None) -> bool:
        """One more batch was received, on all ranks. False: this iteration was ended meanwhile."""
        loader = self._loader
        done = self._start + number * self._round
        with loader._place:
            if self._ended is not None:
                return False
            loader._ledger.add(loader.epoch, done + loader.rank, loader.world, valid)
            if state is not None:
                loader._position, loader._source_state = state
            elif self._dropping and number + 1 >= self._dropping:
                loader._position = None
            else:
                behind, length = done + self._round, loader._length
                loader._position = behind if length is None or behind < length else length
        return True

    def _finished(self, value: Any, asked: float, came: float) -> Any:
        loader = self._loader
        in_use, over_budget = loader._memory.use()
        loader._history.add(came, came - asked, in_use)
        if over_budget and not self._warned:
            self._warned = True
            budget = loader._memory.stats()["budget"]
            warnings.warn(
                f"a batch needs more than memory={budget} bytes; it is admitted alone. "
                "Smaller batches, or more memory, let batches be prepared ahead",
                ResourceWarning,
                stacklevel=4,
            )
        if loader._on_batch is None:
            value = loader._convert(value)
            if not loader._whole_batches:
                value = first_row(value)
        return value

    def __del__(self) -> None:
        run = getattr(self, "run", None)
        if run is not None:
            self._stop()


@atexit.register
def _end_all() -> None:
    """Threads must not call Python while the interpreter goes down."""
    for iteration in list(_running):
        if iteration._loader._process == os.getpid():
            iteration.end("the program ends")
