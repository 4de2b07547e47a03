"""Samples as columns of a table. All shards of a conversion have one schema."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._printable import printable
from penstock.convert._same import widens
from penstock.convert._values import is_bytes
from penstock.data import _arrow_dates as dates
from penstock.data._plan import DecodeImage, OpenTables, ParseExample, TableValues, leaves

if TYPE_CHECKING:
    from penstock.convert._source import Source


def schema_of(source: Source) -> Any:
    """The types that a table declares, else those of the first value of each field that tells. A
    field that is null everywhere is text."""
    import pyarrow as pa

    kinds = _declared(source)
    missing = [name for name in source.fields if name not in kinds]
    for position, sample in source.readable() if missing else ():
        for name in missing:
            if sample.get(name) is not None:
                column = _column(name, [sample[name]], position, name in source.ragged, None)
                kinds[name] = column.type
        missing = [name for name in missing if name not in kinds or "null" in str(kinds[name])]
        if not missing:
            break
    return pa.schema([(name, kinds.get(name, pa.string())) for name in source.fields])


def table_of(rows: list[dict[str, Any]], first: int, ragged: Collection[str], schema: Any) -> Any:
    """A pyarrow.Table of samples from number `first` on. Fields in `ragged` are lists, even if
    these happen to have one length here."""
    import pyarrow as pa

    unknown = [name for row in rows for name in row if name not in schema.names]
    if unknown:
        raise ValueError(f"'{unknown[0]}' is in some samples only, and was not in the index")
    columns = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        values = [row.get(name) for row in rows]
        columns.append(_column(name, values, first, name in ragged, kind))
    return pa.Table.from_arrays(columns, schema=schema)


def _declared(source: Source) -> dict[str, Any]:
    """What a table says of the columns whose values may not tell: text and bytes, which may be
    null, Python's lists, which may be empty, and dates. Examples have lists, too."""
    import pyarrow as pa

    first = leaves(source.ds._node)[0]
    if not isinstance(first.source, OpenTables):
        specs = [
            spec for step in first.steps if isinstance(step, ParseExample) for spec in step.fields
        ]
        return {name: _list_of(kind) for name, kind in specs if _list_of(kind) is not None}
    casts = dict(first.source.casts)
    steps = source.ds._steps
    values = {name for step in steps if isinstance(step, TableValues) for name in step.names}
    decoded = {name for step in steps if isinstance(step, DecodeImage) for name in step.fields}
    found = source.dates
    for name, kind in source.columns.items():
        if name not in source.fields or name in decoded or name in casts:
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


def _list_of(spec: str) -> Any | None:
    """The type of features that are Python's lists; None: they are none."""
    import pyarrow as pa

    word = spec.partition("[")[0]
    kind = {"bytes": pa.binary(), "int64": pa.int64(), "float": pa.float32()}.get(word)
    if spec == "bytes[]":
        return pa.list_(kind)
    return pa.list_(pa.list_(kind)) if spec == f"{word}[][]" else None


def _column(name: str, values: list[Any], first: int, ragged: bool, kind: Any | None) -> Any:
    """`first` is the number of the first sample."""
    import pyarrow as pa

    kind = _checked(name, values, first, kind)
    values = [_pythons(value) if isinstance(value, np.generic) else value for value in values]
    known = [value for value in values if value is not None]
    if not known:
        return pa.array(values, kind or pa.string())
    if isinstance(known[0], np.ndarray):
        return _arrays(name, values, first, ragged, kind)
    try:
        return _plain(values, kind)
    except _errors() as error:
        for i, value in enumerate(values):  # which one is it?
            try:
                _plain([value], kind)
            except _errors() as own:
                raise _refused(f"sample {first + i}: '{name}'", value, own) from None
        raise _refused(f"'{name}'", known[0], error) from None


def _errors() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    return pa.ArrowException, TypeError, OverflowError, UnicodeEncodeError


def _refused(what: str, value: Any, error: Exception) -> Exception:
    if isinstance(error, UnicodeEncodeError):
        return ValueError(
            f"{what} is '{printable(error.object)}', which is not UTF-8, and texts in Parquet are: "
            "rename the file, or choose fields (--fields)"
        )
    if type(value) is int and not -(2**63) <= value < 2**63:
        return ValueError(
            f"{what} is {value}, and whole numbers of samples become int64, which does not hold "
            "it: choose other fields (--fields), or keep it as text (a member .txt)"
        )
    return TypeError(f"{what} cannot become a column: {error}; choose other fields (--fields)")


