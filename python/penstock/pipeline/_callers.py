"""The threads of a native pipeline as an executor, for its stages on the event loop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

from penstock._core import CallerLane
from penstock.pipeline._threads import make_call


class Callers(Executor):
    """Calls for one stage. They share ``num_threads`` with the stages that are native."""

    def __init__(self, lane: CallerLane, stage: str) -> None:
        self._lane = lane
        self._stage = stage

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        # By the rule of _convert.py the item comes last.
        self._lane.submit(partial(make_call, future, (fn, args, kwargs)), self._stage, args[-1])
        return future
