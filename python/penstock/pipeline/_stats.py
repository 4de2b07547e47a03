"""What a pipeline measures of itself, and the table that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class StageStats:
    """One stage at one moment. Times are in seconds; task times are those of single tasks.

    >>> from penstock.pipeline import PipelineBuilder
    >>> pipeline = PipelineBuilder().add_source(range(5)).pipe(str).add_sink(2).build()
    >>> with pipeline.auto_stop():
    ...     items = list(pipeline)
    >>> source, stage, sink = pipeline.stats()
    >>> stage.items_in, stage.failures, stage.concurrency
    (5, 0, 1)
    """

    name: str
    concurrency: int = 1
    running: int = 0
    items_in: int = 0
    items_out: int = 0
    dropped: int = 0
    failures: int = 0
    """For the sink of a loader: samples that failed, in the batches that were asked for."""
    samples: int = 0
    """For the sink of a loader: those of the batches that were asked for, failed ones included."""
    bytes: int = 0
    """What it has read or made, where that is known: the stages of a loader that do so."""
    tasks: int = 0
    task_seconds: float = 0.0
    mean: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    waiting: float = 0.0
    """Time in which it could have started a task but had no input."""
    blocked: float = 0.0
    """Time in which it could have started a task but the next stage had no room."""
    queue_size: int = 0
    queue_capacity: int = 0
    queue_mean: float = 0.0
    """How many items the next stage found waiting, on average."""
    gil_wait: float = 0.0
    """Time spent waiting for the GIL before its tasks; for the sink: with an item at hand."""
    python: bool = False
    """Its tasks call Python."""
    workers: int | None = None
    """Calls that the stage's own executor makes at once, where it says. The time of a task is then
    also what it waited for one of them."""
    elapsed: float = 0.0
    readiness: float | None = None
    """For the sink: the share of requests that found an item waiting."""
    python_cpu: float = 0.0
    """For the sink: CPU time of the threads that call Python."""
    python_delay: float = 0.0
    """For the sink: time in which these threads could have run but had no core."""
    native_delay: float = 0.0
    """For the sink: the same of native workers, and of executors' processes."""
    stolen: float = 0.0
    """For the sink: time that the host took from the cores of this virtual machine, of each."""
    process_cpu: float = 0.0
    """For the sink: CPU time of the whole process, since the start, and of executors' processes."""
    memory_wait: float = 0.0
    """For the sink of a loader: time in which no batch could be begun for want of memory."""
    failure: str = ""
    """For the sink of a loader: what it has failed with."""

    @property
    def throughput(self) -> float:
        """Items out per second."""
        return self.items_out / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def at_work(self) -> float:
        """How many of its tasks ran at once, on average: of ``concurrency`` that may."""
        return self.task_seconds / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def task_rate(self) -> float:
        """Tasks per second: rows, where a stage fills batches with them."""
        return self.tasks / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def fills_batches(self) -> bool:
        """Its items are batches, and a task is a row of one."""
        return self.items_in > 0 and self.tasks >= 1.5 * max(self.items_in, self.items_out)

    def as_sink(self, requests: int, wait: float, readiness: float) -> StageStats:
        """The same as the record of a sink: what leaves it is what the consumer asked for."""
        return replace(self, items_out=requests, waiting=wait, blocked=0.0, readiness=readiness)


def from_engine(
    records: list[dict[str, Any]],
    names: Sequence[str],
    workers: Mapping[str, int | None] | None = None,
    children: tuple[float, float] = (0.0, 0.0),
) -> list[StageStats]:
    """The engine's records under the stages' names, the sink last.

    Args:
        workers: Of executors, by the name of their stage.
        children: Of processes that executors have: CPU time, and time without a core.
    """
    *stages, sink = records
    elapsed, workers = sink["seconds"], workers or {}
    stats = [
        StageStats(**{**record, "name": name, "elapsed": elapsed, "workers": workers.get(name)})
        for record, name in zip(stages, names, strict=False)
    ]
    last = stages[-1]
    stats.append(
        StageStats(
            name=names[-1],
            items_in=last["items_out"],
            items_out=sink["requests"],
            blocked=0.0,
            waiting=sink["wait"],
            queue_size=last["queue_size"],
            queue_capacity=last["queue_capacity"],
            queue_mean=last["queue_mean"],
            elapsed=elapsed,
            readiness=sink["readiness"],
            python_cpu=sink["python_cpu"],
            python_delay=sink["python_delay"],
            native_delay=sink["native_delay"] + children[1],
            stolen=sink["stolen"],
            gil_wait=sink["gil_wait"],
            process_cpu=sink["process_cpu"] + children[0],
            memory_wait=sink["memory_wait"],
        )
    )
    return stats


def duration(seconds: float) -> str:
    """In words: "1.5 s", "20 ms", "3 us"."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def ready(sink: StageStats) -> str:
    """Its readiness in words; before any request there is none."""
    return f"{sink.readiness or 0:.0%}" if sink.items_out > 0 else "-"


def _share(one: StageStats, seconds: float) -> str:
    return f"{seconds / one.elapsed:.0%}" if one.elapsed > 0 else "-"


_HEAD = (
    *("stage", "items/s", "tasks/s", "MB/s", "p50", "p99", "at a time"),
    *("waiting", "blocked", "queue", "GIL wait", "failed"),
)


def _row(one: StageStats) -> tuple[str, ...]:
    if one.readiness is not None:
        wait = _share(one, one.waiting + one.gil_wait)
        blank = ("",) * 5
        failed = str(one.failures) if one.failures else ""
        rate = f"{one.throughput:,.0f}"
        return (one.name, rate, *blank, wait, "", "", f"ready {ready(one)}", failed)
    return (
        one.name,
        f"{one.throughput:,.0f}",
        f"{one.task_rate:,.0f}",
        f"{one.bytes / one.elapsed / 1e6:,.1f}" if one.bytes and one.elapsed > 0 else "",
        duration(one.p50),
        duration(one.p99),
        f"{one.at_work:.1f}/{one.concurrency}",
        _share(one, one.waiting),
        _share(one, one.blocked),
        f"{one.queue_mean:.1f}/{one.queue_capacity}",
        _share(one, one.gil_wait),
        str(one.failures),
    )


def cells(stats: Sequence[StageStats]) -> list[tuple[str, ...]]:
    """The table: names of columns, then a row for each stage, the sink's last.

    Tasks are shown where they are rows of items that are batches, bytes where a stage knows of
    them.
    """
    shown = {
        "tasks/s": any(one.fills_batches for one in stats),
        "MB/s": any(one.bytes for one in stats),
    }
    columns = [i for i, name in enumerate(_HEAD) if shown.get(name, True)]
    return [tuple(row[i] for i in columns) for row in (_HEAD, *map(_row, stats))]


def table(stats: Sequence[StageStats]) -> str:
    """The stages as text, a line each."""
    rows = cells(stats)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = [row[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def shown(stats: Sequence[StageStats]) -> str:
    """The table, and in words what holds the others back, once something has run."""
    from penstock.insight import bottleneck  # which is built on this package

    if not any(one.tasks for one in stats[:-1]):
        return table(stats)
    return f"{table(stats)}\n{bottleneck(stats)}"
