"""Decode, augment, batch: from a plain loop to a native loader, and what each step buys."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import penstock as ps
from penstock import io, ops
from penstock.pipeline import PipelineBuilder
from samples import Table, make_shards, options

SIZE = (224, 224)
BATCH = 32
MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]


def crop(jpeg: bytes, position: int) -> np.ndarray:
    """One sample: decoded, cut at random, flipped at random."""
    made = io.decode_image(jpeg, size=SIZE, crop="random_resized", flip=0.5, position=position)
    return np.asarray(made)


def plain_loop(jpegs: list[bytes]) -> int:
    count = 0
    for first in range(0, len(jpegs), BATCH):
        rows = [crop(jpeg, first + i) for i, jpeg in enumerate(jpegs[first : first + BATCH])]
        count += len(np.stack(rows))
    return count


def stages(jpegs: list[bytes], threads: int, native: bool) -> int:
    """The same in a pipeline: Python functions on threads, or ops that never leave C++."""
    op = ops.decode_image(size=SIZE, crop="random_resized", flip=0.5) if native else None
    pipeline = (
        PipelineBuilder()
        .add_source(jpegs if native else list(zip(jpegs, range(len(jpegs)), strict=True)))
        .pipe(op or (lambda one: crop(*one)), concurrency=threads, output_order="input")
        .aggregate(BATCH)
        .pipe(lambda rows: np.stack([np.asarray(row) for row in rows]))
        .add_sink(2)
        .build(num_threads=threads + 1)
    )
    with pipeline.auto_stop():
        return sum(len(batch) for batch in pipeline)


def loader(data: ps.Dataset, batch: dict | None = None, **kwargs: object) -> int:
    """The same as a dataset: rows are written into their slot of the batch."""
    plan = data.shuffle(seed=0).decode_image(size=SIZE, crop="random_resized", flip=0.5)
    made = plan.batch(BATCH, **(batch or {})).loader(**kwargs)
    return sum(len(batch["jpg"]) for batch in made)


def main() -> None:
    small = options(__doc__).small
    count, repeat = (64, 1) if small else (400, 3)
    with tempfile.TemporaryDirectory() as folder:
        shards = make_shards(Path(folder), count)
        data = ps.open(shards)
        mapped = ps.open(shards, mmap=True)
        jpegs = [bytes(data[i]["jpg"]) for i in range(count)]
        floats = {"layout": "NCHW", "dtype": "float32", "mean": MEAN, "std": STD}
        table = Table("images")
        table.row("a plain loop", lambda: plain_loop(jpegs), repeat)
        table.row("Python stages, 1 thread", lambda: stages(jpegs, 1, False), repeat)
        table.row("Python stages, 2 threads", lambda: stages(jpegs, 2, False), repeat)
        table.row("native stages, 2 threads", lambda: stages(jpegs, 2, True), repeat)
        table.row("loader, 1 thread", lambda: loader(data, threads=1), repeat)
        table.row("loader, 2 threads", lambda: loader(data, threads=2), repeat)
        table.row("and prefetch=8", lambda: loader(data, threads=2, prefetch=8), repeat)
        table.row("and memory maps", lambda: loader(mapped, threads=2), repeat)
        table.row("float32 NCHW, normalised", lambda: loader(data, floats, threads=2), repeat)


if __name__ == "__main__":
    main()
