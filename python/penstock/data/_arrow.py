"""What is asked of pyarrow, which is imported when the first table is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from penstock import _core
from penstock.data._arrow_stream import StreamFile
from penstock.data._arrow_types import check_offsets
from penstock.data._plan import PlanError
from penstock.data._remote_file import RemoteBytes, RemoteFile, is_url

Kept = bytes
"""Numbers of rows, as uint32; empty: all of them."""


def need_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ModuleNotFoundError(
            "Parquet and Arrow files are read by pyarrow, which is not installed: "
            "pip install pyarrow"
        ) from None


class Reader(Protocol):
    """A file of tables. Every member may be used by several threads at a time."""

    name: str
    schema: Any
    rows: int
    bytes: int
    decoded: bool
    """Arrays are made by a decoder that checks what it makes of the file's bytes; False: they are
    the file's bytes, and whoever follows their offsets checks them first."""

    def read(self, group: int, columns: Sequence[str]) -> Any:
        """These columns of a group, as a pyarrow.Table."""

    def groups(self, expression: Any) -> Iterator[tuple[int, int, Kept]]:
        """(number, rows, rows that count) of each group that has such rows."""


class _Place:
    """Where a file is: on a disk, or on a server."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.remote = RemoteBytes(name) if is_url(name) else None
        self._stamp = (0, 0) if self.remote else _stamp(name)

    @property
    def size(self) -> int:
        return self.remote.size if self.remote else os.path.getsize(self.name)

    def open(self) -> Any:
        """What pyarrow takes, for one thread; the file must be the one that was opened."""
        if self.remote:
            return RemoteFile(self.remote)
        _unchanged(self.name, self._stamp)
        return self.name


class ParquetReader:
    decoded = True

    def __init__(self, name: str, verify: bool) -> None:
        import pyarrow.parquet as parquet

        self.name, self._verify = name, verify
        self._place = _Place(name)
        with _naming(name):
            file = parquet.ParquetFile(self._place.open())
            self._metadata = file.metadata
            self.schema = _named(file.schema_arrow)
        self.rows = self._metadata.num_rows
        groups = [self._metadata.row_group(i) for i in range(self._metadata.num_row_groups)]
        counts = [group.num_rows for group in groups]
        if sum(counts) != self.rows or any(count < 0 for count in counts):
            raise ValueError(
                f"corrupt: the file is to have {self.rows} rows, and its groups "
                f"{', '.join(map(str, counts[:8]))}{' ...' if len(counts) > 8 else ''} "
                f"(file {name})"
            )
        self.bytes = sum(group.total_byte_size for group in groups)

    def read(self, group: int, columns: Sequence[str]) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        # A reader of its own for each call, since one is not for several threads. The footer is
        # not read again. From a server the columns come together, in few requests.
        with parquet.ParquetFile(
            self._place.open(),
            metadata=self._metadata,
            page_checksum_verification=self._verify,
            pre_buffer=self._place.remote is not None,
        ) as file:
            try:
                return file.read_row_group(group, columns=list(columns), use_threads=False)
            except pa.ArrowNotImplementedError:
                # More than 2 GiB of text or bytes in structs or lists: pyarrow has them in pieces.
                return _in_pieces(file, group, columns)

    def groups(self, expression: Any) -> Iterator[tuple[int, int, Kept]]:
        numbers = range(self._metadata.num_row_groups)
        if expression is not None:
            numbers = self._pruned(expression)
        for number in numbers:
            rows = self._metadata.row_group(number).num_rows
            if expression is None and rows > 0:
                yield number, rows, b""
            elif rows > 0:
                yield from _filtered(self, number, expression)

    def _pruned(self, expression: Any) -> Any:
        """The groups in which there may be such rows, by their statistics."""
        import pyarrow.dataset
        from pyarrow.fs import LocalFileSystem

        with _naming(self.name), _using_filter():
            system = None if self._place.remote else LocalFileSystem()
            made = pyarrow.dataset.ParquetFileFormat().make_fragment(self._place.open(), system)
            return [group.id for group in made.subset(expression).row_groups]


def _in_pieces(file: Any, group: int, columns: Sequence[str]) -> Any:
    import pyarrow as pa

    rows = file.metadata.row_group(group).num_rows
    while rows > 1:
        rows = max(1, rows // 16)
        options = {"row_groups": [group], "columns": list(columns), "use_threads": False}
        with suppress(pa.ArrowNotImplementedError):
            return pa.Table.from_batches(list(file.iter_batches(rows, **options)))
    raise NotImplementedError("a row of it is larger than pyarrow reads")


class ArrowReader:
    """Arrow's file format, which is Feather's second version, and its stream format."""

    decoded = False

    def __init__(self, name: str, verify: bool) -> None:
        import pyarrow as pa

        self.name = name
        self._place = _Place(name)
        self._stream: StreamFile | None = None
        begin = _core.read_range(name, 0, min(6, self._place.size))
        if begin.startswith(b"FEA1"):
            raise NotImplementedError(
                f"{name} is Feather of the first version: write it anew with pyarrow.feather"
            )
        with _naming(name):
            if begin == b"ARROW1":
                reader = pa.ipc.open_file(self._place.open())
                self.schema = _named(reader.schema)
                narrow = pa.ipc.IpcReadOptions(
                    use_threads=False, included_fields=_narrowest(self.schema)
                )
                counting = pa.ipc.open_file(self._place.open(), options=narrow)
                self._sizes = [
                    counting.get_batch(i).num_rows for i in range(reader.num_record_batches)
                ]
            elif self._place.remote:
                raise NotImplementedError(
                    f"{name} has Arrow's stream format, which is read from local disks only: copy "
                    "it, or write it as a file (pyarrow.ipc.new_file)"
                )
            else:
                self._stream = StreamFile(name)
                self.schema = _named(self._stream.schema)
                self._sizes = self._stream.sizes
        self.rows, self.bytes = sum(self._sizes), self._place.size

    def read(self, group: int, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        tops = [name for name in self.schema.names if _has(columns, name)]
        numbers = [self.schema.get_field_index(name) for name in tops]
        place = self._place.open()
        if self._stream is not None:
            batch = self._stream.read(group, numbers)
        else:
            options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=numbers)
            with pa.ipc.open_file(place, options=options) as reader:
                batch = reader.get_batch(group)
        batch.validate()
        return pa.Table.from_batches([batch])

    def groups(self, expression: Any) -> Iterator[tuple[int, int, Kept]]:
        for number, rows in enumerate(self._sizes):
            if expression is None and rows > 0:
                yield number, rows, b""
            elif rows > 0:
                yield from _filtered(self, number, expression)


def expression_of(filter: Any) -> Any:
    """pyarrow's expression for [("x", ">", 3), ...]; None: there is no filter."""
    if filter is None:
        return None
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    if isinstance(filter, compute.Expression):
        return filter
    try:
        return parquet.filters_to_expression(filter)
    except (ValueError, TypeError, IndexError) as error:
        raise PlanError(
            f'open: filter is {filter!r}; give [("column", "<", value), ...] as pyarrow takes it: '
            f"{error}"
        ) from None


