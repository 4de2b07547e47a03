"""What a loader has done over time: a bounded record, however long it runs."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 2048


class Point(NamedTuple):
    """Some batches in a row: when the last came, how long they were waited for, memory in use."""

    time: float
    batches: int
    wait: float
    memory: int


class History:
    """Points in the order of time. When there are many, neighbours are joined two by two."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self._each = 1  # batches to a point
        self._batches = 0
        self._wait = 0.0
        self._memory = 0

    def add(self, time: float, wait: float, memory: int) -> None:
        """One more batch."""
        self._batches += 1
        self._wait += wait
        self._memory = max(self._memory, memory)
        if self._batches < self._each:
            return
        self._points.append(Point(time, self._batches, self._wait, self._memory))
        self._batches, self._wait, self._memory = 0, 0.0, 0
        if len(self._points) >= _MOST:
            pairs = zip(self._points[0::2], self._points[1::2], strict=True)
            self._points = [
                Point(b.time, a.batches + b.batches, a.wait + b.wait, max(a.memory, b.memory))
                for a, b in pairs
            ]
            self._each *= 2

    def points(self) -> list[Point]:
        return list(self._points)
