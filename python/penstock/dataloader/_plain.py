"""DataLoader: a source, a function on items, a function on batches."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal

from penstock.dataloader._watch import NAMES, Watched
from penstock.pipeline import Pipeline, PipelineBuilder

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Source = TypeVar("Source")
    Output = TypeVar("Output", default=Any)
else:
    from typing import TypeVar

    Source, Output = TypeVar("Source"), TypeVar("Output")


class DataLoader(Watched, Generic[Source, Output]):
    """Runs ``source -> preprocessor -> batch -> aggregator -> transfer_fn -> buffer``.

    Each part but the source may be left out. Every loop over the loader is a new run; leaving the
    loop ends it. Items that fail are logged and left out, as in a pipeline.

    Args:
        src: Where items come from: an iterable or an async iterable.
        preprocessor: Called with each item; a function or generator function, async or not.
        batch_size: How many results go into a list for the aggregator; None: no lists are made.
        drop_last: Leaves out a last list that is shorter.
        aggregator: Called with each list, or with each result if there are no lists.
        transfer_fn: Called with each batch, one at a time; for copies to a device.
        buffer_size: How many batches may wait for the loop.
        num_threads: How many calls of the preprocessor, and of the aggregator, run at once.
        timeout: How long the loop waits for a batch, in seconds, before TimeoutError.
        output_order: "completion" or "input".

    >>> words = DataLoader(
    ...     ["a", "bb", "ccc"],
    ...     preprocessor=len,
    ...     batch_size=2,
    ...     aggregator=tuple,
    ...     output_order="input",
    ... )
    >>> list(words)
    [(1, 2), (3,)]
    """

    def __init__(
        self,
        src: Iterable[Source] | AsyncIterable[Source],
        *,
        preprocessor: Callable[[Source], Any] | None = None,
        batch_size: int | None = None,
        drop_last: bool = False,
        aggregator: Callable[[Any], Any] | None = None,
        transfer_fn: Callable[[Output], Output] | None = None,
        buffer_size: int = 3,
        num_threads: int = 8,
        timeout: float | None = None,
        output_order: Literal["completion", "input"] = "completion",
    ) -> None:
        self._src = src
        self._preprocessor = preprocessor
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._aggregator = aggregator
        self._transfer_fn = transfer_fn
        self._buffer_size = buffer_size
        self._num_threads = num_threads
        self._timeout = timeout
        self._output_order = output_order

    def __iter__(self) -> Iterator[Output]:
        pipeline = self._build()
        self._loop = weakref.ref(pipeline)
        with pipeline.auto_stop():
            try:
                yield from pipeline.get_iterator(timeout=self._timeout)
            finally:
                self._measured = pipeline.stats()

    @property
    def batch_size(self) -> int | None:
        return self._batch_size

    def __repr__(self) -> str:
        return f"DataLoader(batch_size={self._batch_size}, num_threads={self._num_threads})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in NAMES}

    def _build(self) -> Pipeline:
        builder = PipelineBuilder().add_source(self._src)
        if self._preprocessor:
            self._add(builder, self._preprocessor)
        if self._batch_size:
            builder.aggregate(self._batch_size, drop_last=self._drop_last)
        if self._aggregator:
            self._add(builder, self._aggregator)
        if self._transfer_fn is not None:
            builder.pipe(self._transfer_fn)
        return builder.add_sink(self._buffer_size).build(num_threads=self._num_threads)

    def _add(self, builder: PipelineBuilder, op: Callable[[Any], Any]) -> None:
        builder.pipe(op, concurrency=self._num_threads, output_order=self._output_order)
