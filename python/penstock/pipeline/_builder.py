"""The builder: a pipeline written as a chain of calls."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Sequence
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any, Literal

from penstock.pipeline._build import build_pipeline
from penstock.pipeline._hooks import HookFactory
from penstock.pipeline._pipeline import Pipeline
from penstock.pipeline._queues import AsyncQueue
from penstock.pipeline.defs import (
    Aggregate,
    Aggregator,
    Disaggregate,
    PathVariants,
    Pipe,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)
from penstock.pipeline.defs._ops import Subscriptable


class PipelineBuilder(Subscriptable):
    """Collects a source, stages and a sink, and builds the pipeline.

    >>> pipeline = (
    ...     PipelineBuilder()
    ...     .add_source(range(6))
    ...     .pipe(lambda x: x * x, concurrency=2, output_order="input")
    ...     .aggregate(4)
    ...     .add_sink(3)
    ...     .build(num_threads=2)
    ... )
    >>> with pipeline.auto_stop():
    ...     for batch in pipeline:
    ...         print(batch)
    [0, 1, 4, 9]
    [16, 25]
    """

    def __init__(self) -> None:
        self._source: SourceConfig | None = None
        self._pipes: list[Any] = []
        self._sink: SinkConfig | None = None

    def add_source(
        self, source: Iterable[Any] | AsyncIterable[Any], *, continuous: bool = False
    ) -> PipelineBuilder:
        """Where items come from: an iterable or an async iterable.

        With ``continuous`` it is iterated again and again; each iteration over the pipeline then
        gives one epoch, while the next one is being prepared.
        """
        if self._source is not None:
            raise ValueError("Source already set. add_source: a pipeline has one source.")
        self._source = SourceConfig(source, continuous)
        return self

    def pipe(
        self,
        op: Any,
        /,
        *,
        concurrency: int = 1,
        executor: Executor | None = None,
        name: str | None = None,
        output_order: Literal["completion", "input"] = "completion",
        max_failures: int | Fraction | None = None,
    ) -> PipelineBuilder:
        """Applies ``op`` to each item, up to ``concurrency`` at once.

        ``op`` is a function, a callable, a container (indexed by the item), a generator function
        (each yield is an item), an async function or async generator function (run on the
        pipeline's event loop), or a native op of Penstock (run without the GIL). None drops the
        item; so does an exception, which is logged and counted. ``max_failures`` is how many
        failures (an int) or which share of them (a Fraction, judged after 100 calls) this stage
        may have; by default the pipeline's limit holds. ``executor`` runs the op in a thread or
        process pool of yours.
        """
        self._pipes.append(
            Pipe(
                op,
                concurrency=concurrency,
                executor=executor,
                name=name,
                output_order=output_order,
                max_failures=max_failures,
            )
        )
        return self

    def aggregate(self, input: int | Aggregator, /, *, drop_last: bool = False) -> PipelineBuilder:
        """Makes lists of so many items, or what an :class:`Aggregator` makes of them."""
        self._pipes.append(Aggregate(input, drop_last=drop_last))
        return self

    def disaggregate(self) -> PipelineBuilder:
        """Takes each item apart into its elements."""
        self._pipes.append(Disaggregate())
        return self

    def path_variants(
        self,
        router: Any,
        paths: Sequence[Sequence[Any]],
        name: str | None = None,
        batched: bool = False,
    ) -> PipelineBuilder:
        """Sends each item down the path whose number ``router(item)`` returns.

        The router may be async. With ``batched`` it gets a list and returns a path for each of
        its elements; see :func:`penstock.pipeline.defs.PathVariants`.
        """
        self._pipes.append(PathVariants(router, paths, name, batched))
        return self

    def to(self, target: Any, /, *, buffer_size: int = 1) -> PipelineBuilder:
        """Regions that run in other processes: not supported."""
        raise NotImplementedError(
            "to(): regions in other processes are not supported. Give single stages an executor, "
            "pipe(op, executor=ProcessPoolExecutor(n)), or run the whole pipeline elsewhere with "
            "run_pipeline_in_subprocess()."
        )

    def add_sink(self, buffer_size: int = 3) -> PipelineBuilder:
        """Where the consumer reads; ``buffer_size`` items may wait there."""
        if self._sink is not None:
            raise ValueError("Sink is already set. add_sink: a pipeline has one sink.")
        self._sink = SinkConfig(buffer_size)
        return self

    def get_config(self) -> PipelineConfig:
        """The definition of the pipeline."""
        if self._source is None:
            raise RuntimeError("Source is not set. Did you call `add_source`?")
        if self._sink is None:
            raise RuntimeError("Sink is not set. Did you call `add_sink`?")
        return PipelineConfig(self._source, tuple(self._pipes), self._sink)

    def build(
        self,
        *,
        num_threads: int | None = 4,
        max_failures: int | Fraction = -1,
        report_stats_interval: float | None = None,
        queue_class: type[AsyncQueue] | None = None,
        task_hook_factory: HookFactory | None = None,
        stage_id: int = 0,
        use_thread_output_queue: bool = False,
    ) -> Pipeline:
        """Makes the pipeline.

        ``num_threads`` threads call Python functions; a stage's concurrency above it waits.
        ``max_failures`` is how many failures (an int, over all stages) or which share of them (a
        Fraction) end the pipeline; negative: any number is accepted. With
        ``report_stats_interval`` the stage table is logged every so many seconds.

        ``task_hook_factory(info)`` returns the :class:`TaskHook` objects of a stage, and
        ``queue_class(info, buffer_size=n)`` makes the queue behind one. A stage with hooks, and a
        pipeline with a queue class, runs on an event loop: the same meaning, slower.
        """
        return build_pipeline(
            self.get_config(),
            num_threads=num_threads,
            max_failures=max_failures,
            report_stats_interval=report_stats_interval,
            queue_class=queue_class,
            task_hook_factory=task_hook_factory,
            stage_id=stage_id,
            use_thread_output_queue=use_thread_output_queue,
        )
