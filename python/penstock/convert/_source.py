"""What a conversion reads: a dataset whose samples are as they are to be written, and the files
behind it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import penstock as ps
from penstock import _core, io
from penstock.data._arrow_dates import dtype_of
from penstock.data._files import format_of
from penstock.data._plan import (
    ArrayRows,
    OpenTables,
    ParseExample,
    TableRows,
    ViewRows,
    leaves,
)
from penstock.inspection import files_of

Names = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_NAMED_BY = {"tar": "__key__", "folder": "path", "files": "path"}
_ARRAYS = ("zarr", "npy")


@dataclass(frozen=True)
class Source:
    ds: ps.Dataset
    names: list[str]
    """Files, folders and URLs."""
    format: str
    fields: list[str]
    """Of all samples together: those of a tar may lack some."""
    ragged: frozenset[str]
    """Fields whose arrays differ in length from sample to sample."""
    raw: ps.Dataset
    """The same, with members of tars as they are."""
    records: bool = False
    """Is its one field, `data`, whole records of TFRecord files? These are copied as they are."""

    @property
    def by_path(self) -> bool:
        """Is `path` the name of a sample's file? In other formats it is a field like any other."""
        return self.format in ("folder", "files")

    @property
    def uneven(self) -> bool:
        """May samples lack fields that others have?"""
        return self.format == "tar"

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Types of columns, as a table declares them; of other formats nothing."""
        from penstock.data._arrow import ArrowReader, ParquetReader
        from penstock.data._arrow_types import flat

        table = leaves(self.ds._node)[0].source
        if not isinstance(table, OpenTables):
            return {}
        reader = ParquetReader if table.format == "parquet" else ArrowReader
        return dict(flat(reader(table.names[0], False).schema))

    @property
    def dates(self) -> dict[str, Any]:
        """Types of columns of dates and times, and of lists of them, as Parquet can have them."""
        from penstock.data._arrow_types import target

        table = leaves(self.ds._node)[0].source
        casts = dict(table.casts) if isinstance(table, OpenTables) else {}
        kinds = {name: kind for name, kind in self.columns.items() if name in self.fields}
        found = {name: _dates_of(target(name, kind, casts)) for name, kind in kinds.items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    def readable(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(number, sample) from the first one on, without those that are damaged: they come up when
        it is their turn."""
        for i in range(len(self.ds)):
            try:
                yield i, self.ds[i]
            except (OSError, ValueError, TypeError, KeyError, IndexError, NotImplementedError):
                continue

    def values_of(self, *names: str) -> Iterator[dict[str, Any]]:
        """The first of these fields that there is, alone, of all samples that can be read."""
        name = next((name for name in names if name in self.fields), None)
        if name is None:
            return
        some = self.raw.select(name).shard(0, 1).batch(1024, ends="short", collate="list")
        with some.loader(threads=1, on_error="skip") as loader:
            for batch in loader:
                for value in batch[name]:
                    yield _values({name: value}) if self.format == "tar" else {name: value}


