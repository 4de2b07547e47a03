"""Headspace: how much faster training would be with a loader that costs nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from penstock._whole import as_whole, check_iterable
from penstock.data.loader import Loader
from penstock.insight import _plot
from penstock.insight._measure import Endless, Phase, measure
from penstock.insight._spread import uncertainty
from penstock.pipeline._stats import duration


@dataclass(frozen=True)
class Headspace:
    """What :func:`headspace` found, in seconds per step. ``print`` says it in words.

    Medians over the phases: a spell in which other programs had the machine does not count.
    """

    real: float
    """A step with the loader: waiting for the batch, and the step."""
    cached: float
    """A step on batches that lie in memory while the loader rests."""
    share: float
    """The share of the time that a perfect loader would save, 1 - cached / real; may be slightly
    below zero."""
    uncertainty: float
    """The true share is within this of `share`, with 95% confidence: as far as phases tell, which
    one alone does not."""
    wait: float
    """Of a real step: waiting for its batch, the starts of epochs spread over all steps."""
    slowdown: float
    """By how much the step itself is slower while the loader works: 0.1 is 10%."""
    off_cpu: float
    """The share of a real step in which the main thread stood still, beyond what it does on cached
    batches: it waited for the GIL or for a core."""
    loader_cores: float
    """Cores that the loader kept busy during real steps."""
    total_steps: int | None = None
    phases: tuple[Phase, ...] = ()
    starts: float = 0.0
    """Of `wait`: what each step pays for the starts of epochs."""
    remedy: str = "longer epochs save it"
    """Against the starts of epochs, with this loader."""

    @property
    def hours(self) -> float | None:
        """What a perfect loader would save over `total_steps`."""
        if self.total_steps is None:
            return None
        return self.total_steps * self.real * max(self.share, 0.0) / 3600

    @property
    def verdict(self) -> str:
        """One line: how much there is to win, and who is the bottleneck."""
        share, off = max(self.share, 0.0), self.uncertainty
        head = f"a perfect loader would save {share:.0%} +- {max(off, 0.01):.0%}"
        if share - off > 0.2:
            return f"{head}: the loader is the bottleneck"
        if share + off < 0.05:
            return f"{head}: the model is the bottleneck, a faster loader would not show"
        if share - off > 0.05:
            return f"{head}: the loader holds training back"
        if self._noisy:
            return (
                f"{head}: too noisy to tell; give within=0.03 to go on until it is known, or "
                "measure on a quiet machine"
            )
        return f"{head}: there is little to win"

    @property
    def _noisy(self) -> bool:
        """Nothing can be said: what is won may be much, or nothing."""
        share, off = max(self.share, 0.0), self.uncertainty
        return off > 0.05 and share - off <= 0.05 <= share + off

    def __str__(self) -> str:
        lines = [
            self.verdict[0].upper() + self.verdict[1:] + ".",
            f"A step takes {duration(self.real)} with the loader and {duration(self.cached)} on "
            f"cached batches; {duration(self.wait)} of it is waiting for a batch.",
        ]
        if self.starts > 0.03 * self.real:
            lines.append(
                f"{duration(self.starts)} of that are the starts of epochs, spread over their "
                f"steps: {self.remedy}."
            )
        hours = self.hours
        if hours is not None and not self._noisy:
            lines.append(f"Over {self.total_steps:,} steps that is {_hours(hours)}.")
        if self.slowdown > max(0.03, self.uncertainty):
            lines.append(
                f"The step itself is {self.slowdown:.0%} slower while the loader works, which "
                f"keeps {self.loader_cores:.1f} cores busy; {max(self.off_cpu, 0.0):.0%} of a step "
                "the main thread stood still, waiting for the GIL or for a core."
            )
        return "\n".join(lines)

    def plot(self, path: str) -> None:
        """The times of all steps with the switches between real and cached batches marked.

        ``.svg`` needs nothing; ``.png`` needs matplotlib.
        """
        _plot.save(path, self)


def headspace(
    loader: Iterable[Any],
    step: Callable[[Any], Any],
    batches: int = 100,
    warmup: int = 5,
    total_steps: int | None = None,
    *,
    phases: int = 5,
    caches: int = 4,
    within: float | None = None,
) -> Headspace:
    """Runs `step` on batches of the loader and on cached ones, in turns, and compares.

    Args:
        loader: Anything that can be iterated over; it begins again when it ends. A loader that
            can (`set_epoch`, `state_dict`) is put back to where it was; an iteration of it that is
            under way ends.
        step: What training does with a batch; it must not change the batch. On a GPU it has to wait
            for its end (`torch.cuda.synchronize()`): what is only queued cannot be timed.
        batches: How many steps on real batches are measured; as many are run on cached ones. More
            are taken from the loader without a step: what it has in stock before each phase, 256 in
            all at most.
        warmup: Steps before anything is measured.
        total_steps: Of the training, to say what can be won in hours.
        phases: How often real and cached batches take turns, so that a drift of the machine meets
            both.
        caches: How many batches are kept.
        within: Goes on until the share is known this exactly (0.02: 2 points, with 95% confidence),
            for up to ten times as many phases and batches. For machines with other things to do.

    >>> import time
    >>> from penstock.insight import headspace
    >>> found = headspace(list(range(20)), lambda batch: time.sleep(0.002), batches=10)
    >>> found.cached > 0.002
    True
    """
    for name, value, least in [
        ("batches", batches, 2),
        ("warmup", warmup, 0),
        ("caches", caches, 1),
        ("phases", phases, 1),
        ("total_steps", 0 if total_steps is None else total_steps, 0),
    ]:
        if as_whole(value, f"headspace: {name}") < least:
            raise ValueError(f"headspace: {name} is {value}; give {least} or more")
    if batches < 2 * phases:
        raise ValueError(f"headspace: phases is {phases}; give 1 to batches / 2 = {batches // 2}")
    if within is not None and not isinstance(within, Real):
        raise TypeError(f"headspace: within is {within!r}; give a share between 0 and 1, as 0.02")
    if within is not None and not 0 < within < 1:
        raise ValueError(f"headspace: within is {within}; give a share between 0 and 1, as 0.02")
    if not callable(step):
        raise TypeError(f"headspace: step must be a function of a batch, not {step!r}")
    check_iterable(loader, "headspace: loader")
    with _put_back(loader) as forget:
        source = Endless(loader, forget)
        try:
            done = measure(source, step, batches, phases, warmup, caches, _known(within))
            start = source.start(statistics.median(phase.seconds for phase in done))
        finally:
            source.end()
    return replace(_conclude(done, total_steps, *start), remedy=_remedy(loader))


def _known(within: float | None) -> Callable[[list[Phase]], bool]:
    return lambda done: within is None or uncertainty(done[0::2], done[1::2]) <= within


def _remedy(loader: Any) -> str:
    if isinstance(loader, Loader):
        return "longer epochs (repeat()) save it"
    if getattr(loader, "num_workers", 0) and getattr(loader, "persistent_workers", True) is False:
        return "persistent_workers=True saves much of it, longer epochs the rest"
    return "longer epochs save it"


@contextmanager
def _put_back(loader: Any) -> Iterator[Callable[[], None]]:
    """Afterwards a loader that can is where it was before, and its statistics, ledger and errors,
    if it has any, are those of the loops before; one in the middle of data that cannot be read from
    there again stays where it is. What is yielded puts back all but the place."""
    keep = getattr(loader, "_keep_statistics", None)
    statistics_again = keep() if callable(keep) else lambda: None
    can = all(hasattr(loader, name) for name in ("set_epoch", "state_dict", "load_state_dict"))
    state = loader.state_dict() if can else None
    try:
        yield statistics_again
    finally:
        if can:
            with suppress(ValueError):
                loader.load_state_dict(state)
        statistics_again()


def _conclude(
    done: Sequence[Phase], total_steps: int | None, start: float = 0.0, start_off: float = 0.0
) -> Headspace:
    """`start` is what a step pays for the starts of epochs, which are not in the phases, and
    `start_off` what that may be off by (95%)."""
    real, cached = done[0::2], done[1::2]
    shares = _shares(done)
    size = len(real[0].steps)
    wall = sum(phase.seconds for phase in real) * size
    idle = sum(phase.seconds for phase in cached) * size
    step_real = statistics.median(phase.step for phase in real)
    step_cached = statistics.median(phase.step for phase in cached)
    off_real = statistics.median(phase.step - phase.own_cpu / size for phase in real)
    off_cached = statistics.median(phase.step - phase.own_cpu / size for phase in cached)
    # One estimate: real follows from cached and the share of the phases, so that they agree.
    without = statistics.median(phase.seconds for phase in cached)
    steady = without / (1 - statistics.median(shares))
    seconds = steady + start
    return Headspace(
        real=seconds,
        cached=without,
        share=1 - without / seconds,
        uncertainty=math.hypot(
            uncertainty(real, cached) * steady / seconds,
            start_off / seconds * without / seconds,
        ),
        wait=statistics.median(sum(phase.waits) / size for phase in real) + start,
        slowdown=step_real / step_cached - 1 if step_cached > 0 else 0.0,
        off_cpu=(off_real - off_cached) / seconds,
        loader_cores=max(
            sum(phase.other_cpu for phase in real) / wall
            - sum(phase.other_cpu for phase in cached) / idle,
            0.0,
        ),
        total_steps=total_steps,
        phases=tuple(done),
        starts=start,
    )


def _shares(done: Sequence[Phase]) -> list[float]:
    """Of each phase against the two beside it: a steady drift of the machine cancels out."""
    if len(done) == 2:
        return [1 - done[1].seconds / done[0].seconds]
    shares = []
    for before, phase, after in zip(done, done[1:], done[2:], strict=False):
        around = (before.seconds + after.seconds) / 2
        real, cached = (around, phase.seconds) if phase.cached else (phase.seconds, around)
        shares.append(1 - cached / real)
    return shares


def _hours(hours: float) -> str:
    seconds = round(hours * 3600, 1)
    minutes = round(hours * 60, 1)  # "1.0 hours", not "60.0 minutes"
    if seconds < 60:
        return f"{seconds:.1f} seconds" if seconds else "less than 0.1 seconds"
    return f"{hours:.1f} hours" if minutes >= 60 else f"{minutes:.1f} minutes"
