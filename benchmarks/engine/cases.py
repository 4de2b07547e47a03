"""What is measured: each case runs one contender once and says what it found.

A case returns its figure (items per second, or seconds) and how the output was checked. A wrong
output is an exception: a figure without the right items is worth nothing.
"""

import asyncio
import gc
import hashlib
import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import flows

FLOWS = {"penstock": flows.penstock, "spdl": flows.spdl, "threads": flows.threads}


@dataclass
class Sample:
    """One run of one contender. ``extra`` figures are shown beside the main one."""

    value: float
    seconds: float
    cpu: float
    checked: str
    extra: dict[str, float] = field(default_factory=dict)


class Clock:
    """Wall and CPU time of a block, or of the part of it that ends with stop()."""

    def __enter__(self) -> "Clock":
        gc.collect()
        self._running = True
        self._begun, self._cpu = time.perf_counter(), time.process_time()
        return self

    def stop(self) -> None:
        if self._running:
            self.seconds = time.perf_counter() - self._begun
            self.cpu = time.process_time() - self._cpu
            self._running = False

    def __exit__(self, *_: object) -> None:
        self.stop()


def rate(clock: Clock, count: int, total: int, wanted: tuple[int, int]) -> Sample:
    if (count, total) != wanted:
        raise ValueError(f"got {count} items with sum {total}; expected {wanted}")
    return Sample(
        count / clock.seconds, clock.seconds, clock.cpu, f"{count:,} items, sum {total:,}"
    )


def count_and_sum(items: Iterable[int]) -> tuple[int, int]:
    count = total = 0
    for item in items:
        count += 1
        total += item
    return count, total


def through(
    contender: str, n: int, wanted: tuple[int, int], op: Any, stages: int, concurrency: int
) -> Sample:
    """Sends n numbers through; the clock stops at the last one, not at the end of the threads."""
    with Clock() as clock, FLOWS[contender](range(n), op, stages, concurrency) as items:
        got = count_and_sum(itertools.islice(items, n))
        clock.stop()
    return rate(clock, *got, wanted)


def same(x: Any) -> Any:
    return x


