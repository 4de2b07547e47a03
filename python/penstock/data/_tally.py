"""What is known of one iteration: what its stages measured, and what the loop saw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from penstock.pipeline import StageStats


class Measured(NamedTuple):
    """What the stages of one iteration measured; see `penstock.pipeline._stats.from_engine`."""

    records: list[dict[str, Any]]
    names: list[str]
    workers: dict[str, int | None] | None = None
    children: tuple[float, float] = (0.0, 0.0)


@dataclass
class Tally:
    """Counts of one pass over an epoch."""

    batches: int = 0
    """That the loop received: a batch of which no sample is left is passed over."""
    samples: int = 0
    """Of the batches that were asked for; those that failed are among them."""
    failed: int = 0
    failure: str = ""
    """What the iteration itself has failed with."""

    def into(self, sink: StageStats) -> StageStats:
        """The record of a loader's sink, with what only the loop knows."""
        return replace(
            sink,
            items_out=self.batches,
            samples=self.samples,
            failures=self.failed,
            failure=self.failure,
        )
