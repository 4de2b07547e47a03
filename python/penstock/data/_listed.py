"""Lists of numbers in fields that a batch pads or joins: arrays are made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data._plan import Batch


def array_maker(
    batch: Batch | None, final: Callable[[str], str | None]
) -> Callable[[Any], Any] | None:
    """What makes arrays of such lists in a sample; None: the batch wants none. `final` says how a
    field is called in the batch."""
    if batch is None or not any(how in ("pad", "ragged") for _, how in batch.collate):
        return None

    def wanted(name: str) -> bool:
        last = final(name)
        return last is not None and batch.gather(last) in ("pad", "ragged")

    def convert(sample: Any) -> Any:
        fields = {"data": sample} if isinstance(sample, list | tuple) else sample
        if not isinstance(fields, dict):
            return sample
        return {
            name: _array(value) if isinstance(value, list | tuple) and wanted(name) else value
            for name, value in fields.items()
        }

    return convert


def _array(values: Any) -> Any:
    """Of numbers, with the types that single ones have; anything else stays as it is."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        return values
    if array.size == 0:
        return array.astype(np.int64)
    first = values
    while isinstance(first, list | tuple):
        first = first[0]
    if type(first) is float or (type(first) is int and array.dtype == np.float64):
        return array.astype(np.float32)
    return array if array.dtype.kind in "biuf" else values
