"""Tables: Parquet files and Arrow's own, read by pyarrow a group of rows at a time. The native part
takes the columns over as they lie in memory, and makes rows and batches of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import _core
from penstock.data import _arrow
from penstock.data._arrow_columns import Columns
from penstock.data._plan import Leaf, OpenTables, Step, TableRows, TableValues, ViewRows


def open_tables(
    names: tuple[str, ...],
    format: str,
    fields: Any,
    filter: Any,
    nulls: Mapping[str, Any] | None,
    verify: bool,
    cache: int,
) -> tuple[Leaf, tuple[Step, ...], _core.Leaf]:
    """The leaf, what makes values of its rows, and the leaf as it was opened."""
    casts = tuple(fields.items()) if isinstance(fields, Mapping) else ()
    source = OpenTables(
        tuple(_files_of(names, format)),
        format,
        tuple(fields or ()),
        casts,
        filter,
        tuple((nulls or {}).items()),
        verify,
        cache,
    )
    table = Table(source)
    numbers = tuple(
        (name, i, dtype, tuple(shape))
        for i, (name, kind, dtype, shape) in enumerate(table.columns)
        if kind in ("numbers", "lists")
    )
    steps: tuple[Step, ...] = (TableRows(numbers),) if numbers else ()
    if table.values:
        steps += (TableValues(tuple(table.values)),)
    if table.dates:
        steps += (ViewRows(tuple(table.dates)),)
    return Leaf(source), steps, table.leaf()


def open_source(source: OpenTables) -> _core.Leaf:
    return Table(source).leaf()


def described(source: OpenTables) -> Sequence[tuple[str, str, str, list[int]]]:
    """(name, kind, dtype, shape) of the columns, as the first file has them."""
    reader = _reader(source.names[0], source)
    return Columns(reader, source.fields, dict(source.casts), {}).columns


def _reader(name: str, source: OpenTables) -> _arrow.Reader:
    made = _arrow.ParquetReader if source.format == "parquet" else _arrow.ArrowReader
    return made(name, source.verify)


def _files_of(names: tuple[str, ...], format: str) -> list[str]:
    """A folder stands for the files in it."""
    ending = (".parquet", ".parq") if format == "parquet" else (".feather", ".arrow")
    files = []
    for name in _core.expand(list(names)):
        if os.path.isdir(name):
            found = sorted(
                os.path.join(folder, one)
                for folder, _, inside in os.walk(name)
                for one in inside
                if one.endswith(ending)
            )
            if not found:
                raise FileNotFoundError(f"there is no {ending[0]} file in the folder {name!r}")
            files += found
        else:
            files.append(name)
    return files


class Table:
    """What is known of the files once they are open: columns, groups of rows, which rows count."""

    def __init__(self, source: OpenTables) -> None:
        from concurrent.futures import ThreadPoolExecutor

        _arrow.need_pyarrow()
        self._source = source
        with ThreadPoolExecutor(min(16, len(source.names))) as pool:
            self._files = list(pool.map(lambda name: _reader(name, source), source.names))
        self._schema = Columns(
            self._files[0], source.fields, dict(source.casts), dict(source.nulls)
        )
        for file in self._files[1:]:
            self._schema.check(file)
        self.columns: Sequence[tuple[str, str, str, list[int]]] = self._schema.columns
        self.values: Sequence[str] = self._schema.values
        self.dates: Sequence[tuple[str, str, tuple[int, ...]]] = self._schema.dates
        self._groups: list[tuple[int, int]] = []
        self._words: list[tuple[int, int, int, bytes]] = []
        expression = _arrow.expression_of(source.filter)
        for number, file in enumerate(self._files):
            for group, rows, kept in file.groups(expression):
                self._groups.append((number, group))
                self._words.append((number, group, rows, kept))

    def leaf(self) -> _core.Leaf:
        """Once: what was found of rows is the native part's from then on."""
        groups, self._words = self._words, []
        rows = sum(file.rows for file in self._files)
        size = sum(file.bytes for file in self._files)
        return _core.Leaf.open_table(
            self.load,
            list(self._source.names),
            list(self.columns),
            groups,
            self._source.cache,
            max(1, size // max(rows, 1)),
            "" if self._source.filter is None else str(self._source.filter),
        )

    def load(self, group: int) -> tuple[Any, Any]:
        """The columns of a group of rows, as capsules. Called by native threads."""
        file, number = self._groups[group]
        reader = self._files[file]
        return self._schema.export(reader.read(number, self._schema.needed), reader.decoded)
