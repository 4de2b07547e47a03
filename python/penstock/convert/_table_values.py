"""What a column of a table holds, value by value: the way back from what _columns.py makes, and
apart from it, so that a check with this one finds what that one gets wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def values_of(column: Any) -> Iterator[Any]:
    """The rows of a pyarrow.ChunkedArray: arrays and single numbers as NumPy's, else Python's."""
    for chunk in column.chunks:
        yield from _rows(chunk)


def _rows(array: Any) -> Iterator[Any]:
    import pyarrow as pa

    lists = pa.types.is_list(array.type) or pa.types.is_large_list(array.type)
    inside = array.flatten() if lists else array
    shape = []
    nulls = array.null_count if lists else 0
    while pa.types.is_fixed_size_list(inside.type):
        shape.append(inside.type.list_size)
        nulls += inside.null_count
        inside = inside.flatten()
    if pa.types.is_time(inside.type):  # times of a day are datetime.time, but for their integers
        counts = inside.view(pa.int32() if inside.type.bit_width == 32 else pa.int64())
        inside = counts.cast(pa.int64()).view(pa.duration(inside.type.unit))
    missing = inside.null_count and not pa.types.is_temporal(inside.type)  # these have NaT
    if nulls or missing or pa.types.is_nested(inside.type):
        yield from array.to_pylist()
        return
    if pa.types.is_primitive(inside.type):
        numbers = inside.to_numpy(zero_copy_only=False)
    elif shape:  # of texts or bytes
        numbers = np.array(inside.to_pylist(), "S" if "binary" in str(inside.type) else "U")
    else:
        yield from array.to_pylist()
        return
    if not lists:
        yield from numbers.reshape(len(array), *shape)
        return
    size = int(np.prod(shape, dtype=np.int64))
    ends = np.cumsum(array.value_lengths().to_numpy())
    begin = 0
    for end in ends:
        yield numbers[begin * size : end * size].reshape(-1, *shape)
        begin = end


def same_dates(declared: Any, found: Any) -> bool:
    """The same type, in this unit or another: Parquet counts seconds in milliseconds."""
    while hasattr(declared, "value_type") and hasattr(found, "value_type"):
        declared, found = declared.value_type, found.value_type
    zones = (getattr(kind, "tz", None) for kind in (declared, found))
    return bool(declared.id == found.id) and next(zones) == next(zones)
