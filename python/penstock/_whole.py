"""Numbers, types, files and iterables that users give: what is none is refused by name."""

from __future__ import annotations

import math
import operator
import os
from typing import Any

import numpy as np


def as_whole(value: Any, name: str) -> int:
    """Any kind of int. A float is a slip, also one without a fraction.

    >>> as_whole(3, "size")
    3
    """
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; give a whole number, an int") from None


def as_whole_or_none(value: Any, name: str) -> int | None:
    return None if value is None else as_whole(value, name)


def as_number(value: Any, name: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`.

    >>> as_number(7, "seed", 0, 2**64 - 1)
    7
    """
    number = as_whole(value, name)
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; give {low} to {high}")
    return number


def as_flag(value: Any, name: str) -> bool:
    if value is not True and value is not False:
        raise TypeError(f"{name} is {value!r}; give True or False")
    return bool(value)


def as_stream(stream: Any) -> int:
    """The number of a stream in a file as C++ takes it; None: the best one."""
    if stream is None:
        return -1
    number = as_whole(stream, "stream")
    if number < 0:
        raise ValueError(f"stream is {number}; give 0 or more, or None for the best one")
    return number


def as_text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; give a str")
    return value


def as_real(value: Any, name: str) -> float:
    """Any number that is one already: a str is a slip.

    >>> as_real(np.float32(0.5), "gain")
    0.5
    """
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; give a number")
    return float(value)


def as_type(dtype: Any, name: str, known: str) -> str:
    """The name of a type, which may be given as NumPy's. `known` is what the message recommends.

    >>> as_type(np.dtype("int16"), "dtype", "float32 or int16"), as_type("int24", "coding", "int24")
    ('int16', 'int24')
    """
    if isinstance(dtype, str):
        return dtype
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        raise TypeError(f"{name} is {dtype!r}; give {known}") from None


def as_place(src: Any) -> Any:
    """A name, or what holds the bytes of a file, as C++ takes it."""
    if src is None:
        raise TypeError("src is None; give a path, a URL, or the bytes of a file")
    return os.fspath(src) if isinstance(src, os.PathLike) else src


def as_seconds(value: Any, name: str) -> float:
    """A time; infinity is one, too.

    >>> as_seconds(2, "timeout")
    2.0
    """
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; give a number of seconds")
    seconds = float(value)
    if math.isnan(seconds):
        raise ValueError(f"{name} is {value!r}; give a number of seconds")
    return seconds


def as_wholes(values: Any, name: str, words: str) -> tuple[int, ...]:
    """As many ints as there are `words`: "height, width"."""
    try:
        given = tuple(values)
    except TypeError:
        given = ()
    if len(given) != words.count(",") + 1 or isinstance(values, str):
        raise TypeError(f"{name} is {values!r}; give ({words})")
    return tuple(as_whole(value, f"{name} ({words})") for value in given)


def check_iterable(value: Any, name: str) -> None:
    """Whether it can be iterated over, without beginning to."""
    if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
        raise TypeError(f"{name} is {value!r}; give something that can be iterated over")
