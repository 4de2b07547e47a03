"""The consumer's wait as a range in PyTorch's profiler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAME = "penstock: waiting for data"


def begin() -> Any:
    """A range that has begun, to be left with ``__exit__``; None if no profiler is active.

    Called only while torch is loaded.
    """
    import torch

    autograd: Any = torch.autograd
    if not autograd._profiler_enabled():
        return None
    return autograd.profiler.record_function(NAME).__enter__()


@contextmanager
def shown() -> Iterator[None]:
    """The range around a block of Python code, if torch is loaded and a profiler is active."""
    one = begin() if "torch" in sys.modules else None
    try:
        yield
    finally:
        if one is not None:
            one.__exit__(None, None, None)
