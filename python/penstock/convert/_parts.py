"""The parts of a conversion, several at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, Literal

import penstock as ps
from penstock.convert._journal import Journal
from penstock.convert._source import Source
from penstock.convert._writers import Writer

_BATCH = 128


class _Stopped(Exception):
    """Another part has failed, or somebody pressed Ctrl-C."""


def each_part(
    source: Source,
    writer: Writer,
    journal: Journal | None,
    threads: int,
    on_error: Literal["raise", "skip"],
    progress: bool,
) -> None:
    """Writes all parts, or checks them if there is no journal."""
    parts = [k for k in range(writer.parts) if journal is None or not journal.has(k)]
    stop = threading.Event()
    ds = source.ds

    def work(part: int) -> int:
        if stop.is_set():
            raise _Stopped
        try:
            return one_part(part)
        except BaseException:
            stop.set()
            raise

    def one_part(part: int) -> int:
        first = part * writer.rows
        some = ds.skip(first).take(writer.rows)
        uneven = source.uneven and not writer.stacked
        counted = _Counted(some, first, writer.stacked, uneven, on_error, stop)
        if journal is None:
            writer.check(part, counted.samples(), counted.batches)
        else:
            size = writer.write(part, counted.samples(), counted.batches)
            journal.done(part, len(some) - counted.kept, size)
        return len(some)

    with (
        _bar(progress, len(ds), "verify" if journal is None else "write") as advance,
        ThreadPoolExecutor(min(threads, max(1, len(parts)))) as pool,
    ):
        pending = {pool.submit(work, part) for part in parts}
        try:
            while pending:
                done, pending = wait(pending, return_when=FIRST_EXCEPTION, timeout=0.2)
                for one in done:
                    if not isinstance(one.exception(), _Stopped):  # who has stopped it comes, too
                        advance(one.result())
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


class _Counted:
    """The samples of a part, and how many there were."""

    def __init__(
        self,
        ds: ps.Dataset,
        first: int,
        stacked: bool,
        uneven: bool,
        on_error: Literal["raise", "skip"],
        stop: threading.Event,
    ) -> None:
        self._ds, self._first, self._stacked, self._uneven = ds, first, stacked, uneven
        self._on_error, self._stop = on_error, stop
        self.kept = 0

    def batches(self) -> Iterator[dict[str, Any]]:
        collate: Any = "stack" if self._stacked else "list"
        batched = self._ds.shard(0, 1).batch(_BATCH, ends="short", collate=collate)
        for batch in self._until_stopped(batched):
            self.kept += len(next(iter(batch.values())))
            yield batch

    def samples(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, sample)."""
        position = self._first
        for sample in self._alone() if self._uneven else self._in_batches():
            yield position, sample
            position += 1

    def _in_batches(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            names = list(batch)
            for values in zip(*batch.values(), strict=True):
                yield dict(zip(names, values, strict=True))

    def _alone(self) -> Iterator[dict[str, Any]]:
        """Slower; but all samples of a batch have the same fields."""
        for sample in self._until_stopped(self._ds.shard(0, 1)):
            self.kept += 1
            yield sample

    def _until_stopped(self, ds: ps.Dataset) -> Iterator[Any]:
        with ds.loader(threads=1, on_error=self._on_error) as loader:
            for one in loader:
                if self._stop.is_set():
                    raise _Stopped
                yield one


class _bar:
    """Shows how far it is, where somebody sees it."""

    def __init__(self, wanted: bool, total: int, words: str) -> None:
        self._wanted, self._total, self._words = wanted, total, words
        self._shown: Any = None

    def __enter__(self) -> Any:
        if self._wanted:
            from rich.console import Console
            from rich.progress import Progress

            console = Console(stderr=True)
            if console.is_terminal:
                self._shown = Progress(console=console)
                self._shown.start()
                task = self._shown.add_task(self._words, total=self._total)
                return lambda n: self._shown.update(task, advance=n)
        return lambda n: None

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            self._shown.stop()
