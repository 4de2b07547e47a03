"""Which arguments of open() a format takes. What would be ignored is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.data._plan import PlanError

_ARRAYS = ("npy", "npz", "zarr", "hdf5")
_TABLES = ("parquet", "arrow")
# Files of one record each refuse a map themselves; .npy and token files are mapped anyhow.
_MAPPED = ("tar", "tfrecord", "folder", "files", "npy", "tokens")
_TAKES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "checksums": (("tar", "tfrecord"), "tar and TFRecord files, which have an index"),
    "mmap": (_MAPPED, "tar and TFRecord files"),
    "window": ((*_ARRAYS, "tokens"), "arrays and tokens"),
    "documents": (("tokens",), 'format="tokens"'),
    "dtype": (("tokens",), 'format="tokens"'),
    "pad": (("tokens",), 'format="tokens"'),
    "filter": (_TABLES, "Parquet and Arrow files"),
    "nulls": (_TABLES, "Parquet and Arrow files"),
}
_INSTEAD = {"filter": "datasets have a filter() of their own"}


def check_arguments(format: str, fields: Any, given: Sequence[str]) -> None:
    """`given`: the arguments that were not left at their default."""
    for name in given:
        formats, words = _TAKES[name]
        if format not in formats:
            instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
            raise PlanError(f"open: {name}= is for {words}, not for {format}{instead}")
    if isinstance(fields, str):
        raise PlanError(f"open: fields is a single name; give a list: [{fields!r}]")
    names = list(fields or ())
    for name in names:
        if not isinstance(name, str):
            raise PlanError(f"open: fields has {name!r} in it; give names")
    for name, count in Counter(names).items():
        if count > 1:
            raise PlanError(f"open: fields names '{name}' {count} times; give each field once")
    if isinstance(fields, Mapping) and format not in ("tfrecord", *_TABLES):
        raise PlanError(f"open: fields of {format} have names only: give a list")
    if format == "tokens" and fields is not None:
        raise PlanError("open: fields= is not for tokens; select() picks fields of samples")
    if format == "npy":
        for name in fields or ():
            if name != "data":
                raise KeyError(f"open: there is no field '{name}' in a .npy file; it has: data")
