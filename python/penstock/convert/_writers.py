"""How parts of a dataset are written, format by format, and compared with what is there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from penstock import io
from penstock.convert._examples import encoded, other_than
from penstock.convert._safety import in_the_way
from penstock.convert._tar_members import Members, holds, member_of, tar_header
from penstock.convert._values import image_ending

if TYPE_CHECKING:
    from penstock.convert._source import Source

Samples = Iterator[tuple[int, dict[str, Any]]]
Batches = Callable[[], Iterator[dict[str, Any]]]

ENDINGS = {
    ".tar": "tar",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".parquet": "parquet",
    ".npy": "npy",
    ".zarr": "zarr",
}
FORMATS = (*dict.fromkeys(ENDINGS.values()), "folder")


class Writer:
    """Parts of `rows` samples each, written and checked by several threads at a time.

    What is there already stays until it is replaced, if the format has one file or folder.
    """

    format = ""
    stacked = False
    """Does it take batches of arrays? Else sample by sample."""
    moves = False
    """Is it written beside its place, and put there in the end?"""
    moved = False
    """Has an earlier run done that?"""

    def __init__(self, target: str, samples: int, rows: int | None) -> None:
        self.target = target.rstrip("/")
        self.samples = samples
        self.rows = max(1, min(rows or samples, samples))
        self.parts = -(-samples // self.rows)

    def owns(self, path: str) -> bool:
        """Is this, by its name, a file that a run writes or removes?"""
        folder, name = os.path.split(self.target)
        same = os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder or ".")
        return same and bool(re.fullmatch(self.pattern(name), os.path.basename(path)))

    def pattern(self, name: str) -> str:
        """Of the names it writes, where it is to write `name`."""
        return re.escape(name) + r"(\.(converting|partial|replaced))?"

    def there(self) -> str | None:
        """What stands where this would write."""
        return self.target if os.path.lexists(self.target) else None

    def clear(self) -> None:
        """What is there may be replaced. Raises if it is not what a conversion writes."""
        if os.path.isdir(self.target):
            raise in_the_way(self.target, "it is a folder, and a file would be written")

    def learn(self, source: Source) -> None:
        """Looks at the source ahead of time. Raises if it cannot be written at all."""

    def begin(self, resumed: bool) -> None:
        """Before the first part; `resumed`: some of them are there."""

    def write(self, part: int, samples: Samples, batches: Batches) -> int:
        """How many bytes it has become."""
        raise NotImplementedError

    def standing(self, part: int) -> int:
        """How many bytes of a part an earlier run has left."""
        raise NotImplementedError

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """All parts are there."""

    def abandon(self) -> None:
        """Removes what was written halfway."""

    def names(self) -> list[str]:
        return [self.target]


class ShardWriter(Writer):
    """A part is a file of its own: train-000000.tar."""

    _halfway = r"\.partial(\.\d+\.\d+\.tmp)?"

    def __init__(self, target: str, samples: int, rows: int | None) -> None:
        super().__init__(target, samples, rows)
        self._sharded = rows is not None

    def path(self, part: int) -> str:
        if not self._sharded:
            return self.target
        stem, ending = os.path.splitext(self.target)
        return f"{stem}-{part:06}{ending}"

    def names(self) -> list[str]:
        return [self.path(part) for part in range(self.parts)]

    def pattern(self, name: str) -> str:
        journal = re.escape(name) + r"\.converting"
        return rf"{journal}|{self._shard(name)}(\.psidx|{self._halfway})?"

    def _shard(self, name: str) -> str:
        stem, ending = os.path.splitext(name)
        number = r"-\d{6}" if self._sharded else ""
        return re.escape(stem) + number + re.escape(ending)

    def _standing(self, more: str = "") -> list[str]:
        """Files of these names, with shards beyond the last one of this run: who opens all shards
        would read them, too."""
        folder, name = os.path.split(self.target)
        shard = re.compile(self._shard(name) + more)
        found = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        return [os.path.join(folder, one) for one in sorted(found) if shard.fullmatch(one)]

    def there(self) -> str | None:
        return next(iter(self._standing()), None)

    def clear(self) -> None:
        for name in self._standing():
            if os.path.isdir(name):
                raise in_the_way(name, "it is a folder, and a file would be written")
        for name in self._standing(r"(\.psidx)?") if self._sharded else ():
            os.unlink(name)

    def begin(self, resumed: bool) -> None:
        self.abandon()  # what a run that was killed has left

    def abandon(self) -> None:
        for name in self._standing(self._halfway):
            os.unlink(name)

    def standing(self, part: int) -> int:
        path = self.path(part)
        return os.path.getsize(path) if os.path.isfile(path) else -1

    def write(self, part: int, samples: Samples, batches: Batches) -> int:
        path = self.path(part)
        partial = f"{path}.partial"
        self.write_file(partial, samples)
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        if os.path.exists(f"{path}.psidx"):  # of the file that is replaced
            os.unlink(f"{path}.psidx")
        os.replace(partial, path)
        return os.path.getsize(path)

    def write_file(self, path: str, samples: Samples) -> None:
        raise NotImplementedError


class TarWriter(ShardWriter):
    format = "tar"
    _members = Members()

    def learn(self, source: Source) -> None:
        image = ""
        if "image" in source.fields:
            for _, sample in source.readable():  # until it is known what the first image is
                value = sample.get("image")
                if value is not None:
                    image = image_ending(value) or ""
                    break
        self._members = Members(source.by_path, source.names[0], image)

    def write_file(self, path: str, samples: Samples) -> None:
        with open(path, "wb") as file:
            for key, members in self._named(samples):
                for field, value in members.items():
                    data = member_of(value)
                    file.write(tar_header(f"{key}.{field}", len(data)))
                    file.write(data)
                    file.write(bytes(-len(data) % 512))
            file.write(bytes(1024))

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        path = self.path(part)
        written = io.iter_tar(path)
        for key, members in self._named(samples):
            got = next(written, None)
            if got is None or got.pop("__key__") != key or got.keys() != members.keys():
                raise differs(path, key)
            for field, value in members.items():
                if not holds(field, got[field], value):
                    raise differs(path, f"'{field}' of {key}")
        _no_more(written, path)

    def _named(self, samples: Samples) -> Iterator[tuple[str, dict[str, Any]]]:
        """(key, values by member). A key that was there before has the number behind it: a.jpg,
        a.png."""
        seen: set[str] = set()
        for position, sample in samples:
            key, members = self._members.of(position, sample)
            while key in seen:
                key = f"{key}-{position:09}"
            seen.add(key)
            yield key, members


class TFRecordWriter(ShardWriter):
    """Records of a TFRecord file are copied; all else becomes Examples."""

    format = "tfrecord"
    _records = False

    def learn(self, source: Source) -> None:
        self._records = source.records

    def write_file(self, path: str, samples: Samples) -> None:
        with io.TFRecordWriter(path) as writer:
            for position, sample in samples:
                writer.write(sample["data"] if self._records else encoded(position, sample))

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        path = self.path(part)
        written = io.iter_tfrecord(path)
        for position, sample in samples:
            record = next(written, None)
            if record is None or (self._records and record != sample["data"]):
                raise differs(path, f"sample {position}")
            other = None if self._records else other_than(sample, record)
            if other is not None:
                raise differs(path, f"{other} of sample {position}")
        _no_more(written, path)


def format_to_write(target: str, to: str | None) -> str:
    """The format, by name or by the ending."""
    if to is None:
        ending = os.path.splitext(target)[1]
        to = "folder" if target.endswith("/") else ENDINGS.get(ending, "")
    if to not in FORMATS:
        raise ValueError(
            f"cannot tell what to write from the name {target!r}: it ends in .tar, .tfrecord, "
            '.parquet, .npy, .zarr or "/" (a folder of images), or give the format (--to), one of '
            f"{', '.join(FORMATS)}"
        )
    return to


def writer_for(
    target: str,
    to: str,
    source: Source,
    rows: int | None,
    on_error: Literal["raise", "skip"] = "raise",
) -> Writer:
    from penstock.convert._array_writers import NpyWriter, ZarrWriter, first_of
    from penstock.convert._parquet_writer import ParquetWriter
    from penstock.convert._tree_writers import FolderWriter

    if to in ("zarr", "npy"):
        kind = ZarrWriter if to == "zarr" else NpyWriter
        return kind(target, len(source.ds), rows, first_of(source, on_error))
    kinds = {
        "tar": TarWriter,
        "tfrecord": TFRecordWriter,
        "parquet": ParquetWriter,
        "folder": FolderWriter,
    }
    if to == "parquet":
        from penstock.data._arrow import need_pyarrow

        need_pyarrow()
    return kinds[to](target, len(source.ds), rows)


def differs(path: str, what: str) -> ValueError:
    return ValueError(f"verification failed: {what} in {path} is not what the source has")


def _no_more(written: Iterator[Any], path: str) -> None:
    if next(written, None) is not None:
        raise differs(path, "the number of samples")
