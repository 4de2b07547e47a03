"""Executors that stages have of their own: how many calls they make, and what they use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor

from penstock.pipeline._convert import runs_elsewhere, workers_of
from penstock.pipeline._usage import Children


class Executors:
    """Those of one run, by the names of their stages."""

    def __init__(self, executors: Mapping[str, Executor]) -> None:
        self.workers = {name: workers_of(one) for name, one in executors.items()}
        self._elsewhere = any(runs_elsewhere(one) for one in executors.values())
        self._children: Children | None = None

    def fewest(self, names: Iterable[str]) -> int | None:
        """Of a stage that does the work of several."""
        return min((most for one in names if (most := self.workers.get(one))), default=None)

    def begin(self) -> None:
        if self._elsewhere:
            self._children = Children()

    def end(self) -> None:
        if self._children is not None:
            self._children.end()

    def used(self) -> tuple[float, float]:
        """CPU time of their processes, from begin to end, and time without a core."""
        return (0.0, 0.0) if self._children is None else self._children.used()
