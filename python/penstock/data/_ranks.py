"""Which rank of how many this process is, where the user does not say."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple


class Rank(NamedTuple):
    rank: int
    world: int
    origin: str
    """Where it is from: "given", "alone", or what was found in the environment."""


_VARIABLES = (
    ("torchrun", "RANK", "WORLD_SIZE"),
    ("SLURM", "SLURM_PROCID", "SLURM_NTASKS"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MPI", "PMI_RANK", "PMI_SIZE"),
)


def _number(variable: str) -> int:
    text = os.environ[variable]
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"{variable} is {text!r} in the environment, not a number; .shard(rank, world) says "
            "it in its place"
        ) from None


def from_environment() -> Rank:
    """torch.distributed if it is in use, else what the launcher has set, else rank 0 of 1."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return Rank(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")
    for origin, rank, world in _VARIABLES:
        if rank in os.environ and world in os.environ:
            found = Rank(_number(rank), _number(world), origin)
            if not 0 <= found.rank < found.world:
                raise ValueError(f"{rank}={found.rank} is not a rank of {world}={found.world}")
            return found
    return Rank(0, 1, "alone")
