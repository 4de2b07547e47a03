"""Which columns of a table are read, and as what; how they are handed to the native part."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from penstock.data._arrow import Reader
from penstock.data._plan import PlanError

_NUMBERS = {"bool", "float", "double", "halffloat"}
_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}


class Columns:
    """Which columns are read, and as what. Structs are read by their parts: "image.bytes"."""

    def __init__(
        self,
        file: Reader,
        fields: Sequence[str],
        casts: Mapping[str, str],
        nulls: Mapping[str, Any],
    ) -> None:
        there: dict[str, Any] = {}
        for name, kind in _flat(file.schema):
            if name in there:
                raise ValueError(f"{file.name}: there are two columns '{name}'")
            there[name] = kind
        names = _parts(fields, there) or list(there)
        for name in [*names, *nulls]:
            if name not in there:
                raise KeyError(
                    f"open: {file.name} has no column '{name}'; it has: {', '.join(there)}"
                )
        self._types = {name: there[name] for name in names}
        self._wanted = {name: _target(file, name, there[name], casts) for name in names}
        self._nulls = {name: nulls[name] for name in names if name in nulls}
        self.needed = names
        # Given to the native part as bytes: see TableValues.
        self.values = [
            name
            for name, kind in self._wanted.items()
            if _is_nested(kind) and not _is_numbers(kind) and _is_plain(kind)
        ]
        self.columns = [
            (name, "bytes", "", []) if name in self.values else (name, *_words(file, name, wanted))
            for name, wanted in self._wanted.items()
        ]

    def check(self, other: Reader) -> None:
        there = dict(_flat(other.schema))
        for name, kind in self._types.items():
            if there.get(name) != kind:
                found = f"it is {there[name]}" if name in there else "it has none"
                raise PlanError(
                    f"open: column '{name}' is {kind} in the first file; in {other.name} {found}. "
                    "Open them one by one and concatenate the datasets"
                )

    def export(self, table: Any) -> tuple[Any, Any]:
        """The columns as one struct, by Arrow's C data interface."""
        import pyarrow as pa

        while any(pa.types.is_struct(kind) for kind in table.schema.types):
            table = table.flatten()
        arrays = [self._column(name, table.column(name)) for name in self.needed]
        batch = pa.RecordBatch.from_arrays(arrays, names=self.needed)
        schema, array = batch.__arrow_c_array__()
        return schema, array

    def _column(self, name: str, column: Any) -> Any:
        import pyarrow as pa

        wanted = self._wanted[name]
        if _tensor(column.type) is not None:
            column = pa.chunked_array([_unfold(one) for one in column.chunks], wanted)
        if name in self._nulls:
            column = _filled(column, self._nulls[name])
        if name in self.values:
            packed = (None if one is None else marshal.dumps(one) for one in column.to_pylist())
            return pa.array(packed, pa.large_binary())
        if column.type != wanted:
            column = column.cast(wanted)
        if column.num_chunks == 1:
            return column.chunk(0)
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], wanted)


def _filled(column: Any, value: Any) -> Any:
    """Without nulls: a list stands for rows that are missing, else the value for what is missing
    inside of them."""
    import pyarrow as pa

    if not _is_nested(column.type) or isinstance(value, list | tuple | dict):
        if not column.null_count:
            return column
        return pa.compute.coalesce(column, pa.scalar(value, column.type))
    if not any(_has_gaps(chunk) for chunk in column.chunks):
        return column

    def fill(one: Any) -> Any:
        return (
            [fill(part) for part in one] if isinstance(one, list) else value if one is None else one
        )

    rows = [None if row is None else fill(row) for row in column.to_pylist()]
    return pa.chunked_array([pa.array(rows, column.type)])


def _has_gaps(array: Any) -> bool:
    """Is something missing inside of lists?"""
    inside = array.flatten() if hasattr(array, "flatten") and _is_nested(array.type) else None
    if inside is None or isinstance(inside, list):
        return False
    return bool(inside.null_count) or _has_gaps(inside)


