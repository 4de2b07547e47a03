"""Headspace on loops whose answer is known: a step of 20 ms, a loader of 5, 20 and 30 ms a batch.

    headspace.py [--batches N]

The loader is a thread that keeps a few batches ready. Both sleep, or both use the CPU without the
GIL; on one core and on two. Times of work are CPU times, so that other programs do not change the
truth: what is slower for them is slower with and without the loader. Prints a Markdown table.
"""

import argparse
import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from penstock.insight import headspace

STEP = 0.020


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


def one(kind: str, loader: float, cores: int, batches: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    work = {"sleep": sleep, "burn": burn}[kind]
    found = headspace(Loader(work, loader), lambda batch: work(STEP), batches=batches, warmup=3)
    print(json.dumps([found.share, found.uncertainty]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--one", nargs=3)
    options = parser.parse_args()
    if options.one:
        kind, loader, cores = options.one
        one(kind, float(loader), int(cores), options.batches)
        return
    print("| | cores | loader | truth | found | off by |\n|---|---|---|---|---|---|")
    for kind in ("sleep", "burn"):
        for cores in (1, 2):
            for loader in (0.005, 0.020, 0.030):
                command = [sys.executable, __file__, "--batches", str(options.batches)]
                command += ["--one", kind, str(loader), str(cores)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                share, uncertainty = json.loads(done.stdout)
                wanted = truth(kind, loader, cores)
                print(
                    f"| {kind} | {cores} | {loader * 1e3:.0f} ms | {wanted:.1%} | {share:.1%} +- "
                    f"{uncertainty:.1%} | {100 * abs(share - wanted):.1f} points |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
