"""Arrays in files: what the user says of them, made into a leaf and the steps that make values of
rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._array_info import dtype_of
from penstock.data._plan import (
    ArrayRows,
    Leaf,
    OpenArrays,
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


def checked_window(window: int | None, stride: int | None) -> None:
    if window is not None and window < 1:
        raise PlanError(f"open: window is {window}; give 1 or more")
    if stride is not None and window is None:
        raise PlanError("open: stride goes with window: say how many rows a sample has")
    if stride is not None and stride < 1:
        raise PlanError(f"open: stride is {stride}; give 1 or more")


def viewer(step: ViewRows) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes NumPy's values of the bytes of rows."""
    known = [(name, dtype_of(descr), shape) for name, descr, shape in step.fields]

    def view(sample: dict[str, Any]) -> dict[str, Any]:
        for name, dtype, shape in known:
            if name in sample:
                row = np.frombuffer(sample[name], dtype).reshape(shape)
                sample[name] = row.astype(dtype.newbyteorder("="))
        return sample

    return view