def noop(contender: str, n: int, stages: int) -> Sample:
    wanted = (n, n * (n - 1) // 2)
    if contender == "asyncio":
        with Clock() as clock:
            got = flows.asyncio_queues(range(n), same, stages)
        return rate(clock, *got, wanted)
    return through(contender, n, wanted, same, stages, 1)


BUFFERS = [bytes([i]) * 200_000 for i in range(8)]


def digest(i: int) -> int:
    return hashlib.sha256(BUFFERS[i % 8]).digest()[0]


def sha256(contender: str, n: int) -> Sample:
    wanted = (n, sum(digest(i) for i in range(8)) * (n // 8))
    if contender == "two threads":
        with Clock() as clock:
            got = two_independent_threads(n)
        return rate(clock, *got, wanted)
    return through(contender, n, wanted, digest, 1, 2)


def two_independent_threads(n: int) -> tuple[int, int]:
    """Half of the work each, with nothing between them: the most that two cores can do."""
    results: list[tuple[int, int]] = []

    def work(first: int) -> None:
        results.append(count_and_sum(digest(i) for i in range(first, n, 2)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(count for count, _ in results), sum(total for _, total in results)


async def nap(x: int) -> int:
    await asyncio.sleep(0.001)
    return x


def async_sleep(contender: str, n: int) -> Sample:
    wanted = (n, n * (n - 1) // 2)
    if contender == "asyncio":
        with Clock() as clock:
            got = flows.asyncio_workers(range(n), nap, 64)
        return rate(clock, *got, wanted)
    return through(contender, n, wanted, nap, 1, 64)


def python_step(loops: int) -> int:
    total = 0
    for i in range(loops):
        total += i & 7
    return total


def calibrate(seconds: float = 0.015) -> int:
    """How many turns of the loop take so long on this machine, alone."""
    loops = 100_000
    took = min(_time(python_step, loops) for _ in range(9))
    return int(loops * seconds / took)


def _time(function: Callable[[int], Any], argument: int) -> float:
    begun = time.perf_counter()
    function(argument)
    return time.perf_counter() - begun


def digest_of(data: bytes) -> int:
    return hashlib.sha256(data).digest()[0]


def picture() -> bytes:
    """A JPEG of six million pixels."""
    import numpy as np
    from penstock.io import encode_image

    coarse = np.random.default_rng(0).integers(0, 256, (250, 375, 3), np.uint8)
    return encode_image(coarse.repeat(8, 0).repeat(8, 1), "jpeg", 95)


def decoder() -> Any:
    from penstock import ops

    return ops.decode_image()


def main_thread(contender: str, pairs: int, loops: int) -> Sample:
    """How much longer a step takes beside a busy worker: the median over pairs of short series.

    Only the steps are timed; between two of them the consumer takes what is there. In each pair
    the worker rests first (its source waits at a gate) and works then, so that both series meet
    the same machine. The worker hashes 64 MB again and again: a Python call that lets go of the
    GIL for long. "native" ones decode a large picture. "bare thread native" is no pipeline at all,
    only a thread that decodes: what it costs is the hardware's share.
    """
    native = contender.endswith("native")
    work = picture() if native else bytes(64_000_000)
    op = decoder() if native else digest_of
    gate, stop = threading.Event(), threading.Event()
    slower: list[float] = []
    taken = 0

    def source() -> Iterable[bytes]:
        while not stop.is_set():
            gate.wait()
            yield work

    def series(drain: Callable[[], int]) -> float:
        nonlocal taken
        times = []
        for _ in range(8):
            times.append(_time(python_step, loops))
            taken += drain()
        return statistics.median(times)

    def run(drain: Callable[[], int]) -> None:
        for _ in range(pairs):
            alone = series(lambda: 0)
            gate.set()
            time.sleep(0.05)
            slower.append(series(drain) / alone - 1)
            gate.clear()
            time.sleep(0.1)  # what was under way ends
            drain()
        stop.set()
        gate.set()

    with Clock() as clock:
        if contender == "bare thread native":
            done: list[int] = []
            thread = threading.Thread(target=lambda: done.extend(len(op(x)) for x in source()))
            thread.start()
            run(lambda: len(done) - taken)
            thread.join()
        elif contender == "threads":
            flow = flows.Threads(source(), op, 1, 1)
            flow.start()
            run(lambda: _drain_queue(flow.queues[-1]))
            flow.stop()
        else:
            pipeline = flows.build(_package(contender.split()[0]), source(), op, 1, 1)
            with pipeline.auto_stop():
                run(lambda: _drain_pipeline(pipeline))
    if taken == 0:
        raise ValueError("nothing was done meanwhile")
    checked = f"{pairs} pairs of 8 steps; {taken} items made meanwhile"
    return Sample(statistics.median(slower), clock.seconds, clock.cpu, checked)


def _package(contender: str) -> Any:
    if contender == "penstock":
        import penstock.pipeline as package
    else:
        import spdl.pipeline as package
    return package


def _drain_queue(results: Any) -> int:
    taken = 0
    while not results.empty():
        results.get_nowait()
        taken += 1
    return taken


def _drain_pipeline(pipeline: Any) -> int:
    taken = 0
    while True:
        try:
            pipeline.get_item(timeout=0)
        except TimeoutError:
            return taken
        taken += 1


def start_stop(contender: str, times: int) -> Sample:
    """Four no-op stages over an endless source; the median of several starts and stops."""
    starts, stops = [], []
    before = len(os.listdir("/proc/self/task"))
    with Clock() as clock:
        for _ in range(times):
            if contender == "threads":
                flow: Any = flows.Threads(itertools.count(), same, 4, 1)
                first = flow.queues[-1].get
            else:
                flow = flows.build(_package(contender), itertools.count(), same, 4, 1)
                first = flow.get_item
            begun = time.perf_counter()
            flow.start()
            item = first()
            starts.append(time.perf_counter() - begun)
            if item != 0:
                raise ValueError(f"the first item is {item}")
            time.sleep(0.05)  # the queues fill
            begun = time.perf_counter()
            flow.stop()
            stops.append(time.perf_counter() - begun)
            del flow
    left = len(os.listdir("/proc/self/task")) - before
    if left > 0 and contender == "penstock":
        raise ValueError(f"{left} threads are left")
    checked = f"{times} times, first item 0, {left} threads left"
    stop = statistics.median(stops)
    return Sample(statistics.median(starts), clock.seconds, clock.cpu, checked, {"stop": stop})


def memory(contender: str, n: int) -> Sample:
    """Resident memory after a tenth of the items, and how much it has grown at the end."""
    wanted = (n, n * (n - 1) // 2)
    with Clock() as clock, FLOWS[contender](range(n), same) as items:
        count, total = count_and_sum(itertools.islice(items, n // 10))
        early = resident()
        more, rest = count_and_sum(items)
        late = resident()
    sample = rate(clock, count + more, total + rest, wanted)
    sample.value = late - early
    sample.extra = {"early": early, "late": late}
    return sample


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
