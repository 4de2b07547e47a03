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
            import jax.numpy
        except ImportError:
            raise ImportError('output="jax" needs JAX: pip install jax') from None
        return jax.numpy.from_dlpack
    if output == "dlpack":
        return lambda tensor: tensor
    raise ValueError(f"output must be numpy, torch, jax or dlpack, not {output!r}")


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
