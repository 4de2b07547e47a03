"""The drawings of a report: the flow, and curves over time."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from penstock.data._history import Point, join
from penstock.insight import _svg
from penstock.pipeline import StageStats
from penstock.pipeline._stats import duration, ready

# Narrow, so that the words can be read on a phone.
_WIDTH = 440
_ROW, _BOX, _LAST_BOX = 84, 66, 46
_BAR_LEFT, _BAR_RIGHT = 12, 428
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 424, 10, 130
_TINT = 0.3  # of the colour of work, behind a stage that is at work all the time
_FONT = 12
_SHARES = 60  # points of a curve of shares, at most


def size(count: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:.0f} B"


def flow(stages: Sequence[StageStats], hot: str | None) -> str:
    """From the source down to the consumer: what each stage did with its time."""
    most = max((one.throughput for one in stages), default=0.0) or 1.0
    parts = []
    for i, one in enumerate(stages):
        top = i * _ROW + 4
        if i > 0:
            width = 4 + 56 * min(stages[i - 1].throughput / most, 1.0)
            gap = _ROW - _BOX
            parts.append(_svg.rect((_WIDTH - width) / 2, top - gap, width, gap, "band"))
        box = _BOX if one.readiness is None else _LAST_BOX
        parts.append(_svg.rect(4, top, _WIDTH - 8, box, "hot" if one.name == hot else "box"))
        if one.readiness is None:
            tint = _TINT * _busy(one)
            parts.append(_svg.rect(4, top, _WIDTH - 8, _BOX, "work", opacity=tint))
        name = _cut(one.name, _BAR_RIGHT - _BAR_LEFT)
        parts.append(_svg.text(_BAR_LEFT, top + 19, name, kind="name"))
        words = f"{one.throughput:,.0f} items/s"
        if one.readiness is None:
            words = f"{one.task_rate:,.0f} tasks/s" if one.fills_batches else words
            words += f", {duration(one.mean)} each"
            parts += _bar(one, top + 45)
        else:
            waited = _share(one, one.waiting + one.gil_wait)
            words = f"your loop: {ready(one)} ready, waited {waited:.0%}"
        parts.append(_svg.text(_BAR_LEFT, top + 36, words))
    height = len(stages) * _ROW - (_BOX - _LAST_BOX)
    return _svg.picture(_WIDTH, height, "", parts, "the flow, stage by stage")


def _cut(name: str, room: float) -> str:
    """The name, or as much of it as has room in bold letters; the table has all of it."""
    ends = list(accumulate(map(_width, name)))
    if not ends or ends[-1] <= room:
        return name
    return name[: bisect_right(ends, room - _width("…"))] + "…"


def _width(letter: str) -> float:
    """What a letter takes at most: fonts differ."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):  # accents, and what joins emoji
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0xFFFF:  # and emoji
        return 1.3 * _FONT
    if letter in "mwMW@%" or ord(letter) > 0x24F:
        return 1.15 * _FONT
    return (0.9 if letter.isupper() else 0.72) * _FONT


def _share(one: StageStats, seconds: float) -> float:
    return min(seconds / one.elapsed, 1.0) if one.elapsed > 0 else 0.0


def _busy(one: StageStats) -> float:
    """The share of what it may do at a time that it did."""
    return _share(one, one.task_seconds / max(one.concurrency, 1))


def _bar(one: StageStats, top: float) -> list[str]:
    busy = _busy(one)
    waiting = min(_share(one, one.waiting), 1 - busy)
    blocked = min(_share(one, one.blocked), 1 - busy - waiting)
    parts, left = [_svg.rect(_BAR_LEFT, top, _BAR_RIGHT - _BAR_LEFT, 12, "band")], float(_BAR_LEFT)
    for share, kind in ((busy, "work"), (waiting, "wait"), (blocked, "blocked")):
        width = share * (_BAR_RIGHT - _BAR_LEFT)
        parts.append(_svg.rect(left, top, width, 12, kind))
        left += width
    return parts


def waits(points: Sequence[Point]) -> str:
    """How long each batch was waited for, over time."""
    return _curve(points, [point.wait / point.batches for point in points], duration)


def readiness(points: Sequence[Point]) -> str:
    """Which share of the batches was at hand when it was asked for, over time."""
    each = -(-len(points) // _SHARES)
    groups = [join(points[i : i + each]) for i in range(0, len(points), each)]
    shares = [one.ready / one.batches for one in groups]
    return _curve(groups, shares, lambda share: f"{share:.0%}", top=1.0)


def memory(points: Sequence[Point]) -> str:
    return _curve(points, [float(point.memory) for point in points], size)


def _curve(
    points: Sequence[Point],
    values: Sequence[float],
    words: Callable[[float], str],
    top: float = 0.0,
) -> str:
    begin, end = points[0].time, points[-1].time
    top = max(top, max(values), 1e-9)

    def x(time: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (time - begin) / max(end - begin, 1e-9)

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * value / top

    parts = []
    for tick in _svg.ticks(top, 3):
        parts.append(_svg.line([(_LEFT, y(tick)), (_RIGHT, y(tick))], "grid"))
        parts.append(_svg.text(_LEFT - 6, y(tick) + 4, words(tick) if tick else "0", "end"))
    for tick in _svg.ticks(end - begin, 6):
        parts.append(_svg.text(x(begin + tick), _BOTTOM + 18, f"{tick:g} s", "middle"))
    curve = [(x(point.time), y(value)) for point, value in zip(points, values, strict=True)]
    parts.append(_svg.line(curve, "curve"))
    return _svg.picture(_WIDTH, _BOTTOM + 26, "", parts, "over time")