def open_source(
    source: Names,
    to: str,
    fields: Sequence[str] | Mapping[str, str] | None,
    image_size: tuple[int, int] | None,
    shuffle: int | None,
    options: Mapping[str, Any],
) -> Source:
    """`to` is the format that is written, `options` are those of penstock.open."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    given = [os.fspath(name) for name in source]
    wanted: Any = dict(fields) if isinstance(fields, Mapping) else list(fields) if fields else None
    format = options.get("format") or (format_of(tuple(given)) if given else "")
    records = format == to == "tfrecord" and wanted is None and image_size is None
    ds = ps.open(given, fields={"data": "raw"} if records else wanted, **options)
    known = _features(ds) if wanted is None and not records else {}
    record = max(known, key=len, default="") + "_"  # no feature that is read has this name
    if known and not ds.sequential:
        ds = ps.open(given, fields={**known, record: "raw"}, **options)
    if ds.sequential:
        raise ValueError(
            "a compressed source is read from front to back and cannot be cut into parts: unpack it"
        )
    if len(ds) == 0:
        raise ValueError(f"there is no sample in {', '.join(given)}: nothing to convert")
    if image_size is not None:
        ds = ds.decode_image(size=image_size)
    name = _NAMED_BY.get(format)
    if to in _ARRAYS and name in ds.fields and name not in (fields or ()):
        ds = ds.select(*(field for field in ds.fields if field != name))
    if shuffle is not None:
        ds = ds.shuffle(seed=shuffle)
    values, names = ds, [name for name in ds.fields if name != record or not known]
    if format == "tar" and to != "tar":
        values = ds.map(_values)
    elif known:
        values = ds.map(partial(_all_features, known, record))
    return Source(values, _core.expand(given), format, names, _ragged(ds), ds, records)


def stamp_of(names: Sequence[str]) -> str:
    """Changes if a file of the source does; those on servers are not looked at."""
    digest = hashlib.sha256()
    for name in names:
        for path in [] if "://" in name else sorted(files_of(name)):
            status = os.stat(path) if os.path.exists(path) else os.lstat(path)
            words = f"{os.path.basename(path)}\0{status.st_size}\0{status.st_mtime_ns}\0"
            digest.update(os.fsencode(words))
    return digest.hexdigest()


def _features(ds: ps.Dataset) -> dict[str, str]:
    """What the first record has, and as what; nothing if it is no Example."""
    steps = [step for leaf in leaves(ds._node) for step in leaf.steps]
    return {
        name: kind for step in steps if isinstance(step, ParseExample) for name, kind in step.fields
    }


def _all_features(known: Mapping[str, str], record: str, sample: dict[str, Any]) -> dict[str, Any]:
    """The sample without its record, which must have no features but these."""
    for name, kind in _core.infer_example(sample.pop(record))[0]:
        if name not in known:
            found = {**known, name: kind if kind.endswith("]") else f"{kind}[]"}
            fields = ",".join(f"{one}={as_what}" for one, as_what in found.items())
            raise ValueError(
                f"the record has the feature '{name}', and the first one has no value of it: say "
                f"what is to be read (--fields {fields})"
            )
    return sample


def _values(sample: dict[str, Any]) -> dict[str, Any]:
    """Labels, texts and arrays of a tar as values; other members are bytes."""
    found = {}
    for name, value in sample.items():
        try:
            found[name] = _value(name.rsplit(".", 1)[-1], value)
        except (ValueError, NotImplementedError) as error:
            raise ValueError(f"'{name}' of sample {sample.get('__key__', '?')}: {error}") from None
    return found


def _value(kind: str, value: Any) -> Any:
    if not isinstance(value, bytes | memoryview):
        return value
    if kind == "cls":
        digits = bytes(value).strip()
        if not re.fullmatch(rb"[+-]?[0-9]+", digits):
            raise ValueError(f"{digits[:20]!r} is not a whole number")
        return int(digits)
    if kind == "txt":
        return bytes(value).decode()
    return io.load_npy(bytes(value)) if kind == "npy" else value


def _ragged(ds: ps.Dataset) -> frozenset[str]:
    """Fields that are declared to have any length."""
    found = set()
    for step in (*(step for leaf in leaves(ds._node) for step in leaf.steps), *ds._steps):
        if isinstance(step, TableRows):
            found |= {name for name, _, _, shape in step.fields if -1 in shape}
        elif isinstance(step, ArrayRows | ViewRows):
            found |= {name for name, _, shape in step.fields if -1 in shape}
        elif isinstance(step, ParseExample):
            found |= {name for name, kind in step.fields if "[]" in kind}
    return frozenset(found)


def _dates_of(kind: Any) -> Any | None:
    """The type of dates, or lists of them, as Parquet has it; None: they are none. It has no dates
    in milliseconds: these stay the moments that samples have."""
    import pyarrow as pa

    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _dates_of(kind.value_type)
        size = kind.list_size if types.is_fixed_size_list(kind) else -1
        return None if inner is None else pa.list_(inner, size)
    return kind if dtype_of(kind) is not None and not types.is_date64(kind) else None
