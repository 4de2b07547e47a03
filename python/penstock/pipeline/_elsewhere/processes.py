"""An executor of processes: calls and results cross on a wire, large arrays in shared memory."""

from __future__ import annotations

import enum
import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.util import Finalize
from typing import Any

from penstock.pipeline._elsewhere.process import Process, ProcessIsGone
from penstock.pipeline._elsewhere.wire import Wire
from penstock.pipeline._elsewhere.worker import exit_with_parent
from penstock.pipeline._threads import Call, Threads, UrgentExecutor


class _Say(enum.IntEnum):
    CALL = 1
    END = 2
    RETURNED = 3
    RAISED = 4
    NOT_READY = 5


class RemoteTraceback(Exception):
    """Where in the other process an exception was raised: its cause."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Processes(UrgentExecutor):
    """As :class:`concurrent.futures.ProcessPoolExecutor`, with priorities, and with NumPy arrays,
    CPU tensors and large bytes in shared memory that has no name.

    A thread for each process waits for its answers. When a process dies, all calls fail. The
    processes end with the program, and never outlive the one that made them.
    """

    runs_elsewhere = True

    def __init__(
        self,
        max_workers: int | None = None,
        mp_context: Any = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        *,
        max_tasks_per_child: int | None = None,
    ) -> None:
        workers = (os.cpu_count() or 1) if max_workers is None else max_workers
        self._threads = Threads(workers, "penstock-processes")
        if mp_context is None and max_tasks_per_child is not None:
            mp_context = "spawn"
        if mp_context is None or isinstance(mp_context, str):
            mp_context = multiprocessing.get_context(mp_context)
        forks = mp_context.get_start_method() == "fork"
        if forks and max_tasks_per_child is not None:
            raise ValueError(
                "max_tasks_per_child is incompatible with the 'fork' multiprocessing start method; "
                "supply a different mp_context."
            )
        # Forked all at once, by the thread that submits first: later there are other threads.
        self._at_once = workers if forks else 0
        self._context = mp_context
        self._how = (initializer, initargs)
        self._max_tasks = max_tasks_per_child
        self._lock = threading.Lock()
        self._all: list[Process] = []
        self._idle: list[tuple[Process, int]] = []  # with the number of calls it has served
        self._broken = threading.Event()
        mine = (self._all, self._idle, self._threads)
        self._end = Finalize(self, _end_all, mine, exitpriority=10)

    def submit_urgent(self, priority: tuple[float, ...], call: Call) -> Future[Any]:
        if self._broken.is_set():
            raise BrokenProcessPool(_BROKEN)
        with self._lock:
            while self._at_once > 0:
                self._at_once -= 1
                self._idle.append((self._make(), 0))
        return self._threads.submit_urgent(priority, (self._call, (call,), {}))

    def _make(self) -> Process:
        made = Process(self._context, serve_calls, self._how)
        self._all.append(made)
        return made

    def _call(self, call: Call) -> Any:
        with self._lock:
            process, served = self._idle.pop() if self._idle else (self._make(), 0)
        try:
            return self._ask(process, call)
        except ProcessIsGone:
            self._broken.set()
            for one in list(self._all):  # those who wait for one of them find out
                one.terminate()
            raise BrokenProcessPool(_BROKEN) from None
        finally:
            if served + 1 == self._max_tasks:
                process.end(_Say.END)
                self._all.remove(process)
            else:
                with self._lock:
                    self._idle.append((process, served + 1))

    def _ask(self, process: Process, call: Call) -> Any:
        if self._broken.is_set():
            raise BrokenProcessPool(_BROKEN)
        process.send(_Say.CALL, call)
        said, answer = process.hear()
        if said == _Say.RETURNED:
            return answer
        if said == _Say.NOT_READY:
            raise ProcessIsGone
        error, place = answer
        error.__cause__ = RemoteTraceback(place)
        raise error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self._end()
        else:  # calls that are under way still need their processes
            threading.Thread(target=self._end_later, daemon=True).start()

    def _end_later(self) -> None:
        self._threads.shutdown(wait=True)
        self._end()


_BROKEN = "A process in the process pool was terminated abruptly: all its calls have failed."


def _end_all(processes: list[Process], idle: list[tuple[Process, int]], threads: Threads) -> None:
    threads.shutdown(wait=False, cancel_futures=True)
    at_rest = [process for process, _ in idle]
    for one in processes:
        one.end(_Say.END, at_once=one not in at_rest)


def serve_calls(
    wire: Wire,
    other_end: Wire | None,
    initializer: Callable[..., object] | None,
    initargs: tuple[Any, ...],
) -> None:
    """The life of a process: a call, its answer, the next call."""
    if other_end is not None:
        other_end.close()  # a copy that fork() made
    exit_with_parent()
    try:
        if initializer is not None:
            try:
                initializer(*initargs)
            except BaseException:
                traceback.print_exc()
                wire.send(_Say.NOT_READY)
                return
        while _serve(wire):
            pass
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return


def _serve(wire: Wire) -> bool:
    try:
        heard = wire.receive()
        assert heard is not None
        said, call = heard
        if said == _Say.END:
            return False
        fn, args, kwargs = call
        del call, heard
        result = fn(*args, **kwargs)
    except (EOFError, KeyboardInterrupt):
        raise
    except BaseException as error:
        _raised(wire, error)
        return True
    try:
        wire.send(_Say.RETURNED, result)
    except OSError:
        raise
    except Exception as error:  # it does not pickle
        _raised(wire, error)
    return True


def _raised(wire: Wire, error: BaseException) -> None:
    place = "".join(traceback.format_exception(error))
    try:
        wire.send(_Say.RAISED, (error.with_traceback(None), place))
    except OSError:
        raise
    except Exception:
        wire.send(_Say.RAISED, (RuntimeError(f"{type(error).__name__}: {error}"), place))
