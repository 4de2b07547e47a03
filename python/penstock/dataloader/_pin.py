"""Pinned memory, where there is a device that has a use for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from penstock.dataloader._fetch import Result, raisable


def pin_function(loader: Any) -> Callable[[Any], Any] | None:
    """Copies the tensors of a batch to pinned memory, as torch does; None if that is not wanted."""
    import torch

    if not loader.pin_memory:
        return None
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device, "
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=3,
        )
    device = torch.accelerator.current_accelerator()
    if device is None or not torch.accelerator.is_available() or device.type == "mps":
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
            "memory won't be used.",
            stacklevel=3,
        )
        return None
    from torch.utils.data._utils.pin_memory import pin_memory

    return lambda batch: pin_memory(batch, device.type)  # type: ignore[no-untyped-call]


def on_results(pin: Callable[[Any], Any]) -> Callable[[Result], Result]:
    def finish(result: Result) -> Result:
        number, batch, error = result
        if error is not None:
            return result
        try:
            return [number, pin(batch), None]
        except BaseException as problem:
            return [number, None, raisable(problem, f"pinning batch {number}")]

    return finish
