"""``penstock demo``: the whole of it on this machine, with the stage table live.

Photographs are cut into samples and packed into tar shards (or your own data is taken), indexed,
shuffled, decoded, cropped and batched; then it says in words what held the others back, and writes
a report.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

import penstock
from penstock import insight
from penstock._printable import printable
from penstock._trial import Trial, trial
from penstock.data.dataset import Dataset
from penstock.data.loader import Loader
from penstock.demo._shards import pack
from penstock.doctor import fields_of, image_field, images, shuffled
from penstock.insight import _report
from penstock.pipeline import StageStats

_SECONDS = 4.0  # of loading
_SIZE = (224, 224)
_STEP = 0.03  # seconds


class _Console(Console):
    """What happens to a pipe that is closed is decided where the commands are run."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def main(source: str | None = None, report: str = "penstock-report.html") -> int:
    """Runs the demo on shards of its own or on `source`, and returns the exit code.

    What cannot be done raises.
    """
    if not report:
        raise ValueError("the report has no name; give --report page.html")
    folder_of_report = os.path.dirname(os.path.abspath(report))
    if os.path.isdir(report) or not os.access(
        report if os.path.exists(report) else folder_of_report, os.W_OK
    ):
        raise ValueError(f"the report cannot be written to {report}")
    console = _Console(highlight=False)
    cores = len(os.sched_getaffinity(0))
    console.print(
        f"[bold]Penstock {penstock.__version__}[/bold] on Python {platform.python_version()}, "
        f"{cores} cores"
    )
    with tempfile.TemporaryDirectory(prefix="penstock-demo-") as folder:
        done = _run(console, _data(console, source, Path(folder)))
        if done.samples == 0:
            for sample, error in done.failed.items():
                raise ValueError(f"none of its images could be decoded; {sample}: {error}")
            raise ValueError("there is no sample in it")
        console.print(f"Headspace, with a training step of {_STEP * 1e3:.0f} ms ...")
        found = insight.headspace(done.loader, _step, batches=100, phases=10, warmup=1)
        console.print(f"[bold]{found}[/bold]")
        _report.write(report, done.loader, found, done.verdict)
        console.print(f"All of it as a page: {printable(report)}")
    return 0


def _data(console: Console, source: str | None, folder: Path) -> Dataset:
    if source is None:
        begun = time.perf_counter()
        shards = pack(folder)
        size = sum(Path(shard).stat().st_size for shard in shards)
        console.print(
            f"Packed five photographs, cut into samples, into {len(shards)} tar shards, "
            f"{size / 1e6:.1f} MB: {time.perf_counter() - begun:.1f} s"
        )
        source = str(folder / "demo-{0..3}.tar")
    begun = time.perf_counter()
    records = penstock.open(source)
    if not records.sequential and len(records) == 0:
        raise ValueError(f"{source} has no samples")
    about = (
        "Opened, to be read from front to back: samples"
        if records.sequential
        else f"Indexed: {len(records):,} samples"
    )
    took = (time.perf_counter() - begun) * 1e3
    console.print(f"{about} with {', '.join(fields_of(records))}; {took:.0f} ms")
    return records


def _run(console: Console, data: Dataset) -> Trial:
    try:
        field = image_field(data)
    except penstock.PlanError:
        names = ", ".join(fields_of(data))
        raise ValueError(
            "the demo decodes images, and takes a dataset with one field of encoded ones (JPEG, "
            f"PNG, ...), not {names}; penstock doctor and penstock bench measure any dataset"
        ) from None
    data = shuffled(data, 1)

    def plan(some: Dataset) -> Dataset:
        return images(some, field, _SIZE)

    console.print(f"[dim]{plan(data)!r}[/dim]")
    shown = 0.0
    with Live(console=console, transient=True, auto_refresh=False) as live:

        def show(loader: Loader) -> None:
            nonlocal shown
            if time.perf_counter() - shown > 0.2:
                shown = time.perf_counter()
                live.update(_show(loader.stats()["stages"]), refresh=True)

        done = trial(data, plan, _SECONDS, show)
    if done.samples:
        console.print(_show(done.loader.stats()["stages"]))
        console.print(
            f"{done.samples:,} images decoded, cropped to {_SIZE[0]}x{_SIZE[1]} and batched in "
            f"{done.seconds:.1f} s: {done.rate:,.0f} a second; {len(done.failed):,} of the samples "
            "failed."
        )
        console.print(f"[bold]{done.verdict}[/bold]")
    return done


def _step(batch: dict[str, np.ndarray]) -> None:
    time.sleep(_STEP)


def _show(stats: Sequence[StageStats]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("stage", "items/s", "tasks/s", "task p50", "waiting", "blocked", "queue"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for one in stats:
        elapsed = max(one.elapsed, 1e-9)
        table.add_row(
            one.name,
            f"{one.throughput:,.0f}",
            "" if one.readiness is not None else f"{one.task_rate:,.0f}",
            "" if one.readiness is not None else f"{one.p50 * 1e6:,.0f} us",
            f"{min(1.0, one.waiting / elapsed):.0%}",
            "" if one.readiness is not None else f"{min(1.0, one.blocked / elapsed):.0%}",
            f"{one.queue_mean:.1f}/{one.queue_capacity}",
        )
    return table
