"""Columns of a batch as arrays of the library that the user asked for; nothing is copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock import _core


class Ragged(NamedTuple):
    """Rows of different lengths: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    values: Any
    offsets: Any


def array_maker(output: str) -> Callable[[_core.Tensor], Any]:
    if output == "numpy":
        return np.asarray
    if output == "torch":
        try:
            import torch
        except ImportError:
            raise ImportError('output="torch" needs PyTorch: pip install torch') from None
        return torch.utils.dlpack.from_dlpack
    if output == "jax":
        try:
            import jax.numpy as jnp
        except ImportError:
            raise ImportError('output="jax" needs JAX: pip install jax') from None
        return lambda tensor: _fitting(tensor, jnp.from_dlpack(tensor))
    if output == "dlpack":
        return lambda tensor: tensor
    raise ValueError(f"output must be numpy, torch, jax or dlpack, not {output!r}")


def _fitting(tensor: _core.Tensor, array: Any) -> Any:
    """JAX makes 32 bits of 64, unless it is told otherwise. Values that do not fit are an error."""
    wide = np.asarray(tensor)
    if array.dtype.itemsize == wide.dtype.itemsize:
        return array
    narrow = np.asarray(array)
    real = wide.dtype.kind == "f"
    lost = np.isinf(narrow) & np.isfinite(wide) if real else narrow != wide
    if lost.any():
        raise OverflowError(
            f'output="jax": {wide[lost].flat[0]} does not fit in {narrow.dtype}, which JAX has in '
            f"place of {wide.dtype}: call jax.config.update('jax_enable_x64', True) at the start"
        )
    return array


def converter(output: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that changes the columns of a batch, in place."""
    make = array_maker(output)

    def convert(columns: dict[str, Any]) -> dict[str, Any]:
        for name, column in columns.items():
            if isinstance(column, _core.Tensor):
                columns[name] = make(column)
            elif isinstance(column, tuple):
                columns[name] = Ragged(make(column[0]), make(column[1]))
        return columns

    return convert


def first_row(columns: dict[str, Any]) -> dict[str, Any]:
    """The one sample of a batch of one: what a loader without batches hands out."""
    return {
        name: column.row(0) if isinstance(column, _core.Tensor) else column[0]
        for name, column in columns.items()
    }
