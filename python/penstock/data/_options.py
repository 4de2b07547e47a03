"""The arguments of a loader, as a type."""

from __future__ import annotations

from typing import Literal, TypedDict


class LoaderOptions(TypedDict, total=False):
    """The arguments of :class:`Loader`."""

    threads: int | None
    memory: int | str
    prefetch: int
    seed: int
    on_error: Literal["raise", "skip", "replace"]
    max_errors: int | None
    epoch: int
    output: Literal["numpy", "torch", "jax", "dlpack"]
