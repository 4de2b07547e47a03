"""Parquet files: a schema for all of them, rows in groups of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.convert._columns import schema_of, table_of
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

    def learn(self, source: Source) -> None:
        self._schema, self._ragged = schema_of(source), source.ragged

    def write_file(self, path: str, samples: Samples) -> None:
        import pyarrow.parquet as parquet

        with parquet.ParquetWriter(path, self._schema, write_page_checksum=True) as writer:
            for rows in self._groups(samples):
                writer.write_table(table_of(rows, self._ragged, self._schema))

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path(part)) as file:
            groups = 0
            for groups, rows in enumerate(self._groups(samples), 1):
                table = table_of(rows, self._ragged, file.schema_arrow)
                if not file.read_row_group(groups - 1).equals(table):
                    raise differs(self.path(part), f"row group {groups - 1}")
            if groups != file.num_row_groups:
                raise differs(self.path(part), "the number of row groups")

    def _groups(self, samples: Samples) -> Iterator[list[dict[str, Any]]]:
        """Groups of rows, of about 64 MB at most."""
        rows: list[dict[str, Any]] = []
        size = 0
        for _, sample in samples:
            rows.append(sample)
            size += sum(size_of(value) for value in sample.values())
            if len(rows) == self.groups or size > 64_000_000:
                yield rows
                rows, size = [], 0
        if rows:
            yield rows
