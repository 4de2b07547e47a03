"""From one format to another: ``penstock convert``, and the same as a function.

A dataset is written in parts. A part is a shard where there are shards; it appears under its name
when it is complete, and a journal beside the destination says which parts are done. So a conversion
that was killed goes on where it was, and nothing half written is taken for whole.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal

import penstock as ps
from penstock import _core
from penstock.convert._journal import Journal
from penstock.convert._writers import Writer, writer_for
from penstock.data._checks import checked_whole
from penstock.data._plan import ParseExample, TableRows, leaves

__all__ = ["Done", "convert"]

_BATCH = 256


@dataclass(frozen=True)
class Done:
    """What a conversion did."""

    samples: int
    """That are in the destination."""
    skipped: int
    """That could not be read and were left out."""
    parts: int
    resumed: int
    """Parts that an earlier, interrupted run had written."""
    files: list[str]
    verified: bool


def convert(
    source: str | os.PathLike[str] | Sequence[str],
    destination: str | os.PathLike[str],
    *,
    to: str | None = None,
    fields: Sequence[str] | None = None,
    shard_size: int | str | None = None,
    shuffle: int | None = None,
    image_size: tuple[int, int] | None = None,
    threads: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    verify: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> Done:
    """Writes the samples of `source` to `destination`, in the order they have.

    Args:
        source: Whatever :func:`penstock.open` takes.
        destination: Its ending says what is written: .tar, .tfrecord, .parquet, .npy, .zarr; a name
            that ends in "/" is a folder of images.
        to: The format, if the ending does not say.
        fields: These only.
        shard_size: Samples in a shard, or about so many bytes ("256MB"): ``train.tar`` becomes
            ``train-000000.tar`` and so on. For Zarr: rows in a chunk. None: one file.
        shuffle: The seed of a global shuffle.
        image_size: Images are decoded to (height, width): arrays need that.
        threads: Parts at a time; None: one for each core.
        on_error: "skip" leaves out samples that cannot be read.
        verify: Reads back what was written and compares it with the source.
        overwrite: Whatever is there is replaced; without it only an interrupted run goes on.
        progress: A bar on standard error, if that is a terminal.

    >>> import tempfile, os, numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> np.save(os.path.join(folder, "x.npy"), np.arange(10))
    >>> done = convert(os.path.join(folder, "x.npy"), os.path.join(folder, "x.tfrecord"))
    >>> done.samples, done.parts
    (10, 1)
    """
    target = os.fspath(destination)
    threads = checked_whole(threads or os.cpu_count() or 1, "threads", 1)
    ds = ps.open(source, fields=list(fields) if fields else None)
    if ds.sequential:
        raise ValueError(
            "a compressed source is read from front to back and cannot be cut into parts: unpack it"
        )
    names = _names(source)
    raw_tar = all(name.endswith(".tar") for name in names)
    ds = _prepared(ds, raw_tar, target, to, image_size)
    if shuffle is not None:
        ds = ds.shuffle(seed=shuffle)
    rows = _rows(ds, shard_size)
    writer = writer_for(target, to, ds, rows)
    writer.ragged = _ragged(ds)
    writer.try_one(ds)
    if os.path.isdir(names[0]):
        writer.root = names[0]
    plan = {
        "source": [leaf.digest for leaf in ds._leaves()],
        "order": ds._order().digest,
        "samples": len(ds),
        "part": writer.rows,
        "format": writer.format,
        "fields": list(ds.fields or ()),
        "image_size": list(image_size or ()),
        "on_error": on_error,
    }
    journal = Journal(f"{target.rstrip('/')}.converting", plan, writer, overwrite)
    writer.begin(journal.resumed > 0)
    _each_part(ds, writer, journal, threads, on_error, progress)
    writer.finish()
    if verify:
        _each_part(ds, writer, None, threads, on_error, progress)
    journal.remove()
    return Done(
        len(ds) - journal.skipped,
        journal.skipped,
        writer.parts,
        journal.resumed,
        writer.names(),
        verify,
    )


def _names(source: Any) -> list[str]:
    if isinstance(source, str | os.PathLike):
        source = [source]
    return _core.expand([os.fspath(one) for one in source])


def _prepared(
    ds: ps.Dataset, raw_tar: bool, target: str, to: str | None, size: tuple[int, int] | None
) -> ps.Dataset:
    """Labels and texts of tars become values, unless they go to a tar again."""
    if raw_tar and not (to == "tar" or target.endswith(".tar")):
        kinds = {name.rsplit(".", 1)[-1] for name in ds.fields or ()}
        found = [kind for kind in ("cls", "txt") if kind in kinds]
        ds = ds.decode(*found) if found else ds
    return ds if size is None else ds.decode_image(size=size)


def _ragged(ds: ps.Dataset) -> frozenset[str]:
    """Fields that are declared to have any length."""
    found = set()
    for step in (*(step for leaf in leaves(ds._node) for step in leaf.steps), *ds._steps):
        if isinstance(step, TableRows):
            found |= {name for name, _, _, shape in step.fields if -1 in shape}
        elif isinstance(step, ParseExample):
            found |= {name for name, kind in step.fields if "[]" in kind}
    return frozenset(found)


def _rows(ds: ps.Dataset, shard_size: int | str | None) -> int | None:
    if shard_size is None:
        return None
    if not isinstance(shard_size, str):
        return checked_whole(shard_size, "shard_size", 1)
    if not shard_size.isdigit():
        return max(1, ds._samples_in(shard_size, "shard_size"))
    return checked_whole(int(shard_size), "shard_size", 1)


def _each_part(
    ds: ps.Dataset,
    writer: Writer,
    journal: Journal | None,
    threads: int,
    on_error: Literal["raise", "skip"],
    progress: bool,
) -> None:
    """Writes all parts, or checks them if there is no journal."""
    parts = [k for k in range(writer.parts) if journal is None or not journal.has(k)]
    stop = threading.Event()

    def work(part: int) -> int:
        if stop.is_set():
            return 0
        first = part * writer.rows
        some = ds.skip(first).take(writer.rows)
        counted = _Counted(some, first, writer.stacked, on_error)
        if journal is None:
            writer.check(part, counted.samples(), counted.batches)
        else:
            writer.write(part, counted.samples(), counted.batches)
            journal.done(part, len(some) - counted.kept)
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
                    advance(one.result())
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


class _Counted:
    """The samples of a part, and how many there were."""

    def __init__(
        self, ds: ps.Dataset, first: int, stacked: bool, on_error: Literal["raise", "skip"]
    ) -> None:
        self._ds, self._first, self._stacked, self._on_error = ds, first, stacked, on_error
        self.kept = 0

    def batches(self) -> Iterator[dict[str, Any]]:
        collate: Any = "stack" if self._stacked else "list"
        batched = self._ds.shard(0, 1).batch(_BATCH, ends="short", collate=collate)
        for batch in batched.loader(threads=1, on_error=self._on_error):
            self.kept += len(next(iter(batch.values())))
            yield batch

    def samples(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, sample)."""
        position = self._first
        for batch in self.batches():
            names = list(batch)
            for values in zip(*batch.values(), strict=True):
                yield position, dict(zip(names, values, strict=True))
                position += 1


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
