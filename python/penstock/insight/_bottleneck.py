"""Which stage holds the others back, why, and what to do about it.

The rule, in the order in which it is applied:

1. A consumer that hardly ever waits is slower than the data: there is nothing to win.
2. Batches that are not begun because memory is spent: memory.
3. Otherwise, of the stages that do a good part of the work, the one that is least often idle is the
   bottleneck: it rarely lacks input, and the stage behind it rarely lacks room.
4. Why it is slow follows from CPU time. Several Python calls may run, but the threads that make
   them use one core together: the GIL. All cores are busy, with our work or that of others: CPU.
   Native workers that are busy and use little CPU wait for reads: disk. Otherwise it could do more
   at a time: concurrency; a source cannot, it is asked for one item after the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.pipeline import StageStats

Kind = Literal["consumer", "memory", "source", "cpu", "gil", "disk", "concurrency", "unknown"]

_NO_WAIT = 0.05  # a consumer that waits for less of its time does not wait
_FULL = 0.85  # so much of what there is counts as all of it
_GOOD_PART = 0.1  # of the work of the stage that does most
_NATIVE_AT_REST = 0.5  # native work that uses less CPU than this share of its time waits for reads


@dataclass(frozen=True)
class Bottleneck:
    """What holds the data back. ``print`` says it in words."""

    kind: Kind
    stage: str | None
    """The stage that it is about."""
    wait: float
    """The share of the time in which the consumer waited."""
    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.reason} {self.advice}"


def bottleneck(
    stats: Sequence[StageStats],
    *,
    memory_waits: float = 0.0,
    cores: int | None = None,
    load: float | None = None,
) -> Bottleneck:
    """The bottleneck of a pipeline or a loader, from its statistics.

    Args:
        stats: As `Pipeline.stats()` gives them, the sink last.
        memory_waits: Seconds in which a batch was not begun for want of memory.
        cores: How many there are; None: as many as this process may use.
        load: How many threads want to run on the machine; None: the load of the last minute.

    >>> from penstock.insight import bottleneck
    >>> from penstock.pipeline import PipelineBuilder
    >>> import time
    >>> pipeline = (
    ...     PipelineBuilder().add_source(range(40)).pipe(lambda x: time.sleep(0.002), name="fetch")
    ...     .add_sink(2).build(num_threads=1)
    ... )
    >>> with pipeline.auto_stop():
    ...     for item in pipeline:
    ...         pass
    >>> bottleneck(pipeline.stats()).kind
    'concurrency'
    """
    if not stats or stats[-1].readiness is None:
        raise ValueError("bottleneck: the last record must be that of the sink")
    *stages, sink = stats
    elapsed = sink.elapsed
    if elapsed <= 0 or not any(one.tasks for one in stages):
        return Bottleneck("unknown", None, 0.0, "Nothing has run yet.", "Read some batches first.")
    cores = cores or len(os.sched_getaffinity(0))
    wait = min(sink.waiting / elapsed, 1.0)
    if wait < _NO_WAIT:
        return Bottleneck(
            "consumer",
            None,
            wait,
            f"The data keeps up: the consumer waited {wait:.0%} of the time.",
            "A faster loader would not show.",
        )
    if memory_waits > 0.3 * elapsed:
        return Bottleneck(
            "memory",
            stages[0].name,
            wait,
            f"Memory: {memory_waits / elapsed:.0%} of the time no batch could be begun because "
            "the ceiling was reached.",
            "Raise memory=, or hold fewer batches.",
        )
    most = max(one.task_seconds for one in stages)
    workers = [one for one in stages if one.task_seconds >= _GOOD_PART * most]
    slowest = min(workers, key=lambda one: (one.waiting + one.blocked, -one.task_seconds))
    load = os.getloadavg()[0] if load is None else load
    return _why(slowest, stages, sink, wait, cores, load)


def _why(
    slowest: StageStats,
    stages: Sequence[StageStats],
    sink: StageStats,
    wait: float,
    cores: int,
    load: float,
) -> Bottleneck:
    elapsed, name = sink.elapsed, slowest.name
    of_all = slowest.task_seconds / max(sum(one.task_seconds for one in stages), 1e-9)
    at_work = slowest.task_seconds / elapsed
    python_cores = sink.python_cpu / elapsed
    about = f"The consumer waited {wait:.0%} of the time."
    if slowest.python and slowest.concurrency > 1 < cores and _FULL < python_cores < 1.3:
        return Bottleneck(
            "gil",
            name,
            wait,
            f"{about} {name} is held back by the GIL: {slowest.concurrency} calls may run, "
            f"but all Python calls together use {python_cores:.1f} cores.",
            "More threads do not help. Use a native op, a function that lets go of the GIL, or a "
            "process pool as the stage's executor.",
        )
    resting = not slowest.python and sink.process_cpu < _NATIVE_AT_REST * slowest.task_seconds
    native = 0.0 if slowest.python or resting else slowest.task_seconds
    if max(sink.process_cpu, native) > _FULL * cores * elapsed:
        return Bottleneck(
            "cpu",
            name,
            wait,
            f"{about} All {cores} cores are busy, {of_all:.0%} of the work is {name}.",
            "Make that stage cheaper (smaller pictures, exact=False, a native op), or use more "
            "cores.",
        )
    if slowest is stages[0]:
        return Bottleneck(
            "source",
            name,
            wait,
            f"{about} The source is the slowest part: it gives {slowest.throughput:,.0f} items a "
            f"second and is asked for the next one all the time.",
            "Let it give names or positions only, and do the work in a stage behind it, several at "
            "a time; or merge several sources.",
        )
    if resting and load > 1.5 * cores:
        return Bottleneck(
            "cpu",
            name,
            wait,
            f"{about} Other programs keep the cores busy (load {load:.1f} on {cores} cores), so "
            f"{name} waits for its turn.",
            "Measure again when they are done.",
        )
    if resting:
        return Bottleneck(
            "disk",
            name,
            wait,
            f"{about} {name} is at work all the time but uses little CPU: it waits for reads.",
            "Use more threads, keep reads local (shuffle(window=...)), or faster storage.",
        )
    return Bottleneck(
        "concurrency",
        name,
        wait,
        f"{about} {name} is the slowest stage: {slowest.mean * 1e3:.3g} ms an item, "
        f"{at_work:.1f} of {slowest.concurrency} allowed at a time; the machine has idle cores.",
        f"Give it more concurrency than {slowest.concurrency}"
        + (" (and the pipeline more threads)." if slowest.python else "."),
    )
