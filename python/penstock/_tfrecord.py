"""TFRecord files and the Examples in them: reading, writing. Names are public in penstock.io."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from penstock import _core

Names: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Fields: TypeAlias = Mapping[str, str]


def iter_tfrecord(
    src: Names | Any,
    fields: Fields | Literal["infer"] | None = None,
    *,
    verify: bool = True,
    max_member: int = 1 << 30,
    on_error: Literal["raise", "skip"] = "raise",
    errors: list[str] | None = None,
) -> _core.TFRecordIterator:
    """Records of TFRecord files, from front to back; no index is needed.

    Gives the bytes of each record, or with `fields` a dict of what is in the Example. gzip and zlib
    are unpacked on the way. One bad record costs no other: after an exception the iterator goes on
    with the next sound one. Its method `findings()` tells how often a length was damaged, the
    checksum of a record was wrong, or a file was cut.

    Args:
        src: A path, a pattern such as "train-*.tfrecord", a list of these, or the bytes of a file.
        fields: What to parse, as :func:`parse_example` takes it; "infer": what the first one has.
        verify: Check the checksum of each record. Those of the lengths are always checked.
        max_member: Larger records are errors.
        on_error: "raise" raises for a bad record, "skip" passes over it.
        errors: Receives the reason for each one that was skipped.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with TFRecordWriter(path) as writer:
    ...     for i in range(3):
    ...         writer.write_example({"label": i, "name": f"sample {i}"})
    >>> for sample in iter_tfrecord(path, {"label": "int64", "name": "text"}):
    ...     print(sample)
    {'label': 0, 'name': 'sample 0'}
    {'label': 1, 'name': 'sample 1'}
    {'label': 2, 'name': 'sample 2'}
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be raise or skip, not {on_error}")
    skipped = None
    if on_error == "skip":
        skipped = [] if errors is None else errors
    source = names_of(src)
    if fields == "infer":
        specs, untyped = first_specs(source, verify, max_member)
        warn_of_untyped(untyped, "the first record")
        if not specs:
            raise ValueError("fields: the first record is no tf.train.Example with values")
    else:
        specs = list((fields or {}).items())
    return _core.iter_tfrecord(source, specs, verify, max_member, skipped)


def names_of(src: Any) -> Any:
    """Names as a list of str; bytes as they are."""
    if isinstance(src, str | os.PathLike):
        return [os.fspath(src)]
    if isinstance(src, list | tuple):
        return [os.fspath(path) for path in src]
    return src


def first_specs(
    source: Any, verify: bool = True, max_member: int = 1 << 30
) -> tuple[list[tuple[str, str]], list[str]]:
    """The fields of the first sound record, and the names of those that it gives no type; none if
    there is no record, or if it is no Example."""
    for record in _core.iter_tfrecord(source, [], verify, max_member, []):
        return _core.infer_example(record)
    return [], []


