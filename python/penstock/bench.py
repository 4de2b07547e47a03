"""``penstock bench``: what this machine does with images, records and Python calls, in seconds.

Without a dataset it packs the demo's photographs into shards and measures on these; with one it
measures how fast that is read and, if it holds encoded images, decoded and batched.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import penstock
from penstock import io
from penstock.data.dataset import Dataset
from penstock.demo._shards import pack
from penstock.doctor import image_field, shuffled
from penstock.pipeline import PipelineBuilder

_SIZE = (224, 224)


@dataclass(frozen=True)
class Figure:
    """One measurement."""

    name: str
    rate: float
    """Of these a second."""
    unit: str
    cpu: float
    """CPU seconds for a thousand of them."""


def run(source: str | None = None, seconds: float = 1.0) -> list[Figure]:
    """Measures each thing for so many seconds.

    >>> from penstock.bench import run
    >>> [figure.unit for figure in run(seconds=0.01)]
    ['images', 'images', 'samples', 'samples', 'items']
    """
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds is {seconds}; give a number above 0")
    if source is not None:
        return _of(penstock.open(source), source, seconds)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        pack(Path(folder))
        data = penstock.open(str(Path(folder) / "demo-{0..3}.tar"))
        figures = [_decode(data, seconds), *_of(data, "shards", seconds)]
    return [*figures, _arrays(seconds), _calls(seconds)]


def as_dict(figures: Iterable[Figure]) -> dict[str, Any]:
    return {
        "version": penstock.__version__,
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "figures": [asdict(one) for one in figures],
    }


def words(figures: Iterable[Figure]) -> str:
    """The figures as text, a line each."""
    lines = [f"penstock {penstock.__version__}, {len(os.sched_getaffinity(0))} cores"]
    for one in figures:
        rate = f"{one.rate:,.0f} {one.unit}/s"
        lines.append(f"{one.name:58} {rate:>20}  {one.cpu:.4f} CPU s per 1000")
    return "\n".join(lines)


def _measure(name: str, unit: str, seconds: float, some: Callable[[], int]) -> Figure:
    """`some` does a part of the work and says how many it did; the first time is a warm-up."""
    some()
    count, cpu, begun = 0, time.process_time(), time.perf_counter()
    while True:
        count += some()
        took = time.perf_counter() - begun
        if took >= seconds:
            break
    return Figure(name, count / took, unit, 1000 * (time.process_time() - cpu) / count)


def _of(data: Dataset, name: str, seconds: float) -> list[Figure]:
    if not data.sequential and len(data) == 0:
        raise ValueError(f"{name} has no samples")
    plan, order = shuffled(data, 0), "in order" if data.sequential else "shuffled"
    figures = []
    try:
        images = plan.decode_image(
            image_field(data), size=_SIZE, crop="random_resized", flip=0.5
        ).batch(32)
        title = f"{name}: crop to {_SIZE[0]}x{_SIZE[1]}, batch; all cores"
        figures.append(_measure(title, "images", seconds, _batches(images)))
    except (penstock.PlanError, KeyError):  # there is no image in it
        pass
    raw = plan.batch(64, collate="list")
    return [
        *figures,
        _measure(f"{name}: read, {order}; all cores", "samples", seconds, _batches(raw)),
    ]


def _batches(plan: Dataset) -> Callable[[], int]:
    """A batch at a time, epoch after epoch."""
    loader = plan.loader(on_error="skip")
    batches = iter(loader)

    def some() -> int:
        nonlocal batches
        for _ in range(2):
            for batch in batches:
                return len(next(iter(batch.values())))
            batches = iter(loader)
        raise ValueError("no sample of it could be read")

    return some


def _decode(data: Dataset, seconds: float) -> Figure:
    pictures = [bytes(sample["jpg"]) for sample in (data[i] for i in range(32))]
    numbers = iter(range(1 << 60))

    def one() -> int:
        io.decode_image(pictures[next(numbers) % len(pictures)])
        return 1

    return _measure("decode a JPEG of 400x300; one thread", "images", seconds, one)


def _arrays(seconds: float) -> Figure:
    data = np.zeros((100_000, 256), np.float32)
    plan = penstock.from_arrays(x=data).shuffle(seed=0).batch(256)
    return _measure("rows of an array, 1 KB, shuffled", "samples", seconds, _batches(plan))


def _calls(seconds: float) -> Figure:
    def some() -> int:
        pipeline = PipelineBuilder().add_source(range(20_000)).pipe(abs).add_sink(8)
        built = pipeline.build(num_threads=1)
        with built.auto_stop():
            return sum(1 for _ in built)

    return _measure("a pipeline with one Python function that does nothing", "items", seconds, some)
