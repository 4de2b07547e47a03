"""Profiles of stages: where each stops scaling, and why, in words and as a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.insight import _svg
from penstock.pipeline import ProfileResult

_STILL = 1.15  # a stage that gains less from twice the concurrency has stopped scaling

_STYLE = """
text{font:12px system-ui,sans-serif;fill:#333}
.title{font-size:15px;font-weight:600}
.paper{fill:#fff}
.grid{stroke:#ddd;fill:none}
.even{stroke:#bbb;fill:none;stroke-dasharray:4 3}
.curve{stroke:#0a6b4f;fill:none;stroke-width:2}
.point{fill:#0a6b4f}
.stop{fill:#b4540a}
"""
_WIDTH, _EACH = 800, 190
_LEFT, _RIGHT = 70, 780


@dataclass(frozen=True)
class Scaling:
    """How a stage scales. ``print`` says it in words."""

    stage: str
    best: int
    """The concurrency at which it stops to gain."""
    rate: float
    """Items a second there."""
    alone: float
    """Items a second with one call at a time."""
    reason: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.rate:,.0f} items/s with {self.best} at a time. {self.reason}"


def scaling(results: Sequence[ProfileResult], *, cores: int | None = None) -> list[Scaling]:
    """Where each stage of a profile stops scaling, and why.

    Args:
        results: Of `profile_pipeline`.
        cores: How many there are; None: as many as this process may use.

    >>> import time
    >>> from penstock.insight import scaling
    >>> from penstock.pipeline import ProfileResult
    >>> from penstock.pipeline._profile import ProfileStats
    >>> rates = {1: 100.0, 4: 400.0, 8: 780.0}
    >>> profile = ProfileResult("fetch", [ProfileStats(n, rates[n], 0.1) for n in rates])
    >>> print(scaling([profile])[0])
    fetch: 780 items/s with 8 at a time. It still gains from more...
    """
    _check(results, "scaling")
    cores = cores or len(os.sched_getaffinity(0))
    return [_judge(one, cores) for one in results]


def _check(results: object, name: str) -> None:
    if not isinstance(results, Sequence) or not all(
        isinstance(one, ProfileResult) for one in results
    ):
        raise TypeError(f"{name}: give what profile_pipeline() returns, not {results!r:.100}")


def _judge(result: ProfileResult, cores: int) -> Scaling:
    rates = {one.concurrency: one.qps for one in result.stats if math.isfinite(one.qps)}
    if not any(rates.values()):
        nothing = "It gave nothing: its calls failed, which the log tells, or returned None."
        return Scaling(result.name, 1, 0.0, 0.0, nothing)
    tried = sorted(rates)
    best = tried[0]
    for more in tried[1:]:
        # What is wanted of more calls at once: some gain for every doubling.
        if rates[more] > rates[best] * _STILL ** math.log2(more / best):
            best = more
    return Scaling(result.name, best, rates[best], rates[tried[0]], _why(rates, tried, best, cores))


def _why(rates: dict[int, float], tried: Sequence[int], best: int, cores: int) -> str:
    gain = rates[best] / max(rates[tried[0]], 1e-9)
    if len(tried) == 1:
        return "It runs one at a time."
    if best == tried[-1]:
        if gain > 1.2 * cores:
            return "It still gains from more at a time: it waits for something else than the CPU."
        return f"It still gains from more at a time: {gain:.1f} times so far, on {cores} cores."
    if best == tried[0]:
        worse = rates[tried[-1]] < 0.8 * rates[best]
        return (
            "More at a time do not help: the GIL, or something else that only one call may have"
            + (", and they get in each other's way." if worse else ".")
        )
    if gain <= 1.2 * cores:
        return (
            f"It gains {gain:.1f} times: it uses the CPU, and there are {cores} cores"
            if gain > 0.7 * cores
            else f"It gains only {gain:.1f} times on {cores} cores: the GIL for a part of its "
            "time, or memory"
        ) + "."
    return (
        f"It gains {gain:.1f} times, more than there are cores: it waits for reads or for a "
        "server, up to what these can do."
    )


def plot_profile(
    path: str, results: Sequence[ProfileResult], *, cores: int | None = None
) -> list[Scaling]:
    """Draws each stage alone over its concurrencies; returns what :func:`scaling` says of them.

    ``.svg`` needs nothing; ``.png`` needs matplotlib.

    >>> from penstock.insight import plot_profile
    >>> from penstock.pipeline import profile_pipeline
    >>> from penstock.pipeline.defs import Pipe, PipelineConfig, SinkConfig, SourceConfig
    >>> config = PipelineConfig(SourceConfig(range(50)), [Pipe(str)], SinkConfig(1))
    >>> found = plot_profile("profile.svg", profile_pipeline(config, 50))
    >>> found[0].stage
    'str'
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"plot_profile: {path!r:.100} is no path; give plot_profile(path, results)")
    _check(results, "plot_profile")
    found = scaling(results, cores=cores)
    kind = Path(path).suffix.lower()
    if kind == ".svg":
        Path(path).write_text(_draw(results, found), encoding="utf-8")
    elif kind == ".png":
        _save_png(path, results, found)
    else:
        raise ValueError(f"plot_profile: {path} must end in .svg or .png")
    return found


def _draw(results: Sequence[ProfileResult], found: Sequence[Scaling]) -> str:
    height = max(len(results), 1) * _EACH
    parts = [_svg.rect(0, 0, _WIDTH, height, "paper")]
    for number, (result, said) in enumerate(zip(results, found, strict=True)):
        parts += _stage(result, said, number * _EACH)
    return _svg.picture(_WIDTH, height, _STYLE, parts, "items a second over concurrency")


def _stage(result: ProfileResult, said: Scaling, above: float) -> list[str]:
    top, bottom = above + 58, above + _EACH - 26
    rates = sorted((one.concurrency, one.qps) for one in result.stats if math.isfinite(one.qps))
    most = max((rate for _, rate in rates), default=1.0) or 1.0
    last = math.log2(max(max((n for n, _ in rates), default=2), 2))

    def x(concurrency: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * math.log2(concurrency) / last

    def y(rate: float) -> float:
        return bottom - (bottom - top) * min(rate / most, 1.0)

    parts = [
        _svg.text(12, above + 20, f"{said.stage}: {said.rate:,.0f} items/s", kind="title"),
        _svg.text(12, above + 38, f"{said.best} at a time. {said.reason}"),
    ]
    for tick in _svg.ticks(most, 3):
        parts.append(_svg.line([(_LEFT, y(tick)), (_RIGHT, y(tick))], "grid"))
        parts.append(_svg.text(_LEFT - 6, y(tick) + 4, f"{tick:,.0f}", "end"))
    if rates and rates[0][1] > 0:  # as it would be if each call were as fast as one alone
        reach = min(most / rates[0][1] * rates[0][0], 2**last)
        parts.append(
            _svg.line([(x(n), y(rates[0][1] * n / rates[0][0])) for n in _steps(reach)], "even")
        )
    parts.append(_svg.line([(x(n), y(rate)) for n, rate in rates], "curve"))
    for n, rate in rates:
        parts.append(_svg.dot(x(n), y(rate), "stop" if n == said.best else "point"))
        parts.append(_svg.text(x(n), bottom + 18, str(n), "middle"))
    parts.append(_svg.text(_LEFT - 6, bottom + 18, "at a time:", "end"))
    return parts


def _steps(reach: float) -> list[float]:
    """From 1 up to there, close enough for a smooth curve on a logarithmic axis."""
    count = 24
    return [reach ** (i / count) for i in range(count + 1)]


def _save_png(path: str, results: Sequence[ProfileResult], found: Sequence[Scaling]) -> None:
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("plot_profile: .png needs matplotlib; .svg needs nothing") from None
    figure = Figure(figsize=(9, 2.8 * max(len(results), 1)))
    for number, (result, said) in enumerate(zip(results, found, strict=True)):
        axes = figure.add_subplot(len(results), 1, number + 1)
        rates = sorted((one.concurrency, one.qps) for one in result.stats if math.isfinite(one.qps))
        tried = [n for n, _ in rates]
        axes.plot(tried, [rate for _, rate in rates], "o-", color="#0a6b4f")
        axes.plot([said.best], [said.rate], "o", color="#b4540a")
        most = max((rate for _, rate in rates), default=0.0) or 1.0
        even = [n for n in tried if n * said.alone <= 1.1 * most * tried[0]]
        axes.plot(even, [said.alone * n / tried[0] for n in even], "--", color="#bbb")
        axes.set_xscale("log", base=2)
        axes.set_xticks(tried, [str(n) for n in tried])
        axes.set_ylim(0, 1.1 * most)
        axes.set(xlabel="calls at a time", ylabel="items/s")
        words = f"{said.stage}: {said.rate:,.0f} items/s\n{said.best} at a time. {said.reason}"
        axes.set_title(words, fontsize=8, loc="left")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
