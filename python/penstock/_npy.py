"""NumPy's own files: .npy and .npz. Names are public in penstock.io."""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import _core


def load_npy(src: str | os.PathLike[str] | Any, *, mmap: bool = False) -> np.ndarray[Any, Any]:
    """The array of a .npy file, as :func:`numpy.load` gives it; without the GIL while it reads.

    Args:
        src: A path or URL, or the file's bytes (then the array shares their memory).
        mmap: Map the file instead of reading it; the array is read-only. Do not shorten the file
            while it is in use.

    The memory of arrays that are gone is used again: loading many of one size does not wait for the
    system. Arrays of Python objects are refused, since reading them would run code.

    Raises:
        ValueError: The file is damaged or cut off.
        NotImplementedError: It holds Python objects.
        OSError: It cannot be read.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(6).reshape(2, 3))
    >>> load_npy(file.getvalue())
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    array: np.ndarray[Any, Any] = _array(_core.load_npy(_source(src), mmap), _named(src))
    return array


def load_npz(
    src: str | os.PathLike[str] | Any, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """The arrays of a .npz file by name, stored or compressed; without the GIL while it reads.

    Each is checked against its checksum. Members that are no .npy files come as bytes.

    Args:
        src: A path or URL, or the file's bytes.
        names: Load these only.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez_compressed(file, x=np.arange(3), y=np.ones(2))
    >>> load_npz(file.getvalue())
    {'x': array([0, 1, 2]), 'y': array([1., 1.])}
    """
    wanted = None if names is None else list(names)
    where = _named(src)
    return {
        name: _array(value, f"{where}, member {name}" if where else f"member {name}")
        for name, value in _core.load_npz(_source(src), wanted)
    }


def _named(src: Any) -> str:
    """For messages: a file's name; nothing for bytes."""
    return f"file {os.fspath(src)}" if isinstance(src, str | os.PathLike) else ""


def _source(src: Any) -> Any:
    return os.fspath(src) if isinstance(src, os.PathLike) else src


def _array(made: Any, where: str) -> Any:
    """What the native part could not make an array of: types that only NumPy knows."""
    if type(made) is not tuple:
        return made
    data, descr, fortran, shape = made
    place = f" ({where})" if where else ""
    try:
        dtype = np.lib.format.descr_to_dtype(ast.literal_eval(descr) if descr[0] == "[" else descr)
    except (SyntaxError, TypeError, ValueError) as e:
        raise ValueError(f"not a .npy array: its dtype {descr} cannot be read{place}") from e
    if dtype.hasobject:
        raise NotImplementedError(
            f"this .npy array holds Python objects: save numbers instead{place}"
        )
    count = math.prod(shape)
    if count * dtype.itemsize > len(data):
        raise ValueError(
            f"not a .npy array: it has fewer elements than its shape; was it cut off?{place}"
        )
    try:
        if dtype.itemsize == 0:
            return np.ndarray(shape, dtype)
        flat = np.asarray(data)[: count * dtype.itemsize].view(dtype)
        return flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, TypeError, MemoryError) as e:
        raise ValueError(f"not a .npy array: {descr} of shape {shape}: {e}{place}") from e


class Rows(Sequence[Any]):
    """The rows of a .npy file of a type that batches do not have: NumPy's, one by one."""

    def __init__(self, path: str, window: int = 0, stride: int = 1) -> None:
        self._opened = (path, window, stride)
        self._window, self._stride = window, stride
        array = load_npy(path, mmap=True)
        self._count, self._shape, self._dtype = len(array), array.shape[1:], array.dtype
        if self._dtype.itemsize == 0:
            raise NotImplementedError(f"{path}: elements of type {self._dtype} have no bytes")
        self._rows = _core.NpyRows(path, array.dtype.itemsize)

    def __len__(self) -> int:
        rows = self._count
        if not self._window:
            return rows
        return 0 if rows < self._window else (rows - self._window) // self._stride + 1

    def __getitem__(self, index: Any) -> Any:
        first = index * self._stride
        data = self._rows.read(first, self._window or 1)
        shape = (self._window, *self._shape) if self._window else self._shape
        row = np.frombuffer(data, self._dtype).reshape(shape)
        return {"data": row.astype(row.dtype.newbyteorder("="))}

    def __getstate__(self) -> tuple[str, int, int]:
        return self._opened

    def __setstate__(self, opened: tuple[str, int, int]) -> None:
        self.__init__(*opened)  # type: ignore[misc]
