"""What ranks and threads give on one machine, and what a token saves when a run goes on.

The ranks are processes with RANK and WORLD_SIZE set, as torchrun sets them: the loader looks no
further. Medians of rounds in which all variants took turns.
"""

import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import penstock as ps
from samples import cpu_seconds, make_shards, options

PROCESSES = multiprocessing.get_context("fork")


def images(shards: str) -> ps.Dataset:
    return ps.open(shards).shuffle(seed=7).decode_image(size=(224, 224)).batch(16)


def read(rank: int, world: int, threads: int, shards: str, start: Any, told: Any) -> None:
    """One rank: its share of an epoch. The clock runs from when all ranks are there."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
    loader = images(shards).loader(threads=threads)
    start.wait()
    begun = time.perf_counter()
    count = sum(len(batch["jpg"]) for batch in loader)
    told.put((count, time.perf_counter() - begun))


def epoch(world: int, threads: int, shards: str) -> tuple[float, float, float]:
    """Samples/s of a rank and of all together, and CPU seconds for 1,000 samples."""
    start, told = PROCESSES.Barrier(world), PROCESSES.Queue()
    cpu = cpu_seconds()
    ranks = [
        PROCESSES.Process(target=read, args=(rank, world, threads, shards, start, told))
        for rank in range(world)
    ]
    for process in ranks:
        process.start()
    counts, seconds = zip(*(told.get() for _ in ranks), strict=True)
    for process in ranks:
        process.join()
    rates = [count / took for count, took in zip(counts, seconds, strict=True)]
    cost = 1000 * (cpu_seconds() - cpu) / sum(counts)
    return sum(rates) / world, sum(counts) / max(seconds), cost


def ranks_table(shards: str, repeat: int) -> None:
    variants = [(1, 1), (1, 2), (2, 1), (2, 2)]
    rounds = [[epoch(*variant, shards) for variant in variants] for _ in range(repeat)]
    print("| | samples/s a rank | samples/s in all | CPU s per 1,000 |\n|---|---|---|---|")
    for place, (world, threads) in enumerate(variants):
        each, all_of_them, cost = (
            median(column) for column in zip(*(one[place] for one in rounds), strict=True)
        )
        name = f"{world} rank{'s' * (world > 1)}, {threads} thread{'s' * (threads > 1)}"
        name += " each" * (world > 1)
        print(f"| {name} | {each:,.0f} | {all_of_them:,.0f} | {cost:.3f} |", flush=True)


def milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)


def first_batch(plan: ps.Dataset, token: str | None, passed: int = 0) -> None:
    """Makes a loader and waits for its first batch, or for the one after `passed` others."""
    loader = plan.loader()
    if token is not None:
        loader.load_state_dict(json.loads(token))
    batches = iter(loader)
    for _ in range(passed + 1):
        next(batches)


def resume_row(name: str, plan: ps.Dataset, repeat: int) -> None:
    loader = plan.loader()
    middle = len(loader) // 2
    batches = iter(loader)
    for _ in range(middle):
        next(batches)
    token = json.dumps(loader.state_dict())
    saves = [milliseconds(lambda: json.dumps(loader.state_dict())) for _ in range(100)]
    variants = [(None, 0), (token, 0), (None, middle)]
    rounds = [
        [milliseconds(lambda given=given: first_batch(plan, *given)) for given in variants]
        for _ in range(repeat)
    ]
    fresh, resumed, skipped = (median(column) for column in zip(*rounds, strict=True))
    print(
        f"| {name} | {fresh:,.1f} | {resumed:,.1f} | {skipped:,.1f} "
        f"| {len(token)} | {1000 * median(saves):.0f} |",
        flush=True,
    )


def main() -> None:
    small = options(__doc__).small
    count, rows, repeat = (64, 10_000, 1) if small else (1_200, 10_000_000, 5)
    with tempfile.TemporaryDirectory() as folder:
        shards = make_shards(Path(folder), count)
        ranks_table(shards, repeat)
        print()
        print("| first batch, ms | fresh | from a token | read up to there | bytes | us to save |")
        print("|---|---|---|---|---|---|")
        resume_row(f"{count:,} images", images(shards), repeat)
        numbers = ps.from_arrays(x=np.arange(rows)).shuffle(seed=7).batch(1024)
        resume_row(f"{rows:,} numbers", numbers, repeat)


if __name__ == "__main__":
    main()