def warn_of_untyped(names: Sequence[str], where: str) -> None:
    """Says which fields nobody can know the type of."""
    if names:
        warnings.warn(
            f"{where} has {_listed(names)} without a value to tell its type by: left out. Give all "
            f'that you want as fields={{"{names[0]}": "float[]", ...}}',
            stacklevel=3,
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def parse_example(record: Any, fields: Fields | None = None) -> dict[str, Any]:
    """The fields of a serialized tf.train.Example or SequenceExample.

    Args:
        record: Its bytes.
        fields: Which, and as what: "int64", "float", "bytes", "text" are single values; "float[4]",
            "int64[2,3]" have that shape; "int64[]" and "bytes[]" have any length; "float[][4]" are
            rows of a SequenceExample, "int64[][]" are steps of any length, as a list of arrays;
            "raw" is the record itself. Left out: all that it has and that has a type.

    >>> record = encode_example({"label": 7, "box": [0.5, 1.0]})
    >>> parse_example(record, {"label": "int64", "box": "float[2]"})
    {'label': 7, 'box': array([0.5, 1. ], dtype=float32)}
    """
    if fields is None:
        specs, untyped = _core.infer_example(record)
        warn_of_untyped(untyped, "this record")
    else:
        specs = list(fields.items())
    if not specs:
        raise ValueError("this record is no tf.train.Example with features")
    return _core.parse_example(record, specs)


def encode_example(sample: Mapping[str, Any]) -> bytes:
    """A serialized tf.train.Example of these features.

    bytes, views of them, str and NumPy's texts become a bytes_list, integers and bools an
    int64_list, floats a float_list, which is float32. Lists and arrays of these become lists, row
    by row.

    >>> parse_example(encode_example({"text": "words", "ids": [1, 2, 3]}))
    {'ids': array([1, 2, 3]), 'text': <memory at 0x...>}
    """
    return _core.encode_example([(name, _feature(name, value)) for name, value in sample.items()])


def _feature(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return [value.encode()]
    if isinstance(value, bytes | bytearray | memoryview):
        return [value]
    kinds = _kinds(value) if isinstance(value, list | tuple) else set()
    if any(issubclass(kind, _TEXTS) for kind in kinds):
        if not all(isinstance(one, _TEXTS) for one in value):
            raise TypeError(f"'{name}' is a list of text or bytes with other values among them")
        return [one.encode() if isinstance(one, str) else one for one in value]
    try:
        array = np.asarray(value).reshape(-1)
    except ValueError:
        raise TypeError(f"'{name}' is a list of lists of different lengths") from None
    if isinstance(value, np.ndarray | np.generic) and array.dtype.kind in "US":
        return [one.encode() if isinstance(one, str) else one for one in array.tolist()]
    if array.size == 0 and array.dtype == np.float64 and isinstance(value, list | tuple):
        raise ValueError(f"'{name}' is an empty list, which has no type; give an empty array")
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 1 << 63:
        raise ValueError(f"'{name}' has {array.max()}, which is more than an int64 holds")
    whole = all(issubclass(kind, int) for kind in kinds or {type(value)})
    if whole and array.dtype.kind not in "biu":  # NumPy makes floats or objects of them
        most = max(array.astype(object).tolist(), key=abs)
        raise ValueError(f"'{name}' has {int(most)}, which is more than an int64 holds")
    if array.dtype.kind in "biu":
        return np.ascontiguousarray(array, np.int64)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, np.float32)
    raise TypeError(f"'{name}' is neither bytes, text, integers nor floats: {array.dtype}")


_TEXTS = (str, bytes, bytearray, memoryview)


def _kinds(values: Sequence[Any]) -> set[type]:
    """The types of what is in a list, and in the lists in it."""
    kinds: set[type] = set(map(type, values))
    if kinds & {list, tuple}:
        nested = [one for one in values if isinstance(one, list | tuple)]
        kinds = (kinds - {list, tuple}).union(*map(_kinds, nested))
    return kinds


class TFRecordWriter:
    """Writes a TFRecord file. It gets its name when it is closed, all at once.

    >>> with TFRecordWriter("train.tfrecord", compression="gzip") as writer:  # doctest: +SKIP
    ...     writer.write(b"any bytes")
    ...     writer.write_example({"image": jpeg, "label": 3})
    """

    def __init__(
        self, path: str | os.PathLike[str], compression: Literal["gzip", "zlib"] | None = None
    ) -> None:
        self._writer = _core.TFRecordWriter(os.fspath(path), compression or "")

    def write(self, record: Any) -> None:
        """Appends a record: anything bytes-like."""
        self._writer.write(record)

    def write_example(self, sample: Mapping[str, Any]) -> None:
        """Appends a sample, as :func:`encode_example` takes it."""
        self._writer.write(encode_example(sample))

    def close(self) -> None:
        """The file is complete. What is never closed leaves no file."""
        self._writer.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()


class TFRecords:
    """The records of TFRecord files by number, as bytes. Indexes are found or made, as for tar.

    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
    >>> with TFRecordWriter(path) as writer:
    ...     for word in (b"one", b"two", b"three"):
    ...         writer.write(word)
    >>> records = TFRecords(path)
    >>> len(records), records[1], records[[2, 0]]
    (3, b'two', [b'three', b'one'])
    """

    def __init__(
        self, src: Names, *, verify: bool = True, checksums: bool = False, mmap: bool = False
    ) -> None:
        """With `mmap` records are looked at where they are: faster for small ones, for files that
        nobody changes."""
        self._records = _core.open_records(
            names_of(src), "tfrecord", checksums=checksums, verify=verify, mmap=mmap
        )

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: Sequence[int]) -> list[bytes]: ...
    def __getitem__(self, index: int | Sequence[int]) -> bytes | list[bytes]:
        """One record, or several, which are read together."""
        if hasattr(index, "__index__"):
            number = int(index)
            if number < 0:
                number += len(self)
            if not 0 <= number < len(self):
                raise IndexError(f"record {index} of {len(self)}")
            return self._records.read_bytes([number], "data")[0]
        return self._records.read_bytes(index, "data")  # type: ignore[arg-type]

    def findings(self) -> dict[str, int]:
        """How often a length was damaged or a file cut. Checksums of records are checked when these
        are read: a wrong one is an error then."""
        found = self._records.findings()
        return {name: found[name] for name in ("damaged", "cut")}
