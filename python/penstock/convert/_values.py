"""What becomes of values: as members of a tar, as features, as columns, as files."""

from __future__ import annotations

import io as memory
import os
import struct
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from penstock import io
from penstock.data._fields import IMAGES

_SPECIAL = ("__key__", "path")


def is_bytes(value: Any) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def size_of(value: Any) -> int:
    return (
        value.nbytes if hasattr(value, "nbytes") else len(value) if hasattr(value, "__len__") else 8
    )


def stays_below(name: str) -> bool:
    """May a name out of the data be a path below the destination?"""
    return "\0" not in name and not any(part in ("", ".", "..") for part in name.split("/"))


def key_of(position: int, sample: Mapping[str, Any], root: str) -> str:
    """The sample's own key, its path below `root`, or its number. Keys hold no dot: tars cut names
    there."""
    key = sample.get("__key__") or sample.get("path")
    if not isinstance(key, str):
        return f"{position:09}"
    if "__key__" not in sample:
        key = os.path.splitext(os.path.relpath(key, root or os.path.dirname(key)))[0]
    folder, _, base = key.rpartition("/")
    base = base.replace(".", "_")
    return f"{folder}/{base}" if folder else base


def tar_members(
    position: int, sample: Mapping[str, Any], root: str = ""
) -> tuple[str, dict[str, Any]]:
    """(key, bytes by field). image becomes jpg or the like, label becomes cls; other integers end
    in .cls, texts in .txt, arrays in .npy: what decode() knows."""
    members: dict[str, Any] = {}
    for name, value in sample.items():
        if name in _SPECIAL or value is None:
            continue
        if is_bytes(value):
            members[_image_ending(value) if name == "image" else name] = value
        elif isinstance(value, str):
            members[_ending(name, "txt")] = value.encode()
        elif isinstance(value, int) or (
            isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"
        ):
            members["cls" if name == "label" else _ending(name, "cls")] = b"%d" % int(value)
        elif isinstance(value, float | np.ndarray | list):
            file = memory.BytesIO()
            np.save(file, np.asarray(value), allow_pickle=False)
            members[_ending(name, "npy")] = file.getvalue()
        else:
            raise TypeError(f"'{name}' is a {type(value).__name__}, which a tar cannot hold")
    return key_of(position, sample, root), members


def tar_header(name: str, size: int) -> bytes:
    """A ustar header; names that do not fit have a pax header before it."""
    encoded = name.encode()
    if len(encoded) <= 100 and size < 8**11:
        return _ustar(encoded, size, b"0")
    record = _pax(b"path", encoded) + (_pax(b"size", b"%d" % size) if size >= 8**11 else b"")
    begin = _ustar(b"pax", len(record), b"x") + record + bytes(-len(record) % 512)
    return begin + _ustar(encoded[:100], size if size < 8**11 else 0, b"0")


def _ustar(name: bytes, size: int, kind: bytes) -> bytes:
    head = struct.pack(
        "100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12s",
        name, b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size, b"%011o\0" % 0,
        b" " * 8, kind, b"", b"ustar\0", b"00", b"", b"", b"0000000\0", b"0000000\0", b"", b"",
    )  # fmt: skip
    return head[:148] + b"%06o\0 " % sum(head) + head[156:]


def _pax(keyword: bytes, value: bytes) -> bytes:
    rest = b" " + keyword + b"=" + value + b"\n"
    length = len(rest)
    while len(b"%d" % length) + len(rest) != length:
        length = len(b"%d" % length) + len(rest)
    return b"%d" % length + rest


def features(sample: Mapping[str, Any]) -> dict[str, Any]:
    """For a tf.train.Example, which has bytes, int64 and float32."""
    found = {}
    for name, value in sample.items():
        if value is None:
            continue
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            raise TypeError(
                f"'{name}' is float64, which an Example cannot hold: read it as float32 first"
            )
        found[name] = value
    return found


