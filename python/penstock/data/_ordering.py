"""The words of a dataset that say which samples come, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from penstock.data._base import Plan
from penstock.data._checks import checked_count, checked_seed, checked_whole
from penstock.data._join import joined
from penstock.data._plan import (
    Concat,
    PlanError,
    Repeat,
    Sample,
    Shuffle,
    Skip,
    Take,
    Zip,
    fix_of,
    is_python,
)


class Ordering(Plan):
    def shuffle(self, seed: int = 0, window: int | str | None = None) -> Self:
        """Another order, another one in each epoch.

        Without a window any sample can come at any time. With a window of n samples, or of "64MB",
        records are shuffled in blocks and inside windows of blocks, so that reads stay local.

        >>> import penstock as ps
        >>> ds = ps.from_list(range(5)).shuffle(seed=7)
        >>> sorted(sample["data"] for sample in ds)
        [0, 1, 2, 3, 4]
        """
        samples: int | None = None
        if window is not None:
            if isinstance(window, str):
                samples = self._samples_in(window)
            else:
                samples = checked_whole(window, "shuffle: window", 1)
        elif self.sequential:
            raise PlanError(
                "shuffle: a sequential plan has no global shuffle; shuffle(window=n) reads n and "
                f"permutes them. Or {fix_of(self._node)}"
            )
        return self._reordered(Shuffle(self._node, checked_seed(seed), samples, window))

    def shard(self, rank: int, world: int) -> Self:
        """This process is `rank` of `world`. Written before batch(), it applies last.

        >>> import penstock as ps
        >>> loader = ps.from_list(range(6)).shard(1, 2).batch(3).loader()
        >>> [batch["data"].tolist() for batch in loader]
        [[1, 3, 5]]
        """
        self._before_batch("shard")
        if self._shard is not None:
            raise PlanError(f"shard: this is rank {self._shard[0]} of {self._shard[1]} already")
        rank, world = checked_whole(rank, "shard: rank"), checked_whole(world, "shard: world", 1)
        if rank >= world:
            raise PlanError(f"shard: rank {rank} is not from 0 to {world - 1}")
        return self._like(shard=(rank, world))

    def take(self, n: int) -> Self:
        """The first n samples, of all ranks together.

        >>> import penstock as ps
        >>> [sample["data"] for sample in ps.from_list("abc").take(2)]
        ['a', 'b']
        """
        return self._reordered(Take(self._node, checked_count(n, "take")))

    def skip(self, n: int) -> Self:
        """All but the first n samples.

        >>> import penstock as ps
        >>> [sample["data"] for sample in ps.from_list("abc").skip(2)]
        ['c']
        """
        return self._reordered(Skip(self._node, checked_count(n, "skip")))

    def split(self, *fractions: float, seed: int | None = 0) -> tuple[Self, ...]:
        """Parts by fraction, and the rest, if there is one: ``train, test = ds.split(0.9)``.

        Samples are shuffled with `seed` first (None: not at all). The parts never overlap.

        >>> import penstock as ps
        >>> train, test = ps.from_list(range(100)).split(0.9)
        >>> len(train), len(test)
        (90, 10)
        """
        self._before_batch("split")
        if not all(isinstance(part, int | float) for part in fractions):
            raise PlanError(f"split: give fractions one by one, split(0.8, 0.1), not {fractions!r}")
        if not fractions or not all(part >= 0 for part in fractions) or sum(fractions) > 1 + 1e-9:
            raise PlanError(f"split: fractions {fractions} must be positive and at most 1 together")
        whole = self if seed is None else self.shuffle(seed)
        n = _length(whole, "split")
        parts, start, share = [], 0, 0.0
        rest = (1.0,) if len(fractions) == 1 or sum(fractions) < 1 - 1e-9 else ()
        for fraction in (*fractions, *rest):
            share = min(1.0, share + fraction)
            stop = round(n * share)
            parts.append(whole.skip(start).take(stop - start) if start else whole.take(stop))
            start = stop
        return tuple(parts)

    def repeat(self, n: int | None = None) -> Self:
        """n passes, or without end; a shuffle before it uses the pass number as the epoch.

        >>> import penstock as ps
        >>> len(ps.from_list(range(10)).shuffle(seed=0).repeat(3))
        30
        """
        passes = None if n is None else checked_whole(n, "repeat: n", 1)
        return self._reordered(Repeat(self._node, passes))

    def concat(self, other: Self) -> Self:
        """The samples of this one, then those of the other.

        >>> import penstock as ps
        >>> both = ps.from_list("ab").concat(ps.from_list("c"))
        >>> [sample["data"] for sample in both]
        ['a', 'b', 'c']
        """
        nodes, steps = joined([self, other], "concat")
        return self._reordered(Concat(nodes), steps, [self, other])

    def zip(self, other: Self) -> Self:
        """Sample i has the fields of both samples i.

        >>> import penstock as ps
        >>> letters, numbers = ps.from_list([{"x": "a"}]), ps.from_list([{"y": 1}])
        >>> letters.zip(numbers)[0]
        {'x': 'a', 'y': 1}
        """
        for part in (self, other):
            part._before_batch("zip")
            if any(is_python(step) for step in part._steps):
                raise PlanError("zip: put map() and filter() after zip()")
        nodes = tuple(part._own_steps()._node for part in (self, other))
        made = self._reordered(Zip(nodes), (), [self, other])
        mine, theirs = self._known_fields(), other._known_fields()
        for name in mine or []:
            if name in (theirs or []):
                raise PlanError(f"zip: both have a field '{name}'; rename it in one of them")
        return made

    def sample(self, weights: Sequence[float], n: int | None = None, seed: int = 0) -> Self:
        """n draws with replacement, each in proportion to its weight.

        >>> import penstock as ps
        >>> drawn = ps.from_list("ab").sample(weights=[1, 0], n=3)
        >>> [sample["data"] for sample in drawn]
        ['a', 'a', 'a']
        """
        self._before_batch("sample")
        n = _length(self, "sample") if n is None else checked_count(n, "sample")
        numbers = tuple(float(weight) for weight in weights)
        return self._reordered(Sample(self._node, numbers, n, checked_seed(seed)))


def _length(plan: Plan, step: str) -> int:
    length = plan._order().length
    if length is None:
        raise PlanError(f"{step}: the dataset is endless; {step} before repeat()")
    return length
