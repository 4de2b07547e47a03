"""The consumer's wait as a range in PyTorch's profiler. Called only while torch is loaded."""

from __future__ import annotations

from typing import Any

NAME = "penstock: waiting for data"


def begin() -> Any:
    """A range that has begun, to be left with ``__exit__``; None if no profiler is active."""
    import torch

    autograd: Any = torch.autograd
    if not autograd._profiler_enabled():
        return None
    return autograd.profiler.record_function(NAME).__enter__()
