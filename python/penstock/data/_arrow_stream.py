"""Arrow's stream format: where its messages are, so that batches are read one by one.

A stream has no table of contents. It is walked through once, when it is opened, from one message's
head to the next; what they carry is neither unpacked nor touched. A batch is then read with the
dictionaries that were in force where it stands, out of a map of the file. What has read a batch
is kept with its dictionaries, for others that have the same.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

_DICTIONARY, _BATCH = 2, 3  # kinds of messages, in Arrow's flatbuffers


class _Span(NamedTuple):
    begin: int
    end: int


class StreamFile:
    """The batches of a stream on a local disk. Any thread may read."""

    def __init__(self, name: str) -> None:
        import pyarrow as pa

        self._mapped = pa.memory_map(name).read_buffer()
        self.sizes: list[int] = []
        """Rows of the batches."""
        self._batches: list[tuple[_Span, int]] = []  # and how many dictionaries came before
        self._dictionaries: list[tuple[_Span, _Dictionary]] = []
        self._idle: list[_Batches] = []  # as many as threads were here at a time
        source = pa.BufferReader(self._mapped)
        messages = pa.ipc.MessageReader.open_stream(source)
        message = next(messages, None)
        if message is None:
            raise pa.ArrowInvalid("there is no stream of Arrow's in it")
        self.schema = pa.ipc.read_schema(message)
        self._head = _Span(0, source.tell())
        end = self._head.end
        for message in messages:
            place = _Span(end, source.tell())
            end = place.end
            said = _said_by(message.metadata, len(self.schema) > 0)
            if isinstance(said, _Dictionary):
                self._dictionaries.append((place, said))
            else:
                self.sizes.append(said)
                self._batches.append((place, len(self._dictionaries)))
        self._check_end(name, end, source.tell())

    def _check_end(self, name: str, end: int, seen: int) -> None:
        """Is there an end mark behind the last message, and nothing behind it?"""
        import numpy as np
        import pyarrow as pa

        if np.frombuffer(self._mapped.slice(seen), np.uint8).any():
            raise pa.ArrowInvalid(
                f"there is more behind what says that the stream ends, at offset {end}: this is "
                "damaged, or other streams follow, which belong into files of their own"
            )
        if seen == end:
            warnings.warn(
                f"{name}: the stream has no end mark. It was cut off between two batches, or its "
                "writer was not closed",
                stacklevel=2,
            )

    def read(self, number: int, columns: Sequence[int]) -> Any:
        """These columns of a batch, as a pyarrow.RecordBatch."""
        batch, count = self._batches[number]
        use = (count, *columns)
        try:
            batches = self._idle.pop()
        except IndexError:
            batches = None
        if batches is None or batches.use != use:
            dictionaries = _in_force(self._dictionaries[:count])
            batches = _Batches(use, _Pieces(self._mapped, (self._head, *dictionaries)))
        made = batches.read(batch)
        self._idle.append(batches)  # not after an error
        return made


class _Batches:
    """Batches between which no dictionary comes, in any order: these have been read once."""

    def __init__(self, use: tuple[int, ...], pieces: _Pieces) -> None:
        import pyarrow as pa

        self.use = use
        """How many dictionaries came before, and which columns are read."""
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=list(use[1:]))
        self._pieces = pieces
        self._reader = pa.ipc.open_stream(pieces, options=options)

    def read(self, batch: _Span) -> Any:
        self._pieces.append(batch)
        return self._reader.read_next_batch()


class _Dictionary(NamedTuple):
    number: int
    adds: bool  # to what came before; else it stands in its place


def _in_force(dictionaries: Sequence[tuple[_Span, _Dictionary]]) -> list[_Span]:
    """Without those that were replaced. One of each comes first, as at the beginning of any stream;
    then what was added."""
    known: dict[int, list[_Span]] = {}
    for place, one in dictionaries:
        spans = known.setdefault(one.number, [])
        if not one.adds:
            spans.clear()
        spans.append(place)
    firsts = [spans[0] for spans in known.values()]
    return firsts + sorted(span for spans in known.values() for span in spans[1:])


def _said_by(head: Any, has_columns: bool) -> _Dictionary | int:
    """The rows of a batch, or which dictionary this is."""
    import pyarrow as pa

    try:
        message = _Flat.root(bytes(head))
        kind = message.number(1, "<B")
        header = message.table(2)
        if kind == _DICTIONARY and header is not None:
            return _Dictionary(header.number(0, "<q"), header.number(2, "<B") != 0)
        if kind != _BATCH or header is None:
            raise pa.ArrowInvalid("a message in the stream is neither a batch nor a dictionary")
        rows = header.number(0, "<q")
        first = header.first(1, "<q") if has_columns else rows
    except struct.error:
        raise pa.ArrowInvalid("the head of a message in the stream is damaged") from None
    if rows < 0:
        raise pa.ArrowInvalid("a batch of the stream has less than no rows")
    if rows != first:
        raise pa.ArrowInvalid(
            f"a batch of the stream is to have {rows} rows, and its first column has {first}"
        )
    return rows


class _Flat:
    """A table of a flatbuffer. What lies outside of the bytes is a struct.error."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - self._get("<i", at)

    @staticmethod
    def root(data: bytes) -> _Flat:
        return _Flat(data, struct.unpack_from("<I", data)[0])

    def number(self, field: int, kind: str) -> int:
        """0: it is not there."""
        at = self._place(field)
        return self._get(kind, at) if at else 0

    def table(self, field: int) -> _Flat | None:
        at = self._place(field)
        return _Flat(self._data, at + self._get("<I", at)) if at else None

    def first(self, field: int, kind: str) -> int | None:
        """What the first struct of a vector begins with."""
        at = self._place(field)
        at += self._get("<I", at) if at else 0
        return self._get(kind, at + 4) if at and self._get("<I", at) else None

    def _place(self, field: int) -> int:
        entry = 4 + 2 * field
        if entry >= self._get("<H", self._fields):
            return 0
        offset = self._get("<H", self._fields + entry)
        return self._at + offset if offset else 0

    def _get(self, kind: str, at: int) -> int:
        if at < 0:
            raise struct.error("before the beginning")
        return int(struct.unpack_from(kind, self._data, at)[0])


class _Pieces(io.RawIOBase):
    """Parts of a buffer as one file. A read ends with its part: so do those of messages."""

    def __init__(self, buffer: Any, spans: Sequence[_Span]) -> None:
        super().__init__()
        self._buffer, self._spans = buffer, deque(spans)
        self._at = self._end = 0

    def append(self, span: _Span) -> None:
        self._spans.append(span)

    def readable(self) -> bool:
        return True

    def read_buffer(self, size: int) -> Any:
        """As pyarrow asks where it can do without a copy."""
        if self._at == self._end and self._spans:
            self._at, self._end = self._spans.popleft()
        piece = self._buffer.slice(self._at, min(size, self._end - self._at))
        self._at += piece.size
        return piece

    def read(self, size: int | None = -1) -> bytes:
        return bytes(self.read_buffer(len(self._buffer) if size is None or size < 0 else size))
