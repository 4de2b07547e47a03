"""Durations that were measured: their mean and percentiles in constant memory."""

from __future__ import annotations

import math

_PER_DOUBLING = 16  # so that a percentile is within about 2% of the truth
_SHORTEST = 2.0**-30  # about a nanosecond


class Times:
    """Counts durations in buckets that grow geometrically.

    >>> times = Times()
    >>> for ms in range(1, 101):
    ...     times.add(ms / 1000)
    >>> times.count, round(times.mean, 4), round(times.percentile(90), 2)
    (100, 0.0505, 0.09)
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self._buckets: dict[int, int] = {}

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total += seconds
        bucket = round(math.log2(max(seconds, _SHORTEST)) * _PER_DOUBLING)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def percentile(self, percent: float) -> float:
        """The duration that so many percent do not exceed; 0 if there is none."""
        left = self.count * percent / 100
        for bucket in sorted(self._buckets):
            left -= self._buckets[bucket]
            if left <= 0:
                return float(2 ** (bucket / _PER_DOUBLING))
        return 0.0


def in_words(seconds: float) -> str:
    """A duration with its unit, always equally wide.

    >>> in_words(0.0123)
    '  12.3 [ ms]'
    """
    for unit, limit, factor in ((" us", 1e-4, 1e6), (" ms", 1.0, 1e3)):
        if seconds < limit:
            return f"{seconds * factor:6.1f} [{unit}]"
    return f"{seconds:6.1f} [sec]"
