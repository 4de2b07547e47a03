"""Whether an op can be called with one item, where that can be known before it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def refusal(stage: str, op: Callable[..., Any]) -> TypeError | None:
    """What to raise because ``op(item)`` cannot work, or None."""
    try:
        signature = inspect.signature(op)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(object())
    except TypeError as error:
        return TypeError(
            f"stage '{stage}': the op cannot be called with one argument: "
            f"{getattr(op, '__qualname__', op)}{signature}: {error}. "
            "Wrap it in a function of one argument."
        )
    return None
