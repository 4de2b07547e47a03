"""Stages: a function applied to items, items gathered, items taken apart."""

from __future__ import annotations

import enum
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from penstock._core import NativeOp
from penstock.pipeline.defs._ops import (
    Subscriptable,
    any_of,
    describe,
    is_async,
    is_container,
    name_of,
)

_TAsyncCallables = Callable[[Any], Awaitable[Any]] | Callable[[Any], AsyncIterable[Any]]
_TCallables = Callable[[Any], Any] | Callable[[Any], Iterable[Any]] | _TAsyncCallables
# Anything with __getitem__ will do, too.
_TPipeInputs = Any

_MOST = 1 << 20  # tasks at once


class _PipeType(enum.IntEnum):
    Pipe = 1
    OrderedPipe = 2
    Aggregate = 3
    Disaggregate = 4


@dataclass
class _PipeArgs(Subscriptable):
    op: Any
    executor: Executor | None = None
    concurrency: int = 1


@dataclass(frozen=True)
class PipeConfig(Subscriptable):
    """A function applied to each item. Made by :func:`Pipe`."""

    name: str
    _type: _PipeType
    _args: _PipeArgs
    _max_failures: int | Fraction | None = None

    def __repr__(self) -> str:
        parts = [f"concurrency={self._args.concurrency}"]
        if self._args.executor is not None:
            parts.append(f"executor={self._args.executor!r}")
        if self._type is _PipeType.OrderedPipe:
            parts.append("output_order='input'")
        parts.append(f"op={describe(self._args.op)}")
        return f"{self.name}({', '.join(parts)})"


def Pipe(
    op: Any,
    /,
    *,
    concurrency: int = 1,
    executor: Executor | None = None,
    name: str | None = None,
    output_order: Literal["completion", "input"] = "completion",
    max_failures: int | Fraction | None = None,
) -> PipeConfig:
    """A function applied to each item; see :meth:`PipelineBuilder.pipe`.

    >>> Pipe(abs, concurrency=2, name="size")
    size(concurrency=2, op=abs)
    """
    if not callable(op) and not is_container(op) and not isinstance(op, NativeOp):
        raise TypeError(
            f"pipe: op is {op!r} of type {type(op).__name__}, which can neither be called nor "
            "indexed; give a function or a container"
        )
    stage = name or name_of(op)
    if not isinstance(concurrency, int):
        raise TypeError(f"stage '{stage}': concurrency is {concurrency!r}; it must be an int")
    if concurrency < 1:
        raise ValueError(
            f"`concurrency` value must be >= 1. Found: {concurrency}. (stage '{stage}')"
        )
    if concurrency > _MOST:
        raise ValueError(f"stage '{stage}': concurrency is {concurrency}; give {_MOST} at most")
    if output_order not in ("completion", "input"):
        raise ValueError(
            '`output_order` must be either "completion" or "input". '
            f"Found: {output_order}. (stage '{stage}')"
        )
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(
            f"stage '{stage}': executor is {executor!r}, which has no submit(); give a "
            "concurrent.futures executor"
        )
    if is_async(op):
        if executor is not None:
            raise ValueError(f"`executor` cannot be specified when op is async. (stage '{stage}')")
        if output_order == "input" and any_of(op, inspect.isasyncgenfunction):
            raise ValueError(
                "pipe does not support async generator function when `output_order` is 'input'. "
                f"(stage '{stage}')"
            )
    if isinstance(max_failures, Fraction) and not 0 < max_failures <= 1:
        raise ValueError(
            f"`max_stage_failures` Fraction must be in range (0, 1]. Got: {max_failures}\n"
            f"stage '{stage}': max_failures is {max_failures}; a Fraction must be above 0 and at "
            "most 1"
        )
    if max_failures is not None and not isinstance(max_failures, int | Fraction):
        raise TypeError(
            f"stage '{stage}': max_failures is {max_failures!r}; give an int or a Fraction"
        )
    kind = _PipeType.Pipe if output_order == "completion" else _PipeType.OrderedPipe
    return PipeConfig(stage, kind, _PipeArgs(op, executor, concurrency), max_failures)


class Aggregator(ABC):
    """Gathers items into larger ones. One instance serves one stage, one call at a time.

    >>> class Pairs(Aggregator):
    ...     one = None
    ...
    ...     def accumulate(self, item):
    ...         if self.one is None:
    ...             self.one = item
    ...             return None
    ...         return self.flush(), item
    ...
    ...     def flush(self):
    ...         one, self.one = self.one, None
    ...         return one
    >>> from penstock.pipeline import PipelineBuilder
    >>> pipeline = PipelineBuilder().add_source("abc").aggregate(Pairs()).add_sink(3).build()
    >>> with pipeline.auto_stop():
    ...     print(list(pipeline))
    [('a', 'b'), 'c']
    """

    @abstractmethod
    def accumulate(self, item: Any, /) -> Any:
        """Takes an item; returns a result if one is complete, else None."""

    @abstractmethod
    def flush(self) -> Any:
        """Returns what is left at the end of an epoch, or None, and starts anew."""


class Collate(Aggregator, Subscriptable):
    """Lists of ``n`` items.

    >>> both = Collate(2)
    >>> both.accumulate("a"), both.accumulate("b")
    (None, ['a', 'b'])
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._items: list[Any] = []

    def accumulate(self, item: Any, /) -> list[Any] | None:
        self._items.append(item)
        return self.flush() if len(self._items) >= self.n else None

    def flush(self) -> list[Any] | None:
        items, self._items = self._items, []
        return items or None

    def __repr__(self) -> str:
        return f"collate({self.n})"


@dataclass(frozen=True)
class AggregateConfig(Subscriptable):
    """Gathers items. Made by :func:`Aggregate`."""

    name: str
    op: Aggregator
    drop_last: bool = False
    _type: _PipeType = _PipeType.Aggregate

    def __repr__(self) -> str:
        return self.name


def Aggregate(input: int | Aggregator, /, *, drop_last: bool = False) -> AggregateConfig:
    """Lists of so many items, or the results of an :class:`Aggregator`.

    >>> Aggregate(4, drop_last=True)
    aggregate(op=collate(4), drop_last=True)
    """
    if isinstance(input, int):
        input = Collate(input)
    elif not isinstance(input, Aggregator):
        raise TypeError(
            f"The `input` must be either int or Aggregator. Found: {type(input)}. "
            "aggregate: give the number of items of a list."
        )
    return AggregateConfig(f"aggregate(op={input!r}, drop_last={drop_last})", input, drop_last)


@dataclass(frozen=True)
class DisaggregateConfig(Subscriptable):
    """Takes items apart. Made by :func:`Disaggregate`."""

    name: str
    _type: _PipeType = _PipeType.Disaggregate

    def __repr__(self) -> str:
        return self.name


def Disaggregate() -> DisaggregateConfig:
    """The elements of each item, one by one.

    >>> Disaggregate()
    disaggregate
    """
    return DisaggregateConfig("disaggregate")
