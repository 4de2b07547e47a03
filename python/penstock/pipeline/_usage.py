"""What threads use of the machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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


def _schedule(of: int | str) -> tuple[float, float]:
    """The same of a thread that runs, or the first one of a process by its folder in /proc, as the
    system tells it; zeros where it does not."""
    folder = f"/proc/self/task/{of}" if isinstance(of, int) else of
    try:
        with open(f"{folder}/schedstat") as file:
            ran, waited, *_ = file.read().split()
    except (OSError, ValueError):
        return 0.0, 0.0
    return int(ran) * 1e-9, int(waited) * 1e-9


def children_cpu() -> float:
    """CPU time of the processes that this one has started, also of those that have ended."""
    ended = os.times()
    total = ended.children_user + ended.children_system
    tick = os.sysconf("SC_CLK_TCK")
    for child in _children():
        try:
            with open(f"/proc/{child}/stat") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended just now
        total += (int(words[11]) + int(words[12])) / tick
    return total


def _children() -> Iterator[str]:
    """They belong to the threads that started them."""
    for thread in Path("/proc/self/task").iterdir():
        try:
            yield from (thread / "children").read_text().split()
        except OSError:
            continue


class Children:
    """What other processes that work for this one use, from now until :meth:`end`."""

    def __init__(self) -> None:
        self._began = self._totals()
        self._used: tuple[float, float] | None = None

    def end(self) -> None:
        self._used = self.used()

    def used(self) -> tuple[float, float]:
        """Seconds with a core; seconds in which those that run could have, but had none."""
        if self._used is not None:
            return self._used
        (cpu, delay), (cpu_then, delay_then) = self._totals(), self._began
        return cpu - cpu_then, max(delay - delay_then, 0.0)

    @staticmethod
    def _totals() -> tuple[float, float]:
        return children_cpu(), sum(_schedule(f"/proc/{child}")[1] for child in _children())


def stolen() -> float:
    """Seconds that the host has taken from the cores of this virtual machine, of each."""
    try:
        with open("/proc/stat") as file:
            ticks = int(file.readline().split()[8])
    except (OSError, ValueError, IndexError):
        return 0.0
    return ticks / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)
