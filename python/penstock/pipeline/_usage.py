"""What threads use of the machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Usage:
    """CPU time of some threads, also of those that have ended, and what they waited for a core.

    >>> usage = Usage()
    >>> with usage.of_this_thread():
    ...     number = sum(range(100_000))
    >>> cpu, delay = usage.totals()
    >>> cpu > 0
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._cpu = 0.0
        self._delay = 0.0

    @contextmanager
    def of_this_thread(self) -> Iterator[None]:
        own, begun = threading.get_native_id(), time.thread_time()
        with self._lock:
            self._running.add(own)
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(own)
                self._cpu += time.thread_time() - begun
                self._delay += _schedule(own)[1]

    def totals(self) -> tuple[float, float]:
        """Seconds with a core, and seconds in which they could have run but had none."""
        with self._lock:
            running = [_schedule(thread) for thread in self._running]
            cpu = self._cpu + sum(one[0] for one in running)
            return cpu, self._delay + sum(one[1] for one in running)


def _schedule(thread: int) -> tuple[float, float]:
    """The same of one thread that runs, as the system tells it; zeros where it does not."""
    try:
        with open(f"/proc/self/task/{thread}/schedstat") as file:
            ran, waited, *_ = file.read().split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) * 1e-9, int(waited) * 1e-9


def stolen() -> float:
    """Seconds that the host has taken from the cores of this virtual machine, of each."""
    try:
        with open("/proc/stat") as file:
            ticks = int(file.readline().split()[8])
    except (OSError, ValueError, IndexError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)
