"""Executors that several stages share, the later stages going first.

Items near the end of a pipeline are then finished before new ones are begun.
"""

from __future__ import annotations

import os
import uuid
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Self

from penstock.pipeline._elsewhere.processes import Processes
from penstock.pipeline._threads import Threads, UrgentExecutor

# Executors by their key, so that a pickled entry finds the one it belongs to.
_executors: weakref.WeakValueDictionary[str, _Shared] = weakref.WeakValueDictionary()


class _Shared:
    """Workers behind several entries, each with its priority."""

    def __init__(self, workers: UrgentExecutor, arguments: dict[str, Any]) -> None:
        self._workers = workers
        self._arguments = arguments
        self._entries = 0
        self._key = uuid.uuid4().hex
        _executors[self._key] = self

    def get_executor(self, *, priority: int | None = None) -> PriorityExecutorEntrypoint:
        """An executor for ``pipe(executor=...)``; calls with a higher ``priority`` go first.

        Without ``priority`` each entry is more urgent than those made before it.
        """
        if priority is None:
            self._entries += 1
            priority = self._entries
        return PriorityExecutorEntrypoint(self, -priority)

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        """No more calls; with ``wait`` it returns when all are done."""
        self._workers.shutdown(wait, cancel_futures=cancel_futures)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown(wait=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _find, (type(self), self._key, self._arguments)


def _find(kind: type[_Shared], key: str, arguments: dict[str, Any]) -> _Shared:
    """The executor of this key. In another process it is made anew, once."""
    found = _executors.get(key)
    if found is None:
        found = kind(**arguments)
        del _executors[found._key]
        found._key = key
        _executors[key] = found
    return found


class PriorityThreadPoolExecutor(_Shared):
    """Threads shared by stages.

    >>> from penstock.pipeline import PipelineBuilder, PriorityThreadPoolExecutor
    >>> with PriorityThreadPoolExecutor(2) as pool:
    ...     first, second = pool.get_executor(), pool.get_executor()
    ...     builder = PipelineBuilder().add_source([3, -4])
    ...     builder = builder.pipe(abs, executor=first).pipe(str, executor=second)
    ...     pipeline = builder.add_sink().build(num_threads=1)
    ...     with pipeline.auto_stop():
    ...         list(pipeline)
    ['3', '4']
    """

    runs_elsewhere = False

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        arguments = {
            "max_workers": max_workers,
            "thread_name_prefix": thread_name_prefix,
            "initializer": initializer,
            "initargs": initargs,
        }
        workers = min(32, (os.cpu_count() or 1) + 4) if max_workers is None else max_workers
        super().__init__(Threads(workers, thread_name_prefix, initializer, initargs), arguments)


class PriorityProcessPoolExecutor(_Shared):
    """Processes shared by stages: as :class:`PriorityThreadPoolExecutor`, across processes.

    Takes the arguments of :class:`concurrent.futures.ProcessPoolExecutor`. NumPy arrays, CPU
    tensors and large bytes cross in shared memory, of which nothing can be left behind.
    """

    runs_elsewhere = True

    def __init__(self, max_workers: int | None = None, **kwargs: Any) -> None:
        super().__init__(Processes(max_workers, **kwargs), {"max_workers": max_workers, **kwargs})


class PriorityInterpreterPoolExecutor(_Shared):
    """Interpreters shared by stages: not there yet."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "PriorityInterpreterPoolExecutor: interpreters of their own need Python 3.14, and "
            "extension modules that support them, which NumPy and penstock do not. Use "
            "PriorityThreadPoolExecutor or PriorityProcessPoolExecutor."
        )


class PriorityExecutorEntrypoint(Executor):
    """A way into a shared executor. Made by ``get_executor()``. It pickles."""

    def __init__(self, owner: _Shared, priority: int) -> None:
        self._owner = owner
        self._priority = priority
        self._calls = 0

    @property
    def runs_elsewhere(self) -> bool:
        """Whether calls run in another process."""
        return bool(getattr(self._owner, "runs_elsewhere", False))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._calls += 1
        order = (self._priority, self._calls)
        return self._owner._workers.submit_urgent(order, (fn, args, kwargs))

    def __reduce__(self) -> tuple[Any, ...]:
        return PriorityExecutorEntrypoint, (self._owner, self._priority)
