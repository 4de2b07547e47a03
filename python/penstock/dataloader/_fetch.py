"""What a worker does for a batch: read the samples, collate them.

A result is [number of the batch, batch, None] or [number, None, exception]: exceptions travel to
the loop, in their place among the batches. It is a list because whoever takes it empties it: a
worker may look at its last result for a long time, and would keep the batch alive.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Protocol

Result = list[Any]


class Fetch(Protocol):
    """None is the answer of a worker that leaves the rest of a batch to others."""

    def __call__(self, task: Any, /) -> Result | None: ...

    def refuse(self, task: Any, error: BaseException, /) -> Result | None:
        """In place of a call, by a worker that could not begin."""
        ...


class MapFetch:
    """Reads what an index, or a list of them, stands for."""

    def __init__(self, dataset: Any, batched: bool, collate: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self._batched = batched
        self._collate = collate
        self._read_many = getattr(dataset, "__getitems__", None) if batched else None

    def __call__(self, task: tuple[int, Any]) -> Result:
        number, index = task
        samples: list[Any] = []
        doing = f"reading index {shortened(index)}"
        try:
            if not self._batched:
                data = self.dataset[index]
            elif self._read_many:
                data = self._read_many(index)
            else:
                doing = "reading"
                for one in index:
                    samples.append(self.dataset[one])
                data = samples
            doing = f"collating indices {shortened(index)}"
            return [number, self._collate(data), None]
        except BaseException as error:
            if doing == "reading":
                doing = f"reading index {shortened(_at(index, len(samples)))}"
            return [number, None, raisable(error, f"{doing}, batch {number}")]

    def refuse(self, task: tuple[int, Any], error: BaseException) -> Result:
        return [task[0], None, error]


class CollateFetch:
    """Collates what an iterable dataset has given."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self._collate = collate

    def __call__(self, read: Result) -> Result:
        number, data, error = read
        if error is not None:
            return read
        try:
            return [number, self._collate(data), None]
        except BaseException as problem:
            return [number, None, raisable(problem, f"collating batch {number}")]

    def refuse(self, read: Result, error: BaseException) -> Result:
        return [read[0], None, error]


def read_batches(
    items: Iterable[Any],
    batch_size: int | None,
    drop_last: bool,
    done: int,
    ahead: Collection[int],
) -> Iterator[Result]:
    """An iterable dataset as lists of samples, or as samples if there is no batch size.

    The first ``done`` batches and those in ``ahead`` are read, and left out. An exception is the
    last result.
    """
    number = 0
    try:
        source = iter(items)
        while True:
            if batch_size is None:
                one = next(source, source)
                if one is source:
                    return
                data = one
            else:
                data = list(itertools.islice(source, batch_size))
                if not data or (drop_last and len(data) < batch_size):
                    return
            if number >= done and number not in ahead:
                yield [number, data, None]
            number += 1
    except Exception as error:
        yield [number, None, raisable(error, f"reading the iterable dataset, batch {number}")]


def one_by_one(batches: Iterator[Result], asked: Iterator[Any]) -> Iterator[Result]:
    """A batch for each time that one is asked for: streams are not read further ahead."""
    for _, batch in zip(asked, batches, strict=False):
        yield batch


def raisable(error: BaseException, place: str) -> BaseException:
    """The exception with a note where it happened; a loop would take StopIteration for its end."""
    if isinstance(error, StopIteration):
        wrapped = RuntimeError("the dataset or collate_fn raised StopIteration")
        wrapped.__cause__ = error
        error = wrapped
    error.add_note(f"PyTorchDataLoader: {place}")
    return error


def shortened(index: Any) -> str:
    text = repr(index)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _at(index: Any, place: int) -> Any:
    try:
        return index[place]
    except Exception:  # indices that can only be iterated over
        return f"at place {place} of the batch"
