"""What is in a file of arrays. Names are public in penstock.io."""

from __future__ import annotations

import ast
import json
import os
from typing import Any

import numpy as np

from penstock import _core


def dtype_of(descr: str | np.dtype[Any]) -> np.dtype[Any]:
    """As the native part describes what only NumPy knows."""
    literal = isinstance(descr, str) and descr[0] in "[{("
    return np.dtype(ast.literal_eval(str(descr)) if literal else descr)


def array_info(src: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """The arrays of a Zarr store or an HDF5 file, without reading their elements.

    For each array by name: ``shape``, ``dtype``, ``chunks`` (None: it is in one piece), ``codecs``
    and ``attributes``. Under the name ``""`` stand the attributes of the root group.

    >>> array_info("train.zarr")["image"]["shape"]  # doctest: +SKIP
    (50000, 64, 64, 3)
    """
    name = os.fspath(src)
    format = _core.format_of([name])
    if format not in ("zarr", "hdf5"):
        raise ValueError(f"array_info: {name} is neither Zarr nor HDF5")
    found: dict[str, dict[str, Any]] = {}
    for array, descr, shape, chunks, codecs in _core.array_info(name, format):
        found[array] = {
            "shape": tuple(shape),
            "dtype": dtype_of(descr),
            "chunks": tuple(chunks) or None,
            "codecs": codecs,
            "attributes": json.loads(_core.array_attributes(name, format, array)),
        }
    found[""] = {"attributes": json.loads(_core.array_attributes(name, format, ""))}
    return found
