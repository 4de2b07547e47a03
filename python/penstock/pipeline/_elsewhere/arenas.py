"""Names of the reference for shared memory. Here all large arrays cross in it, without them."""

from __future__ import annotations


class _Arena:
    """Accepted by ``iterate_in_subprocess(arena=...)``, which does not need it.

    Nothing is allocated: every large array crosses in shared memory of its own.
    """

    def __init__(self, acquire_timeout: float, **sizes: int) -> None:
        for name, size in sizes.items():
            if size <= 0:
                raise ValueError(f"{name} must be positive")
        if acquire_timeout < 0:
            raise ValueError("acquire_timeout must be non-negative")

    def close(self) -> None:
        """There is nothing to close."""

    def unlink(self) -> None:
        """There is nothing to remove."""


class SharedMemoryRingBuffer(_Arena):
    __doc__ = _Arena.__doc__

    def __init__(self, capacity: int, *, acquire_timeout: float = 60.0) -> None:
        super().__init__(acquire_timeout, capacity=capacity)
        self.capacity = capacity


class SharedMemorySegmentPool(_Arena):
    __doc__ = _Arena.__doc__

    def __init__(self, segment_size: int, count: int, *, acquire_timeout: float = 60.0) -> None:
        super().__init__(acquire_timeout, segment_size=segment_size, count=count)
        self.segment_size = segment_size
        self.count = count
