"""What a loader has done over time: a bounded record, however long it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MOST = 2048
_AT_HAND = 0.001  # seconds: a batch that came sooner was not waited for


class Point(NamedTuple):
    """Some batches in a row: when the last came, how many were at hand, how long all of them were
    waited for, memory in use."""

    time: float
    batches: int
    ready: int
    wait: float
    memory: int


def join(points: Sequence[Point]) -> Point:
    """Neighbours as one."""
    batches, ready = sum(one.batches for one in points), sum(one.ready for one in points)
    wait, memory = sum(one.wait for one in points), max(one.memory for one in points)
    return Point(points[-1].time, batches, ready, wait, memory)


class History:
    """Points in the order of time. When there are many, neighbours are joined two by two."""

    def __init__(self) -> None:
        self._points: list[Point] = []
        self._each = 1  # batches to a point
        self._forget()

    def _forget(self) -> None:
        self._batches = self._ready = self._memory = 0
        self._wait = 0.0

    def add(self, time: float, wait: float, memory: int) -> None:
        """One more batch. Called for each of them: the fewer lines the better."""
        self._batches += 1
        if wait < _AT_HAND:
            self._ready += 1
        self._wait += wait
        if memory > self._memory:
            self._memory = memory
        if self._batches >= self._each:
            self._add_point(time)

    def _add_point(self, time: float) -> None:
        self._points.append(Point(time, self._batches, self._ready, self._wait, self._memory))
        self._forget()
        if len(self._points) >= _MOST:
            pairs = zip(self._points[0::2], self._points[1::2], strict=True)
            self._points = [join([a, b]) for a, b in pairs]
            self._each *= 2

    def copy(self) -> History:
        other = History()
        vars(other).update(vars(self), _points=list(self._points))
        return other

    def points(self) -> list[Point]:
        return list(self._points)
