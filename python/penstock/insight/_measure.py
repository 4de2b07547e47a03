"""Headspace, the measuring part: steps on real batches and on cached ones, in turns.

A phase on real batches begins with empty queues: what the loader had put by while the other phase
went on is taken first, without a step. Otherwise the first steps would be served from stock, and a
loader that is too slow would look fast enough. A phase on cached batches begins when the loader has
filled its queues again and is quiet.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.insight._spread import off_by
from penstock.pipeline._usage import children_cpu

_MOST_TAKEN = 256  # batches that are taken out of a loader's queues, at most, over all phases
_LONGEST = 10  # times as many phases as asked for, if they do not suffice
_QUIET_SHARE = 0.2  # of a core: a loader that uses less rests
_LONGEST_REST = 2.0  # seconds
_SHOWS = 0.005  # of a step


@dataclass
class Phase:
    """Some steps in a row: when each began, how long it waited for its batch and how long it took.

    CPU times are of the main thread within steps, and of all else over the whole phase: a loop
    that waits may do a loader's work itself.
    """

    cached: bool
    began: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    own_cpu: float = 0.0
    other_cpu: float = 0.0

    @property
    def seconds(self) -> float:
        """What a step took, with its wait, on average."""
        return (sum(self.waits) + sum(self.steps)) / len(self.steps)

    @property
    def step(self) -> float:
        return sum(self.steps) / len(self.steps)


class Endless:
    """The batches of a loader; when an epoch ends, the next one begins.

    What the first batch of an epoch is waited for, from the request that finds the end of the one
    before, is kept apart: how often it is met within a phase is chance, see :meth:`start`.

    `forget` is called before each epoch. It makes a loader forget what failed in those before: they
    are all the same one, and together may be more than `max_errors` allows for training.
    """

    def __init__(self, loader: Iterable[Any], forget: Callable[[], None] = lambda: None) -> None:
        self._loader = loader
        self._forget = forget
        self._batches: Iterator[Any] | None = None
        self._starts: list[float] = []
        self._lengths: list[int] = []  # of the epochs that have ended
        self._taken = 0  # in the epoch under way
        self.waited = 0.0  # for the last batch, also if that was the first of an epoch

    def next(self) -> tuple[Any, float]:
        """A batch, and how long it was waited for; 0 for the first one of an epoch."""
        begun = time.perf_counter()
        if self._batches is not None:
            try:
                batch = next(self._batches)
            except StopIteration:
                self._batches = None
                self._lengths.append(self._taken)
            else:
                self._taken += 1
                self.waited = time.perf_counter() - begun
                return batch, self.waited
        self._forget()
        self._batches = iter(self._loader)
        try:
            batch = next(self._batches)
        except StopIteration:
            self._batches = None
            raise ValueError(self._no_more()) from None
        self.waited = time.perf_counter() - begun
        self._starts.append(self.waited)
        self._taken = 1
        return batch, 0.0

    def start(self, step: float) -> tuple[float, float]:
        """What the starts of epochs cost a step on average, and what that may be off by (95%).

        The very first start does more than the others (imports, caches) and does not count. Where
        there was no other, one more is made, unless it would not show beside steps of `step`
        seconds. 0 if no epoch has ended and the loader has no length.
        """
        length = statistics.fmean(self._lengths) if self._lengths else self._length()
        if length is None or not self._starts:
            return 0.0, 0.0
        if len(self._starts) == 1 and self._starts[0] > _SHOWS * step * length:
            if hasattr(self._loader, "__next__"):  # an iterator: it has one start in all
                return 0.0, 0.0
            self.end()
            self.next()
        starts = self._starts[1:] or self._starts
        return statistics.median(starts) / length, off_by(starts) / length

    def _length(self) -> int | None:
        try:
            return len(self._loader) or None  # type: ignore[arg-type]
        except (TypeError, AttributeError, NotImplementedError):
            return None

    def _no_more(self) -> str:
        if not self._lengths:
            return "headspace: the loader has no batches"
        return (
            f"headspace: the loader ended after {sum(self._lengths)} batches and does not begin "
            "again; give one that begins again when it is iterated over once more (not a "
            "generator), or one with more batches"
        )

    def end(self) -> None:
        """Lets go of the iteration under way, so that its threads and processes end."""
        close = getattr(self._batches, "close", None)
        self._batches = None
        if close is not None:
            close()


def measure(
    batches: Endless,
    step: Callable[[Any], Any],
    count: int,
    phases: int,
    warmup: int,
    caches: int,
    enough: Callable[[list[Phase]], bool] = lambda done: True,
) -> list[Phase]:
    """Phases on real and on cached batches, alternating, with about `count` real steps in all; then
    more, up to ten times as many, until it is `enough`."""
    kept = [batches.next()[0] for _ in range(caches)]
    for i in range(warmup):
        step(kept[i % caches])
    size = max(count // phases, 2)
    done: list[Phase] = []
    may_take = _MOST_TAKEN
    for pair in range(_LONGEST * phases):
        if pair >= phases:
            if enough(done):
                break
            may_take += _MOST_TAKEN // phases
        usual = _usual(step, kept)
        may_take -= _empty(batches, usual, may_take)
        for _ in range(2):  # the first ones find the queues empty
            step(batches.next()[0])
        done.append(_run(batches.next, step, size, cached=False))
        _rest(usual)
        done.append(_run(_in_turn(kept), step, size, cached=True))
    return done


def _in_turn(kept: list[Any]) -> Callable[[], tuple[Any, float]]:
    again = itertools.cycle(kept)
    return lambda: (next(again), 0.0)


def _run(
    following: Callable[[], tuple[Any, float]],
    step: Callable[[Any], Any],
    size: int,
    cached: bool,
) -> Phase:
    phase = Phase(cached)
    all_cpu = all_cpu_seconds()
    for _ in range(size):
        batch, wait = following()
        own = time.thread_time()
        begun = time.perf_counter()
        step(batch)
        phase.steps.append(time.perf_counter() - begun)
        phase.own_cpu += time.thread_time() - own
        phase.began.append(begun)
        phase.waits.append(wait)
        del batch
    phase.other_cpu = all_cpu_seconds() - all_cpu - phase.own_cpu
    return phase


def all_cpu_seconds() -> float:
    """CPU time of this process and of its children, also of those that run."""
    return time.process_time() + children_cpu()


def _usual(step: Callable[[Any], Any], kept: list[Any]) -> float:
    begun = time.perf_counter()
    step(kept[0])
    return time.perf_counter() - begun


def _empty(batches: Endless, usual: float, most: int) -> int:
    """Takes batches until one has to be waited for, which is one that was not in stock: at most
    `most`, because a loader may make them as fast as they are taken. How many it took."""
    for taken in range(1, most + 1):
        batches.next()
        if batches.waited > max(0.0005, usual / 20):
            return taken
    return most


def _rest(usual: float) -> None:
    """Waits until the loader is quiet: it fills its queues for a while."""
    end = time.perf_counter() + _LONGEST_REST
    pause = min(max(usual, 0.02), 0.2)
    while time.perf_counter() < end:
        begun, cpu = time.perf_counter(), all_cpu_seconds()
        time.sleep(pause)
        if all_cpu_seconds() - cpu < _QUIET_SHARE * (time.perf_counter() - begun):
            return
