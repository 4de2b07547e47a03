"""A progress bar around a loader: samples a second, how often a batch was ready, time left."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import weakref
from collections.abc import Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from penstock._whole import as_whole, check_iterable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

T = TypeVar("T")

_EVERY = 0.1  # seconds between two looks at the statistics


def progress(
    loader: Iterable[T], *, total: int | None = None, console: Console | None = None
) -> Iterator[T]:
    """The batches of a loader or the items of a pipeline, with a bar on standard error.

    The bar shows samples a second (of what has no batch size: items), the share of batches that
    were ready when the loop asked for them, and the time that is left if the loader has a length.
    A loader that was resumed begins where it goes on. Where standard error is not a terminal
    nothing is shown. The bar ends with the loop: at its end, at an exception, or at a ``break``,
    unless the iterator is kept; then it ends with that. What the loop prints goes where it always
    goes.

    Args:
        loader: Anything that can be iterated over.
        total: How many there will be; None: as many as its ``len()`` says.
        console: A `rich` console in place of standard error.

    >>> import penstock as ps
    >>> loader = ps.from_list(range(6)).batch(2).loader()
    >>> [batch["data"].tolist() for batch in ps.progress(loader)]
    [[0, 1], [2, 3], [4, 5]]
    """
    check_iterable(loader, "progress: loader")
    if total is not None:
        total = as_whole(total, "progress: total")
    batches = _watched(loader, total, console)
    _open.add(batches)
    return batches


# Loops that were left while their iterator is still held: their bars end before the program does.
_open: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for batches in list(_open):
        with contextlib.suppress(Exception):  # it is in use by another thread
            batches.close()


def _watched(
    loader: Iterable[T], total: int | None, console: Console | None
) -> Generator[T, None, None]:
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield from loader
        return
    bar = _bar(console)
    done, size = _done(loader), getattr(loader, "batch_size", None)
    unit = "items" if size is None else "samples"
    total = _length(loader) if total is None else total
    task = bar.add_task("", total=total, completed=done, rate=0.0, ready="", unit=unit)
    batches, samples, shown = done, 0, 0.0
    begun = now = time.perf_counter()
    with bar:
        console.show_cursor(True)  # so that no end of the program can leave it hidden
        try:
            for batch in loader:
                batches += 1
                samples += _size(batch, size)
                now = time.perf_counter()
                if now - shown >= _EVERY:
                    shown = now
                    _show(bar, task, loader, batches, samples / max(now - begun, 1e-9))
                yield batch
        finally:
            _show(bar, task, loader, batches, samples / max(now - begun, 1e-9))


def _bar(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f} {task.fields[unit]}/s"),
        TextColumn("{task.fields[ready]}"),
        TimeLeft(),
        console=console,
        auto_refresh=False,
        # What the loop prints goes above the bar if it goes to the same place, and else where it
        # always goes.
        redirect_stdout=_same_file(sys.stdout, console.file),
        redirect_stderr=_same_file(sys.stderr, console.file),
    )


def _same_file(stream: Any, other: Any) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.fstat(other.fileno()))
    except (OSError, ValueError, AttributeError):  # it is no file of the system's, or closed
        return stream is other


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
    total = getattr(loader, "_total", None)
    if callable(total):  # it knows better than its len()
        found: int | None = total()
        return found
    try:
        return len(loader)  # type: ignore[arg-type]
    except TypeError:  # it is endless, or nobody knows
        return None


def _done(loader: object) -> int:
    """How many batches of the epoch a loader that was resumed has behind it."""
    done = getattr(loader, "_batches_behind", None)
    return done() if callable(done) else 0


def _size(batch: object, batch_size: int | None) -> int:
    """How many samples a batch has. Without a batch size an item is one, and a list many."""
    if batch_size is None:
        return len(batch) if isinstance(batch, list) else 1
    if isinstance(batch, list | tuple) and (
        len(batch) == batch_size or not any(getattr(one, "shape", ()) for one in batch)
    ):
        return len(batch)  # samples; otherwise columns
    return _rows(batch) or 1


def _rows(columns: Any) -> int | None:
    """The length of the first column that has one."""
    values = columns.values() if isinstance(columns, dict) else columns
    if not isinstance(columns, dict | list | tuple):
        values = [columns]
    for one in values:
        shape = getattr(one, "shape", None)
        if isinstance(one, list | tuple):
            return len(one)
        found = _rows(one) if isinstance(one, dict) else int(shape[0]) if shape else None
        if found is not None:
            return found
    return None
