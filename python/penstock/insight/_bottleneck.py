"""Which stage holds the others back, why, and what to do about it.

The rule, in the order in which it is applied:

1. A stage many of whose tasks failed, a loader many of whose samples did, or one that failed after
   a few batches: failures. Times of a run that did not work say nothing.
2. A run that was over in no time: unknown. What it took is starting and ending.
3. A consumer that hardly ever waits is slower than the data: there is nothing to win.
4. Batches that are not begun because memory is spent, while workers lack input: memory.
5. Otherwise, of the stages that do a good part of the work, the one that is least often idle is the
   bottleneck: it rarely lacks input, and the stage behind it rarely lacks room.
6. Why it is slow follows from CPU time, from the time in which threads could run but had no core,
   so that other programs do not change the answer, and from the time in which they waited for the
   GIL. Time that the host of a virtual machine took from its cores is nobody's, and left out. Calls
   wait for it longer than they work, and do not use it up themselves: the GIL, which the consumer
   or another thread has. Several Python calls may run; they use one core all the time, or wait for
   one another's GIL and not only for a core that others have; and they want by far not as many
   cores as there are calls: the GIL. One call may run, uses one core all the time, and others wait
   for its GIL: the GIL, too. All cores are wanted, by our work or that of others: CPU.
   Native workers that are busy and use little CPU wait for reads, and so do all if nobody is at
   work: disk. A source is asked for one item after the other. Otherwise, a stage that does as much
   at a time as it may, or as its executor does: concurrency; one that does less although it has
   input and room lacks threads, which is concurrency, too. One that does less and is idle itself:
   unknown, nothing clear holds it back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from penstock.pipeline import StageStats

Kind = Literal[
    "failures", "consumer", "memory", "source", "cpu", "gil", "disk", "concurrency", "unknown"
]

_NO_WAIT = 0.05  # a consumer that waits for less of its time does not wait
_FULL = 0.85  # so much of what there is counts as all of it
_MOST = 0.5
_MANY = 1 / 3  # failures: of so many tasks or samples
_SHORT = 0.05  # seconds: a run that took less says nothing
_ALL_ALLOWED = 0.65  # of what a stage may do at a time: one that does less is not held back by it
_IDLE = 0.3  # of the time: a stage that lacks input or room for longer is not held back by itself
_GOOD_PART = 0.1  # of the work of the stage that does most
_SPENT = 0.3  # of the time: so long without memory is worth a word
_NO_INPUT = 0.15  # of the time: workers that lack input for longer could do more
_OTHERS = 0.6  # of the cores: who gets less, though it wants them all, shares them with others
_HELD_BACK = 0.7  # calls that want less of the cores they may use together wait for one another
_GIL_WAIT = 0.2  # of the time: calls that wait for the GIL for less do not wait for it
_MORE_THAN_ONE = (
    1.25  # cores: calls that use more let go of the GIL, so cores may be what they lack
)
_RATHER_GIL = 0.35  # of the time without a core: who waits for the GIL for less lacks a core
_FEW = 20  # requests: a run that failed before had no time to show what holds it back
_LEFT = 0.3  # of the time: if a host took more, the whole machine and its clock stood still
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
    stats: Sequence[StageStats] | Mapping[str, Any],
    *,
    memory_waits: float | None = None,
    cores: int | None = None,
) -> Bottleneck:
    """The bottleneck of a pipeline or a loader, from its statistics.

    Args:
        stats: As `Pipeline.stats()` or `Loader.stats()` gives them.
        memory_waits: Seconds in which a batch was not begun for want of memory; None: as the
            statistics of a loader say.
        cores: How many there are; None: as many as this process may use.

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
    return judge(_records(stats), None, memory_waits, cores)


