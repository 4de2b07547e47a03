"""Small pieces of SVG: what plots and reports are drawn with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "label") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} class="{kind}">{escape(words)}</text>'


def rect(
    x: float, y: float, width: float, height: float, kind: str, opacity: float | None = None
) -> str:
    see_through = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
        f'height="{max(height, 0):.1f}" class="{kind}"{see_through}/>'
    )


def line(points: Sequence[tuple[float, float]], kind: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" class="{kind}"/>'


def dot(x: float, y: float, kind: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" class="{kind}"/>'


def ticks(top: float, count: int = 4) -> list[float]:
    """Round numbers from 0 up to about `top`."""
    if top <= 0:
        return [0.0]
    raw = top / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw)
    return [i * step for i in range(int(top / step) + 1)]


def picture(width: int, height: int, style: str, parts: Sequence[str], title: str) -> str:
    """A whole SVG; it scales with its place."""
    inner = f"<style>{style}</style>" if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(title, quote=True)}">{inner}{"".join(parts)}</svg>'
    )
