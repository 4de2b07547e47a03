"""Samples as columns of a table. All shards of a conversion have one schema."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._printable import printable
from penstock.convert._values import is_bytes
from penstock.data._plan import DecodeImage, OpenTables, TableValues, leaves

if TYPE_CHECKING:
    from penstock.convert._source import Source


def schema_of(source: Source) -> Any:
    """The types that a table declares, else those of the first value of each field that tells. A
    field that is null everywhere is text."""
    import pyarrow as pa

    kinds = _declared(source)
    missing = [name for name in source.fields if name not in kinds]
    for sample in source.readable() if missing else ():
        for name in missing:
            if sample.get(name) is not None:
                kinds[name] = _column(name, [sample[name]], name in source.ragged, None).type
        missing = [name for name in missing if name not in kinds or "null" in str(kinds[name])]
        if not missing:
            break
    return pa.schema([(name, kinds.get(name, pa.string())) for name in source.fields])


def table_of(rows: list[dict[str, Any]], ragged: Collection[str], schema: Any) -> Any:
    """A pyarrow.Table of samples. Fields in `ragged` are lists, even if these happen to have one
    length here."""
    import pyarrow as pa

    unknown = [name for row in rows for name in row if name not in schema.names]
    if unknown:
        raise ValueError(f"'{unknown[0]}' is in some samples only, and was not in the index")
    columns = [
        _column(field.name, [row.get(field.name) for row in rows], field.name in ragged, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _declared(source: Source) -> dict[str, Any]:
    """What a table says of the columns whose values may not tell: text and bytes, which may be
    null, and Python's lists, which may be empty."""
    import pyarrow as pa

    from penstock.data._arrow import ArrowReader, ParquetReader

    leaf = leaves(source.ds._node)[0].source
    if not isinstance(leaf, OpenTables):
        return {}
    reader = ParquetReader if leaf.format == "parquet" else ArrowReader
    table = reader(leaf.names[0], False).schema.empty_table()
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    steps = source.ds._steps
    values = {name for step in steps if isinstance(step, TableValues) for name in step.names}
    decoded = {name for step in steps if isinstance(step, DecodeImage) for name in step.fields}
    found = {}
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if name not in source.fields or name in decoded or name in dict(leaf.casts):
            continue
        if any(part in str(kind) for part in ("<item: dictionary", "<element: dictionary")):
            continue
        if name in values:
            found[name] = kind
        elif "binary" in str(kind):
            found[name] = pa.binary()
        elif "string" in str(kind) or pa.types.is_null(kind):
            found[name] = pa.string()
    return found


def _column(name: str, values: list[Any], ragged: bool, kind: Any | None) -> Any:
    import pyarrow as pa

    known = [value for value in values if value is not None]
    if not known:
        return pa.array(values, kind or pa.string())
    try:
        if is_bytes(known[0]):
            made = pa.array([None if v is None else memoryview(v) for v in values], pa.binary())
        elif isinstance(known[0], np.ndarray):
            made = _arrays(name, values, ragged)
        else:
            made = pa.array(values, kind or _map_of(known))
        return made if kind is None or made.type == kind else made.cast(kind)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"'{name}' is '{printable(error.object)}', which is not UTF-8, and texts in Parquet "
            "are: rename the file, or choose fields (--fields)"
        ) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"'{name}' cannot become a column: {error}") from None


def _map_of(values: list[Any]) -> Any | None:
    """The type of maps, which are lists of pairs; nothing if these are none."""
    import pyarrow as pa

    if not all(isinstance(value, list) for value in values):
        return None
    pairs = [pair for value in values for pair in value]
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return None
    return pa.map_(pa.array([key for key, _ in pairs]).type, pa.array([it for _, it in pairs]).type)


def _arrays(name: str, values: list[Any], ragged: bool) -> Any:
    """One shape for all: lists of a fixed size. Ragged: lists of these."""
    import pyarrow as pa

    if any(value is None for value in values):
        raise TypeError(f"'{name}' is missing in some samples, and is an array in others")
    shapes = {value.shape[1:] if ragged else value.shape for value in values}
    if len(shapes) != 1:
        raise TypeError(f"'{name}' has arrays of several shapes, which a column cannot hold")
    (shape,) = shapes
    try:
        column = pa.array(np.concatenate([value.reshape(-1) for value in values]))
    except pa.ArrowNotImplementedError:
        raise TypeError(
            f"'{name}' has numbers of type {values[0].dtype}, which Parquet does not know: choose "
            "other fields (--fields), or write .npy"
        ) from None
    for extent in reversed(shape):
        column = pa.FixedSizeListArray.from_arrays(column, extent)
    if not ragged:
        return column
    offsets = np.cumsum([0, *(len(value) for value in values)], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, column)
