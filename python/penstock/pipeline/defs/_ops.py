"""What can be an op, and how it is shown."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import GenericAlias
from typing import Any


class Subscriptable:
    """Lets annotations such as ``PipelineConfig[int]`` stand: they mean nothing when run."""

    @classmethod
    def __class_getitem__(cls, parameters: Any) -> GenericAlias:
        return GenericAlias(cls, parameters)


def name_of(op: Any) -> str:
    """The word by which a stage is known when its user gives none."""
    if is_container(op):
        return "__getitem__"
    inner = getattr(op, "func", op)  # functools.partial
    return getattr(op, "name", None) or getattr(inner, "__name__", None) or type(op).__name__


def is_container(op: Any) -> bool:
    return hasattr(op, "__getitem__") and not isinstance(op, type)


def is_async(op: Any) -> bool:
    """Async functions and async generator functions, also as ``__call__`` or inside a partial."""
    return any_of(op, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


def any_of(op: Any, *tests: Callable[[Any], bool]) -> bool:
    candidates = (op, getattr(op, "func", None), getattr(op, "__call__", None))  # noqa: B004
    return any(test(one) for one in candidates if one is not None for test in tests)


def describe(op: Any) -> str:
    """An op in a line: its name, and where it was written if that is known."""
    inner = op
    while (wrapped := getattr(inner, "func", None)) is not None:
        inner = wrapped
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    code = getattr(inner, "__code__", None)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code is not None else name
