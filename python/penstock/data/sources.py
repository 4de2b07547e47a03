"""Where datasets begin."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from penstock.data._applies import check_arguments
from penstock.data._arrays import checked_window, open_arrays, open_npz, rows_of
from penstock.data._checks import checked_seed
from penstock.data._files import format_of, images_beside, no_images, open_files
from penstock.data._join import joined
from penstock.data._plan import (
    Arrays,
    Items,
    Leaf,
    Mix,
    OpenFiles,
    PlanError,
    Stream,
    ViewRows,
)
from penstock.data._remote_file import is_url
from penstock.data._sizes import parse_bytes
from penstock.data._tables import open_tables
from penstock.data._tokens import open_tokens
from penstock.data.dataset import Dataset


def open(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,
    fields: Sequence[str] | Mapping[str, str] | None = None,
    checksums: bool = False,
    verify: bool = True,
    mmap: bool = False,
    max_member: int | str = "1GiB",
    dtype: str = "uint16",
    window: int | None = None,
    stride: int | None = None,
    documents: Any = None,
    pad: int = 0,
    chunk_cache: int | str = "256MB",
    filter: Any = None,
    nulls: Mapping[str, Any] | None = None,
) -> Dataset:
    """Opens files: a folder of images, tar shards, TFRecord files, arrays (NumPy, Zarr, HDF5),
    tables (Parquet, Arrow), a list of image files.

    Args:
        source: A name, a pattern (``train-*.tar``, ``train-{000..146}.tar``) or a list of them.
        format: "tar", "tfrecord", "npy", "npz", "zarr", "hdf5", "parquet", "arrow", "tokens",
            "folder" or "files"; None: found from the name.
        fields: Read these only. For TFRecord also what they are: ``{"image": "bytes", "box":
            "float[4]"}``, see :func:`penstock.io.parse_example`; left out: what the first record
            has.
        checksums: Make an index that holds a hash per member; every read is verified.
        verify: Check the checksums that the format itself has.
        mmap: Samples are views of mapped files: nothing is copied, and bytes that nobody looks at
            are not read. A file that becomes shorter while a sample is looked at takes the
            process down.
        max_member: Bytes, or "4GB". A larger member of a tar, record of a TFRecord file or image
            file is not read: it makes its sample an error.

    A .npy file's rows are samples, with a field `data`; several .npy files are a sample each. A
    .npz file, a Zarr group and an HDF5 file have a field for each of their arrays (or those named
    by `fields`: "train/image"), whose rows stand side by side. Arrays also take these:
        window: Rows in a sample, for time series: whole windows of so many.
        stride: From the beginning of a window to that of the next; None: no overlap, no gap.
        chunk_cache: Bytes of unpacked chunks (Zarr, HDF5) that are kept.

    Columns of tables are fields: numbers, lists of numbers, text and bytes; dates are NumPy's,
    other lists and maps Python's. `fields` may also say as what to read them:
    ``{"when": "int64", "x": "float32"}``.
    pyarrow is needed. They take these:
        filter: As pyarrow takes it, ``[("x", ">", 3), ("y", "in", [1, 2])]``: the dataset is what
            is left. Groups of rows whose statistics exclude them are not read.
        nulls: Values that stand for nulls, by column. Without one a null number is an error of
            its sample; null text and bytes are None.
        chunk_cache: As above, of groups of rows.

    Flat files of tokens (``format="tokens"``) are cut into windows, too:
        dtype: What is in the files: "uint16", "uint32" or "int32".
        window: Tokens in a sample, given as int64 in field `tokens`.
        stride: As above.
        documents: No window crosses the end of a document: the token that ends each; or where they
            begin, an array (or its .npy file) for each file. Adds fields `length` and `document`;
            shorter windows are filled up with `pad`.

    What is compressed as a whole is read from front to back: a sequential dataset.

    A folder gives `image` (bytes), `label` (the sub-folder's number) and `path`; a tar gives a
    field per extension and `__key__`.

    >>> ds = open("train-{000..146}.tar").shuffle(seed=7)  # doctest: +SKIP
    """
    if isinstance(source, str | os.PathLike):
        source = [source]
    try:
        names = tuple(os.fspath(name) for name in source)
    except TypeError:
        raise PlanError(f"open: {source!r} is not a name, a pattern or a list of them") from None
    if not names:
        raise PlanError("open: give at least one name")
    format = format or format_of(names)
    given = {
        "checksums": checksums is not False,
        "mmap": mmap is not False,
        "window": window is not None,
        "documents": documents is not None,
        "dtype": dtype != "uint16",
        "pad": pad != 0,
        "filter": filter is not None,
        "nulls": nulls is not None,
    }
    check_arguments(format, fields, [name for name, said in given.items() if said])
    if format == "tokens":
        made = Dataset(*open_tokens(names, dtype, window, stride, documents, pad))
        made._order()  # what cannot be read is said here
        return made
    window, stride = checked_window(window, stride)
    if format in ("parquet", "arrow"):
        cache = parse_bytes(chunk_cache, "chunk_cache")
        leaf, steps, opened = open_tables(names, format, fields, filter, nulls, verify, cache)
        made = Dataset(leaf, steps)
        made._opened = [opened]
        return made
    if format in ("zarr", "hdf5") or (format == "npy" and len(names) == 1 and is_url(names[0])):
        cache = parse_bytes(chunk_cache, "chunk_cache")
        leaf, steps, opened = open_arrays(names, format, fields, window, stride, cache)
        made = Dataset(leaf, steps)
        made._opened = [opened]
        return made
    rows = (window or 0, stride or window or 1)
    limit = parse_bytes(max_member, "max_member")
    found = open_files(names, format, fields, checksums, verify, mmap, limit, *rows)
    if format == "npz":
        assert isinstance(found.source, OpenFiles)
        leaf, steps, opened = open_npz(found.source)
        made = Dataset(leaf, steps)
        made._opened = [opened]
        return made
    made = Dataset(found)
    if made.sequential:
        return made
    try:
        made._order()
    except FileNotFoundError:
        instead = no_images(names[0]) if format == "folder" and len(names) == 1 else None
        if instead is None:
            raise
        raise FileNotFoundError(f"open: {instead}") from None
    if format == "folder" and "label" in made.fields:
        for folder in names:
            if beside := images_beside(folder):
                warnings.warn(
                    f"{beside:,} images of {folder} lie beside its sub-folders, whose names are "
                    "the labels: they are left out. A list of files takes them, without labels",
                    stacklevel=2,
                )
    return made


def from_list(items: Sequence[Any]) -> Dataset:
    """Samples from a sequence: anything with ``len()`` and ``[i]``, read by threads as needed.

    >>> from_list(["a", "b"])[1]
    {'data': 'b'}
    """
    if not hasattr(items, "__getitem__") or not hasattr(items, "__len__"):
        raise PlanError("from_list: give a sequence; from_iterable() takes what can only be read")
    return Dataset(Leaf(Items(items)))


def from_arrays(*data: Any, **arrays: Any) -> Dataset:
    """Sample i is row i of each array.

    >>> import numpy as np
    >>> from_arrays(x=np.arange(6).reshape(3, 2), y=np.arange(3))[2]
    {'x': array([4, 5]), 'y': array(2)}
    """
    if len(data) > 1 or (data and "data" in arrays):
        raise PlanError("from_arrays: name the arrays: from_arrays(image=a, label=b)")
    return _arrays_dataset({"data": data[0], **arrays} if data else arrays)


def from_iterable(iterable: Iterable[Any], resume: Literal["replay"] | None = None) -> Dataset:
    """Samples as an iterable gives them: a sequential plan, without len() and global shuffle.

    Each rank reads all and keeps its share. A loader resumes through the iterable's own
    ``state_dict`` and ``load_state_dict``, or by reading again what was read
    (``resume="replay"``).

    >>> import penstock as ps
    >>> [batch["data"].tolist() for batch in ps.from_iterable(range(5)).batch(2).loader()]
    [[0, 1], [2, 3], [4]]
    """
    if not hasattr(iterable, "__iter__"):
        raise PlanError(f"from_iterable: a {type(iterable).__name__} cannot be iterated over")
    if resume not in (None, "replay"):
        raise PlanError(f'from_iterable: resume is {resume!r}; give "replay" or None')
    return Dataset(Leaf(Stream(iterable, resume)))


def mix(
    datasets: Sequence[Dataset],
    weights: Sequence[float] | None = None,
    seed: int = 0,
    stop: Literal["first", "never"] = "first",
) -> Dataset:
    """Samples of several datasets, by weight, in a keyed order.

    Ends where the first of them runs out, or never: then each begins again, reshuffled.

    >>> import penstock as ps
    >>> a, b = ps.from_list(["a"] * 6), ps.from_list(["b"] * 2)
    >>> sorted(sample["data"] for sample in ps.mix([a, b], weights=[3, 1]))
    ['a', 'a', 'a', 'a', 'a', 'a', 'b', 'b']
    """
    if stop not in ("first", "never"):
        raise PlanError(f'mix: stop is {stop!r}; give "first" or "never"')
    if isinstance(datasets, Dataset):
        raise PlanError("mix: give a list of datasets")
    datasets = list(datasets)
    if not datasets:
        raise PlanError("mix: give at least one dataset")
    given = [1.0] * len(datasets) if weights is None else weights
    numbers = tuple(float(weight) for weight in given)
    nodes, steps = joined(datasets, "mix")
    node = Mix(nodes, numbers, checked_seed(seed), stop == "never")
    return datasets[0]._reordered(node, steps, datasets)


def _arrays_dataset(arrays: Mapping[str, Any]) -> Dataset:
    import numpy as np

    source = Arrays({name: np.asarray(array) for name, array in arrays.items()})
    opened, others = rows_of(source.arrays)
    made = Dataset(Leaf(source), (ViewRows(others),) if others else ())
    made._opened = [opened]
    made._order()
    return made
