"""A progress bar around a loader: samples a second, how often a batch was ready, time left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

T = TypeVar("T")

_EVERY = 0.1  # seconds between two looks at the statistics


def progress(loader: Iterable[T], *, console: Console | None = None) -> Iterator[T]:
    """The batches of a loader or the items of a pipeline, with a bar on standard error.

    The bar shows samples a second, the share of batches that were ready when the loop asked for
    them, and the time that is left if the loader has a length. Where standard error is not a
    terminal nothing is shown. The bar ends with the loop: at its end, at a ``break``, or at an
    exception.

    Args:
        loader: Anything that can be iterated over.
        console: A `rich` console in place of standard error.

    >>> import penstock as ps
    >>> loader = ps.from_list(range(6)).batch(2).loader()
    >>> [batch["data"].tolist() for batch in ps.progress(loader)]
    [[0, 1], [2, 3], [4, 5]]
    """
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield from loader
        return
    bar = _bar(console)
    task = bar.add_task("", total=_length(loader), rate=0.0, ready="")
    batches, samples, begun, shown = 0, 0, time.perf_counter(), 0.0
    with bar:
        for batch in loader:
            batches += 1
            samples += _size(batch)
            now = time.perf_counter()
            if now - shown >= _EVERY:
                shown = now
                _show(bar, task, loader, batches, samples / max(now - begun, 1e-9))
            yield batch
        _show(bar, task, loader, batches, samples / max(time.perf_counter() - begun, 1e-9))


def _bar(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f} samples/s"),
        TextColumn("{task.fields[ready]}"),
        TimeLeft(),
        console=console,
        auto_refresh=False,
    )


def _show(bar: Progress, task: TaskID, loader: object, batches: int, rate: float) -> None:
    bar.update(task, completed=batches, rate=rate, ready=_ready(loader), refresh=True)


def _ready(loader: object) -> str:
    """The share of requests that found something waiting, in words; empty if nobody counts them."""
    stats = getattr(loader, "stats", None)
    found: Any = stats() if callable(stats) else None
    stages = found.get("stages") if isinstance(found, dict) else found
    readiness = stages[-1].readiness if stages else None
    return "" if readiness is None else f"{readiness:.0%} ready"


def _length(loader: object) -> int | None:
    try:
        return len(loader)  # type: ignore[arg-type]
    except TypeError:  # it is endless, or nobody knows
        return None


def _size(batch: object) -> int:
    """How many samples a batch has: the length of its first column."""
    first: Any = batch
    while isinstance(first, dict | list | tuple) and len(first) > 0:
        if isinstance(first, dict):
            first = next(iter(first.values()))
        elif hasattr(first[0], "__len__") and not isinstance(first[0], str | bytes):
            first = first[0]
        else:
            return len(first)
    shape = getattr(first, "shape", None)
    return int(shape[0]) if shape else 1