def _checked(name: str, values: list[Any], first: int, kind: Any | None) -> Any | None:
    """The type of the column that these go into. NumPy's single numbers must fit: pyarrow casts
    what becomes of them, Python's numbers, without a word."""
    import pyarrow as pa

    fit = set()
    for i, value in enumerate(values, first):
        if not isinstance(value, np.generic) or value.dtype.kind not in "biufmM":
            continue
        if value.dtype not in fit and (kind is None or kind.num_fields == 0):
            fit.add(value.dtype)
            native = _dtype_in(f"sample {i}: '{name}'", value.dtype, kind)
            kind = kind or pa.from_numpy_dtype(native)
    return kind


def _pythons(number: np.generic) -> Any:
    """Loaders give some of Python's numbers as NumPy's: these are Python's again."""
    return number.item() if number.dtype.kind in "biuf" else number


def _plain(values: list[Any], kind: Any | None) -> Any:
    """Python's values as a column."""
    import pyarrow as pa

    known = [value for value in values if value is not None]
    if known and is_bytes(known[0]):
        made = pa.array([None if v is None else memoryview(v) for v in values], pa.binary())
    elif known and type(known[0]) is int:
        made = pa.array(values, kind or pa.int64())
    else:
        made = pa.array(values, kind or _map_of(known))
    return made if kind is None or made.type == kind else made.cast(kind)


def _map_of(values: list[Any]) -> Any | None:
    """The type of maps, which are lists of pairs; nothing if these are none."""
    import pyarrow as pa

    if not all(isinstance(value, list) for value in values):
        return None
    pairs = [pair for value in values for pair in value]
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        return None
    return pa.map_(pa.array([key for key, _ in pairs]).type, pa.array([it for _, it in pairs]).type)


def _arrays(name: str, values: list[Any], first: int, ragged: bool, kind: Any | None) -> Any:
    """One shape for all: lists of a fixed size. Ragged: lists of these. Types are those of the
    column, or such as it holds without a change."""
    import pyarrow as pa

    inner = kind
    while inner is not None and hasattr(inner, "value_type"):
        inner = inner.value_type
    shape, dtypes, flat = None, {}, []
    for i, value in enumerate(values, first):
        if not isinstance(value, np.ndarray):
            there = "missing" if value is None else f"a {type(value).__name__}"
            raise TypeError(
                f"sample {i}: '{name}' is {there} in some samples, and an array in others"
            )
        extents = value.shape[1:] if ragged else value.shape
        if shape not in (None, extents):
            raise TypeError(
                f"sample {i}: '{name}' has the shape {list(extents)}, and {list(shape or ())} in "
                "others: a column has arrays of one shape"
            )
        if value.dtype not in dtypes:
            dtypes[value.dtype] = _dtype_in(f"sample {i}: '{name}'", value.dtype, inner)
        if 0 in extents:
            raise TypeError(
                f"sample {i}: '{name}' has the shape {list(extents)}, and a column has no arrays "
                "without values: choose other fields (--fields), or write .tar"
            )
        shape = extents
        flat.append(value.reshape(-1).astype(dtypes[value.dtype], copy=False))
    column = _flat(np.concatenate(flat), inner)
    for extent in reversed(shape or ()):
        column = pa.FixedSizeListArray.from_arrays(column, extent)
    if ragged:
        offsets = np.cumsum([0, *(len(value) for value in values)], dtype=np.int32)
        column = pa.ListArray.from_arrays(offsets, column)
    if kind is not None and column.type != kind:
        raise TypeError(
            f"samples from {first} on: '{name}' is {column.type}, and {kind} in others: a column "
            "has one type and shape"
        )
    return column


def _flat(numbers: np.ndarray[Any, Any], kind: Any | None) -> Any:
    import pyarrow as pa

    if kind is None or dates.dtype_of(kind) is None:
        return pa.array(numbers)
    made = pa.array(numbers.view(np.int64), mask=np.isnat(numbers))  # time zones and times of a day
    return (made.cast(pa.int32()) if kind.bit_width == 32 else made).view(kind)


def _dtype_in(what: str, dtype: np.dtype[Any], kind: Any | None) -> np.dtype[Any]:
    """As what such numbers go into a column of this type: nothing is lost."""
    import pyarrow as pa

    native = dtype.newbyteorder("=")
    try:
        own = pa.from_numpy_dtype(native)
    except pa.ArrowNotImplementedError:
        raise TypeError(
            f"{what} has numbers of type {dtype}, which Parquet does not know: choose other fields "
            "(--fields), or write .npy"
        ) from None
    if kind is None or own == kind or dates.dtype_of(kind) == native.str:
        return native
    column: np.dtype[Any] = pa.array([], kind).to_numpy(zero_copy_only=False).dtype
    if column.kind in "iuf" and widens(native, column):
        return column
    there = kind if column.hasobject else column
    raise TypeError(
        f"{what} is {dtype}, and {there} in the first sample: a column has one type, which would "
        "change values. Give all samples one type, or write .tar, where each keeps its own"
    )
