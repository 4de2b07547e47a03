"""Arrays in files: what the user says of them, made into a leaf and the steps that make values of
rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock import _core
from penstock._array_info import dtype_of
from penstock._npy import load_npz
from penstock.data._checks import checked_whole
from penstock.data._plan import (
    ArrayRows,
    Leaf,
    OpenArrays,
    OpenFiles,
    PlanError,
    Step,
    ViewRows,
)


def open_arrays(
    names: tuple[str, ...],
    format: str,
    fields: Any,
    window: int | None,
    stride: int | None,
    cache: int,
) -> tuple[Leaf, tuple[Step, ...], _core.Leaf]:
    """The leaf, what makes values of its rows, and the leaf as it was opened."""
    names = tuple(_core.expand(list(names)))
    if len(names) > 1:
        raise PlanError(f"open: open one {format} file at a time, and concatenate the datasets")
    source = OpenArrays(
        names[0], format, tuple(fields or ()), window or 0, stride or window or 1, cache
    )
    opened = open_source(source)
    native, others = [], []
    for name, dtype, descr, shape in opened.row_fields:
        if descr == "text":  # is one already
            continue
        if dtype is not None:
            native.append((name, dtype, tuple(shape)))
        else:
            others.append((name, descr, tuple(shape)))
    steps: list[Step] = [ArrayRows(tuple(native))] if native else []
    if others:
        steps.append(ViewRows(tuple(others)))
    return Leaf(source), tuple(steps), opened


def open_source(source: OpenArrays) -> _core.Leaf:
    return _core.Leaf.open_arrays(
        source.name,
        source.format,
        list(source.fields),
        source.window,
        source.stride,
        source.cache,
    )


def open_npz(source: OpenFiles) -> tuple[Leaf, tuple[Step, ...], _core.Leaf]:
    """As above, for the arrays of a .npz file, which are all loaded. Members that are no arrays are
    passed over."""
    (name,) = source.names
    members = load_npz(name, source.fields or None)
    if not members:
        raise ValueError(f"there is no array in {name}")
    arrays = {key: one for key, one in members.items() if isinstance(one, np.ndarray)}
    for key in source.fields or members:
        if key not in arrays and (source.fields or not arrays):
            raise PlanError(
                f"open: member '{key}' of {name} is no array: penstock.io.load_npz reads it"
            )
    opened, others = rows_of(arrays, source.window, source.stride)
    return Leaf(source), (ViewRows(others),) if others else (), opened


_Others = tuple[tuple[str, np.dtype[Any], tuple[int, ...]], ...]


def rows_of(
    arrays: Mapping[str, Any], window: int = 0, stride: int = 1
) -> tuple[_core.Leaf, _Others]:
    """Arrays in memory as a leaf. Those of types that batches do not have are given as bytes; what
    they are is in the second part, for ViewRows."""
    plain, others = {}, []
    for name, array in arrays.items():
        kind = array.dtype
        numbers = kind.kind in "biuf" and kind.itemsize <= 8 and array.ndim <= _MOST_DIMENSIONS
        if numbers or array.ndim == 0 or kind.hasobject:  # the last two are refused there
            plain[name] = array.astype(kind.newbyteorder("="), copy=False)
            continue
        size = int(np.prod(array.shape[1:], dtype=np.int64)) * kind.itemsize
        flat = np.ascontiguousarray(array).reshape(-1)
        data = flat.view(np.uint8) if size else np.zeros(0, np.uint8)
        plain[name] = data.reshape(len(array), size)
        shape = (window, *array.shape[1:]) if window else array.shape[1:]
        others.append((name, kind, shape))
    return _core.Leaf.of_arrays(plain, window, stride), tuple(others)


_MOST_DIMENSIONS = 8  # as many as rows in a batch may have


def checked_window(window: int | None, stride: int | None) -> tuple[int | None, int | None]:
    if window is not None:
        window = checked_whole(window, "open: window", 1)
    if stride is not None and window is None:
        raise PlanError("open: stride goes with window: say how many rows a sample has")
    if stride is not None:
        stride = checked_whole(stride, "open: stride", 1)
    return window, stride


def viewer(step: ViewRows) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes NumPy's values of the bytes of rows. What is missing stays None."""
    known = [(name, dtype_of(descr), shape) for name, descr, shape in step.fields]

    def view(sample: dict[str, Any]) -> dict[str, Any]:
        for name, dtype, shape in known:
            if sample.get(name) is not None:
                data = sample[name]
                if -1 in shape:  # as many as there are
                    item = dtype.itemsize * math.prod(extent for extent in shape if extent != -1)
                    count = len(data) // item if item else 0
                    extents = tuple(count if extent == -1 else extent for extent in shape)
                else:
                    extents = shape
                row: np.ndarray[Any, Any] = np.ndarray(extents, dtype, data)
                sample[name] = row.astype(dtype.newbyteorder("="))
        return sample

    return view
