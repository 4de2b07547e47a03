"""Is what was read back what the source has? The check that follows a conversion asks here: it
compares values, and knows nothing of how they were written."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.convert._values import is_bytes, is_numpy

_DIGITS = {2: 11, 4: 24, 8: 53}  # bits of a whole number that floats of so many bytes keep


def same(source: Any, got: Any) -> bool:
    """The same value. Numbers may have a wider type than they had, and texts may be bytes; one that
    is no number at all equals itself."""
    if source is None or got is None:
        return source is got
    if is_bytes(source) or is_bytes(got):
        source, got = _as_bytes(source), _as_bytes(got)
        return source is not None and bool(source == got)
    if isinstance(source, str | bool) or (isinstance(source, int) and isinstance(got, int)):
        return type(source) is type(got) and bool(source == got)
    if isinstance(source, dict):
        return (
            isinstance(got, dict)
            and source.keys() == got.keys()
            and all(same(value, got[name]) for name, value in source.items())
        )
    if isinstance(source, list | tuple) or isinstance(got, list | tuple):
        return _same_lists(_as_list(source), _as_list(got))
    if not is_numpy(source) and not isinstance(source, int | float | complex):
        return type(source) is type(got) and bool(source == got)
    return same_numbers(np.asarray(source), np.asarray(got))


def same_numbers(source: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> bool:
    """Of one shape, and none of them changed."""
    if source.shape != got.shape or (source.dtype.kind == "b") != (got.dtype.kind == "b"):
        return False
    if source.dtype == got.dtype:
        return _no_bit_differs(source, got)
    if source.dtype.kind != got.dtype.kind and (source.dtype.kind + got.dtype.kind).strip("iuf"):
        return False
    if source.dtype.kind in "mM":  # of another unit
        back = got.astype(source.dtype)
        return back.tobytes() == source.tobytes() and back.astype(got.dtype).tobytes() == (
            got.tobytes()
        )
    if source.dtype.kind in "US":  # of another width
        return bool(source.reshape(-1).tolist() == got.reshape(-1).tolist())
    if widens(source.dtype, got.dtype):
        return _no_bit_differs(source, got.astype(source.dtype))
    # Python compares whole numbers and floats exactly; NumPy makes them floats first.
    return all(
        a == b or (a != a and b != b)
        for a, b in zip(source.reshape(-1).tolist(), got.reshape(-1).tolist(), strict=True)
    )


def widens(source: np.dtype[Any], into: np.dtype[Any]) -> bool:
    """Does `into` hold every number of the other type?"""
    kinds, size, room = source.kind + into.kind, source.itemsize, into.itemsize
    if kinds in ("ii", "uu", "ff", "cc"):
        return size <= room
    if kinds == "ui":
        return size < room
    if kinds in ("if", "uf"):
        return 8 * size <= _DIGITS.get(room, 0)
    return source == into


def _no_bit_differs(source: np.ndarray[Any, Any], got: np.ndarray[Any, Any]) -> bool:
    if source.tobytes() == got.tobytes():
        return True
    if source.dtype.kind not in "fc":
        return False
    if source.dtype.kind == "c":
        source, got = (np.stack([one.real, one.imag]) for one in (source, got))
    none = np.isnan(source) & np.isnan(got)  # these have many forms, and casts may change them
    return bool(np.all(none | (source == got) & (np.signbit(source) == np.signbit(got))))


def _same_lists(source: list[Any] | None, got: list[Any] | None) -> bool:
    if source is None or got is None or len(source) != len(got):
        return False
    return all(same(a, b) for a, b in zip(source, got, strict=True))


def _as_bytes(value: Any) -> bytes | None:
    if isinstance(value, str):  # names of files need not be UTF-8
        return value.encode("utf-8", "surrogateescape")
    return bytes(value) if is_bytes(value) else None


def _as_list(value: Any) -> list[Any] | None:
    if is_numpy(value) and value.ndim > 0:
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else None
