"""From one format to another: ``penstock convert``, and the same as a function.

A dataset is written in parts. A part is a shard where there are shards; it appears under its name
when it is complete, and a journal beside the destination says which parts are done. So a conversion
that was killed goes on where it was, and nothing half written is taken for whole.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.convert._journal import Journal
from penstock.convert._parts import each_part
from penstock.convert._safety import keep_apart
from penstock.convert._source import Names, Source, open_source, stamp_of
from penstock.convert._tree_writers import FolderWriter
from penstock.convert._writers import format_to_write, writer_for
from penstock.data._checks import checked_threads, checked_whole

__all__ = ["Done", "convert"]


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
    source: Names,
    destination: str | os.PathLike[str],
    *,
    to: str | None = None,
    format: str | None = None,
    fields: Sequence[str] | Mapping[str, str] | None = None,
    window: int | None = None,
    stride: int | None = None,
    dtype: str | None = None,
    shard_size: int | str | None = None,
    shuffle: int | None = None,
    image_size: tuple[int, int] | None = None,
    renumber: bool = False,
    threads: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    verify: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> Done:
    """Writes the samples of `source` to `destination`, in the order they have.

    Args:
        source: What :func:`penstock.open` takes, with `format`, `fields`, `window`, `stride` and
            `dtype` as it has them. It is never the destination, in it or around it.
        destination: Its ending says what is written: .tar, .tfrecord, .parquet, .npy, .zarr; a name
            that ends in "/" is a folder of images.
        to: The format that is written, if the ending does not say.
        shard_size: Samples in a shard, or about so many bytes ("256MB"): ``train.tar`` becomes
            ``train-000000.tar`` and so on. For Zarr: rows in a chunk. None: one file.
        shuffle: The seed of a global shuffle.
        image_size: Images are decoded to (height, width): arrays need that.
        renumber: Labels of a folder may have gaps; who reads it numbers them anew.
        threads: Parts at a time; None: one for each core.
        on_error: "skip" leaves out samples that cannot be read.
        verify: Reads back what was written and compares each value with the source's.
        overwrite: What is there is replaced, if it is what a conversion writes; without it only an
            interrupted run goes on.
        progress: A bar on standard error, if that is a terminal.

    >>> import tempfile, os, numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> np.save(os.path.join(folder, "x.npy"), np.arange(10))
    >>> done = convert(os.path.join(folder, "x.npy"), os.path.join(folder, "x.tfrecord"))
    >>> done.samples, done.parts
    (10, 1)
    """
    target = os.fspath(destination)
    threads = checked_threads(threads or os.cpu_count() or 1)
    given = {"format": format, "window": window, "stride": stride, "dtype": dtype}
    options = {name: value for name, value in given.items() if value is not None}
    to = format_to_write(target, to)
    read = open_source(source, to, fields, image_size, shuffle, options)
    writer = writer_for(target, to, read, _rows(read, shard_size), on_error)
    keep_apart(read.names, writer)
    if isinstance(writer, FolderWriter):
        writer.renumber = renumber
    writer.learn(read)
    plan = {
        "source": [leaf.digest for leaf in read.ds._leaves()],
        "files": stamp_of(read.names),
        "order": read.ds._order().digest,
        "samples": len(read.ds),
        "part": writer.rows,
        "format": writer.format,
        "fields": read.fields,
        "types": list(fields.values()) if isinstance(fields, Mapping) else [],
        "options": options,
        "image_size": list(image_size or ()),
        "on_error": on_error,
    }
    journal = Journal(f"{writer.target}.converting", plan, writer, overwrite)
    try:
        writer.begin(journal.resumed > 0)
        each_part(read, writer, journal, threads, on_error, progress)
        writer.finish()
        journal.finished()
        if verify:
            each_part(read, writer, None, threads, on_error, progress)
        journal.remove()
    except BaseException:
        if not journal.worth_keeping():
            writer.abandon()
            journal.remove()
        raise
    finally:
        journal.close()
    return Done(
        len(read.ds) - journal.skipped,
        journal.skipped,
        writer.parts,
        journal.resumed,
        writer.names(),
        verify,
    )


def _rows(source: Source, shard_size: int | str | None) -> int | None:
    if shard_size is None:
        return None
    if not isinstance(shard_size, str):
        return checked_whole(shard_size, "shard_size", 1)
    if not shard_size.isdigit():
        return max(1, source.ds._samples_in(shard_size, "shard_size"))
    return checked_whole(int(shard_size), "shard_size", 1)