def judge(
    records: Sequence[StageStats],
    wait: float | None = None,
    memory_waits: float | None = None,
    cores: int | None = None,
) -> Bottleneck:
    """The rule. `wait` is the share of the time in which the consumer waits, where that is known
    better than from the sink's record."""
    stages, sink = records[:-1], records[-1] if records else None
    if sink is None or sink.elapsed <= 0 or not any(one.tasks for one in stages):
        return Bottleneck("unknown", None, 0.0, "Nothing has run yet.", "Read some batches first.")
    elapsed = sink.elapsed
    cores = cores or len(os.sched_getaffinity(0))
    if wait is None:
        wait = min((sink.waiting + sink.gil_wait) / elapsed, 1.0)
    failed = _failed(stages, sink, wait)
    if failed is not None:
        return failed
    if elapsed < _SHORT:
        return Bottleneck(
            "unknown",
            None,
            wait,
            f"It ran for {elapsed * 1e3:.0f} ms: too little to tell what holds it back.",
            "Read more batches to know more.",
        )
    if wait < _NO_WAIT:
        return Bottleneck(
            "consumer",
            None,
            wait,
            f"The data keeps up: the consumer waited {wait:.0%} of the time.",
            "A faster loader would not show.",
        )
    most = max(one.task_seconds for one in stages)
    workers = [one for one in stages if one.task_seconds >= _GOOD_PART * most]
    slowest = min(workers, key=lambda one: (one.waiting + one.blocked, -one.task_seconds))
    memory_waits = sink.memory_wait if memory_waits is None else memory_waits
    if memory_waits > _SPENT * elapsed and slowest.waiting > _NO_INPUT * elapsed:
        return Bottleneck(
            "memory",
            stages[0].name,
            wait,
            f"Memory: {memory_waits / elapsed:.0%} of the time no batch could be begun because "
            "the ceiling was reached.",
            "Raise memory=, or hold fewer batches.",
        )
    return _why(slowest, stages, sink, wait, cores)


def _records(stats: Sequence[StageStats] | Mapping[str, Any]) -> Sequence[StageStats]:
    if isinstance(stats, Mapping) and "stages" in stats:  # of a loader
        stats = stats["stages"]
    if not isinstance(stats, Sequence) or not all(isinstance(one, StageStats) for one in stats):
        raise TypeError(
            "bottleneck: give what the stats() of a pipeline or a loader returns, not "
            f"{type(stats).__name__}"
        )
    if stats and stats[-1].readiness is None:
        raise ValueError("bottleneck: the last record must be that of the sink")
    return stats


def _failed(stages: Sequence[StageStats], sink: StageStats, wait: float) -> Bottleneck | None:
    if sink.failure and sink.items_out < _FEW:
        return Bottleneck(
            "failures",
            None,
            wait,
            f"It failed: {sink.failure}.",
            'Fix that first, or pass over such samples with on_error="skip".',
        )
    if sink.failures > 0 and sink.failures >= _MANY * sink.samples:
        return Bottleneck(
            "failures",
            None,
            wait,
            f"{sink.failures:,} of {max(sink.samples, sink.failures):,} samples failed.",
            "Fix that first: errors() of the loader lists them.",
        )
    worst = max(stages, key=lambda one: one.failures)
    if worst.failures == 0 or worst.failures < _MANY * worst.tasks:
        return None
    return Bottleneck(
        "failures",
        worst.name,
        wait,
        f"{worst.failures:,} of {worst.tasks:,} tasks of {worst.name} failed.",
        "Fix that first: the log names them.",
    )