def _filtered(file: Reader, number: int, expression: Any) -> Iterator[tuple[int, int, Kept]]:
    """The rows of a group that the filter keeps. Only the columns that it names are read."""
    import numpy as np
    import pyarrow as pa

    names = [name for name in file.schema.names if _names(expression, name)]
    with _naming(file.name):
        table = file.read(number, names)
        if not file.decoded:
            for column in table.columns:
                check_offsets(column)
        rows = table.num_rows
        number_of = "__row"
        while number_of in file.schema.names:
            number_of += "_"
        table = table.append_column(number_of, pa.array(np.arange(rows, dtype="u4")))
        with _using_filter():
            kept = table.filter(expression).column(number_of).to_numpy()
    if len(kept):
        yield number, rows, b"" if len(kept) == rows else kept.tobytes()


@contextmanager
def _using_filter() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
        raise PlanError(f"open: the filter cannot be used: {error}") from None


def _names(expression: Any, name: str) -> bool:
    return name in str(expression)  # one too many does no harm


def _named(schema: Any) -> Any:
    """The same; fails if names are no text."""
    for field in schema:
        _ = [field.name, *(field.type.field(i).name for i in range(field.type.num_fields))]
    return schema


def _has(columns: Sequence[str], name: str) -> bool:
    return any(column == name or column.startswith(f"{name}.") for column in columns)


def _narrowest(schema: Any) -> list[int]:
    """A column that costs little, to count the rows of batches."""
    import pyarrow as pa

    sizes = [(_width(pa, kind), i) for i, kind in enumerate(schema.types)]
    return [min(sizes)[1]] if sizes else []


def _width(pa: Any, kind: Any) -> int:
    return kind.bit_width if pa.types.is_primitive(kind) else 1 << 30


def _stamp(name: str) -> tuple[int, int]:
    status = os.stat(name)
    return status.st_size, status.st_mtime_ns


def _unchanged(name: str, stamp: tuple[int, int]) -> None:
    if _stamp(name) != stamp:
        import errno

        raise OSError(errno.ESTALE, "the file was changed while it was in use", name)


class _naming:
    """Errors of pyarrow name the file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException | UnicodeDecodeError) or (
            isinstance(error, OSError) and error.errno is None
        ):
            raise ValueError(f"corrupt: {error} (file {self._name})") from error
