"""Parquet files: a schema for all of them, rows in groups of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from penstock.convert._columns import schema_of, table_of
from penstock.convert._same import same
from penstock.convert._table_values import same_dates, values_of
from penstock.convert._values import size_of
from penstock.convert._writers import Batches, Samples, ShardWriter, differs

if TYPE_CHECKING:
    from penstock.convert._source import Source


class ParquetWriter(ShardWriter):
    format = "parquet"
    groups = 4096
    """Rows in a group, at most."""
    _schema: Any = None
    _ragged: frozenset[str] = frozenset()
    _dates: Mapping[str, Any] = MappingProxyType({})

    def learn(self, source: Source) -> None:
        self._schema, self._ragged = schema_of(source), source.ragged
        self._dates = source.dates

    def write_file(self, path: str, samples: Samples) -> None:
        import pyarrow.parquet as parquet

        with parquet.ParquetWriter(path, self._schema, write_page_checksum=True) as writer:
            for first, rows in self._groups(samples):
                writer.write_table(table_of(rows, first, self._ragged, self._schema))

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        import pyarrow.parquet as parquet

        path = self.path(part)
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            for name, kind in self._dates.items():
                if name in names and not same_dates(kind, file.schema_arrow.field(name).type):
                    raise differs(path, f"the type of '{name}'")
            groups = 0
            for groups, (first, rows) in enumerate(self._groups(samples), 1):
                if groups > file.num_row_groups:
                    break
                table = file.read_row_group(groups - 1)
                if table.num_rows != len(rows):
                    raise differs(path, f"the number of rows in group {groups - 1}")
                if not all(name in names for row in rows for name in row):
                    raise differs(path, "the fields")
                for name in names:
                    for i, got in enumerate(values_of(table.column(name))):
                        if not same(rows[i].get(name), got):
                            raise differs(path, f"'{name}' of sample {first + i}")
            if groups != file.num_row_groups:
                raise differs(path, "the number of row groups")

    def _groups(self, samples: Samples) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """(number of the first, samples) of groups of rows, of about 64 MB at most."""
        rows: list[dict[str, Any]] = []
        first = size = 0
        for position, sample in samples:
            if not rows:
                first = position
            rows.append(sample)
            size += sum(size_of(value) for value in sample.values())
            if len(rows) == self.groups or size > 64_000_000:
                yield first, rows
                rows, size = [], 0
        if rows:
            yield first, rows
