"""From what the user opens to a leaf: which format it is, and what that needs."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core, io
from penstock._npy import Rows, load_npy
from penstock._tfrecord import first_specs, warn_of_untyped
from penstock.data._fields import IMAGES
from penstock.data._plan import (
    Decode,
    Items,
    Leaf,
    Map,
    OpenFiles,
    ParseExample,
    PlanError,
    Rename,
    Stream,
)
from penstock.data._remote_file import is_url

_Fields = Sequence[str] | Mapping[str, str] | None
_ALONE = (".npz", ".h5", ".hdf5", ".zarr")  # one of these is a dataset
_ENDINGS = (
    *(".tar", ".tar.gz", ".tgz", ".tar.zst", ".tfrecord", ".tfrecords", ".tfrecord.gz"),
    *(".parquet", ".arrow", ".feather", ".npy", *_ALONE),
)
_PICTURES = tuple("." + name for name in (*IMAGES, "pbm", "jpe"))
_UNPACK = "unpack the files, so that they can be indexed: a compressed one is read as it comes"


class Sequential:
    """Files that are read from front to back, each time from the beginning.

    In the place of a sample that is damaged comes the exception: what reads them goes on behind it.
    """

    def __init__(self, read: Callable[..., Iterator[Any]], *args: Any, **options: Any) -> None:
        self._read, self._args, self._options = read, args, options

    def __iter__(self) -> Iterator[Any]:
        samples = self._read(*self._args, **self._options)
        while True:
            try:
                yield next(samples)
            except StopIteration:
                return
            except (ValueError, IndexError, NotImplementedError) as error:
                yield error


def open_files(
    names: tuple[str, ...],
    format: str,
    fields: _Fields,
    checksums: bool,
    verify: bool,
    mmap: bool,
    max_member: int,
    window: int,
    stride: int,
) -> Leaf:
    if format == "tfrecord":
        return _open_tfrecord(names, fields, checksums, verify, mmap, max_member)
    if format == "npy":
        return _open_npy(names, window, stride)
    if format == "npz" and len(names) > 1:
        raise PlanError("open: open one .npz file at a time, and concatenate the datasets")
    if format == "files" and any(is_url(name) for name in names):
        raise PlanError(
            "open: single files on a web server are not read as samples; put them into .tar "
            "shards, or load them in a map: from_list(urls).map(fn), where fn calls "
            "penstock.io.load_image"
        )
    wanted = tuple(fields or ())
    if format == "tar" and all(name.endswith((".gz", ".tgz", ".zst")) for name in names):
        _no_map(mmap)
        names = tuple(_core.expand(list(names)))
        _check_compressed(names, wanted, max_member)
        read = Sequential(io.iter_tar, list(names), fields=list(wanted), max_member=max_member)
        return Leaf(Stream(read, "replay", _UNPACK, names))
    return Leaf(
        OpenFiles(names, format, wanted, checksums, verify, mmap, max_member, window, stride)
    )


def _check_compressed(names: tuple[str, ...], wanted: tuple[str, ...], max_member: int) -> None:
    """Nothing of these is read before the loop: what is wrong with all of it is said here."""
    for name in names:
        if not is_url(name):
            with open(name, "rb"):
                pass
    if not wanted:
        return
    try:
        first = next(iter(io.iter_tar([names[0]], max_member=max_member)), None)
    except (ValueError, IndexError, NotImplementedError):
        return  # the loop's policy is for what is damaged
    for name in wanted:
        if first is not None and name not in first:
            there = ", ".join(first)
            raise KeyError(
                f"no such field: the first sample has no field '{name}'; there are: "
                f"{there} (file {names[0]})"
            )


def images_beside(folder: str) -> int:
    """Images in a folder whose samples are those of its sub-folders: they have no label."""
    with os.scandir(folder) as entries:
        return sum(
            not one.name.startswith(".") and one.name.lower().endswith(_PICTURES) and one.is_file()
            for one in entries
        )


def format_of(names: tuple[str, ...]) -> str:
    try:
        return _core.format_of(list(names))
    except NotImplementedError:
        for name in names:  # a slip in the name of a folder is the likeliest reason
            plain = "://" not in name and not any(mark in name for mark in "*?[{")
            if plain and not os.path.exists(name):
                raise FileNotFoundError(f"there is no file or folder {name!r}") from None
        raise


def no_images(folder: str) -> str | None:
    """What to open in place of a folder without images that has other data in it, in words."""
    for below in ("", "*/"):
        found = Counter(
            ending
            for path in glob.iglob(f"{glob.escape(folder)}/{below}*")
            if (ending := _ending(path)) is not None
        )
        for ending, count in found.most_common(1):
            pattern = os.path.join(folder, f"{below}*{ending}")
            if count == 1 or ending in _ALONE:
                pattern = min(glob.iglob(f"{glob.escape(folder)}/{below}*{ending}"))
            files = f"{count:,} {ending} files" if count > 1 else f"a {ending} file"
            return f"there is no image in {folder}, but {files}: open {pattern!r}"
    return None


def _ending(path: str) -> str | None:
    return next((one for one in _ENDINGS if path.endswith(one)), None)


def _no_map(mmap: bool) -> None:
    if mmap:
        raise PlanError("open: what is compressed cannot be mapped; leave out mmap=True")


def _open_tfrecord(
    names: tuple[str, ...],
    fields: _Fields,
    checksums: bool,
    verify: bool,
    mmap: bool,
    max_member: int,
) -> Leaf:
    files = OpenFiles(names, "tfrecord", (), checksums, verify, mmap, max_member)
    specs = _specs(names, fields, max_member)
    if _core.tfrecord_is_packed(list(names)):
        _no_map(mmap)
        names = tuple(_core.expand(list(names)))
        options = {"verify": verify, "max_member": max_member}
        read = Sequential(io.iter_tfrecord, list(names), dict(specs) or None, **options)
        return Leaf(Stream(read, "replay", _UNPACK, names))
    return Leaf(files, (ParseExample(tuple(specs)),) if specs else ())


def _open_npy(names: tuple[str, ...], window: int, stride: int) -> Leaf:
    """The rows of one file; or, if there are several, each file is a sample."""
    if len(names) == 1 and os.path.exists(names[0]):
        array = load_npy(names[0], mmap=True)
        dtype = array.dtype
        if array.ndim == 0:
            raise ValueError(f"{names[0]} is a single value, which has no rows")
        if not _is_native(dtype) or array.ndim - (not window) > 8:  # dimensions of a row
            return Leaf(Items(Rows(names[0], window, stride)))
        return Leaf(OpenFiles(names, "npy", (), False, window=window, stride=stride))
    if window:
        raise PlanError("open: several .npy files are a sample each; windows are for one file")
    expanded = _core.expand(list(names))
    if any(is_url(name) for name in expanded):
        raise PlanError(
            "open: several .npy files on a server are not read as a sample each: open one npy file "
            "at a time, and concatenate the datasets"
        )
    files = OpenFiles(names, "files", ("image",), False)
    native = _looks_native(expanded[0])
    decode = Decode((("data", "npy"),)) if native else Map(_with_array)
    return Leaf(files, (Rename((("image", "data"),)), decode))


def _is_native(dtype: np.dtype[Any]) -> bool:
    """Do batches have it?"""
    return dtype.isnative and dtype.kind in "biuf" and dtype.itemsize <= 8


def _looks_native(name: str) -> bool:
    """Of a file beside others; if it cannot be read, that is for the loop to say."""
    try:
        array = load_npy(name, mmap=True)
    except (OSError, ValueError, NotImplementedError):
        return True
    return _is_native(array.dtype) and array.ndim <= 8


def _with_array(sample: dict[str, Any]) -> dict[str, Any]:
    """What the native step does, for types that only NumPy has."""
    array = load_npy(sample["data"])
    return {**sample, "data": array.astype(array.dtype.newbyteorder("="))}


def _specs(names: tuple[str, ...], fields: _Fields, max_member: int) -> list[tuple[str, str]]:
    if isinstance(fields, Mapping):
        specs = list(fields.items())
        _core.RowPlan().example(specs)  # what cannot be understood is said here
        return specs
    known, untyped = first_specs(list(names), max_member=max_member)
    if fields is None:
        warn_of_untyped(untyped, "open: the first record")
        return known
    there = dict(known)
    for name in fields:
        if name in untyped:
            raise PlanError(
                f"open: the first record has no value of '{name}' to tell its type by; name it: "
                f'fields={{"{name}": "float[]", ...}}'
            )
        if name not in there:
            raise PlanError(
                f"open: the first record has no feature '{name}'; it has: {', '.join(there)}"
            )
    return [(name, there[name]) for name in fields]
