"""The step times of a headspace run, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
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
_LEFT = 60


def save(path: str, found: Headspace) -> None:
    kind = Path(path).suffix.lower()
    if kind == ".svg":
        Path(path).write_text(_with_title(found), encoding="utf-8")
    elif kind == ".png":
        _save_png(path, found)
    else:
        raise ValueError(f"plot: {path} must end in .svg or .png")


def _with_title(found: Headspace) -> str:
    head, _, rest = found.verdict.partition(": ")
    title = [_svg.text(_LEFT, 22, head, kind="title"), _svg.text(_LEFT, 40, rest)]
    return draw(found, 800, 340, 58, title, _STYLE)


def draw(
    found: Headspace,
    width: int,
    height: int,
    top: int,
    title: Sequence[str] = (),
    style: str = "",
) -> str:
    """Step times over the run, real and cached phases side by side, below `top`."""
    right, bottom = width - 10, height - 40
    times = [w + s for phase in found.phases for w, s in zip(phase.waits, phase.steps, strict=True)]
    # A single long interruption shall not press the rest to the floor.
    most = 1.15 * sorted(times)[int(0.98 * (len(times) - 1))]
    across = (right - _LEFT) / len(times)

    def y(seconds: float) -> float:
        return bottom - (bottom - top) * min(seconds / most, 1.0)

    parts = [_svg.rect(0, 0, width, height, "paper"), *title]
    at = 0
    for phase in found.phases:
        left, size = _LEFT + at * across, len(phase.steps)
        kind = "cached" if phase.cached else "real"
        if phase.cached:
            parts.append(_svg.rect(left, top, size * across, bottom - top, "cachedphase"))
        for i, (wait, step) in enumerate(zip(phase.waits, phase.steps, strict=True)):
            parts.append(_svg.dot(left + (i + 0.5) * across, y(wait + step), kind))
        mean = y(phase.seconds)
        parts.append(_svg.line([(left, mean), (left + size * across, mean)], "mean"))
        at += size
    for tick in _svg.ticks(most):
        parts.append(_svg.line([(_LEFT, y(tick)), (right, y(tick))], "grid"))
        parts.append(_svg.text(_LEFT - 6, y(tick) + 4, f"{tick * 1e3:g} ms", "end"))
    words = "steps on real batches, and on cached ones (shaded)"
    parts.append(_svg.text((_LEFT + right) / 2, height - 14, words, "middle"))
    return _svg.picture(width, height, style, parts, found.verdict)


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
    axes.set_ylim(bottom=0)
    axes.set_title(found.verdict.replace(": ", ":\n", 1), fontsize=10, loc="left")
    axes.set(xlabel="steps on real batches, and on cached ones (shaded)", ylabel="ms")
    figure.savefig(path, dpi=120, bbox_inches="tight")
