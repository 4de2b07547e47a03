"""Definitions of pipelines: plain, picklable data that :func:`build_pipeline` turns into one.

The builder makes these for you. Write them by hand for what it cannot express: merging several
pipelines.
"""

from __future__ import annotations

import enum
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from penstock._core import NativeOp

__all__ = [
    "Aggregate",
    "AggregateConfig",
    "Aggregator",
    "Collate",
    "Disaggregate",
    "DisaggregateConfig",
    "Merge",
    "MergeConfig",
    "PathVariants",
    "PathVariantsConfig",
    "Pipe",
    "PipeConfig",
    "PipelineConfig",
    "SinkConfig",
    "SourceConfig",
]


class _PipeType(enum.IntEnum):
    Pipe = 1
    OrderedPipe = 2
    Aggregate = 3
    Disaggregate = 4


def _name_of(op: Any) -> str:
    """The word by which a stage is known when its user gives none."""
    if _is_container(op):
        return "__getitem__"
    inner = getattr(op, "func", op)  # functools.partial
    return getattr(op, "name", None) or getattr(inner, "__name__", None) or type(op).__name__


def _is_container(op: Any) -> bool:
    return hasattr(op, "__getitem__") and not isinstance(op, type)


def _is_async(op: Any) -> bool:
    """Async functions and async generator functions, also as ``__call__`` or inside a partial."""
    return _any_of(op, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


def _any_of(op: Any, *tests: Callable[[Any], bool]) -> bool:
    candidates = (op, getattr(op, "func", None), getattr(op, "__call__", None))  # noqa: B004
    return any(test(one) for one in candidates if one is not None for test in tests)


@dataclass(frozen=True)
class SourceConfig:
    """Where items come from. ``continuous`` iterates it for ever, an epoch each time."""

    source: Iterable[Any] | AsyncIterable[Any]
    continuous: bool = False

    def __post_init__(self) -> None:
        if not hasattr(self.source, "__iter__") and not hasattr(self.source, "__aiter__"):
            raise ValueError(
                "Source must be either generator or async generator. "
                f"add_source: {type(self.source).__name__} is neither iterable nor async "
                "iterable; give a list, a generator or an object with __iter__."
            )

    def __repr__(self) -> str:
        return f"SourceConfig(source=<{type(self.source).__name__} object>)"


@dataclass(frozen=True)
class SinkConfig:
    """Where the consumer reads, and how many items may wait there."""

    buffer_size: int

    def __post_init__(self) -> None:
        if not isinstance(self.buffer_size, int):
            raise ValueError(
                f"`buffer_size` must be int. Found: {type(self.buffer_size)}. "
                "add_sink: give the number of items that may wait, 1 or more."
            )
        if self.buffer_size < 1:
            raise ValueError(
                f"`buffer_size` must be greater than 0. Found: {self.buffer_size}. "
                "add_sink: give the number of items that may wait."
            )


@dataclass
class _PipeArgs:
    op: Any
    executor: Executor | None = None
    concurrency: int = 1


@dataclass(frozen=True)
class PipeConfig:
    """A function applied to each item. Made by :func:`Pipe`."""

    name: str
    _type: _PipeType
    _args: _PipeArgs
    _max_failures: int | Fraction | None = None

    def __repr__(self) -> str:
        parts = []
        if self._args.concurrency > 1:
            parts.append(f"concurrency={self._args.concurrency}")
        if self._args.executor is not None:
            parts.append(f"executor={self._args.executor!r}")
        if self._type is _PipeType.OrderedPipe:
            parts.append("output_order='input'")
        op = self._args.op
        parts.append(f"op={getattr(op, '__qualname__', type(op).__qualname__)}")
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
    """A function applied to each item; see :meth:`PipelineBuilder.pipe`."""
    if not callable(op) and not _is_container(op) and not isinstance(op, NativeOp):
        raise TypeError(
            f"pipe: op is {op!r} of type {type(op).__name__}, which can neither be called nor "
            "indexed; give a function or a container"
        )
    stage = name or _name_of(op)
    if not isinstance(concurrency, int):
        raise TypeError(f"stage '{stage}': concurrency is {concurrency!r}; it must be an int")
    if concurrency < 1:
        raise ValueError(
            f"`concurrency` value must be >= 1. Found: {concurrency}. (stage '{stage}')"
        )
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
    if _is_async(op):
        if executor is not None:
            raise ValueError(f"`executor` cannot be specified when op is async. (stage '{stage}')")
        if output_order == "input" and _any_of(op, inspect.isasyncgenfunction):
            raise ValueError(
                "pipe does not support async generator function when `output_order` is 'input'. "
                f"(stage '{stage}')"
            )
    if isinstance(max_failures, Fraction) and not 0 < max_failures <= 1:
        raise ValueError(
            f"`max_stage_failures` Fraction must be in range (0, 1]. Got: {max_failures}"
        )
    if max_failures is not None and not isinstance(max_failures, int | Fraction):
        raise TypeError(
            f"stage '{stage}': max_failures is {max_failures!r}; give an int or a Fraction"
        )
    kind = _PipeType.Pipe if output_order == "completion" else _PipeType.OrderedPipe
    return PipeConfig(stage, kind, _PipeArgs(op, executor, concurrency), max_failures)


class Aggregator(ABC):
    """Gathers items into larger ones. One instance serves one stage, one call at a time."""

    @abstractmethod
    def accumulate(self, item: Any, /) -> Any:
        """Takes an item; returns a result if one is complete, else None."""

    @abstractmethod
    def flush(self) -> Any:
        """Returns what is left at the end of an epoch, or None, and starts anew."""


class Collate(Aggregator):
    """Lists of ``n`` items."""

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
class AggregateConfig:
    """Gathers items. Made by :func:`Aggregate`."""

    name: str
    op: Aggregator
    drop_last: bool = False
    _type: _PipeType = field(default=_PipeType.Aggregate, repr=False)


def Aggregate(input: int | Aggregator, /, *, drop_last: bool = False) -> AggregateConfig:
    """Lists of so many items, or the results of an :class:`Aggregator`."""
    if isinstance(input, int):
        input = Collate(input)
    elif not isinstance(input, Aggregator):
        raise TypeError(
            f"The `input` must be either int or Aggregator. Found: {type(input)}. "
            "aggregate: give the number of items of a list."
        )
    return AggregateConfig(f"aggregate(op={input!r}, drop_last={drop_last})", input, drop_last)


@dataclass(frozen=True)
class DisaggregateConfig:
    """Takes items apart. Made by :func:`Disaggregate`."""

    name: str
    _type: _PipeType = field(default=_PipeType.Disaggregate, repr=False)


def Disaggregate() -> DisaggregateConfig:
    """The elements of each item, one by one."""
    return DisaggregateConfig("disaggregate")


@dataclass(frozen=True)
class PathVariantsConfig:
    """Sends items down one of several paths. Made by :func:`PathVariants`."""

    name: str
    router: Callable[[Any], Any]
    paths: tuple[tuple[Any, ...], ...]
    batched: bool = False


def PathVariants(
    router: Callable[[Any], Any],
    paths: Sequence[Sequence[Any]],
    name: str | None = None,
    batched: bool = False,
) -> PathVariantsConfig:
    """Each item takes the path whose number ``router(item)`` returns; the paths join again."""
    if not callable(router):
        raise ValueError("router must be callable.")
    if not paths:
        raise ValueError("PathVariantsConfig must have at least 1 path.")
    for i, path in enumerate(paths):
        if not path:
            raise ValueError(f"Path {i} is empty. Each path must have at least one config.")
        for j, stage in enumerate(path):
            if isinstance(stage, SourceConfig | SinkConfig):
                raise ValueError(
                    f"Path {i}, position {j}: {type(stage).__name__} is not allowed inside "
                    "PathVariants paths."
                )
    return PathVariantsConfig(
        name or "path_variants", router, tuple(tuple(path) for path in paths), batched
    )


@dataclass(frozen=True)
class MergeConfig:
    """Several pipelines read as one. Made by :func:`Merge`."""

    pipeline_configs: tuple[PipelineConfig, ...]
    op: Any = None


def Merge(pipeline_configs: Sequence[PipelineConfig], op: Any = None) -> MergeConfig:
    """Items of several pipelines, as they come. Their sinks are ignored."""
    if not pipeline_configs:
        raise ValueError("MergeConfig must have at least one upstream pipeline configs.")
    return MergeConfig(tuple(pipeline_configs), op)


@dataclass(frozen=True)
class PipelineConfig:
    """A whole pipeline: source, stages, sink."""

    src: SourceConfig | MergeConfig
    pipes: Sequence[PipeConfig | AggregateConfig | DisaggregateConfig | PathVariantsConfig]
    sink: SinkConfig

    def __repr__(self) -> str:
        stages = "\n".join(f"   - {pipe!r}" for pipe in self.pipes)
        return (
            f"PipelineConfig\n - Source: {self.src!r}\n - Pipes:\n{stages}\n - Sink: {self.sink!r}"
        )
