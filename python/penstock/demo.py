"""``penstock demo``: a pipeline at work on this machine, with its stage table live.

Small pictures are made, encoded as PNG, decoded again, and gathered into batches; then the demo
says in words which stage held the others back.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

import penstock
from penstock import io
from penstock.pipeline import PipelineBuilder, StageStats

_PICTURES = 4_000
_SIDE = 96
_BATCH = 64


def _picture(number: int) -> np.ndarray:
    """A colour gradient that is different for each number."""
    x = np.arange(_SIDE, dtype=np.int64)
    red = (x[:, None] * 2 + number) % 256
    green = (x[None, :] * 2 + number // 3) % 256
    blue = (x[:, None] + x[None, :] + number // 7) % 256
    red, green = np.broadcast_arrays(red, green)
    return np.stack([red, green, blue], axis=-1).astype(np.uint8)


def _encode(picture: np.ndarray) -> bytes:
    return bytes(io.encode_image(picture, "png"))


def _decode(data: bytes) -> np.ndarray:
    return np.asarray(io.decode_image(data))


def _show(stats: Sequence[StageStats]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("stage", "items/s", "task p50", "waiting", "blocked", "queue"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for one in stats:
        elapsed = max(one.elapsed, 1e-9)
        table.add_row(
            one.name,
            f"{one.throughput:,.0f}",
            "" if one.readiness is not None else f"{one.p50 * 1e6:,.0f} us",
            f"{min(1.0, one.waiting / elapsed):.0%}",
            "" if one.readiness is not None else f"{min(1.0, one.blocked / elapsed):.0%}",
            f"{one.queue_mean:.1f}/{one.queue_capacity}",
        )
    return table


def _verdict(stats: Sequence[StageStats]) -> str:
    *stages, sink = stats
    busiest = max(stages, key=lambda one: one.task_seconds / one.concurrency)
    share = busiest.task_seconds / busiest.concurrency / max(busiest.elapsed, 1e-9)
    ready = sink.readiness or 0.0
    if ready > 0.9:
        return f"The reader found a batch waiting {ready:.0%} of the time: the data keeps up."
    return (
        f"The reader had to wait for {1 - ready:.0%} of its batches. Stage {busiest.name} is "
        f"the one to speed up: it was busy {min(share, 1.0):.0%} of the time."
    )


def main() -> int:
    """Run the demo and return its exit code."""
    console = Console(highlight=False)
    cores = len(os.sched_getaffinity(0))
    console.print(
        f"[bold]Penstock {penstock.__version__}[/bold] on Python {platform.python_version()}, "
        f"{cores} cores"
    )
    pipeline = (
        PipelineBuilder()
        .add_source(range(_PICTURES))
        .pipe(_picture, name="make")
        .pipe(_encode, name="encode", concurrency=cores)
        .pipe(_decode, name="decode", concurrency=cores, output_order="input")
        .aggregate(_BATCH)
        .pipe(np.stack, name="collate")
        .add_sink(3)
        .build(num_threads=2 * cores)
    )
    pictures = batches = 0
    shown = 0.0
    with Live(console=console, transient=True, auto_refresh=False) as live, pipeline.auto_stop():
        for batch in pipeline:
            batches += 1
            pictures += len(batch)
            if time.monotonic() - shown > 0.2:
                shown = time.monotonic()
                live.update(_show(pipeline.stats()), refresh=True)
    stats = pipeline.stats()
    console.print(_show(stats))
    seconds = stats[0].elapsed
    console.print(
        f"{pictures:,} pictures of {_SIDE}x{_SIDE} in {batches} batches, {seconds:.1f} s: "
        f"{pictures / seconds:,.0f} a second."
    )
    console.print(_verdict(stats))
    return 0 if pictures == _PICTURES else 1
