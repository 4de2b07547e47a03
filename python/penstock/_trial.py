"""A few seconds of loading a dataset, as ``penstock doctor`` and ``penstock demo`` do it.

One epoch, and if that was short, more of them as one run (`repeat()`): a dataset is not judged by
the starts of its epochs. A few small batches say nothing, however often they are read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock import insight
from penstock.data.dataset import Dataset
from penstock.data.loader import Loader
from penstock.pipeline import StageStats

BATCH = 64
_FEW = 4  # batches: an epoch of fewer is little, unless they take their time
_LONG = 0.5  # seconds: an epoch that takes longer can be judged


@dataclass(frozen=True)
class Trial:
    """What was measured. The loader has the statistics; nothing of it runs any more."""

    loader: Loader
    samples: int
    """That were delivered."""
    seconds: float
    epoch: int
    """Samples of one epoch, or of as much of it as was read; failed ones included."""
    epoch_seconds: float
    failed: dict[str, str]
    """Sample and error."""

    @property
    def rate(self) -> float:
        return self.samples / self.seconds

    @property
    def verdict(self) -> str:
        """What holds it back, in words."""
        stages = self.loader.stats()["stages"]
        samples = f"{self.epoch:,} sample" + "s" * (self.epoch != 1)
        if insight.bottleneck(stages).kind == "failures":
            return (
                f"{len(self.failed):,} of {samples} failed. Fix that first: times of a run that "
                "did not work say nothing."
            )
        if self.epoch < _FEW * BATCH and self.epoch_seconds < _LONG:
            return (
                f"Too little data to tell what holds it back: an epoch is {samples}, and took "
                f"{self.epoch_seconds * 1e3:.0f} ms with its start."
            )
        return in_words(stages, self.loader.dataset.sequential)


def in_words(stages: Sequence[StageStats], sequential: bool = False) -> str:
    """The bottleneck of a loader whose loop only counts; `sequential`: of data that is read from
    front to back."""
    found = insight.bottleneck(stages)
    # The first stage of a loader is ours: it hands out positions, and reads nothing; but of what
    # is sequential it is the reader. And a loop that only counts is no training that the data
    # keeps up with.
    ours = found.stage == stages[0].name and found.kind != "memory" and not sequential
    if ours or found.kind == "consumer":
        return (
            "Nothing holds it back: these samples take so little time that what is left is the "
            "handing out of batches. Larger batches are handed out less often."
        )
    if found.kind == "source":
        return (
            f"The consumer waited {found.wait:.0%} of the time. Reading is the slowest part: from "
            "front to back by one thread, which unpacks it, too. Several shards at a time, or a "
            "format that can be read at any place (penstock convert), are faster."
        )
    return str(found)


def trial(
    data: Dataset,
    plan: Callable[[Dataset], Dataset],
    seconds: float,
    show: Callable[[Loader], None] = lambda loader: None,
) -> Trial:
    """Loads `plan` of the data, or of as many epochs of it as it takes, for some seconds; `show` is
    called with every batch.

    Samples that fail are passed over. If all do, it ends with the epoch.
    """
    loader = plan(data).loader(on_error="skip")
    samples, took = _read(loader, seconds, show)
    epoch, epoch_took = loader.stats()["stages"][-1].samples, took
    failed = _failed(loader)
    if samples > 0 and took < seconds / 2:
        loader = plan(data.repeat()).loader(on_error="skip")
        samples, took = _read(loader, seconds - took, show)
        failed |= _failed(loader)
    return Trial(loader, samples, took, epoch, epoch_took, failed)


def _read(loader: Loader, seconds: float, show: Callable[[Loader], None]) -> tuple[int, float]:
    samples, begun = 0, time.perf_counter()
    for batch in loader:
        samples += len(next(iter(batch.values())))
        show(loader)
        if time.perf_counter() - begun > seconds:
            break
    return samples, time.perf_counter() - begun


def _failed(loader: Loader) -> dict[str, str]:
    return {error.sample: error.error for error in loader.errors()}
