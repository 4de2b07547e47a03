"""Names of the reference for shared memory. Here all large arrays cross in it, without them."""

from __future__ import annotations


class SharedMemoryRingBuffer:
    """Accepted by ``iterate_in_subprocess(arena=...)``, which does not need it.

    Nothing is allocated: every large array crosses in shared memory of its own.
    """

    def __init__(self, capacity: int, *, acquire_timeout: float = 60.0) -> None:
        if capacity <= 0:
            raise ValueError("capacity must be positive")
        if acquire_timeout < 0:
            raise ValueError("acquire_timeout must be non-negative")
        self.capacity = capacity


class SharedMemorySegmentPool:
    """Accepted by ``iterate_in_subprocess(arena=...)``, which does not need it.

    Nothing is allocated: every large array crosses in shared memory of its own.
    """

    def __init__(self, segment_size: int, count: int, *, acquire_timeout: float = 60.0) -> None:
        if segment_size <= 0:
            raise ValueError("segment_size must be positive")
        if count <= 0:
            raise ValueError("count must be positive")
        if acquire_timeout < 0:
            raise ValueError("acquire_timeout must be non-negative")
        self.segment_size = segment_size
        self.count = count
