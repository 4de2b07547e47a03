"""Samplers: which indices of a dataset a rank reads, in which order."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DistributedDeterministicSampler:
    """Deals the indices 0 to n - 1 out to the ranks in turn, the same way in every iteration.

    Args:
        n: The size of the dataset.
        rank: This process, from 0.
        world_size: How many processes there are.
        ddp_drop_last_distributed_round: If True, all ranks get equally many indices: a last round
            that does not reach all of them is left out. If False, every index is dealt, and some
            ranks get one more.

    >>> list(DistributedDeterministicSampler(6, rank=0, world_size=2))
    [0, 2, 4]
    >>> odd = [
    ...     DistributedDeterministicSampler(
    ...         7, rank=rank, world_size=3, ddp_drop_last_distributed_round=False
    ...     )
    ...     for rank in range(3)
    ... ]
    >>> [list(sampler) for sampler in odd]
    [[0, 3, 6], [1, 4], [2, 5]]
    """

    def __init__(
        self,
        n: int,
        /,
        *,
        rank: int,
        world_size: int,
        ddp_drop_last_distributed_round: bool = True,
    ) -> None:
        _check_ranks(n, rank, world_size)
        if ddp_drop_last_distributed_round:
            if n < world_size:
                raise ValueError(
                    f"The size of dataset ({n}) must be larger than or equal to the world size "
                    f"({world_size}) when ddp_drop_last_distributed_round=True"
                )
            if n % world_size:
                warnings.warn(
                    f"The size of dataset ({n}) is not divisible by the world size ({world_size}). "
                    "Some samples are never visited.",
                    stacklevel=2,
                )
        self._dealt = _dealt(n, world_size, ddp_drop_last_distributed_round)
        self._rank = rank
        self._world_size = world_size

    def __len__(self) -> int:
        """How many indices this rank gets."""
        return len(self._indices())

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices())

    def set_epoch(self, epoch: int) -> None:
        """Does nothing: the order is the same in all epochs."""

    def _indices(self) -> range:
        return range(self._rank, self._dealt, self._world_size)


class DistributedRandomSampler:
    """Draws indices at random and deals them out to the ranks in turn.

    Without weights each index is drawn at most once, so the ranks share no index. With weights
    indices are drawn with replacement. The order depends on the seed alone: iterate twice, and it
    is the same twice; ``shuffle(seed=epoch)`` before an epoch changes it.
    :func:`penstock.source.utils.embed_shuffle` does so by itself.

    The draws are ``numpy.random.default_rng(seed).choice(n, draws, replace, weights)``, where
    ``replace`` says whether there are weights.

    Args:
        n: The size of the dataset.
        rank: This process, from 0.
        world_size: How many processes there are.
        num_draws: How many indices all ranks draw together; n by default. More than n are possible
            with weights only.
        weights: How likely each index is, relative to the others.
        seed: Where the order comes from.
        ddp_drop_last_distributed_round: If True, all ranks get equally many indices: the draws are
            rounded down to a multiple of ``world_size``. If False, some ranks get one more.

    >>> ranks = [DistributedRandomSampler(9, rank=rank, world_size=3) for rank in range(3)]
    >>> sorted(index for sampler in ranks for index in sampler)
    [0, 1, 2, 3, 4, 5, 6, 7, 8]
    >>> weighted = DistributedRandomSampler(
    ...     4, rank=0, world_size=1, weights=[0, 1, 0, 1], num_draws=100
    ... )
    >>> len(weighted), set(weighted)
    (100, {1, 3})
    """

    def __init__(
        self,
        n: int,
        /,
        *,
        rank: int,
        world_size: int,
        num_draws: int | None = None,
        weights: Sequence[float] | None = None,
        seed: int = 0,
        ddp_drop_last_distributed_round: bool = True,
    ) -> None:
        _check_ranks(n, rank, world_size)
        if num_draws is not None and num_draws <= 0:
            raise ValueError(f"`num_draws` must be greater than zero. Found: {num_draws}")
        draws = n if num_draws is None else num_draws
        if ddp_drop_last_distributed_round and draws < world_size:
            raise ValueError(
                "The number of draws must be greater than or equal to `world_size` when "
                f"ddp_drop_last_distributed_round=True. Found: num_draws={draws}, {world_size=}"
            )
        if weights is None and draws > n:
            raise ValueError(
                "`num_draws` cannot exceed the dataset size when sampling without replacement. "
                f"Found: num_draws={draws}, dataset size={n}"
            )
        self._n = n
        self._rank = rank
        self._world_size = world_size
        self._draws = _dealt(draws, world_size, ddp_drop_last_distributed_round)
        self._shares = None if weights is None else _shares(weights, n)
        self._seed = self._first_seed = seed

    def __len__(self) -> int:
        """How many indices this rank gets."""
        return len(range(self._rank, self._draws, self._world_size))

    def __iter__(self) -> Iterator[int]:
        import numpy as np

        drawn = np.random.default_rng(self._seed).choice(
            self._n, size=self._draws, replace=self._shares is not None, p=self._shares
        )
        yield from drawn[self._rank :: self._world_size].tolist()

    def shuffle(self, seed: int) -> None:
        """The iterations that follow use this seed, whatever was before."""
        self._seed = seed

    def set_epoch(self, epoch: int) -> None:
        """The iterations that follow use the seed given at the start plus the epoch."""
        self._seed = self._first_seed + epoch


def _dealt(n: int, world_size: int, whole_rounds: bool) -> int:
    return n - n % world_size if whole_rounds else n


def _check_ranks(n: int, rank: int, world_size: int) -> None:
    if n <= 0:
        raise ValueError(f"The size of dataset must be larger than 0. Found: {n}")
    if world_size <= 0:
        raise ValueError(f"`world_size` must be greater than zero. Found: {world_size}")
    if not 0 <= rank < world_size:
        raise ValueError(f"`rank` ({rank}) must be within the range [0, {world_size}).")


def _shares(weights: Sequence[float], n: int) -> NDArray[Any]:
    """Weights that add up to one."""
    import numpy as np

    if len(weights) != n:
        raise ValueError(
            f"When provided, the number of elements in `weights` ({len(weights)}) must be same as "
            f"the size of dataset ({n})"
        )
    array = np.array(weights, dtype=np.float64)
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(
            "Failed to normalize the sample weight. Some elements are negative or not finite."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total) or total <= 0:
        raise ValueError("The sum of `weights` must be positive and finite.")
    array /= total
    return array
