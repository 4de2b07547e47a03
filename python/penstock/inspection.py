"""What is inside a dataset: ``penstock inspect``, and the same as a function."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

import penstock as ps
from penstock import _core, io
from penstock._printable import printable
from penstock.data._checks import checked_whole
from penstock.data._files import format_of

__all__ = ["Field", "Inspection", "as_dict", "inspect", "words"]

_SHADES = " .:-=+*#%@"
_ROWS, _COLUMNS = 12, 36


@dataclass(frozen=True)
class Field:
    """What the first sample has under a name."""

    name: str
    kind: str
    """"bytes", "text", "int", "array", ...; "unknown": later samples have it, this one has not."""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    bytes: int | None = None
    """Of this sample's value."""
    image: str | None = None
    """"jpeg 400x300", if it is one."""
    unreadable: str | None = None
    """Why the samples do not have it; the kind is "unreadable" then."""


@dataclass(frozen=True)
class Inspection:
    source: list[str]
    format: str
    samples: int | None
    """None: it is read from front to back, and nobody knows."""
    fields: list[Field]
    files: int
    bytes: int | None
    """Of all files; None: of URLs."""
    mean_bytes: int | None
    """Of a sample."""
    notes: list[str] = field(default_factory=list)
    """How arrays in chunks are packed."""
    first: list[dict[str, Any]] = field(default_factory=list)
    """The first samples, if they were asked for."""


def inspect(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    samples: int = 0,
) -> Inspection:
    """Opens a dataset and looks at its first sample, or some more.

    >>> import tempfile, os, numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.zeros((10, 3), "f4"))
    >>> found = inspect(path)
    >>> found.samples, found.fields[0].dtype, found.fields[0].shape
    (10, 'float32', (3,))
    """
    wanted = max(checked_whole(samples, "samples"), 1)
    if isinstance(source, str | os.PathLike):
        source = [source]
    names = [os.fspath(name) for name in source]
    format = format or format_of(tuple(names))
    ds, others = _opened(names, format)
    count = None if ds.sequential else len(ds)
    if count is None:
        found = list(itertools.islice(ds, wanted))
    else:
        found = [ds[i] for i in range(min(wanted, count))]
    leaves = [] if ds.sequential else ds._leaves()
    paths = _core.expand(names)
    fields = [_field(name, value) for name, value in found[0].items()] if found else []
    if not ds.sequential:
        fields += [
            Field(name, "unknown") for name in ds.fields if not found or name not in found[0]
        ]
    return Inspection(
        names,
        format,
        count,
        fields + others,
        sum(1 for path in paths for _ in files_of(path)),
        None
        if any("://" in path for path in paths)
        else sum(os.path.getsize(one) for path in paths for one in files_of(path)),
        leaves[0].mean_bytes if leaves and count else None,
        [f"{name}: {note or codecs}" for leaf in leaves for name, codecs, note in leaf.notes],
        found[:samples],
    )


def _opened(names: list[str], format: str) -> tuple[Any, list[Field]]:
    """The dataset, without the arrays of an HDF5 file that cannot be read; and these."""
    try:
        return ps.open(names, format=format), []
    except (NotImplementedError, ValueError):
        if format != "hdf5" or len(names) > 1:
            raise
        info = io.array_info(names[0])
        arrays = {name: one for name, one in info.items() if name and one["shape"] != ()}
        readable = [name for name, one in arrays.items() if "unreadable" not in one]
        if not readable or len(readable) == len(arrays):
            raise
    others = []
    for name, one in arrays.items():
        if name not in readable:
            dtype = None if one["dtype"] is None else str(one["dtype"])
            shape = one["shape"] and one["shape"][1:]
            others.append(Field(name, "unreadable", dtype, shape, unreadable=one["unreadable"]))
    return ps.open(names, format=format, fields=readable), others


def as_dict(found: Inspection) -> dict[str, Any]:
    """For machines to read: without the samples' values."""
    about = asdict(replace(found, first=[]))
    about["first"] = [{name: _brief(value) for name, value in one.items()} for one in found.first]
    return about


