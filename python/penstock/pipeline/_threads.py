"""Threads that call functions, the most urgent first. They never keep the process alive."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.thread import BrokenThreadPool
from typing import Any

from penstock.pipeline._usage import Usage

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
_Waiting = tuple[Any, int, Future[Any], Call]


def make_call(future: Future[Any], call: Call) -> None:
    """Calls a function, and tells the future what came of it."""
    if not future.set_running_or_notify_cancel():
        return
    fn, args, kwargs = call
    try:
        result = fn(*args, **kwargs)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


class UrgentExecutor(Executor):
    """Calls with a smaller ``priority`` go first; among equals, those that came first."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.submit_urgent((), (fn, args, kwargs))

    def submit_urgent(self, priority: tuple[float, ...], call: Call) -> Future[Any]:
        raise NotImplementedError


class Threads(UrgentExecutor):
    """Up to ``max_workers`` threads, made when they are needed.

    Unlike those of ThreadPoolExecutor they do not hold up the end of the program: a call that
    sleeps for an hour is left behind.
    """

    def __init__(
        self,
        max_workers: int,
        name: str = "",
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        usage: Usage | None = None,
    ) -> None:
        if max_workers < 1:
            raise ValueError("max_workers must be greater than 0")
        self._max_workers = max_workers
        self._name = name or "penstock-threads"
        self._initializer, self._initargs = initializer, initargs
        self._usage = usage or Usage()
        self._changed = threading.Condition()
        self._calls: list[_Waiting] = []
        self._order = itertools.count()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._broken = False
        self._closed = False

    def submit_urgent(self, priority: tuple[float, ...], call: Call) -> Future[Any]:
        future: Future[Any] = Future()
        with self._changed:
            if self._broken:
                raise BrokenThreadPool("the initializer of a thread has failed")
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            heapq.heappush(self._calls, (priority, next(self._order), future, call))
            if self._idle >= len(self._calls):
                self._changed.notify()
            elif len(self._threads) < self._max_workers:
                thread = threading.Thread(
                    target=self._run, name=f"{self._name}_{len(self._threads)}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._changed:
            self._closed = True
            left = self._take_all() if cancel_futures else []
            self._changed.notify_all()
        for future in left:
            future.cancel()
            future.set_running_or_notify_cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def join(self, deadline: float) -> bool:
        """After ``shutdown(wait=False)``: waits until all threads are gone or it is too late."""
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
        return not any(thread.is_alive() for thread in self._threads)

    def _take_all(self) -> list[Future[Any]]:
        left = [call[2] for call in self._calls]
        self._calls.clear()
        return left

    def _run(self) -> None:
        with self._usage.of_this_thread():
            self._make_calls()

    def _make_calls(self) -> None:
        if self._initializer is not None:
            try:
                self._initializer(*self._initargs)
            except BaseException as error:
                self._break(error)
                return
        while (call := self._next()) is not None:
            make_call(*call[2:])
            del call  # so that an idle thread holds on to nothing

    def _next(self) -> _Waiting | None:
        with self._changed:
            while not self._calls:
                if self._closed:
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return heapq.heappop(self._calls)

    def _break(self, error: BaseException) -> None:
        with self._changed:
            self._broken = True
            left = self._take_all()
        for future in left:
            if future.set_running_or_notify_cancel():
                broken = BrokenThreadPool("the initializer of a thread has failed")
                broken.__cause__ = error
                future.set_exception(broken)
