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
    and ``attributes``. Under the name ``""`` stand the attributes of the root group. What cannot be
    read has ``unreadable``, the reason, and a ``shape`` and ``dtype`` of None if nobody knows them.
    ``left_out`` has the reasons for attributes that have no value in Python; it is there if there
    are any. The ``dtype`` of rows of varying length is object, as h5py has it: its metadata says
    what ``vlen`` is.

    >>> array_info("train.zarr")["image"]["shape"]  # doctest: +SKIP
    (50000, 64, 64, 3)
    """
    name = os.fspath(src)
    format = _core.format_of([name])
    if format not in ("zarr", "hdf5"):
        raise ValueError(f"array_info: {name} is neither Zarr nor HDF5")
    found: dict[str, dict[str, Any]] = {}
    for array, descr, shape, chunks, codecs, varying, unreadable in _core.array_info(name, format):
        unknown = bool(unreadable) and not shape
        found[array] = {
            "shape": None if unknown else tuple(shape),
            "dtype": _dtype_of_rows(descr, varying),
            "chunks": tuple(chunks) or None,
            "codecs": codecs,
            **({"attributes": {}} if unknown else _attributes(name, format, array)),
            **({"unreadable": unreadable} if unreadable else {}),
        }
    found[""] = _attributes(name, format, "")
    return found


def _dtype_of_rows(descr: str, varying: bool) -> np.dtype[Any] | None:
    if not descr:
        return None
    if descr == "text":
        return np.dtype("O", metadata={"vlen": str})
    return np.dtype("O", metadata={"vlen": dtype_of(descr)}) if varying else dtype_of(descr)


def _attributes(name: str, format: str, array: str) -> dict[str, Any]:
    text = _core.array_attributes(name, format, array)
    attributes = json.loads(text, object_hook=_complex if format == "hdf5" else None)
    left_out = attributes.pop(_LEFT_OUT, None) if format == "hdf5" else None
    return {"attributes": attributes, **({"left_out": left_out} if left_out else {})}


# Names that no attribute of HDF5 has: see formats/chunked/hdf5/open.h.
_LEFT_OUT, _COMPLEX = "\0left out", "\0complex"


def _complex(found: dict[str, Any]) -> Any:
    return complex(*found[_COMPLEX]) if _COMPLEX in found else found
