"""Several threads read the samples of one batch together.

So the first batch comes early, and few batches are in the making at a time. A batch goes to as many
workers as there are; each reads the next sample until none is left, and the last one collates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.dataloader._fetch import MapFetch, Result, raisable, shortened


class SharedBatch:
    """Who reads which sample. What was read is in ``samples``."""

    def __init__(self, number: int, index: list[Any], workers: int) -> None:
        self.number = number
        self.index = index
        self.samples: list[Any] = [None] * len(index)
        self.failure: tuple[int, BaseException] | None = None  # the first one, by its place
        self._next = 0
        self._workers = workers
        self._lock = threading.Lock()

    def take(self) -> int | None:
        """The place of a sample that nobody reads yet; None if there is none, or one has failed."""
        with self._lock:
            if self.failure is not None or self._next == len(self.index):
                return None
            self._next += 1
            return self._next - 1

    def fail(self, place: int, error: BaseException) -> None:
        with self._lock:
            if self.failure is None or place < self.failure[0]:
                self.failure = place, error

    def failed(self) -> BaseException | None:
        """What was raised, handed out once: a caller that is in its traceback must not hold it."""
        failure, self.failure = self.failure, None
        return None if failure is None else failure[1]

    def leave(self) -> bool:
        """True for the last worker: all samples are there, or one has failed."""
        with self._lock:
            self._workers -= 1
            return self._workers == 0


class SharedFetch(MapFetch):
    """A :class:`MapFetch` whose batches are shared, where samples are read one by one."""

    def __init__(
        self, dataset: Any, batched: bool, collate: Callable[[Any], Any], workers: int
    ) -> None:
        super().__init__(dataset, batched, collate)
        self._workers = workers if batched and not self._read_many else 1

    def dealt(self, tasks: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        """Each task as often as workers are to take part in it."""
        for number, index in tasks:
            workers = min(self._workers, len(index)) if isinstance(index, list) else 1
            if workers < 2:
                yield number, index
                continue
            batch = SharedBatch(number, index, workers)
            for _ in range(workers):
                yield batch

    def __call__(self, task: Any) -> Result | None:  # type: ignore[override]
        if not isinstance(task, SharedBatch):
            return super().__call__(task)
        while (place := task.take()) is not None:
            try:
                task.samples[place] = self.dataset[task.index[place]]
            except BaseException as error:
                where = f"reading index {shortened(task.index[place])}, batch {task.number}"
                task.fail(place, raisable(error, where))
        if not task.leave():
            return None
        if task.failure is not None:
            return [task.number, None, task.failed()]
        samples, task.samples = task.samples, []
        try:
            return [task.number, self._collate(samples), None]
        except BaseException as error:
            where = f"collating indices {shortened(task.index)}, batch {task.number}"
            return [task.number, None, raisable(error, where)]

    def refuse(self, task: Any, error: BaseException) -> Result | None:  # type: ignore[override]
        if not isinstance(task, SharedBatch):
            return super().refuse(task, error)
        task.fail(-1, error)
        return self(task)