def arrow_table(
    rows: list[dict[str, Any]], ragged: Collection[str], schema: Any | None = None
) -> Any:
    """A pyarrow.Table of samples, to be cast to `schema`. Fields in `ragged` are lists, even if
    these happen to have one length here."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    kinds = {} if schema is None else dict(zip(schema.names, schema.types, strict=True))
    return pa.table(
        {
            name: _arrow_column(name, values, name in ragged, kinds.get(name))
            for name, values in columns.items()
        }
    )


def _arrow_column(name: str, values: list[Any], ragged: bool, kind: Any | None) -> Any:
    import pyarrow as pa

    if kind is not None and pa.types.is_map(kind):
        return pa.array(values, kind)
    known = [value for value in values if value is not None]
    if not known:
        return pa.array(values, pa.string())
    if is_bytes(known[0]):
        return pa.array([None if v is None else memoryview(v) for v in values], pa.binary())
    if isinstance(known[0], np.ndarray):
        return _arrow_arrays(name, values, ragged)
    try:
        return pa.array(values, _map_of(known))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"'{name}' cannot become a column: {error}") from None


def _map_of(values: list[Any]) -> Any | None:
    """The type of maps, which are lists of pairs; nothing if these are none."""
    import pyarrow as pa

    if not all(isinstance(value, list) for value in values):
        return None
    pairs = [pair for value in values for pair in value]
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return None
    return pa.map_(pa.array([key for key, _ in pairs]).type, pa.array([it for _, it in pairs]).type)


def _arrow_arrays(name: str, values: list[Any], ragged: bool) -> Any:
    """One shape for all: lists of a fixed size. Ragged: lists of these."""
    import pyarrow as pa

    if any(value is None for value in values):
        raise TypeError(f"'{name}' is missing in some samples, and is an array in others")
    shapes = {value.shape[1:] if ragged else value.shape for value in values}
    if len(shapes) != 1:
        raise TypeError(f"'{name}' has arrays of several shapes, which a column cannot hold")
    (shape,) = shapes
    try:
        column = pa.array(np.concatenate([value.reshape(-1) for value in values]))
    except pa.ArrowNotImplementedError:
        raise TypeError(
            f"'{name}' has numbers of type {values[0].dtype}, which Parquet does not know: choose "
            "other fields (--fields), or write .zarr or .npy"
        ) from None
    for extent in reversed(shape):
        column = pa.FixedSizeListArray.from_arrays(column, extent)
    if not ragged:
        return column
    offsets = np.cumsum([0, *(len(value) for value in values)], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, column)


def image_file(position: int, sample: Mapping[str, Any]) -> tuple[str, Any]:
    """(name below the folder, bytes) of the one image of a sample."""
    images = [
        name
        for name, value in sample.items()
        if name.removesuffix(".bytes").rsplit(".", 1)[-1] in IMAGES and is_bytes(value)
    ]
    if len(images) != 1:
        raise ValueError(
            f"a folder holds one image for each sample, and there are {len(images)} "
            f"({', '.join(sample)}): choose fields (--fields)"
        )
    label = next((sample[name] for name in ("label", "cls") if name in sample), None)
    base = f"{position:09}.{_image_ending(sample[images[0]])}"
    if label is None:
        return base, sample[images[0]]
    folder = label if isinstance(label, str) else f"{int(label):05}"
    if "/" in folder or not stays_below(folder):
        raise ValueError(f"sample {position}: the label {folder!r} cannot be the name of a folder")
    return f"{folder}/{base}", sample[images[0]]


def _image_ending(data: Any) -> str:
    try:
        kind = io.image_info(data).format
    except (ValueError, NotImplementedError):
        return "image"
    return {"jpeg": "jpg", "tiff": "tif", "pnm": "ppm"}.get(kind, kind)


def _ending(name: str, ending: str) -> str:
    return name if name.rsplit(".", 1)[-1] == ending else f"{name}.{ending}"
