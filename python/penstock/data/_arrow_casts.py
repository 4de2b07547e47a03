"""Columns in other types: those that the user asks for, and those that the native part takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.data import _arrow_dates as dates
from penstock.data._plan import PlanError

_LIMIT = 2**31 - 1  # of what offsets of 32 bits can count


def asked(name: str, kind: Any, word: str) -> Any:
    """The type that the user asks for; fails if no value of this kind could be one."""
    import pyarrow as pa

    try:
        wanted = pa.type_for_alias(word)
    except ValueError:
        raise PlanError(
            f"open: column '{name}' as {word!r}: no such type; give \"int64\", "
            '"float32", "string", ...'
        ) from None
    wanted = native(wanted)
    try:
        if pa.types.is_null(pa.type_for_alias(word)) or "interval" in str(wanted):
            raise pa.ArrowNotImplementedError("samples do not have it")
        empty = pa.schema([("", kind)]).empty_table().column(0)
        _converted(empty, wanted, _LIMIT)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise PlanError(
            f"open: column '{name}' is {kind}, which cannot be read as {word!r}: {error}"
        ) from None
    return wanted


def native(kind: Any) -> Any:
    """The type in which the native part takes such values."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    others = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary(), pa.null(): pa.string()}
    return others.get(kind, kind)


def cast(column: Any, wanted: Any, name: str) -> Any:
    """The values as another type, with offsets of 64 bits where 32 are too few. The column must be
    sound."""
    import pyarrow as pa

    if column.type == wanted:
        return column
    try:
        return _converted(column, wanted, _LIMIT)
    except pa.ArrowInvalid as error:
        raise TypeError(
            f"column '{name}' is {column.type}, and was asked for as {wanted}; not every value is "
            f"one: {error}. Ask for a type that holds them all, or leave such rows out with filter="
        ) from None


def _converted(column: Any, wanted: Any, limit: int) -> Any:
    import pyarrow as pa

    types = pa.types
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([one.storage for one in column.chunks], column.type.storage_type)
    if types.is_dictionary(column.type):
        chunks = [_decoded(one, limit) for one in column.chunks]
        if chunks:
            chunks = _alike(chunks)
        kind = chunks[0].type if chunks else column.type.value_type
        column = pa.chunked_array(chunks, kind)
        if kind in (wanted, large(wanted)):
            return column
    if dates.dtype_of(column.type) is not None and _is_number(wanted):
        numbers = pa.int32() if column.type.bit_width == 32 else pa.int64()
        column = pa.chunked_array([dates.integers(one) for one in column.chunks], numbers)
    if column.type in (pa.string_view(), pa.binary_view()):
        if column.get_total_buffer_size() > limit:
            wanted = large(wanted)
        column = pa.chunked_array([_without_ghosts(one) for one in column.chunks], column.type)
    return column.cast(wanted)


def _without_ghosts(array: Any) -> Any:
    """Views that are null may be anything, and pyarrow's cast follows them: here they are empty."""
    import pyarrow as pa

    if not array.null_count:
        return array
    validity, views, *data = array.buffers()
    end = array.offset + len(array)
    rows = np.frombuffer(views, "V16", end).copy()  # a view is of 16 bytes
    rows[array.offset :][array.is_null().to_numpy(zero_copy_only=False)] = bytes(16)
    buffers = [validity, pa.py_buffer(rows), *data]
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _decoded(array: Any, limit: int) -> Any:
    """The values that a dictionary stands for, each in its row."""
    import pyarrow as pa
    import pyarrow.compute as compute

    values = array.dictionary
    if values.type in (pa.string_view(), pa.binary_view()):  # pyarrow takes none of these
        values = _converted(pa.chunked_array([values]), native(values.type), limit).chunk(0)
    if large(values.type) != values.type and len(values):
        if values.type in (pa.string(), pa.binary()):
            longest = compute.max(compute.binary_length(values)).as_py() or 0
        else:
            longest = values.nbytes
        if longest * len(array) > limit:
            values = values.cast(large(values.type))
    return values.take(array.indices)


def large(kind: Any) -> Any:
    """The same with offsets of 64 bits."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field)
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind)


def joined(chunks: Sequence[Any], wanted: Any, limit: int = _LIMIT) -> Any:
    """One array of all chunks, large if offsets of 32 bits are too few for it."""
    import pyarrow as pa

    if not chunks:
        return pa.array([], wanted)
    if len(chunks) == 1:
        return chunks[0]
    if sum(chunk.nbytes for chunk in chunks) > limit:
        chunks = [chunk.cast(large(chunk.type)) for chunk in chunks]
    return pa.concat_arrays(_alike(chunks))


def _alike(chunks: Sequence[Any]) -> list[Any]:
    """All large if one is."""
    kinds = {chunk.type for chunk in chunks}
    return [chunk.cast(large(chunk.type)) if len(kinds) > 1 else chunk for chunk in chunks]
