"""A process that this one has started, and the wire to it."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

from penstock.pipeline._elsewhere.wire import Wire

_LOG = logging.getLogger("penstock.pipeline")
_LOOK_AT_PROCESS = 0.2  # seconds between two looks whether it is alive


class ProcessIsGone(Exception):
    """It has ended without having been asked to."""


class Process:
    """Runs ``target(wire, other_end, *args)``: its end of the wire, and ours if that is open there,
    too. A context is one of multiprocessing."""

    def __init__(
        self, context: Any, target: Callable[..., None], args: tuple[Any, ...], daemon: bool = False
    ) -> None:
        self._wire, theirs = Wire.pair()
        forked = context.get_start_method() == "fork"
        other_end = self._wire if forked else None
        self._process = context.Process(
            target=target, args=(theirs, other_end, *args), daemon=daemon
        )
        try:
            self._process.start()
        except BaseException:
            self._wire.close()
            raise
        finally:
            theirs.close()
        self.ended = False

    def send(self, kind: int, message: Any = None) -> None:
        """Raises what pickling raises. That the process is gone is found when it is heard."""
        with contextlib.suppress(OSError):
            self._wire.send(kind, message)

    def hear(self, timeout: float | None = None) -> tuple[int, Any]:
        """What it says next: a kind and a message. TimeoutError if that takes too long."""
        start = time.monotonic()
        while True:
            # Its children may hold copies of its end of the wire: look at the process, too.
            was_alive = self._process.is_alive()
            try:
                heard = self._wire.receive(_LOOK_AT_PROCESS if was_alive else 0.0)
            except EOFError:
                heard, was_alive = None, False
            if heard is not None:
                return heard
            if not was_alive:
                raise ProcessIsGone
            elapsed = time.monotonic() - start
            if timeout is not None and elapsed > timeout:
                raise TimeoutError(f"{elapsed:.2f} seconds")

    def terminate(self) -> None:
        if not self.ended:
            self._process.terminate()

    def end(self, last_word: int, at_once: bool = False) -> None:
        """Says a last word and waits until it is gone; forces it if that takes long."""
        if self.ended:
            return
        self.ended = True
        if at_once:
            self._process.terminate()
        self.send(last_word)
        self._wire.close()
        for seconds, then in ((3, self._process.terminate), (10, self._process.kill), (10, None)):
            self._process.join(seconds)
            if self._process.exitcode is not None:
                self._process.close()
                return
            _LOG.warning("The worker process has not ended.")
            if then is not None:
                then()
