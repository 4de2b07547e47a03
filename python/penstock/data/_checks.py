"""Arguments that several methods of a dataset take, checked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.data._plan import ALL_FIELDS, Batch, PlanError

_MOST = 2**62
_MOST_THREADS = 4096  # more is a slip: each has a stack, and no machine has as many cores


def checked_whole(value: int, name: str, least: int = 0, most: int = _MOST) -> int:
    """A whole number that is not too small, and not too large."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise PlanError(f"{name} is {value!r}; give a whole number")
    if not least <= value <= most:
        words = "2**62" if most == _MOST else str(most)
        raise PlanError(f"{name} is {value!r}; give a number from {least} up to {words}")
    return int(value)


def checked_threads(threads: int) -> int:
    if checked_whole(threads, "threads", 1) > _MOST_THREADS:
        raise PlanError(f"threads is {threads}; give a number up to {_MOST_THREADS}")
    return int(threads)


def checked_count(n: int, step: str) -> int:
    return checked_whole(n, f"{step}: n")


def checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise PlanError(f"seed is {seed!r}; give an int")
    if not 0 <= seed < 2**64:
        raise PlanError(f"seed is {seed!r}; give a number from 0 up to 2**64 - 1")
    return int(seed)


def checked_function(fn: Any, step: str) -> None:
    if not callable(fn):
        raise PlanError(f"{step}: {fn!r} is not a function")
    if inspect.isgeneratorfunction(fn):
        raise PlanError(f"{step}: a generator function gives many values; return one")


def checked_dtype(dtype: Any) -> Any:
    """Names of types as strings, also where NumPy's types are given."""
    if isinstance(dtype, Mapping):
        return {name: checked_dtype(one) for name, one in dtype.items()}
    if isinstance(dtype, str):
        return dtype
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise PlanError(
            f'batch: dtype is {dtype!r}; give "uint8", "float32" or "float16"'
        ) from None


def checked_channels(values: Any, name: str) -> Any:
    """Means or deviations as a tuple of floats, or a dict of them by field."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {field: checked_channels(one, name) for field, one in values.items()}
    try:
        return tuple(np.asarray(values, np.float64).ravel().tolist())
    except (TypeError, ValueError):
        raise PlanError(
            f"batch: {name} is {values!r}; give a number, or one for each channel"
        ) from None


def checked_collate(collate: str | Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """How rows become one value: one word for all fields, or a dict by field."""
    if collate is not None and not isinstance(collate, str | Mapping):
        raise PlanError(
            f"batch: collate is {collate!r}; give a word or a dict of words by field. A function "
            "on batches is .batch(n).map(fn)"
        )
    by_field = {ALL_FIELDS: collate} if isinstance(collate, str) else dict(collate or {})
    for how in by_field.values():
        if how not in ("list", "pad", "ragged", "stack"):
            raise PlanError(f'batch: collate is {how!r}; give "list", "pad", "ragged" or "stack"')
    return tuple(by_field.items())


def check_field_options(batch: Batch, fields: list[str] | None, pictures: set[str]) -> None:
    """What a dict says of a field that is not there, or that has no pixels, is a slip; and so are
    means of whole numbers."""
    named = {name: "collate" for name, _ in batch.collate if name != ALL_FIELDS}
    for option in ("layout", "dtype", "mean", "std"):
        value = getattr(batch, option)
        named |= dict.fromkeys(value, option) if isinstance(value, Mapping) else {}
    for name, option in named.items():
        if fields is not None and name not in fields:
            raise PlanError(
                f"batch: {option} names a field '{name}'; there are: {', '.join(fields)}"
            )
        if option != "collate" and name not in pictures:
            raise PlanError(
                f"batch: {option} is for fields made by decode_image or decode_video, and '{name}' "
                "is not one; a map() before batch() changes others"
            )
    for name in pictures or {ALL_FIELDS}:
        if batch.of("mean", name) is not None and batch.of("dtype", name) == "uint8":
            raise PlanError('batch: mean and std are for dtype="float32" or "float16", not "uint8"')