def words(found: Inspection, colours: bool = False, width: int = 80) -> str:
    """For people: a table of fields, and the first samples with small pictures."""
    count = "read from front to back" if found.samples is None else f"{found.samples:,} samples"
    lines = [f"{', '.join(found.source)}: {found.format}, {count}"]
    size = "" if found.bytes is None else f", {_size(found.bytes)}"
    mean = "" if found.mean_bytes is None else f", about {_size(found.mean_bytes)} a sample"
    lines.append(f"{found.files:,} file{'' if found.files == 1 else 's'}{size}{mean}")
    longest = max((len(one.name) for one in found.fields), default=0)
    for one in found.fields:
        lines.append(f"  {one.name:<{longest}}  {_describe(one)}")
    lines += [f"  packed: {note}" for note in found.notes]
    for i, sample in enumerate(found.first):
        lines.append(f"sample {i}")
        for name, value in sample.items():
            picture = _picture(value, colours)
            lines.append(f"  {name:<{longest}}  {_brief(value)}"[: max(width, 20)])
            lines += [f"    {row}" for row in picture]
    return "\n".join(lines)


def _field(name: str, value: Any) -> Field:
    if isinstance(value, bytes | bytearray | memoryview):
        return Field(name, "bytes", None, None, len(value), _image_words(value))
    if isinstance(value, str):
        return Field(name, "text", None, None, len(value.encode("utf-8", "surrogateescape")))
    if isinstance(value, np.ndarray):
        kind = "array" if value.ndim else "number"
        return Field(name, kind, str(value.dtype), value.shape, value.nbytes)
    return Field(name, "null" if value is None else type(value).__name__)


def _describe(one: Field) -> str:
    if one.unreadable is not None:
        return f"cannot be read: {one.unreadable}"
    if one.dtype is not None:
        return f"{one.dtype} {list(one.shape) if one.shape else 'number'}"
    size = "" if one.bytes is None else f", {_size(one.bytes)} in the first sample"
    if one.kind == "unknown":
        return "not in the first sample"
    return one.kind + ("" if one.image is None else f", {one.image}") + size


def _image_words(data: Any) -> str | None:
    try:
        info = io.image_info(data)
    except (ValueError, NotImplementedError):
        return None
    return f"{info.format} {info.width}x{info.height}"


def _brief(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        image = _image_words(value)
        begin = bytes(value[:24])
        return image or f"{len(value)} bytes: {begin!r}{'...' if len(value) > 24 else ''}"
    if isinstance(value, np.ndarray):
        shown = np.array2string(value.reshape(-1)[:8], separator=", ", threshold=8)
        return f"{value.dtype} {list(value.shape)} {shown}{' ...' if value.size > 8 else ''}"
    shown = repr(value)
    if isinstance(value, str) and not value.isprintable() and printable(value) != value:
        shown = re.sub(r"\\udc([89a-f][0-9a-f])", r"\\x\1", shown)  # as names are shown elsewhere
    return shown if len(shown) <= 200 else shown[:200] + "..."


def _picture(value: Any, colours: bool) -> list[str]:
    """An image in characters: two pixels in one where there are colours."""
    pixels = _pixels(value)
    if pixels is None:
        return []
    if not colours:
        grey = pixels[::2].mean(axis=2)
        shades = (grey * (len(_SHADES) - 1) / 255).round().astype(int)
        return ["".join(_SHADES[shade] for shade in row).rstrip() for row in shades]
    rows = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        row = "".join(
            f"\x1b[38;2;{a[0]};{a[1]};{a[2]}m\x1b[48;2;{b[0]};{b[1]};{b[2]}m\u2580"
            for a, b in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        rows.append(row + "\x1b[0m")
    return rows


def _pixels(value: Any) -> Any:
    """Height x width x 3, of the size in which it is shown; None: it is no image."""
    size = (2 * _ROWS, _COLUMNS)
    if isinstance(value, bytes | bytearray | memoryview):
        if _image_words(value) is None:
            return None
        try:
            return np.asarray(io.decode_image(value, size=size))
        except (ValueError, NotImplementedError):
            return None
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.size == 0:
        return None
    if value.ndim == 2:
        value = value[..., None]
    if value.ndim != 3 or value.shape[2] not in (1, 3) or min(value.shape[:2]) < 8:
        return None
    rows = np.arange(size[0]) * value.shape[0] // size[0]
    columns = np.arange(size[1]) * value.shape[1] // size[1]
    return np.broadcast_to(value[rows][:, columns], (*size, 3))


def files_of(path: str) -> list[str]:
    """The file itself, or all that are in the folder."""
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def _size(number: int) -> str:
    size = float(number)
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
