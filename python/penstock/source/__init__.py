"""What a pipeline or a loader reads from: protocols, and samplers for several ranks.

>>> from penstock.source import DistributedDeterministicSampler
>>> list(DistributedDeterministicSampler(8, rank=1, world_size=2))
[1, 3, 5, 7]
"""

from penstock.source._protocols import (
    IterableWithShuffle,
    SizedIterable,
    SizedIterableWithShuffle,
)
from penstock.source._samplers import DistributedDeterministicSampler, DistributedRandomSampler

__all__ = [
    "DistributedDeterministicSampler",
    "DistributedRandomSampler",
    "IterableWithShuffle",
    "SizedIterable",
    "SizedIterableWithShuffle",
]
