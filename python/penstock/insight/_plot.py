"""The step times of a headspace run, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.insight import _svg

if TYPE_CHECKING:
    from penstock.insight._headspace import Headspace

_STYLE = """
text{font:12px system-ui,sans-serif;fill:#333}
.title{font-size:15px;font-weight:600}
.paper{fill:#fff}
.cachedphase{fill:#e8f2ee}
.grid{stroke:#ddd;fill:none}
.real{fill:#b4540a}
.cached{fill:#0a6b4f}
.mean{stroke:#888;fill:none;stroke-dasharray:4 3}
"""
_WIDTH, _HEIGHT = 800, 320
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 50, 790, 280


def save(path: str, found: Headspace) -> None:
    kind = Path(path).suffix.lower()
    if kind == ".svg":
        Path(path).write_text(draw(found, _STYLE), encoding="utf-8")
    elif kind == ".png":
        _save_png(path, found)
    else:
        raise ValueError(f"plot: {path} must end in .svg or .png")


def draw(found: Headspace, style: str = "") -> str:
    """Step times over the run: real and cached phases side by side."""
    times = [w + s for phase in found.phases for w, s in zip(phase.waits, phase.steps, strict=True)]
    # A single long interruption shall not press the rest to the floor.
    top = 1.15 * sorted(times)[int(0.98 * (len(times) - 1))]
    across = (_RIGHT - _LEFT) / len(times)

    def height(seconds: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(seconds / top, 1.0)

    parts = [
        _svg.rect(0, 0, _WIDTH, _HEIGHT, "paper"),
        _svg.text(_LEFT, 22, found.verdict, kind="title"),
        _svg.text(_LEFT, 40, "time of a step: on real batches, and on cached ones (shaded)"),
    ]
    at = 0
    for phase in found.phases:
        left, size = _LEFT + at * across, len(phase.steps)
        kind = "cached" if phase.cached else "real"
        if phase.cached:
            parts.append(_svg.rect(left, _TOP, size * across, _BOTTOM - _TOP, "cachedphase"))
        for i, (wait, step) in enumerate(zip(phase.waits, phase.steps, strict=True)):
            parts.append(_svg.dot(left + (i + 0.5) * across, height(wait + step), kind))
        mean = height(phase.seconds)
        parts.append(_svg.line([(left, mean), (left + size * across, mean)], "mean"))
        at += size
    for tick in _svg.ticks(top):
        parts.append(_svg.line([(_LEFT, height(tick)), (_RIGHT, height(tick))], "grid"))
        parts.append(_svg.text(_LEFT - 6, height(tick) + 4, f"{tick * 1e3:g} ms", "end"))
    parts.append(_svg.text((_LEFT + _RIGHT) / 2, _HEIGHT - 14, "step", "middle"))
    return _svg.picture(_WIDTH, _HEIGHT, style, parts, found.verdict)


def _save_png(path: str, found: Headspace) -> None:
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise ImportError("plot: .png needs matplotlib; .svg needs nothing") from None
    figure = Figure(figsize=(8, 3.2))
    axes = figure.subplots()
    at = 0
    for phase in found.phases:
        size = len(phase.steps)
        if phase.cached:
            axes.axvspan(at, at + size, color="#e8f2ee")
        times = [(w + s) * 1e3 for w, s in zip(phase.waits, phase.steps, strict=True)]
        axes.plot(range(at, at + size), times, ".", color="#0a6b4f" if phase.cached else "#b4540a")
        at += size
    axes.set(title=found.verdict, xlabel="step", ylabel="ms")
    figure.savefig(path, dpi=120, bbox_inches="tight")
