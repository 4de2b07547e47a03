"""Proof of what was delivered: which positions of which epoch, as a few runs of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

_PIECE = 1 << 22  # positions that are counted at a time


@dataclass(slots=True)
class _Run:
    """Positions start, start + stride, ...: so many of them. The last one of an epoch grows."""

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
            last = runs[-1]
            if last.stride == stride and last.start + stride * last.many == start:
                last.many += count
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
                merged._runs.setdefault(epoch, []).extend(map(replace, runs))
        return merged

    @property
    def epochs(self) -> list[int]:
        return sorted(self._runs)

    def missing(self, epoch: int, length: int) -> list[tuple[int, int]]:
        """Ranges [first, last) of positions below `length` that were not delivered."""
        return _ranges((first, counts == 0) for first, counts in self._counts(epoch, length))

    def repeated(self, epoch: int) -> list[tuple[int, int]]:
        """Ranges of positions that were delivered more than once."""
        last = max((run.stop for run in self._runs.get(epoch, [])), default=0)
        return _ranges((first, counts > 1) for first, counts in self._counts(epoch, last))

    def complete(self, epoch: int, length: int) -> bool:
        """Was every position below `length` delivered exactly once?"""
        return all(bool(np.all(counts == 1)) for _, counts in self._counts(epoch, length))

    def _counts(self, epoch: int, length: int) -> Iterator[tuple[int, Any]]:
        """How often each position was delivered, 2 for more: piece by piece, with the first
        position of each."""
        runs = self._runs.get(epoch, [])
        for begin in range(0, length, _PIECE):
            counts = np.zeros(min(_PIECE, length - begin), np.uint8)
            for run in runs:
                if run.stop <= begin or run.start >= begin + len(counts):
                    continue
                behind = max(0, begin - run.start)
                first = run.start + -(-behind // run.stride) * run.stride - begin
                there = counts[first : run.stop - begin : run.stride]
                np.minimum(there + 1, 2, out=there)
            yield begin, counts

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            str(epoch): [list(astuple(run)) for run in runs] for epoch, runs in self._runs.items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Ledger:
        ledger = cls()
        for epoch, runs in values.items():
            ledger._runs[int(epoch)] = [_Run(*run) for run in runs]
        return ledger

    def __repr__(self) -> str:
        return f"Ledger({self.to_dict()})"


def _ranges(pieces: Iterable[tuple[int, Any]]) -> list[tuple[int, int]]:
    """Where flags are set, in pieces that follow one another."""
    ranges: list[tuple[int, int]] = []
    for begin, flags in pieces:
        edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
        for first, last in (edges + begin).reshape(-1, 2).tolist():
            if ranges and ranges[-1][1] == first:
                ranges[-1] = (ranges[-1][0], last)
            else:
                ranges.append((first, last))
    return ranges
