"""What becomes of a sample in a tf.train.Example, and whether one holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import _core, io
from penstock.convert._same import same
from penstock.convert._values import is_bytes, is_numpy


def encoded(position: int, sample: Mapping[str, Any]) -> bytes:
    """A record. An Example has bytes, int64 and float32: what none of these holds is refused."""
    try:
        return io.encode_example(
            {name: _feature(name, value) for name, value in sample.items() if value is not None}
        )
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"sample {position}: {error}; or choose other fields (--fields), or another format"
        ) from None


def other_than(sample: Mapping[str, Any], record: bytes) -> str | None:
    """What of a sample the record does not have, or has otherwise; None: it has all of it."""
    specs, untyped = _core.infer_example(record)
    expected = {name: value for name, value in sample.items() if value is not None}
    if {name for name, _ in specs} != expected.keys() or untyped:
        return "the features"
    got = io.parse_example(record, dict(specs)) if specs else {}
    for name, value in expected.items():
        if not same(_flat(value), _flat(got[name])):
            return f"'{name}'"
    return None


def _feature(name: str, value: Any) -> Any:
    """What io.encode_example takes, and keeps."""
    if isinstance(value, str):  # a path need not be UTF-8, and the texts of an Example are bytes
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, list):
        return _texts(name, value)
    wide = is_numpy(value) and value.dtype.kind == "f" and value.dtype.itemsize > 4
    if wide or (isinstance(value, float) and not same(value, np.float32(value))):
        kind = value.dtype if wide else "float64"
        raise TypeError(
            f"'{name}' is {kind}, which an Example cannot hold: read it as float32 first"
        )
    return value


def _texts(name: str, values: list[Any]) -> Any:
    if not values:
        return np.zeros(0, "S1")  # an empty list of bytes
    others = [one for one in values if not is_bytes(one) and not isinstance(one, str)]
    if others:
        raise TypeError(
            f"'{name}' is a list with {_kind(others[0])} in it, and a feature of an Example is a "
            "list of bytes, of int64 or of float32"
        )
    return [
        one.encode("utf-8", "surrogateescape") if isinstance(one, str) else one for one in values
    ]


def _kind(value: Any) -> str:
    if isinstance(value, list | np.ndarray):
        return "lists"
    known = {type(None): "nulls", tuple: "pairs", dict: "structs"}
    return known.get(type(value), type(value).__name__)


def _flat(value: Any) -> Any:
    """As a feature has it: a list of bytes, or numbers in a row."""
    if isinstance(value, str) or is_bytes(value):
        return [value]
    if isinstance(value, list):
        return value
    array = np.asarray(value).reshape(-1)
    if array.dtype.kind in "US":
        return array.tolist()
    return array.astype(np.int64) if array.dtype.kind == "b" else array
