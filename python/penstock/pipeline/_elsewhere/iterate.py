"""iterate_in_subprocess: an iterable that lives in another process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.util import Finalize
from typing import Any, TypeVar

from penstock.pipeline._elsewhere.process import Process, ProcessIsGone
from penstock.pipeline._elsewhere.worker import Say, serve

T = TypeVar("T")


class _Worker:
    """The process that iterates."""

    def __init__(self, process: Process, timeout: float | None) -> None:
        self._process = process
        self._timeout = timeout

    @property
    def ended(self) -> bool:
        return self._process.ended

    def tell(self, what: Say) -> None:
        self._process.send(what)

    def hear(self, problem: str) -> tuple[int, Any]:
        """What the worker says next. If it takes too long: a RuntimeError with the problem."""
        try:
            return self._process.hear(self._timeout)
        except ProcessIsGone:
            raise RuntimeError("The worker subprocess exited unexpectedly.") from None
        except TimeoutError as error:
            raise RuntimeError(f"The worker subprocess did not {problem} {error}.") from None

    def wait_until_ready(self) -> None:
        said, about = self.hear("initialize after")
        if said != Say.READY:
            raise RuntimeError(f"The worker subprocess quit. {about}")

    def end(self, at_once: bool = False) -> None:
        self._process.end(Say.END, at_once)


class SubprocessIterable(Iterable[T]):
    """Each iteration is one in the worker, which stays the same. One at a time."""

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker
        self._failed = False
        self._end = Finalize(self, worker.end, exitpriority=10)

    def __iter__(self) -> Iterator[T]:
        if self._failed:
            raise RuntimeError("The worker process is shutdown. Cannot iterate again.")
        worker = self._worker
        if worker.ended:
            return
        try:
            worker.tell(Say.STOP)  # an iteration that was left in the middle
            worker.tell(Say.START)
            while (said := worker.hear("produce any data for"))[0] != Say.STARTED:
                _raise_if_failed(said)
            while (said := worker.hear("produce any data for"))[0] != Say.FINISHED:
                _raise_if_failed(said)
                worker.tell(Say.MORE)
                yield said[1]
                del said  # it may be a large array
        except GeneratorExit:
            return
        except BaseException:
            self._failed = True
            self._end()
            raise


def _raise_if_failed(said: tuple[int, Any]) -> None:
    if said[0] == Say.FAILED:
        raise RuntimeError(f"The worker subprocess quit. {said[1]}")


def iterate_in_subprocess(
    fn: Callable[[], Iterable[T]],
    *,
    buffer_size: int = 3,
    initializer: Callable[[], None] | Sequence[Callable[[], None]] | None = None,
    mp_context: str | None = None,
    timeout: float | None = None,
    daemon: bool = False,
    arena: Any = None,
) -> Iterable[T]:
    """Iterates in another process over what ``fn()`` returns there.

    The process stays for further iterations; ``fn`` is called once. It works ahead by up to
    ``buffer_size`` items. ``initializer`` (one function or several) is called first. Without an
    item for ``timeout`` seconds the process is ended, with a RuntimeError.

    Arrays and tensors come in shared memory: they are copied once, and may be written to.
    ``arena`` is accepted for programs that have one, and not needed.

    >>> from functools import partial
    >>> squares = iterate_in_subprocess(partial(map, abs, [1, -2]), mp_context="fork")
    >>> list(squares)
    [1, 2]
    """
    if initializer is None:
        initializers: list[Callable[[], None]] = []
    elif isinstance(initializer, Sequence):
        initializers = list(initializer)
    else:
        initializers = [initializer]
    context = multiprocessing.get_context(mp_context)
    process = Process(context, serve, (fn, initializers, max(1, buffer_size)), daemon)
    worker = _Worker(process, timeout)
    try:
        worker.wait_until_ready()
    except BaseException:
        worker.end(at_once=True)
        raise
    return SubprocessIterable(worker)
