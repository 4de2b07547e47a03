"""What a pipeline runs on: the native engine, or an event loop."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from penstock.pipeline._failure import PipelineFailure
from penstock.pipeline._stats import StageStats


class Got(enum.IntEnum):
    """What came instead of an item; the numbers are those of bindings/py_engine.h."""

    ITEM = 0
    EPOCH_END = 1
    END = 2
    FAILED = 3
    TIMEOUT = 4
    STOPPED = 5


class Run(Protocol):
    """A running pipeline. It does not know the :class:`Pipeline`, and does not keep it alive."""

    def start(self) -> None: ...

    def stop(self, timeout: float) -> None:
        """Ends all work. What has not ended after the timeout is logged and left behind."""

    def take(self, timeout: float) -> tuple[int, Any]:
        """A :class:`Got` and the item; waits for ever if the timeout is negative."""

    def items(self, timeout: float, ended: Callable[[int], None]) -> Iterator[Any]:
        """Items until something else comes: ``ended`` is told, and may raise."""

    def failure(self) -> PipelineFailure | None: ...

    def stats(self) -> list[StageStats]: ...
