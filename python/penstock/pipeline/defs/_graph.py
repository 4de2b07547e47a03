"""Source, sink, and what joins stages to a whole: paths, merges, the pipeline."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.pipeline.defs._ops import Subscriptable, describe
from penstock.pipeline.defs._pipes import AggregateConfig, DisaggregateConfig, PipeConfig
from penstock.pipeline.defs._placement import PlacementConfig, _SubprocessPipelineConfig


@dataclass(frozen=True)
class SourceConfig(Subscriptable):
    """Where items come from. ``continuous`` iterates it for ever, an epoch each time.

    >>> SourceConfig(range(3)).continuous
    False
    """

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
class SinkConfig(Subscriptable):
    """Where the consumer reads, and how many items may wait there.

    >>> SinkConfig(3).buffer_size
    3
    """

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


_Router = Callable[[Any], Any] | Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True)
class PathVariantsConfig(Subscriptable):
    """Sends items down one of several paths. Made by :func:`PathVariants`."""

    name: str
    router: _Router
    paths: tuple[tuple[Any, ...], ...]
    batched: bool = False

    def __post_init__(self) -> None:
        if not callable(self.router):
            raise ValueError("router must be callable.")
        if not self.paths:
            raise ValueError("PathVariantsConfig must have at least 1 path.")
        for i, path in enumerate(self.paths):
            if not path:
                raise ValueError(f"Path {i} is empty. Each path must have at least one config.")
            for j, stage in enumerate(path):
                if isinstance(stage, SourceConfig | SinkConfig):
                    raise ValueError(
                        f"Path {i}, position {j}: {type(stage).__name__} is not allowed inside "
                        "PathVariants paths."
                    )

    def __repr__(self) -> str:
        paths = (
            f"path{i}=[{', '.join(repr(stage) for stage in path)}]"
            for i, path in enumerate(self.paths)
        )
        return f"PathVariants({', '.join(paths)})"


def PathVariants(
    router: _Router,
    paths: Sequence[Sequence[Any]],
    name: str | None = None,
    batched: bool = False,
) -> PathVariantsConfig:
    """Each item takes the path whose number ``router(item)`` returns; the paths join again.

    With ``batched`` the items are lists: the router returns a path for each element, each path
    gets the list of its elements (perhaps an empty one) and returns a list, and the lists of all
    paths become one again. A path that drops a list shifts its later ones: give an empty one. The
    router may be an async function.

    >>> from penstock.pipeline import build_pipeline
    >>> from penstock.pipeline.defs import Pipe
    >>> by_parity = PathVariants(lambda x: x % 2, [[Pipe(lambda x: -x)], [Pipe(abs)]])
    >>> config = PipelineConfig(SourceConfig(range(4)), [by_parity], SinkConfig(4))
    >>> pipeline = build_pipeline(config, num_threads=1)
    >>> with pipeline.auto_stop():
    ...     print(sorted(pipeline))
    [-2, 0, 1, 3]
    """
    return PathVariantsConfig(
        name or "path_variants", router, tuple(tuple(path) for path in paths), batched
    )


@dataclass(frozen=True)
class MergeConfig:
    """Several pipelines read as one. Made by :func:`Merge`."""

    pipeline_configs: tuple[PipelineConfig, ...]
    op: Callable[..., Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        if not self.pipeline_configs:
            raise ValueError("MergeConfig must have at least one upstream pipeline configs.")

    def __repr__(self) -> str:
        lines = ["MergeConfig("]
        if self.op is not None:
            lines.append(f"  op={describe(self.op)}")
        for i, config in enumerate(self.pipeline_configs, 1):
            lines += [f"  Pipeline {i}:", *_indented(config, 4)]
        return "\n".join([*lines, ")"])


def Merge(
    pipeline_configs: Sequence[PipelineConfig], op: Callable[..., Awaitable[None]] | None = None
) -> MergeConfig:
    """Items of several pipelines, as they come. Their sinks are ignored.

    ``op`` is an async function ``op(info, input_queues, output_queue)`` of your own that moves the
    items instead, until :func:`~penstock.pipeline.is_eof` says that a queue has ended. It sees all
    that travels: with a continuous source, also what :func:`~penstock.pipeline.is_epoch_end`
    recognises.

    >>> from penstock.pipeline import build_pipeline
    >>> parts = [PipelineConfig(SourceConfig(x), [], SinkConfig(1)) for x in ("ab", "c")]
    >>> pipeline = build_pipeline(PipelineConfig(Merge(parts), [], SinkConfig(3)), num_threads=1)
    >>> with pipeline.auto_stop():
    ...     print(sorted(pipeline))
    ['a', 'b', 'c']
    """
    return MergeConfig(tuple(pipeline_configs), op)


@dataclass(frozen=True)
class PipelineConfig(Subscriptable):
    """A whole pipeline: source, stages, sink.

    >>> from penstock.pipeline import build_pipeline
    >>> from penstock.pipeline.defs import Pipe
    >>> config = PipelineConfig(SourceConfig([1, 2]), [Pipe(str)], SinkConfig(2))
    >>> pipeline = build_pipeline(config, num_threads=1)
    >>> with pipeline.auto_stop():
    ...     print(list(pipeline))
    ['1', '2']
    """

    src: SourceConfig | MergeConfig
    pipes: Sequence[
        PipeConfig
        | AggregateConfig
        | DisaggregateConfig
        | PathVariantsConfig
        | PlacementConfig
        | _SubprocessPipelineConfig
    ]
    sink: SinkConfig

    def __repr__(self) -> str:
        lines = ["PipelineConfig"]
        if isinstance(self.src, MergeConfig):
            lines += [" - Source:", *_indented(self.src, 3)]
        else:
            lines.append(f" - Source: {self.src!r}")
        if self.pipes:
            lines += [" - Pipes:", *(f"   - {pipe!r}" for pipe in self.pipes)]
        return "\n".join([*lines, f" - Sink: {self.sink!r}"])


def _indented(config: object, by: int) -> list[str]:
    return [" " * by + line for line in repr(config).splitlines()]
