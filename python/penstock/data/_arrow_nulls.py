"""Values that stand for nulls: checked when the table is opened, put in place when a group of rows
is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.data import _arrow_dates as dates
from penstock.data._plan import PlanError


class Fill:
    """Of a list column, a list stands for rows that are missing, else the value for what is missing
    inside of them."""

    def __init__(self, name: str, value: Any, kind: Any) -> None:
        """`kind` is the type that the column has when it is filled."""
        import pyarrow as pa

        if isinstance(value, np.ndarray):
            value = value.tolist()
        self._inside = _is_list(kind) and not isinstance(value, list | tuple | dict)
        while self._inside and _is_list(kind):
            kind = kind.value_type
        try:
            self._value = _scalar(value, kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise PlanError(
                f"open: nulls={{{name!r}: {value!r}}}: column '{name}' is {kind}, which such a "
                f"value cannot stand in: {error}"
            ) from None

    def __call__(self, column: Any) -> Any:
        import pyarrow as pa

        chunks = [_inside(one, self._value) if self._inside else one for one in column.chunks]
        if not self._inside:
            chunks = [_filled(one, self._value) for one in chunks]
        return pa.chunked_array(chunks, column.type)


def _filled(array: Any, value: Any) -> Any:
    import pyarrow.compute as compute

    return compute.coalesce(array, value) if array.null_count else array


def _inside(array: Any, value: Any) -> Any:
    """The same lists over elements of which none is missing."""
    import pyarrow as pa

    if not _is_list(array.type):
        return _filled(array, value)
    elements = _inside(array.values, value)
    buffers = array.buffers()[: 1 if pa.types.is_fixed_size_list(array.type) else 2]
    return pa.Array.from_buffers(
        array.type, len(array), buffers, offset=array.offset, children=[elements]
    )


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _scalar(value: Any, kind: Any) -> Any:
    """Exactly this value, as far as numbers go: 1.5 is no integer."""
    import pyarrow as pa

    leaf = kind
    while _is_list(leaf):
        leaf = leaf.value_type
    value = _plain(value, leaf if dates.dtype_of(leaf) else None)
    made = pa.scalar(value, kind)
    types = pa.types
    if types.is_integer(leaf) or types.is_boolean(leaf) or types.is_floating(leaf):
        _compare(made.as_py(), value, types.is_floating(leaf))
    return made


def _plain(value: Any, moment: Any) -> Any:
    """Without NumPy's types, and with integers for dates."""
    if isinstance(value, list | tuple):
        return [_plain(one, moment) for one in value]
    if moment is not None and value is not None:
        return dates.integer_of(value, moment)
    return value.item() if isinstance(value, np.generic) else value


def _compare(made: Any, given: Any, floating: bool) -> None:
    if isinstance(made, list):
        for one, other in zip(made, given, strict=True):
            _compare(one, other, floating)
    elif floating and made is not None:
        if math.isinf(made) and not math.isinf(given):
            raise ValueError("it is too large")
    elif made != given:
        raise ValueError("it would become another number")
