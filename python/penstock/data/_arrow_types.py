"""Arrow's types: what samples have of them, and in which type a column goes to the native part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.data import _arrow_casts, _arrow_dates
from penstock.data._plan import PlanError

if TYPE_CHECKING:
    from penstock.data._arrow import Reader

_NUMBERS = {"bool", "float", "double", "halffloat"}
_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def flat(schema: Any) -> Iterator[tuple[str, Any]]:
    """(name, type) of all columns. Structs are their parts: "image.bytes"."""
    import pyarrow as pa

    for field in schema:
        kind = getattr(field.type, "storage_type", field.type)
        if pa.types.is_struct(kind):
            inner = pa.schema([kind.field(i) for i in range(kind.num_fields)])
            for name, part in flat(inner):
                yield f"{field.name}.{name}", part
        else:
            yield field.name, field.type


def parts(fields: Sequence[str], there: Mapping[str, Any], casts: Mapping[str, str]) -> list[str]:
    """A struct's name stands for its parts."""
    names: list[str] = []
    for field in fields:
        inside = [name for name in there if name.startswith(f"{field}.")]
        if inside and field not in there and field in casts:
            raise PlanError(
                f"open: column '{field}' is a struct, which has no type of its own: say as what to "
                f"read its parts, {', '.join(inside)}"
            )
        names += [field] if field in there or not inside else inside
    return names


def target(name: str, kind: Any, casts: Mapping[str, str]) -> Any:
    """The type in which a column is read."""
    if name in casts:
        return _arrow_casts.asked(name, kind, casts[name])
    return _arrow_casts.native(tensor(kind) or getattr(kind, "storage_type", kind))


def words(file: Reader, name: str, kind: Any) -> tuple[str, str, list[int]]:
    """(kind, dtype, shape) for the native part."""
    import pyarrow as pa

    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind):
        return "text", "", []
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "bytes", "", []
    if _arrow_dates.rows_of(kind) is not None or is_values(kind):
        return "bytes", "", []
    inner, shape, lists = kind, [], False
    if types.is_list(kind) or types.is_large_list(kind):
        inner, shape, lists = kind.value_type, [-1], True
    while types.is_fixed_size_list(inner):
        shape.append(inner.list_size)
        inner = inner.value_type
    if types.is_integer(inner) or str(inner) in _NUMBERS:
        return "lists" if lists else "numbers", _DTYPES.get(str(inner), str(inner)), shape
    remedy = ""
    if types.is_decimal(kind):
        remedy = f'fields={{"{name}": "float64"}} reads it as numbers; '
        if kind.scale <= 0:
            remedy = f'fields={{"{name}": "int64"}}, or "float64", reads it as numbers; '
    raise NotImplementedError(
        f"{file.name}: column '{name}' is {kind}, which samples do not have: {remedy}"
        "fields=[...] without it leaves it out"
    )


def is_values(kind: Any) -> bool:
    """Is it made into Python's values? Lists of lists, of text and of structs, maps."""
    return bool(kind.num_fields > 0) and not _is_numbers(kind) and _is_plain(kind)


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
    if kind.num_fields > 0:
        return all(_is_plain(kind.field(i).type) for i in range(kind.num_fields))
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
        or any(name in str(kind) for name in ("string", "binary"))
    )


def tensor(kind: Any) -> Any:
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


def unfold(array: Any) -> Any:
    """Arrow's tensors as lists in lists, without a copy."""
    import pyarrow as pa

    rows, size = array.storage, array.storage.type.list_size
    made = rows.values.slice(rows.offset * size, len(rows) * size)
    for extent in reversed(array.type.shape[1:]):
        made = pa.FixedSizeListArray.from_arrays(made, extent)
    mask = rows.is_null() if rows.null_count else None
    return pa.FixedSizeListArray.from_arrays(made, array.type.shape[0], mask=mask)


def check_offsets(column: Any) -> None:
    """Fails if something leads out of a buffer. Numbers and dates may be any."""
    import pyarrow as pa

    kind = getattr(column.type, "storage_type", column.type)
    if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return
    for chunk in column.chunks:
        counted = _arrow_dates.counted(chunk) if _arrow_dates.rows_of(kind) is not None else chunk
        counted.validate(full=True)
