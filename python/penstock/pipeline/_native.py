"""A pipeline on the native engine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from penstock.pipeline import _stats
from penstock.pipeline._executors import Executors
from penstock.pipeline._failure import PipelineFailure, describe_item
from penstock.pipeline._run import Got

if TYPE_CHECKING:
    from penstock._core import Engine
    from penstock.pipeline._loop import Loop

_LOG = logging.getLogger("penstock.pipeline")

_END_TIMEOUT = 1.0  # for hooks, once the pipeline has failed


class NativeRun:
    """The engine, the event loop of its async stages, and how failures are explained; see
    :class:`penstock.pipeline._run.Run`."""

    def __init__(
        self,
        engine: Engine,
        loop: Loop,
        names: Sequence[str],
        limits: Sequence[Any],
        executors: Mapping[str, Executor],
    ) -> None:
        self._engine = engine
        self._loop = loop
        self._names = list(names)
        self._limits = list(limits)  # of failures, by stage: (limit, over the whole pipeline)
        self._executors = Executors(executors)
        self._process = os.getpid()

    def start(self) -> None:
        self._executors.begin()
        self._engine.start()
        self._loop.start()

    def stop(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        self._engine.request_stop()
        self._executors.end()
        self._loop.stop(timeout)
        abandoned = self._engine.stop(max(0.0, deadline - time.monotonic()))
        if abandoned is not None:
            _LOG.warning("%s", abandoned)
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info("The pipeline has ended.\n%s", _stats.table(self.stats()))

    def take(self, timeout: float) -> tuple[int, Any]:
        kind, item = self._engine.take(timeout)
        if kind == Got.FAILED:
            self._end_hooks()
        return kind, item

    def items(self, timeout: float, ended: Callable[[int], None]) -> Iterator[Any]:
        def end(kind: int) -> None:
            if kind == Got.FAILED:
                self._end_hooks()
            ended(kind)

        return self._engine.items(timeout, end)

    def _end_hooks(self) -> None:
        """Stages before the one that failed do not come to an end by themselves."""
        if self._process == os.getpid():
            self._loop.stop(_END_TIMEOUT)

    def stats(self) -> list[_stats.StageStats]:
        own = self._executors
        return _stats.from_engine(self._engine.stats(), self._names, own.workers, own.used())

    def failure(self) -> PipelineFailure | None:
        errors = [self._explain(*failure) for failure in self._engine.fatal_failures()]
        return PipelineFailure(sorted(errors, key=lambda error: error[0])) if errors else None

    def _explain(
        self,
        place: int,
        error: BaseException,
        item: Any,
        too_many: bool,
        failed: int,
        processed: int,
        all_failed: int,
        all_processed: int,
    ) -> tuple[str, Exception]:
        """The stage that failed and the exception that says why."""
        name = self._names[place]
        limit, of_all = self._limits[place]
        if of_all:
            failed, processed = all_failed, all_processed
        result: BaseException = error
        if too_many:
            bound, per = limit
            if per == 0:
                result = RuntimeError(
                    f"The pipeline stage ({name}) failed {failed} times, which exceeds the "
                    f"threshold ({bound})."
                )
            else:
                result = RuntimeError(
                    f"The pipeline stage ({name}) failed {failed} times out of {processed} "
                    f"invocations ({failed / processed:.1%}), which exceeds the threshold "
                    f"({bound / per:.1%})."
                )
        elif not isinstance(error, Exception):
            result = RuntimeError(f"The pipeline stage ({name}) raised {type(error).__name__}.")
        if result is not error:
            result.__cause__ = error
        assert isinstance(result, Exception)
        if item is not None:
            result.add_note(f"Item: {describe_item(item)}")
        return name, result
