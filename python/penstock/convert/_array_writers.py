"""Arrays: all rows of a field have one shape, so every part knows its place."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import io
from penstock.convert._journal import write_whole
from penstock.convert._values import stays_below
from penstock.convert._writers import Batches, Samples, Writer, differs


class ArrayWriter(Writer):
    stacked = True

    def __init__(
        self, target: str, samples: int, rows: int | None, first: Mapping[str, Any]
    ) -> None:
        self.kinds = {name: _kind(name, value) for name, value in first.items()}
        if not self.kinds:
            raise ValueError("there is no sample to write")
        size = sum(dtype.itemsize * int(np.prod(shape)) for dtype, shape in self.kinds.values())
        super().__init__(target, samples, rows or max(1, self.bytes_of_part // max(size, 1)))

    bytes_of_part = 1 << 22

    def part_of(self, batches: Batches) -> dict[str, Any]:
        """The rows of a part, one array for each field."""
        pieces: dict[str, list[Any]] = {name: [] for name in self.kinds}
        for batch in batches():
            for name, value in batch.items():
                pieces[name].append(np.asarray(value))
        return {
            name: np.ascontiguousarray(np.concatenate(found), self.kinds[name][0])
            for name, found in pieces.items()
        }

    def whole(self, part: int, arrays: dict[str, Any]) -> int:
        """How many rows; arrays have no holes."""
        expected = min(self.rows, self.samples - part * self.rows)
        found = len(next(iter(arrays.values())))
        if found != expected:
            raise ValueError(
                f"{expected - found} samples could not be read; arrays have no holes: write "
                "shards, or mend the source"
            )
        return expected


class NpyWriter(ArrayWriter):
    """One file, which parts are written into; it gets its name in the end."""

    format = "npy"
    bytes_of_part = 1 << 26

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

    def begin(self, resumed: bool) -> None:
        super().begin(resumed)
        ((dtype, shape),) = self.kinds.values()
        if not resumed:
            made = np.lib.format.open_memmap(
                self._partial, "w+", dtype=dtype, shape=(self.samples, *shape)
            )
            made.flush()

    def write(self, part: int, samples: Samples, batches: Batches) -> None:
        arrays = self.part_of(batches)
        count = self.whole(part, arrays)
        first = part * self.rows
        mapped = np.lib.format.open_memmap(self._partial, "r+")
        mapped[first : first + count] = next(iter(arrays.values()))
        mapped.flush()

    def finish(self) -> None:
        if os.path.exists(self._partial):  # not: a run that was killed right after this
            os.replace(self._partial, self.target)

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        (expected,) = self.part_of(batches).values()
        first = part * self.rows
        got = io.load_npy(self.target, mmap=True)[first : first + self.rows]
        if got.tobytes() != expected.tobytes():
            raise differs(self.target, f"rows from {first} on")


class ZarrWriter(ArrayWriter):
    """A Zarr group of version 3: a chunk for each part, packed by gzip. The metadata comes last:
    until then nobody takes it for a store."""

    format = "zarr"

    def __init__(
        self, target: str, samples: int, rows: int | None, first: Mapping[str, Any]
    ) -> None:
        super().__init__(target, samples, rows, first)
        bad = [name for name in self.kinds if not stays_below(name)]
        if bad:
            raise ValueError(f"the field {bad[0]!r} cannot be the name of an array: rename it")

    def begin(self, resumed: bool) -> None:
        for name in self.kinds:
            os.makedirs(os.path.join(self.target, name, "c"), exist_ok=True)

    def write(self, part: int, samples: Samples, batches: Batches) -> None:
        arrays = self.part_of(batches)
        self.whole(part, arrays)
        for name, array in arrays.items():
            dtype, shape = self.kinds[name]
            chunk = np.zeros((self.rows, *shape), dtype)  # the last one is filled up
            chunk[: len(array)] = array
            packer = zlib.compressobj(1, wbits=31)
            packed = packer.compress(chunk.tobytes()) + packer.flush()
            path = os.path.join(self.target, name, "c", str(part), *("0" for _ in shape))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_whole(path, packed)

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
                "fill_value": False if dtype.kind == "b" else 0,
                "codecs": [
                    {"name": "bytes", "configuration": {"endian": "little"}},
                    {"name": "gzip", "configuration": {"level": 1}},
                ],
                "attributes": {},
            }
            path = os.path.join(self.target, name, "zarr.json")
            write_whole(path, json.dumps(about, indent=1).encode())
        group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        write_whole(os.path.join(self.target, "zarr.json"), json.dumps(group).encode())

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        import penstock as ps

        expected = self.part_of(batches)
        first = part * self.rows
        count = self.whole(part, expected)
        some = ps.open(self.target, fields=list(self.kinds)).skip(first).take(count)
        (got,) = some.shard(0, 1).batch(count, ends="short").loader(threads=1)
        for name, array in expected.items():
            if np.asarray(got[name]).tobytes() != array.tobytes():
                raise differs(self.target, f"'{name}', rows from {first} on")


def _kind(name: str, value: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """(dtype, shape) of a row."""
    if isinstance(value, bool | int | float):
        value = np.asarray(value, np.float32 if isinstance(value, float) else None)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        raise ValueError(
            f"'{name}' is {type(value).__name__}, not numbers: arrays cannot hold it. Choose "
            "fields (--fields), or decode images (--image-size 64x64)"
        )
    return value.dtype, value.shape