def _tensor(kind: Any) -> Any:
    """Lists in lists in the place of Arrow's tensors of a fixed shape; None: it is none."""
    import pyarrow as pa

    if not isinstance(kind, pa.FixedShapeTensorType):
        return None
    if kind.permutation is not None and list(kind.permutation) != sorted(kind.permutation):
        raise NotImplementedError(
            "Arrow tensors whose dimensions are permuted are not read: write them in the order in "
            "which they lie in memory"
        )
    inner = kind.value_type
    for extent in reversed(kind.shape):
        inner = pa.list_(inner, extent)
    return inner


def _unfold(array: Any) -> Any:
    """Arrow's tensors as lists in lists, without a copy."""
    import pyarrow as pa

    rows, size = array.storage, array.storage.type.list_size
    made = rows.values.slice(rows.offset * size, len(rows) * size)
    for extent in reversed(array.type.shape[1:]):
        made = pa.FixedSizeListArray.from_arrays(made, extent)
    mask = rows.is_null() if rows.null_count else None
    return pa.FixedSizeListArray.from_arrays(made, array.type.shape[0], mask=mask)


def unpacker(names: Sequence[str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes Python's values of what was packed above."""

    def unpack(sample: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if sample.get(name) is not None:
                sample[name] = marshal.loads(sample[name])
        return sample

    return unpack


def _is_nested(kind: Any) -> bool:
    return bool(kind.num_fields > 0)


def _is_numbers(kind: Any) -> bool:
    """A list, maybe of lists of a fixed size, of numbers: arrays."""
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    while pa.types.is_fixed_size_list(inner):
        inner = inner.value_type
    return pa.types.is_integer(inner) or str(inner) in _NUMBERS


def _is_plain(kind: Any) -> bool:
    """Nothing but numbers, text and bytes inside."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if _is_nested(kind):
        return all(_is_plain(kind.field(i).type) for i in range(kind.num_fields))
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
        or any(name in str(kind) for name in ("string", "binary"))
    )


def _parts(fields: Sequence[str], there: Mapping[str, Any]) -> list[str]:
    """A struct's name stands for its parts."""
    names: list[str] = []
    for field in fields:
        parts = [name for name in there if name.startswith(f"{field}.")]
        names += [field] if field in there or not parts else parts
    return names


def _flat(schema: Any) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa

    for field in schema:
        kind = getattr(field.type, "storage_type", field.type)
        if pa.types.is_struct(kind):
            inner = pa.schema([kind.field(i) for i in range(kind.num_fields)])
            for name, part in _flat(inner):
                yield f"{field.name}.{name}", part
        else:
            yield field.name, field.type


def _target(file: Reader, name: str, kind: Any, casts: Mapping[str, str]) -> Any:
    """The type in which a column is handed over."""
    import pyarrow as pa

    if name in casts:
        try:
            return pa.type_for_alias(casts[name])
        except ValueError:
            raise PlanError(
                f"open: column '{name}' as {casts[name]!r}: no such type; give \"int64\", "
                '"float32", "string", ...'
            ) from None
    kind = _tensor(kind) or getattr(kind, "storage_type", kind)  # of an extension type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    others = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary(), pa.null(): pa.string()}
    return others.get(kind, kind)


def _words(file: Reader, name: str, kind: Any) -> tuple[str, str, list[int]]:
    """(kind, dtype, shape) for the native part."""
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return "text", "", []
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "bytes", "", []
    inner, shape, lists = kind, [], False
    if types.is_list(kind) or types.is_large_list(kind):
        inner, shape, lists = kind.value_type, [-1], True
    while types.is_fixed_size_list(inner):
        shape.append(inner.list_size)
        inner = inner.value_type
    if types.is_integer(inner) or str(inner) in _NUMBERS:
        return "lists" if lists else "numbers", _DTYPES.get(str(inner), str(inner)), shape
    remedy = f'fields={{"{name}": "int64"}} reads it as numbers; ' if inner is kind else ""
    raise NotImplementedError(
        f"{file.name}: column '{name}' is {kind}, which samples do not have: {remedy}"
        "fields=[...] without it leaves it out"
    )
