"""Dates, times and durations of tables. Batches have no such numbers: the native part keeps the
integers that they are as bytes, and NumPy's values are made of them row by row (ViewRows)."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

_NOT_A_TIME = -(2**63)


def dtype_of(kind: Any) -> str | None:
    """NumPy's name for such a type; None: it is no date. With a time zone it is UTC."""
    import pyarrow as pa

    types = pa.types
    if types.is_timestamp(kind):
        return f"<M8[{kind.unit}]"
    if types.is_date32(kind):
        return "<M8[D]"
    if types.is_date64(kind):
        return "<M8[ms]"
    if types.is_time(kind) or types.is_duration(kind):
        return f"<m8[{kind.unit}]"
    return None


def rows_of(kind: Any) -> tuple[str, tuple[int, ...]] | None:
    """(dtype, shape) of a row: of one, or of lists of them. -1: as many as there are."""
    import pyarrow as pa

    shape: list[int] = []
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind, shape = kind.value_type, [-1]
    while pa.types.is_fixed_size_list(kind):
        shape.append(kind.list_size)
        kind = kind.value_type
    dtype = dtype_of(kind)
    return None if dtype is None else (dtype, tuple(shape))


def integers(array: Any) -> Any:
    """What dates are counted in, with nulls as they are. Nothing is copied."""
    import pyarrow as pa

    return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())


def counted(array: Any) -> Any:
    """Lists of dates as the same lists of integers."""
    import pyarrow as pa

    kind = array.type
    if dtype_of(kind) is not None:
        return integers(array)
    elements = counted(array.values)
    if pa.types.is_fixed_size_list(kind):
        kind, count = pa.list_(elements.type, kind.list_size), 1
    else:
        is_large = pa.types.is_large_list(kind)
        kind, count = (pa.large_list if is_large else pa.list_)(elements.type), 2
    buffers = array.buffers()[:count]
    return pa.Array.from_buffers(
        kind, len(array), buffers, offset=array.offset, children=[elements]
    )


def packed(array: Any) -> Any:
    """The values of each row as int64, in bytes; nulls are NaT. A list that is missing is null."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        numbers = _numbers(array.values)
        item = len(numbers) // max(1, len(array.values)) * 8
        offsets = array.offsets.cast(pa.int64()).to_numpy() * item
        buffers = [_validity(array), pa.py_buffer(offsets), pa.py_buffer(numbers)]
        return pa.Array.from_buffers(pa.large_binary(), len(array), buffers)
    numbers = _numbers(array)
    nested = pa.types.is_fixed_size_list(kind)
    item = 8
    while pa.types.is_fixed_size_list(kind):
        item, kind = item * kind.list_size, kind.value_type
    buffers = [_validity(array) if nested else None, pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.binary(item), len(array), buffers)


def _validity(array: Any) -> Any:
    return array.is_valid().buffers()[1] if array.null_count else None


def _numbers(array: Any) -> np.ndarray[Any, Any]:
    """Of dates, and of lists of a fixed size of them."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        numbers = _numbers(array.values.slice(array.offset * size, len(array) * size))
        if array.null_count and len(numbers):
            numbers = numbers.copy()
            missing = array.is_null().to_numpy(zero_copy_only=False)
            numbers.reshape(len(array), -1)[missing] = _NOT_A_TIME
        return numbers
    found = integers(array).cast(pa.int64())
    if found.null_count:
        found = found.fill_null(_NOT_A_TIME)
    return np.asarray(found.to_numpy())


def integer_of(value: Any, kind: Any) -> int:
    """A date as a user gives it, as the integer that stands for it; fails if that is not exact."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(datetime.date.min, value) - datetime.datetime.min
    dtype = np.dtype(dtype_of(kind))
    given = np.timedelta64(value) if dtype.kind == "m" else np.datetime64(value)
    made = given.astype(dtype)
    if np.isnat(made) or made != given:
        raise ValueError(f"it is no {kind}")
    return int(made.astype(np.int64))
