"""Is it the data? How much is there to win, which stage is it, and what to do about it."""

from penstock.insight._bottleneck import Bottleneck, bottleneck
from penstock.insight._headspace import Headspace, headspace
from penstock.insight._report import report

__all__ = ["Bottleneck", "Headspace", "bottleneck", "headspace", "report"]
