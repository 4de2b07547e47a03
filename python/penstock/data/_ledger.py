"""Proof of what was delivered: which positions of which epoch, as a few runs of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class _Run(NamedTuple):
    """Positions start, start + stride, ...: so many of them."""

    start: int
    stride: int
    many: int

    @property
    def stop(self) -> int:
        return self.start + self.stride * self.many


class Ledger:
    """Which positions were delivered. Ledgers of ranks, and of runs before and after a restart,
    add up; the sum says whether an epoch was complete, and names what is missing.

    >>> a, b = Ledger(), Ledger()
    >>> a.add(0, 0, 2, 3)  # epoch 0: positions 0, 2, 4
    >>> b.add(0, 1, 2, 2)  # 1, 3
    >>> both = Ledger.merge([a, b])
    >>> both.missing(0, 6), both.repeated(0), both.complete(0, 5)
    ([(5, 6)], [], True)
    """

    def __init__(self) -> None:
        self._runs: dict[int, list[_Run]] = {}

    def add(self, epoch: int, start: int, stride: int, count: int) -> None:
        """Notes positions start, start + stride, ... of an epoch."""
        if count <= 0:
            return
        runs = self._runs.setdefault(epoch, [])
        if runs:
            first, step, many = runs[-1]
            if step == stride and first + step * many == start:
                runs[-1] = _Run(first, step, many + count)
                return
        runs.append(_Run(start, stride, count))

    @classmethod
    def merge(cls, ledgers: Iterable[Ledger | dict[str, Any]]) -> Ledger:
        """All of them together; dicts are those of :meth:`to_dict`."""
        merged = cls()
        for ledger in ledgers:
            if isinstance(ledger, dict):
                ledger = cls.from_dict(ledger)
            for epoch, runs in ledger._runs.items():
                merged._runs.setdefault(epoch, []).extend(runs)
        return merged

    @property
    def epochs(self) -> list[int]:
        return sorted(self._runs)

    def missing(self, epoch: int, length: int) -> list[tuple[int, int]]:
        """Ranges [first, last) of positions below `length` that were not delivered."""
        return _ranges(self._counts(epoch, length) == 0)

    def repeated(self, epoch: int) -> list[tuple[int, int]]:
        """Ranges of positions that were delivered more than once."""
        last = max((run.stop for run in self._runs.get(epoch, [])), default=0)
        return _ranges(self._counts(epoch, last) > 1)

    def complete(self, epoch: int, length: int) -> bool:
        """Was every position below `length` delivered exactly once?"""
        return bool(np.all(self._counts(epoch, length) == 1))

    def _counts(self, epoch: int, length: int) -> Any:
        counts = np.zeros(length, np.uint8)
        for run in self._runs.get(epoch, []):
            there = counts[run.start : run.stop : run.stride]
            np.minimum(there + 1, 2, out=there)
        return counts

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {str(epoch): [list(run) for run in runs] for epoch, runs in self._runs.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Ledger:
        ledger = cls()
        for epoch, runs in values.items():
            ledger._runs[int(epoch)] = [_Run(*run) for run in runs]
        return ledger

    def __repr__(self) -> str:
        return f"Ledger({self.to_dict()})"


def _ranges(flags: Any) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]
