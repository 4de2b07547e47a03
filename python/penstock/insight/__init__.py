"""Is it the data? How much is there to win, which stage is it, and what to do about it."""

from penstock.insight._bottleneck import Bottleneck, bottleneck
from penstock.insight._headspace import Headspace, headspace
from penstock.insight._progress import progress
from penstock.insight._report import report
from penstock.insight._scaling import Scaling, plot_profile, scaling
from penstock.insight._trace import trace

__all__ = [
    "Bottleneck",
    "Headspace",
    "Scaling",
    "bottleneck",
    "headspace",
    "plot_profile",
    "progress",
    "report",
    "scaling",
    "trace",
]
