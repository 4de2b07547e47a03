"""What a loader can tell of its loops: stats(), print, progress(), report()."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.pipeline import StageStats

NAMES = ("_loop", "_measured")  # what does not travel with a copy of the loader


class Watched:
    """For loaders that run a pipeline for each loop. The loop begun last is what is shown."""

    _loop: weakref.ref[Any] | None = None  # what has the statistics of the loop under way
    _measured: Sequence[StageStats] = ()  # of the last loop that ended

    def stats(self) -> list[StageStats]:
        """What each stage has done in the loop under way, or in the last one; the sink last.

        Empty before the first loop, and if there are no workers: then nothing is measured.
        """
        loop = self._loop() if self._loop is not None else None
        return (loop.stats() if loop is not None else []) or list(self._measured)

    def _keep_statistics(self) -> Callable[[], None]:
        """Calling the result makes them again what they are now, if there are any."""
        found = self.stats()

        def again() -> None:
            if found:
                self._loop, self._measured = None, found

        return again

    def __str__(self) -> str:
        """The stages as a table, as print(pipeline) shows them."""
        from penstock.pipeline._stats import shown

        stages = self.stats()
        return f"{self!r}\n{shown(stages)}" if stages else repr(self)

    def progress(self) -> Iterator[Any]:
        """The batches, with a bar on standard error if that is a terminal; see `ps.progress`."""
        from penstock.insight import progress

        return progress(self)  # type: ignore[arg-type]

    def report(self, path: str) -> None:
        """Writes one HTML page: the verdict, the flow, errors."""
        from penstock.insight import report

        if getattr(self, "num_workers", 1) == 0:
            raise TypeError("report: without workers nothing is measured; num_workers=1 has one")
        report(path, self)
