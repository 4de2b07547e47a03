"""Which columns of a table are read, and as what; how they are handed to the native part."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.data import _arrow_casts, _arrow_dates
from penstock.data._arrow import Reader
from penstock.data._arrow_nulls import Fill
from penstock.data._arrow_types import (
    check_offsets,
    flat,
    is_values,
    parts,
    target,
    tensor,
    unfold,
    words,
)
from penstock.data._plan import PlanError


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
        for name, kind in flat(file.schema):
            if name in there:
                raise ValueError(f"{file.name}: there are two columns '{name}'")
            there[name] = kind
        names = parts(fields, there, casts) or list(there)
        for name in [*names, *nulls]:
            if name not in there:
                raise KeyError(
                    f"open: {file.name} has no column '{name}'; it has: {', '.join(there)}"
                )
        self._types = {name: there[name] for name in names}
        self._wanted = {name: target(name, there[name], casts) for name in names}
        self.needed = names
        self.columns = [(name, *words(file, name, wanted)) for name, wanted in self._wanted.items()]
        # Given to the native part as bytes: see TableValues and ViewRows.
        self.values = [name for name, kind in self._wanted.items() if is_values(kind)]
        self.dates: list[tuple[str, str, tuple[int, ...]]] = []
        for name, kind in self._wanted.items():
            if (rows := _arrow_dates.rows_of(kind)) is not None:
                self.dates.append((name, *rows))
        self._dates = {name for name, _, _ in self.dates}
        self._nulls = {
            name: Fill(name, nulls[name], self._wanted[name]) for name in names if name in nulls
        }

    def check(self, other: Reader) -> None:
        there = dict(flat(other.schema))
        for name, kind in self._types.items():
            if there.get(name) != kind:
                found = f"it is {there[name]}" if name in there else "it has none"
                raise PlanError(
                    f"open: column '{name}' is {kind} in the first file; in {other.name} {found}. "
                    "Open them one by one and concatenate the datasets"
                )

    def export(self, table: Any, decoded: bool) -> tuple[Any, Any]:
        """The columns as one struct, by Arrow's C data interface. `decoded`: see Reader."""
        import pyarrow as pa

        while any(pa.types.is_struct(kind) for kind in table.schema.types):
            table = table.flatten()
        arrays = [self._column(name, table.column(name), decoded) for name in self.needed]
        batch = pa.RecordBatch.from_arrays(arrays, names=self.needed)
        schema, array = batch.__arrow_c_array__()
        return schema, array

    def _column(self, name: str, column: Any, decoded: bool) -> Any:
        import pyarrow as pa

        wanted = self._wanted[name]
        # The native part checks offsets before it follows them; pyarrow does not.
        if not decoded and (column.type != wanted or not self._is_handed_on(name)):
            check_offsets(column)
        if tensor(column.type) is not None:
            column = pa.chunked_array([unfold(one) for one in column.chunks], tensor(column.type))
        if name not in self.values or name in self._nulls:
            column = _arrow_casts.cast(column, wanted, name)
        if name in self._nulls:
            column = self._nulls[name](column)
        if name in self.values:
            packed = (None if one is None else marshal.dumps(one) for one in column.to_pylist())
            return pa.array(packed, pa.large_binary())
        if name in self._dates:
            return _arrow_casts.joined([_arrow_dates.packed(one) for one in column.chunks], wanted)
        return _arrow_casts.joined(column.chunks, wanted)

    def _is_handed_on(self, name: str) -> bool:
        """Are the values as they are in the file those that the native part takes?"""
        return name not in self.values and name not in self._dates and name not in self._nulls


def unpacker(names: Sequence[str]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes Python's values of what was packed above."""

    def unpack(sample: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if sample.get(name) is not None:
                sample[name] = marshal.loads(sample[name])
        return sample

    return unpack