def _why(
    slowest: StageStats,
    stages: Sequence[StageStats],
    sink: StageStats,
    wait: float,
    cores: int,
) -> Bottleneck:
    elapsed, name = _given(sink, cores), slowest.name
    of_all = slowest.task_seconds / max(sum(one.task_seconds for one in stages), 1e-9)
    at_work = slowest.task_seconds / elapsed
    python_cores = sink.python_cpu / elapsed
    gil_wait = sum(one.gil_wait for one in stages) + sink.gil_wait
    about = f"The consumer waited {wait:.0%} of the time."
    if slowest.python and _held_elsewhere(slowest, sink):
        return Bottleneck(
            "gil",
            name,
            wait,
            f"{about} {name} waits for the GIL longer than it works: your loop has it, or another "
            "part of the program.",
            "More threads do not help. Use native ops in the loader, or let the loop let go of the "
            "GIL: what runs in NumPy or PyTorch does.",
        )
    if slowest.python and _for_gil(slowest, sink, gil_wait, cores):
        calls = f"{slowest.concurrency} calls may run, but"
        if slowest.concurrency == 1:
            calls = "others waited for it, and"
        return Bottleneck(
            "gil",
            name,
            wait,
            f"{about} {name} is held back by the GIL: {calls} all Python calls together use "
            f"{python_cores:.1f} cores.",
            "More threads do not help. Use a native op, a function that lets go of the GIL, or a "
            "process pool as the stage's executor.",
        )
    delay = sink.python_delay + sink.native_delay
    at_work_or_due = sink.process_cpu + sink.native_delay
    resting = not slowest.python and at_work_or_due < _NATIVE_AT_REST * slowest.task_seconds
    native = 0.0 if slowest.python or resting else slowest.task_seconds
    # Native workers are as many as cores: more of them would not help, even if they rest at times.
    all_workers = slowest.concurrency >= cores and native > _MOST * cores * elapsed
    if all_workers or max(sink.process_cpu + delay, native) > _FULL * cores * elapsed:
        others = sink.process_cpu < _OTHERS * cores * elapsed and delay > sink.process_cpu
        return Bottleneck(
            "cpu",
            name,
            wait,
            f"{about} Other programs keep the cores busy: this one used "
            f"{sink.process_cpu / elapsed:.1f} of {cores}, and {name} waited for its turn."
            if others
            else f"{about} All {cores} cores are busy, {of_all:.0%} of the work is {name}.",
            "Measure again when they are done."
            if others
            else "Make that stage cheaper (smaller pictures, exact=False, a native op), or use "
            "more cores.",
        )
    if slowest is stages[0] and not slowest.python and at_work < _GOOD_PART and len(stages) > 1:
        # The first stage of a loader asks for reads ahead; while these go on nobody is at work.
        if stages[1].bytes > 0:
            return _reads(stages[1].name, wait, f"{about} Nobody is at work: all wait for reads.")
        return Bottleneck(
            "unknown",
            None,
            wait,
            f"{about} Most of it went into starting: there was little to do.",
            "Read more batches to know more.",
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
    if resting:
        reason = f"{about} {name} is at work all the time but uses little CPU: it waits for reads."
        return _reads(name, wait, reason)
    return _at_a_time(slowest, stages, sink, wait, about, cores)


def _at_a_time(
    slowest: StageStats,
    stages: Sequence[StageStats],
    sink: StageStats,
    wait: float,
    about: str,
    cores: int,
) -> Bottleneck:
    """Neither the GIL nor the CPU nor reads: is it what a stage may do at a time, or threads?"""
    name, allowed = slowest.name, slowest.concurrency
    of_allowed = f"{slowest.at_work:.1f} of {allowed} allowed at a time"
    each = f"{slowest.mean * 1e3:.3g} ms an item, {of_allowed}"
    workers = slowest.workers
    if workers is not None and workers < allowed and slowest.at_work >= _ALL_ALLOWED * workers:
        return Bottleneck(
            "concurrency",
            name,
            wait,
            f"{about} {name} is the slowest stage: {allowed} calls may run at a time, but its "
            f"executor makes {workers}; the machine has idle cores.",
            f"Give the executor more workers than {workers} (max_workers); more concurrency alone "
            "changes nothing.",
        )
    if slowest.at_work >= _ALL_ALLOWED * allowed:
        busy = slowest.python and sink.python_cpu > _FULL * _given(sink, cores)
        return Bottleneck(
            "concurrency",
            name,
            wait,
            f"{about} {name} is the slowest stage: {each}; the machine has idle cores.",
            _more(slowest, of_loader=sink.samples > 0, busy=busy),
        )
    idle = (slowest.waiting + slowest.blocked) / sink.elapsed
    calls = sum(one.at_work for one in stages if one.python)
    free = slowest.gil_wait < _GIL_WAIT * sink.elapsed  # to run, once it has a thread
    if slowest.python and free and idle < _IDLE and calls >= _FULL:
        return Bottleneck(
            "concurrency",
            name,
            wait,
            f"{about} {name} is held back by too few threads: {each}, though it had input and room "
            f"for more; all Python calls together are {calls:.1f} at a time.",
            "Raise num_threads, or the threads of the stage's own executor; more concurrency alone "
            "changes nothing.",
        )
    return Bottleneck(
        "unknown",
        name,
        wait,
        f"{about} Nothing clear holds it back: {name} is the least idle stage, and does {each}.",
        "More concurrency would not help. Read more batches to know more; what is left may be the "
        "handing over of small items: larger batches are handed over less often.",
    )


def _more(slowest: StageStats, of_loader: bool, busy: bool) -> str:
    """What helps a stage that does as much at a time as it may. `busy`: its calls use the CPU."""
    most = slowest.concurrency
    if of_loader and slowest.name == "batch":
        return (
            "Batches are mapped one after the other: do the work on samples (map before batch), "
            "where it may run several times at once, or make it cheaper."
        )
    if of_loader and (not slowest.python or slowest.name == "fetch"):
        return f"Give the loader more threads than {most} (threads=)."
    words = f"Give it more concurrency than {most}"
    if slowest.workers is not None:
        words += ", and its executor as many workers (max_workers)"
    elif slowest.python and not of_loader:
        words += ", and the pipeline as many threads (num_threads) unless it is async"
    if busy and slowest.workers is None:
        words += (
            "; that helps if it lets go of the GIL, as NumPy does. Pure Python needs a native op "
            "or a process pool as its executor"
        )
    return f"{words}."


def _reads(name: str, wait: float, reason: str) -> Bottleneck:
    advice = "Use more threads, keep reads local (shuffle(window=...)), or faster storage."
    return Bottleneck("disk", name, wait, reason, advice)


def _held_elsewhere(slowest: StageStats, sink: StageStats) -> bool:
    """Whether somebody else than the calls of this pipeline has the GIL most of the time."""
    waits = slowest.gil_wait > max(_GIL_WAIT * sink.elapsed, _RATHER_GIL * sink.python_delay)
    return (
        waits and slowest.gil_wait > slowest.task_seconds and sink.python_cpu < _MOST * sink.elapsed
    )


def _given(sink: StageStats, cores: int) -> float:
    """The time in which there were cores: without what the host took."""
    left = sink.elapsed - sink.stolen
    if left < _LEFT * sink.elapsed:
        return sink.elapsed
    return max(left, sink.process_cpu / cores)


def _for_gil(slowest: StageStats, sink: StageStats, gil_wait: float, cores: int) -> bool:
    """Whether the calls of a stage wait for one another, and not for cores or something else."""
    elapsed, cpu, delay = _given(sink, cores), sink.python_cpu, sink.python_delay
    waits = gil_wait > max(_GIL_WAIT * elapsed, _RATHER_GIL * delay)
    one_core = cpu > _FULL * elapsed or (waits and cpu + delay > _FULL * elapsed)
    # Calls that wait for the GIL and then for a core want only one core together, unless they use
    # more.
    only_one = waits and cpu < _MORE_THAN_ONE * elapsed
    if slowest.concurrency == 1:
        return one_core and only_one
    wanted = cpu if only_one else cpu + delay
    return one_core and wanted < _HELD_BACK * slowest.concurrency * elapsed
