"""A trace: what every thread did, task by task, for Perfetto."""

from __future__ import annotations

import os
from types import TracebackType

from penstock import _core

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

    ``start()`` and ``stop()`` do the same where a block does not fit. There is one trace at a time.
    """

    def __init__(self, path: str | os.PathLike[str], *, slices: int = _SLICES) -> None:
        if slices < 1:
            raise ValueError(f"trace: slices is {slices}; give 1 or more")
        self._path = os.fspath(path)
        self._slices = slices
        self._process: int | None = None

    def start(self) -> trace:
        """Begins to record."""
        _core.start_trace(self._slices)
        self._process = os.getpid()
        return self

    def stop(self) -> None:
        """Ends the trace and writes the file."""
        if self._process is None:
            raise RuntimeError("trace: it was not started")
        process, self._process = self._process, None
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
        self.stop()
