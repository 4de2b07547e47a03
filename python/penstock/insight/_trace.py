"""A trace: what every thread did, task by task, for Perfetto."""

from __future__ import annotations

import atexit
import os
from types import TracebackType

from penstock import _core
from penstock._whole import as_whole

_SLICES = 65_536


class trace:
    """Records what the threads of all pipelines and loaders do, and writes it when it ends.

    The file opens in https://ui.perfetto.dev or chrome://tracing: a lane for each thread, a slice
    for each task with its stage and the position of its item, arrows along the way of each item or
    batch, and what the consumer waited for. Tasks of a few microseconds that a thread takes
    together are one slice. Pipelines with a queue class of the user's are not in it.

    Args:
        path: Where the file goes.
        slices: How many each thread keeps; when there are more, the oldest go.

    >>> import penstock as ps
    >>> from penstock.insight import trace
    >>> with trace("trace.json"):
    ...     for batch in ps.from_list(range(100)).batch(10).loader():
    ...         pass

    ``start()`` and ``stop()`` do the same where a block does not fit. There is one trace at a time;
    one that nobody stops is written when the program ends.
    """

    def __init__(
        self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *, slices: int = _SLICES
    ) -> None:
        if as_whole(slices, "trace: slices") < 1:
            raise ValueError(f"trace: slices is {slices}; give 1 or more")
        self._path = os.fsdecode(path)
        self._slices = slices
        self._process: int | None = None

    def start(self) -> trace:
        """Begins to record. OSError if the file cannot be written."""
        global _recording
        if _recording is not None and _recording._process == os.getpid():
            raise ValueError(
                f"trace: one is being recorded already, for {_recording._path}; stop it first"
            )
        self._path = os.path.abspath(self._path)  # wherever the program goes meanwhile
        _core.drop_trace()  # one of a process that this one was forked from
        _core.start_trace(self._slices)
        try:
            with open(self._path, "ab"):  # now, and not after hours of work
                pass
        except OSError:
            _core.drop_trace()
            raise
        self._process = os.getpid()
        _recording = self
        return self

    def stop(self) -> None:
        """Ends the trace and writes the file."""
        global _recording
        if self._process is None:
            raise RuntimeError("trace: it was not started, or has ended")
        process, self._process = self._process, None
        _recording = None if _recording is self else _recording
        if process == os.getpid():  # a forked child has no part in it
            _core.write_trace(self._path)

    def __enter__(self) -> trace:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is None:
            return  # it was stopped in the block
        try:
            self.stop()
        except OSError as problem:
            if error is None:
                raise
            error.add_note(f"and the trace could not be written: {problem}")


_recording: trace | None = None


@atexit.register
def _stop_at_exit() -> None:
    if _recording is not None and _recording._process == os.getpid():
        _recording.stop()
