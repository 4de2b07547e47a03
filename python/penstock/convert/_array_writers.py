"""Arrays: all rows of a field have one shape, so every part knows its place."""

from __future__ import annotations

import errno
import io as memory
import json
import os
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from penstock import io
from penstock.convert._journal import write_whole
from penstock.convert._same import same
from penstock.convert._tree_writers import TreeWriter
from penstock.convert._values import stays_below
from penstock.convert._writers import Batches, Samples, Writer, differs

if TYPE_CHECKING:
    from penstock.convert._source import Source


class ArrayWriter(Writer):
    stacked = True
    bytes_of_part = 1 << 22
    types = ""
    """Kinds of NumPy's types that it can hold."""
    widest = 1 << 62
    """Bytes of a number, at most."""

    def __init__(
        self, target: str, samples: int, rows: int | None, first: Mapping[str, Any]
    ) -> None:
        self._numbers: set[str] = set()  # Python's: floats of TFRecord files are float32
        self.kinds = {name: self._kind(name, value) for name, value in first.items()}
        if not self.kinds:
            raise ValueError("there is no field to write")
        self._size = sum(
            dtype.itemsize * int(np.prod(shape)) for dtype, shape in self.kinds.values()
        )
        super().__init__(target, samples, rows or max(1, self.bytes_of_part // max(self._size, 1)))

    def _kind(self, name: str, value: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """(dtype, shape) of a row."""
        if isinstance(value, np.generic):
            value = np.asarray(value)
        if isinstance(value, bool | int | float):
            self._numbers.add(name)
            value = np.asarray(value, np.float32 if isinstance(value, float) else None)
        if not isinstance(value, np.ndarray):
            found = "text" if isinstance(value, str) else type(value).__name__
            raise ValueError(
                f"'{name}' is {found}, not numbers: arrays cannot hold it. Choose fields "
                "(--fields), or decode images (--image-size 64x64)"
            )
        kind, width = value.dtype.kind, value.dtype.itemsize
        if kind not in self.types or width > self.widest * (2 if kind == "c" else 1):
            raise ValueError(
                f"'{name}' has values of type {value.dtype}, which .{self.format} cannot hold "
                f"here: choose fields (--fields){'' if self.format == 'npy' else ', or write .npy'}"
            )
        return value.dtype, value.shape

    def part_of(self, batches: Batches) -> dict[str, Any]:
        """The rows of a part, one array for each field."""
        pieces: dict[str, list[Any]] = {name: [] for name in self.kinds}
        for batch in batches():
            for name, value in batch.items():
                pieces[name].append(self._array_of(name, value))
        return {
            name: np.ascontiguousarray(np.concatenate(found)) if found else np.zeros(0)
            for name, found in pieces.items()
        }

    def _array_of(self, name: str, value: Any) -> Any:
        if name not in self.kinds:
            raise ValueError(f"'{name}' is in some samples only: choose fields (--fields)")
        dtype, shape = self.kinds[name]
        try:
            rows = np.asarray(value, dtype if name in self._numbers else None)
        except ValueError:
            raise ValueError(f"'{name}' has rows of several shapes, and an array has one") from None
        if rows.dtype != dtype or rows.shape[1:] != shape:
            raise ValueError(
                f"'{name}' is {dtype} {list(shape)} in the first sample, and {rows.dtype} "
                f"{list(rows.shape[1:])} in others: an array has one type and shape"
            )
        return rows

    def need_whole(self, part: int, found: int) -> None:
        """Are these all rows of it? Arrays have no holes."""
        rows = self.rows_of(part)
        missing = rows.stop - rows.start - found
        if missing:
            raise ValueError(_holes(f"{missing} sample{'s' * (missing > 1)} could not be read"))

    def rows_of(self, part: int) -> slice:
        return slice(part * self.rows, min(self.samples, (part + 1) * self.rows))

    def compare(self, part: int, batches: Batches, got: Mapping[str, Any]) -> None:
        """The rows of a part, field by field, with those that were read back."""
        begin = 0
        for batch in batches():
            end = begin + len(next(iter(batch.values())))
            for name in {**batch, **got}:
                there = name in batch and name in got
                if not there or not same(np.asarray(batch[name]), got[name][begin:end]):
                    first = part * self.rows + begin
                    raise differs(self.target, f"'{name}' in the rows from {first} on")
            begin = end
        self.need_whole(part, begin)


class NpyWriter(ArrayWriter):
    """One file, which parts are written into; it gets its name in the end."""

    format = "npy"
    moves = True
    bytes_of_part = 1 << 26
    types = "biufcmMSUV"

    def __init__(
        self, target: str, samples: int, rows: int | None, first: Mapping[str, Any]
    ) -> None:
        super().__init__(target, samples, None, first)
        if len(self.kinds) != 1:
            raise ValueError(
                f"a .npy file holds one field, and there are {', '.join(self.kinds)}: choose one "
                "(--fields)"
            )
        if rows is not None:
            raise ValueError("a .npy file is not cut into shards")
        self._partial = f"{self.target}.partial"
        ((dtype, shape),) = self.kinds.values()
        self._header = _npy_header(dtype, (samples, *shape))

    def begin(self, resumed: bool) -> None:
        if resumed:
            return
        with open(self._partial, "wb") as file:
            file.write(self._header)
            file.flush()
            _reserve(file.fileno(), len(self._header) + self.samples * self._size)

    def write(self, part: int, samples: Samples, batches: Batches) -> int:
        arrays = self.part_of(batches)
        self.need_whole(part, len(next(iter(arrays.values()))))
        (array,) = arrays.values()
        # Not through a map: a full disk would be a signal, not an error.
        with open(self._partial, "r+b") as file:
            file.seek(len(self._header) + part * self.rows * self._size)
            file.write(array.tobytes())
            file.flush()
            os.fsync(file.fileno())
        return int(array.nbytes)

    def standing(self, part: int) -> int:
        path = self.target if self.moved else self._partial
        whole = len(self._header) + self.samples * self._size
        if not os.path.isfile(path) or os.path.getsize(path) != whole:
            return -1
        return min(self.rows, self.samples - part * self.rows) * self._size

    def finish(self) -> None:
        if not self.moved:
            os.replace(self._partial, self.target)

    def abandon(self) -> None:
        if os.path.exists(self._partial):
            os.unlink(self._partial)

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        got = io.load_npy(self.target, mmap=True)
        if len(got) != self.samples:
            raise differs(self.target, "the number of rows")
        self.compare(part, batches, {name: got[self.rows_of(part)] for name in self.kinds})


class ZarrWriter(TreeWriter, ArrayWriter):
    """A Zarr group of version 3: a chunk for each part, packed by gzip. The metadata comes last:
    until then nobody takes it for a store."""

    format = "zarr"
    types = "biufc"
    widest = 8

    def __init__(
        self, target: str, samples: int, rows: int | None, first: Mapping[str, Any]
    ) -> None:
        super().__init__(target, samples, rows, first)
        bad = [
            name for name in self.kinds if not stays_below(name) or "zarr.json" in name.split("/")
        ]
        if bad:
            raise ValueError(f"the field {bad[0]!r} cannot be the name of an array: rename it")
        for group in self._groups():
            if group in self.kinds:
                inside = next(name for name in self.kinds if name.startswith(f"{group}/"))
                raise ValueError(
                    f"the field '{inside}' would lie in '{group}', which is an array, too: choose "
                    "one of them (--fields)"
                )

    def _groups(self) -> list[str]:
        """Where fields lie: "a" and "a/b" for "a/b/x". The store itself is the last one."""
        found = {name[:i] for name in self.kinds for i, mark in enumerate(name) if mark == "/"}
        return [*sorted(found), ""]

    def foreign(self) -> str | None:
        marks = ("zarr.json", ".zgroup", ".zarray")
        store = any(os.path.exists(os.path.join(self.target, mark)) for mark in marks)
        return None if store or not os.listdir(self.target) else self.target

    def write(self, part: int, samples: Samples, batches: Batches) -> int:
        arrays = self.part_of(batches)
        self.need_whole(part, len(next(iter(arrays.values()))))
        size = 0
        for name, array in arrays.items():
            dtype, shape = self.kinds[name]
            chunk = np.zeros((self.rows, *shape), dtype)  # the last one is filled up
            chunk[: len(array)] = array
            packer = zlib.compressobj(1, wbits=31)
            packed = packer.compress(chunk.tobytes()) + packer.flush()
            path = self._chunk(name, part)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_whole(path, packed)
            size += len(packed)
        return size

    def standing(self, part: int) -> int:
        paths = [self._chunk(name, part) for name in self.kinds]
        return sum(os.path.getsize(path) if os.path.isfile(path) else -1 for path in paths)

    def _chunk(self, name: str, part: int) -> str:
        _, shape = self.kinds[name]
        return os.path.join(self.place, name, "c", str(part), *("0" for _ in shape))

    def finish(self) -> None:
        for name, (dtype, shape) in self.kinds.items():
            about = {
                "zarr_format": 3,
                "node_type": "array",
                "shape": [self.samples, *shape],
                "data_type": dtype.name,
                "chunk_grid": {
                    "name": "regular",
                    "configuration": {"chunk_shape": [self.rows, *(max(n, 1) for n in shape)]},
                },
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": {"b": False, "c": [0, 0]}.get(dtype.kind, 0),
                "codecs": [
                    {"name": "bytes", "configuration": {"endian": "little"}},
                    {"name": "gzip", "configuration": {"level": 1}},
                ],
                "attributes": {},
            }
            path = os.path.join(self.place, name, "zarr.json")
            write_whole(path, json.dumps(about, indent=1).encode())
        group = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}).encode()
        for path in self._groups():
            write_whole(os.path.join(self.place, path, "zarr.json"), group)
        super().finish()

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        import penstock as ps

        opened = ps.open(self.target, format="zarr")  # as anybody would, with all it has
        if set(opened.fields) != set(self.kinds) or len(opened) != self.samples:
            raise differs(self.target, f"what is found in it ({', '.join(opened.fields)})")
        rows = self.rows_of(part)
        some = opened.skip(rows.start).take(rows.stop - rows.start)
        (got,) = some.shard(0, 1).batch(len(some), ends="short").loader(threads=1)
        self.compare(part, batches, {name: np.asarray(got[name]) for name in self.kinds})


def first_of(source: Source, on_error: Literal["raise", "skip"]) -> dict[str, Any]:
    """The sample that says what the arrays are."""
    try:
        return source.ds[0]
    except (ValueError, TypeError, KeyError, IndexError, NotImplementedError) as error:
        if on_error == "raise":
            raise
        raise ValueError(_holes(f"the first sample could not be read ({error})")) from error


def _holes(what: str) -> str:
    return f"{what}; arrays have no holes: write shards, or mend the source"


def _npy_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    header = memory.BytesIO()
    descr = np.lib.format.dtype_to_descr(dtype)
    about = {"descr": descr, "fortran_order": False, "shape": shape}
    try:
        np.lib.format.write_array_header_1_0(header, about)
    except ValueError:  # it is longer than that version allows
        np.lib.format.write_array_header_2_0(header, about)
    return header.getvalue()


def _reserve(file: int, size: int) -> None:
    """Room for all of it, or an error now."""
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        os.ftruncate(file, size)  # a file system that cannot do this
