"""Headspace on loops whose answer is known: a step of 20 ms, a loader of 5, 20 and 30 ms a batch.

    headspace.py [--batches N]

The loader is a thread that keeps a few batches ready. Both sleep, or both use the CPU without the
GIL; on one core and on two. Times of work are CPU times, so that other programs slow down what is
done with and without the loader alike. Prints a Markdown table.

The truth is given twice: as arithmetic has it, and by a stopwatch, as the middle of plain loops
with and without the loader. They differ where a core is not a whole one: on a virtual machine whose
host takes more time away from two busy cores than from one, a loader on the other core does cost.
"""

import argparse
import hashlib
import json
import os
import queue
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from penstock.insight import headspace

STEP = 0.020
WITHIN = 0.015  # it goes on until it is so sure


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def burn(seconds: float) -> None:
    """So much CPU time of this thread, outside the GIL."""
    end = time.thread_time() + seconds
    data = bytes(100_000)
    while time.thread_time() < end:
        hashlib.sha256(data).digest()


class Loader:
    def __init__(self, work: Callable[[float], None], seconds: float) -> None:
        self._work, self._seconds = work, seconds

    def __iter__(self) -> Iterator[int]:
        ready: queue.Queue[int] = queue.Queue(2)
        ends = threading.Event()

        def fill() -> None:
            while not ends.is_set():
                self._work(self._seconds)
                while not ends.is_set():
                    try:
                        ready.put(1, timeout=0.1)
                        break
                    except queue.Full:
                        pass

        thread = threading.Thread(target=fill)
        thread.start()
        try:
            while True:
                yield ready.get()
        finally:
            ends.set()
            thread.join()


def truth(kind: str, loader: float, cores: int) -> float:
    """Side by side where each has a core or sleeps; one after the other where they share one."""
    together = STEP + loader if kind == "burn" and cores == 1 else max(STEP, loader)
    return 1 - STEP / together


def stopwatch(loader: Loader, work: Callable[[float], None], rounds: int, steps: int) -> float:
    """The share that is saved without the loader: the middle of so many rounds."""
    shares = []
    for _ in range(rounds):
        batches = iter(loader)
        for _ in range(5):  # until the queue is as full as it stays
            next(batches)
            work(STEP)
        begun = time.perf_counter()
        for _ in range(steps):
            next(batches)
            work(STEP)
        real = time.perf_counter() - begun
        batches.close()  # type: ignore[attr-defined]
        begun = time.perf_counter()
        for _ in range(steps):
            work(STEP)
        shares.append(1 - (time.perf_counter() - begun) / real)
    return statistics.median(shares)


def one(kind: str, loader: float, cores: int, batches: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    work = {"sleep": sleep, "burn": burn}[kind]
    data = Loader(work, loader)
    before = stopwatch(data, work, 5, batches // 2)
    found = headspace(data, lambda batch: work(STEP), batches=batches, warmup=3, within=WITHIN)
    after = stopwatch(data, work, 5, batches // 2)
    timed = (before + after) / 2
    print(json.dumps([timed, found.share, found.uncertainty, len(found.phases)]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--one", nargs=3)
    options = parser.parse_args()
    if options.one:
        kind, loader, cores = options.one
        one(kind, float(loader), int(cores), options.batches)
        return
    print("| | cores | loader | truth | by stopwatch | found | off by | phases |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in ("sleep", "burn"):
        for cores in (1, 2):
            for loader in (0.005, 0.020, 0.030):
                command = [sys.executable, __file__, "--batches", str(options.batches)]
                command += ["--one", kind, str(loader), str(cores)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                timed, share, uncertainty, phases = json.loads(done.stdout)
                wanted = truth(kind, loader, cores)
                print(
                    f"| {kind} | {cores} | {loader * 1e3:.0f} ms | {wanted:.1%} | {timed:.1%} | "
                    f"{share:.1%} +- "
                    f"{uncertainty:.1%} | {100 * abs(share - wanted):.1f} / "
                    f"{100 * abs(share - timed):.1f} points | {phases} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
