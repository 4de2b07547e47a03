"""MergeIterator: several iterables as one, in turn or at random."""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

_UNTIL_ONE_ENDS = -1
# Weights whose exact sum needs more bits than this are drawn from one by one.
_MOST_BITS = 256


class MergeIterator(Generic[T]):
    """Items of several iterables, one after the other.

    Without weights the iterables take turns, in their order. With weights each item comes from one
    that is drawn at random, exactly in the ratio of the weights as floats; those with weight 0 are
    left out. An iterable that has ended is not asked again.

    Args:
        iterables: Where items come from.
        weights: How often each is drawn, relative to the others.
        stop_after: 0 goes on until all have ended; a number above 0 ends after so many items at the
            latest; -1 ends with the first iterable that does.
        seed: Of the draws: ``random.Random(seed).randrange(sum of weights as whole numbers)`` each.

    >>> list(MergeIterator([[0, 1, 2], [10, 11], [20, 21, 22]]))
    [0, 10, 20, 1, 11, 21, 2, 22]
    >>> list(MergeIterator([[0, 1, 2], [10, 11], [20, 21, 22]], stop_after=-1))
    [0, 10, 20, 1, 11, 21, 2]
    >>> list(MergeIterator([[0, 1, 2], [10, 11], [20, 21, 22]], stop_after=4))
    [0, 10, 20, 1]
    >>> sorted(MergeIterator([[0, 1], [10, 11]], weights=[3, 1]))
    [0, 1, 10, 11]
    """

    def __init__(
        self,
        iterables: Sequence[Iterable[T]],
        *,
        weights: Sequence[float] | None = None,
        stop_after: int = 0,
        seed: int = 0,
    ) -> None:
        if not iterables:
            raise ValueError("iterables cannot be empty.")
        if stop_after < _UNTIL_ONE_ENDS:
            raise ValueError(
                f"`stop_after` must be greater than or equal to -1. Found: {stop_after}"
            )
        self.iterables = iterables
        self.weights: Sequence[float] | None = None
        if weights is not None:
            used = [
                (source, weight)
                for source, weight in zip(iterables, _checked(weights, len(iterables)), strict=True)
                if weight != 0
            ]
            self.iterables = [source for source, _ in used]
            self.weights = [weight for _, weight in used]
        self.stop_after = stop_after
        self.seed = seed

    def __iter__(self) -> Iterator[T]:
        sources = [iter(one) for one in self.iterables]
        until_one_ends = self.stop_after == _UNTIL_ONE_ENDS
        if self.weights is None:
            items = _in_turn(sources, until_one_ends)
        else:
            items = _at_random(sources, self.weights, until_one_ends, self.seed)
        yield from itertools.islice(items, self.stop_after if self.stop_after > 0 else None)


def _checked(weights: Sequence[float], count: int) -> list[float]:
    if len(weights) != count:
        raise ValueError(
            f"The number of probabilities ({len(weights)}) and iterables ({count}) must match."
        )
    bad = (
        "Weights must be finite and non-negative; NaN, infinity, and negative values are not "
        "supported."
    )
    try:
        floats = [float(weight) for weight in weights]
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(bad) from error
    if not all(math.isfinite(weight) and weight >= 0 for weight in floats):
        raise ValueError(bad)
    total = sum(floats)
    if not math.isfinite(total) or total <= 0:
        raise ValueError("The sum of weights must be positive and finite.")
    return floats


def _in_turn(sources: list[Iterator[T]], until_one_ends: bool) -> Iterator[T]:
    while sources:
        left = []
        for source in sources:
            try:
                yield next(source)
            except StopIteration:
                if until_one_ends:
                    return
            else:
                left.append(source)
        sources = left


def _at_random(
    sources: list[Iterator[T]], weights: Sequence[float], until_one_ends: bool, seed: int
) -> Iterator[T]:
    rng = random.Random(seed)
    shares = _whole_numbers(weights)
    bounds = list(itertools.accumulate(shares))
    while len(sources) > 1:
        chosen = _draw(rng, shares, bounds)
        try:
            yield next(sources[chosen])
        except StopIteration:
            if until_one_ends:
                return
            del sources[chosen], shares[chosen]
            bounds = list(itertools.accumulate(shares))
    yield from sources[0]  # nothing is drawn where there is no choice


def _whole_numbers(weights: Sequence[float]) -> list[int]:
    """The smallest whole numbers in the same ratio; a float is a fraction over a power of two."""
    fractions = [weight.as_integer_ratio() for weight in weights]
    over = max(denominator for _, denominator in fractions)
    numbers = [numerator * (over // denominator) for numerator, denominator in fractions]
    common = math.gcd(*numbers)
    return [number // common for number in numbers]


def _draw(rng: random.Random, shares: Sequence[int], bounds: Sequence[int]) -> int:
    total = bounds[-1]
    if total.bit_length() <= _MOST_BITS:
        return bisect_right(bounds, rng.randrange(total))
    # 1e300 beside 1e-300: numbers of thousands of bits. Ask one after the other whether it is it.
    for place, share in enumerate(shares[:-1]):
        if _happens(rng, share, total):
            return place
        total -= share
    return len(shares) - 1


def _happens(rng: random.Random, share: int, total: int) -> bool:
    """True with probability share / total, exactly.

    Compares a random binary fraction with share / total, bit by bit, until they differ: two bits
    on average, however large the numbers.
    """
    while True:
        share *= 2
        bit = int(share >= total)
        share -= bit * total
        drawn = rng.getrandbits(1)
        if drawn != bit:
            return drawn < bit
