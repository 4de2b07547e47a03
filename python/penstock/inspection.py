"""What is inside a dataset: ``penstock inspect``, and the same as a function."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

import penstock as ps
from penstock import _core, io
from penstock._array_info import dtype_of
from penstock._picture import picture
from penstock._printable import printable
from penstock.data._checks import checked_whole
from penstock.data._files import format_of
from penstock.data._plan import ArrayRows, OpenTables, TableRows, TableValues, ViewRows
from penstock.data._plan import leaves as leaves_of
from penstock.data._tables import described

__all__ = ["Field", "Inspection", "Unread", "as_dict", "inspect", "words"]

_LOOK = 16  # samples, for one that says what the fields are


@dataclass(frozen=True)
class Field:
    """What the first sample that can be read has under a name."""

    name: str
    kind: str
    """"bytes", "text", "int", "array", ...; "unknown": later samples have it, this one has not;
    "unread": no sample that was looked at can be read."""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    bytes: int | None = None
    """Of this sample's value."""
    image: str | None = None
    """"jpeg 400x300", if it is one."""
    unreadable: str | None = None
    """Why the samples do not have it; the kind is "unreadable" then."""


@dataclass(frozen=True)
class Unread:
    """A sample that was looked at and cannot be read."""

    sample: int
    why: str
    null: bool
    """Nothing is damaged: there is a null where a number is needed."""


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
    """The first samples, if they were asked for: those that can be read."""
    unread: list[Unread] = field(default_factory=list)
    """And those that cannot."""


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
    found, unread = _looked_at(ds, wanted, count)
    leaves = [] if ds.sequential else ds._leaves()
    paths = _core.expand(names)
    first: dict[str, Any] = next(iter(found.values()), {})
    fields = [_field(name, value) for name, value in first.items()]
    if not ds.sequential:
        declared = {} if found else _declared(ds)
        kind = "unread" if unread and not found else "unknown"
        fields += [declared.get(name, Field(name, kind)) for name in ds.fields if name not in first]
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
        [sample for i, sample in found.items() if i < samples],
        unread,
    )


def _looked_at(ds: Any, wanted: int, count: int | None) -> tuple[dict[int, Any], list[Unread]]:
    """The first samples by number, and why others of them cannot be read. If none can, the first
    of the next few that can."""
    found: dict[int, Any] = {}
    unread: list[Unread] = []
    stream = iter(ds) if count is None else None
    for i in range(max(wanted, _LOOK) if count is None else min(max(wanted, _LOOK), count)):
        if i >= wanted and found:
            break
        try:
            found[i] = ds[i] if stream is None else next(stream)
        except StopIteration:
            break
        except (ValueError, OSError, NotImplementedError) as error:
            if i < wanted:
                unread.append(Unread(i, str(error), "' is null here" in str(error)))
            if stream is not None:  # nobody knows what comes after it
                break
    return found, unread


def _declared(ds: Any) -> dict[str, Field]:
    """What a dataset says of its fields where no sample does."""
    (leaf,) = leaves_of(ds._node)
    known: dict[str, Field] = {}
    if isinstance(leaf.source, OpenTables):
        for name, kind, _, _ in described(leaf.source):
            known[name] = Field(name, kind)
    for step in ds._steps:
        if isinstance(step, TableValues):
            known |= {name: Field(name, "list") for name in step.names}
        elif isinstance(step, ArrayRows | TableRows | ViewRows):
            for name, *_, dtype, shape in step.fields:
                extents = tuple(shape)
                kind = "array" if extents else "number"
                known[name] = Field(name, kind, str(np.dtype(dtype_of(dtype))), extents)
    return known


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
    about["unread"] = [asdict(one) for one in found.unread]
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
    bad = {one.sample: one.why for one in found.unread}
    good = iter(found.first)
    for i in range(max([len(found.first) + len(bad), *(number + 1 for number in bad)])):
        if i in bad:
            lines.append(f"sample {i} cannot be read: {bad[i]}")
            continue
        if (sample := next(good, None)) is None:
            break
        lines.append(f"sample {i}")
        for name, value in sample.items():
            shown = picture(value, colours)
            lines.append(f"  {name:<{longest}}  {_brief(value)}"[: max(width, 20)])
            lines += [f"    {row}" for row in shown]
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
        shape = ["any" if extent < 0 else extent for extent in one.shape or ()]
        return f"{one.dtype} [{', '.join(map(str, shape))}]" if shape else f"{one.dtype} number"
    size = "" if one.bytes is None else f", {_size(one.bytes)} in the first sample"
    if one.kind == "unknown":
        return "not in the first sample"
    if one.kind == "unread":
        return "not known"
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
