"""What a share may be off by: Student's t over few phases, ranks over many."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.insight._measure import Phase

# Of 1, 2, ... degrees of freedom: 95% of all values are within so many standard errors.
_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
_MEDIAN = 1.1  # the median of shares is off by so much more than their mean
_MANY = 10  # phases, so that their ranks tell: 95% needs six, and fewer than ten say little
_UNSEEN = 0.05  # what phases are taken to differ by, one standard deviation, if there is only one


def student(freedom: int) -> float:
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96 + 2.7 / freedom


def off_by(values: Sequence[float]) -> float:
    """What the middle of some values may be off by (95%). Of a single one: 0, nobody knows."""
    count = len(values)
    if count < 2:
        return 0.0
    return _MEDIAN * student(count - 1) * statistics.stdev(values) / math.sqrt(count)


def off_by_rank(values: Sequence[float]) -> float:
    """The same of many values, and however far off a few of them are: half of the interval between
    two of them, by rank, in which the middle is (95%)."""
    count = len(values)
    below, rank = 0.0, 0
    while below + math.comb(count, rank) * 0.5**count <= 0.025:
        below += math.comb(count, rank) * 0.5**count
        rank += 1
    ordered = sorted(values)
    return (ordered[count - max(rank, 1)] - ordered[max(rank, 1) - 1]) / 2


def uncertainty(real: Sequence[Phase], cached: Sequence[Phase]) -> float:
    """What the share of a loader may be off by (95%).

    Phases differ more than their steps tell: the machine has its moods, and a mood lasts. So it is
    taken from how far the pairs of a real and a cached phase agree, which a steady drift does not
    change. Of many pairs, a few from spells in which other programs had the machine do not matter.
    Two pairs say little of that, and the four phases more. One pair says nothing: phases are then
    taken to differ as on a machine with other things to do. Steps set the lower bound for few.
    """
    share = 1 - statistics.median(one.seconds for one in cached) / statistics.median(
        one.seconds for one in real
    )
    left = 1 - max(share, 0.0)
    of_steps = 1.96 * left * math.hypot(_of_steps(real), _of_steps(cached))
    if len(real) == 1:
        return math.hypot(of_steps, 1.96 * left * math.sqrt(2) * _UNSEEN)
    if len(real) == 2:
        spread = left * math.hypot(_relative(real), _relative(cached))
        return max(_MEDIAN * student(2) * spread / math.sqrt(2), of_steps)
    pairs = [1 - two.seconds / one.seconds for one, two in zip(real, cached, strict=True)]
    return off_by_rank(pairs) if len(pairs) >= _MANY else max(off_by(pairs), of_steps)


def _relative(phases: Sequence[Phase]) -> float:
    """How far phases of a kind differ, over their mean."""
    times = [one.seconds for one in phases]
    return statistics.stdev(times) / max(statistics.fmean(times), 1e-12)


def _of_steps(phases: Sequence[Phase]) -> float:
    """The standard error of the mean step, over the mean."""
    times = [w + s for phase in phases for w, s in zip(phase.waits, phase.steps, strict=True)]
    mean = statistics.fmean(times)
    if len(times) < 2 or mean == 0:
        return 0.0
    # Single interruptions by other programs say nothing about the rest: the middle 90% are used.
    times.sort()
    cut = len(times) // 20
    middle = times[cut : len(times) - cut] if cut else times
    return statistics.stdev(middle) / math.sqrt(len(times)) / mean
