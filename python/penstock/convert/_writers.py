"""How parts of a dataset are written, format by format, and compared with what is there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from penstock import io
from penstock.convert import _values
from penstock.convert._journal import write_whole

if TYPE_CHECKING:
    import penstock as ps

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


class Writer:
    """Parts of `rows` samples each, written and checked by several threads at a time."""

    format = ""
    stacked = False
    """Does it take batches of arrays? Else sample by sample."""

    root = ""
    """Of the source, if it is a folder."""
    ragged: frozenset[str] = frozenset()
    """Fields whose arrays differ in length from sample to sample."""

    def __init__(self, target: str, samples: int, rows: int | None) -> None:
        self.target = target.rstrip("/")
        self.samples = samples
        self.rows = max(1, min(rows or samples, samples))
        self.parts = -(-samples // self.rows)

    def there(self) -> str | None:
        """What stands where this would write."""
        return self.target if os.path.exists(self.target) else None

    def clear(self) -> None:
        if os.path.isdir(self.target):
            shutil.rmtree(self.target)
        elif os.path.exists(self.target):
            os.unlink(self.target)

    def begin(self, resumed: bool) -> None:
        folder = os.path.dirname(self.target)
        if folder:
            os.makedirs(folder, exist_ok=True)

    def try_one(self, ds: ps.Dataset) -> None:
        """Raises if samples like the first one cannot be written at all."""

    def write(self, part: int, samples: Samples, batches: Batches) -> None:
        raise NotImplementedError

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """All parts are there."""

    def names(self) -> list[str]:
        return [self.target]


class ShardWriter(Writer):
    """A part is a file of its own: train-000000.tar."""

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

    def _standing(self) -> list[str]:
        """Files of these names, with shards beyond the last one of this run: who opens all shards
        would read them, too."""
        if not self._sharded:
            return [self.target] if os.path.exists(self.target) else []
        folder, name = os.path.split(self.target)
        stem, ending = os.path.splitext(name)
        shard = re.compile(re.escape(stem) + r"-\d{6}" + re.escape(ending))
        found = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        return [os.path.join(folder, one) for one in sorted(found) if shard.fullmatch(one)]

    def there(self) -> str | None:
        return next(iter(self._standing()), None)

    def clear(self) -> None:
        for name in self._standing():
            for one in (name, f"{name}.psidx"):
                if os.path.exists(one):
                    os.unlink(one)

    def begin(self, resumed: bool) -> None:
        super().begin(resumed)
        for name in self.names():
            if os.path.exists(f"{name}.partial"):  # of a run that was killed
                os.unlink(f"{name}.partial")

    def write(self, part: int, samples: Samples, batches: Batches) -> None:
        partial = f"{self.path(part)}.partial"
        self.write_file(partial, samples)
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, self.path(part))

    def write_file(self, path: str, samples: Samples) -> None:
        raise NotImplementedError


class TarWriter(ShardWriter):
    format = "tar"

    def write_file(self, path: str, samples: Samples) -> None:
        with open(path, "wb") as file:
            for key, members in self._named(samples):
                for field, data in members.items():
                    file.write(_values.tar_header(f"{key}.{field}", len(data)))
                    file.write(data)
                    file.write(bytes(-len(data) % 512))
            file.write(bytes(1024))

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        written = io.iter_tar(self.path(part))
        for key, members in self._named(samples):
            expected = {"__key__": key, **{name: bytes(data) for name, data in members.items()}}
            if next(written, None) != expected:
                raise differs(self.path(part), key)
        _no_more(written, self.path(part))

    def _named(self, samples: Samples) -> Iterator[tuple[str, dict[str, Any]]]:
        """(key, members). A key that was there before has the number behind it: a.jpg, a.png."""
        seen: set[str] = set()
        for position, sample in samples:
            key, members = _values.tar_members(position, sample, self.root)
            if key in seen:
                key = f"{key}-{position:09}"
            seen.add(key)
            yield key, members


class TFRecordWriter(ShardWriter):
    format = "tfrecord"

    def write_file(self, path: str, samples: Samples) -> None:
        with io.TFRecordWriter(path) as writer:
            for _, sample in samples:
                writer.write(io.encode_example(_values.features(sample)))

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        written = io.iter_tfrecord(self.path(part))
        for position, sample in samples:
            if next(written, None) != io.encode_example(_values.features(sample)):
                raise differs(self.path(part), f"sample {position}")
        _no_more(written, self.path(part))


class ParquetWriter(ShardWriter):
    format = "parquet"
    groups = 4096
    """Rows in a group, at most."""

    def try_one(self, ds: ps.Dataset) -> None:
        try:
            first = ds[0]
        except Exception:  # it is damaged, or there is none: this comes up when it is its turn
            return
        _values.arrow_table([first], self.ragged)

    def write_file(self, path: str, samples: Samples) -> None:
        import pyarrow.parquet as parquet

        writer: Any = None
        for rows in self._groups(samples):
            table = _values.arrow_table(rows, self.ragged, writer and writer.schema)
            if writer is None:
                writer = parquet.ParquetWriter(path, table.schema, write_page_checksum=True)
            writer.write_table(table.cast(writer.schema))
        if writer is None:
            raise ValueError("there is no sample to write")
        writer.close()

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path(part)) as file:
            groups = 0
            for groups, rows in enumerate(self._groups(samples), 1):
                table = _values.arrow_table(rows, self.ragged, file.schema_arrow)
                if not file.read_row_group(groups - 1).equals(table.cast(file.schema_arrow)):
                    raise differs(self.path(part), f"row group {groups - 1}")
            if groups != file.num_row_groups:
                raise differs(self.path(part), "the number of row groups")

    def _groups(self, samples: Samples) -> Iterator[list[dict[str, Any]]]:
        """Groups of rows, of about 64 MB at most."""
        rows: list[dict[str, Any]] = []
        size = 0
        for _, sample in samples:
            rows.append(sample)
            size += sum(_values.size_of(value) for value in sample.values())
            if len(rows) == self.groups or size > 64_000_000:
                yield rows
                rows, size = [], 0
        if rows:
            yield rows


class FolderWriter(Writer):
    """Images in a sub-folder for each label."""

    format = "folder"

    def __init__(self, target: str, samples: int, rows: int | None) -> None:
        super().__init__(target, samples, rows or 1000)

    def begin(self, resumed: bool) -> None:
        os.makedirs(self.target, exist_ok=True)

    def write(self, part: int, samples: Samples, batches: Batches) -> None:
        for position, sample in samples:
            name, data = _values.image_file(position, sample)
            path = os.path.join(self.target, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_whole(path, data)

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        for position, sample in samples:
            name, data = _values.image_file(position, sample)
            with open(os.path.join(self.target, name), "rb") as file:
                if file.read() != bytes(data):
                    raise differs(self.target, name)


def writer_for(target: str, to: str | None, ds: ps.Dataset, rows: int | None) -> Writer:
    from penstock.convert._array_writers import NpyWriter, ZarrWriter

    kinds = {
        "tar": TarWriter,
        "tfrecord": TFRecordWriter,
        "parquet": ParquetWriter,
        "folder": FolderWriter,
    }
    if to is None:
        ending = os.path.splitext(target)[1]
        to = "folder" if target.endswith("/") else ENDINGS.get(ending, "")
    if to in kinds:
        if to == "parquet":
            from penstock.data._arrow import need_pyarrow

            need_pyarrow()
        return kinds[to](target, len(ds), rows)
    if to in ("zarr", "npy"):
        first = ds[0] if len(ds) else {}
        return (ZarrWriter if to == "zarr" else NpyWriter)(target, len(ds), rows, first)
    raise ValueError(
        f"cannot tell what to write from the name {target!r}: it ends in .tar, .tfrecord, "
        '.parquet, .npy, .zarr or "/" (a folder of images), or give the format (--to)'
    )


def differs(path: str, what: str) -> ValueError:
    return ValueError(f"verification failed: {what} in {path} is not what the source has")


def _no_more(written: Iterator[Any], path: str) -> None:
    if next(written, None) is not None:
        raise differs(path, "the number of samples")
