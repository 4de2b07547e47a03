"""Workers that live as long as an iteration, or as their loader: threads or processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from penstock.dataloader._fetch import Fetch, MapFetch, Result


class ThreadWorkers:
    """So many threads, each of which has called ``init(number)`` before it does anything else."""

    def __init__(self, count: int, init: Callable[[int], Any] | None) -> None:
        self.executor: Executor = ThreadPoolExecutor(count, "penstock-worker")
        self._local = threading.local()
        self._together = threading.Barrier(count)  # who was done would take another's turn
        for number in range(count):
            self.executor.submit(self._begin, init, number)

    def _begin(self, init: Callable[[int], Any] | None, number: int) -> None:
        try:
            if init is not None:
                init(number)
        except BaseException as error:
            error.add_note(f"PyTorchDataLoader: worker_init_fn({number})")
            self._local.error = error
        with suppress(threading.BrokenBarrierError):  # it was closed meanwhile
            self._together.wait()

    def op(self, fetch: Fetch) -> Callable[[Any], Result | None]:
        local = self._local

        def run(task: Any) -> Result | None:
            error = local.__dict__.pop("error", None)
            return fetch(task) if error is None else fetch.refuse(task, error)

        return run

    def close(self) -> None:
        self._together.abort()
        self.executor.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True)
class Job:
    """What a worker process needs to know."""

    dataset: Any
    batched: bool
    collate: Callable[[Any], Any]
    init: Callable[[int], Any] | None
    count: int
    seed: int


class ProcessWorkers:
    """So many processes, each with the dataset; for datasets that hold the GIL.

    With ``pickled`` they all unpickle the dataset, ``at_once`` of them at a time; without it forked
    ones inherit it.
    """

    def __init__(
        self,
        job: Job,
        context: Any = None,
        pickled: bytes | None = None,
        at_once: int | None = None,
    ) -> None:
        context = context or multiprocessing.get_context()
        if pickled is None and context.get_start_method() != "fork":
            pickled = pickle.dumps(job.dataset)
        gate = None if at_once is None else context.BoundedSemaphore(at_once)
        if pickled is not None:
            job = replace(job, dataset=None)
        self.executor: Executor = ProcessPoolExecutor(
            job.count,
            context,
            initializer=_begin_process,
            initargs=(job, pickled, gate, context.Value("i", 0)),
        )
        self.executor.submit(int)  # forks now and here, before there are threads of ours
        self._processes = list((getattr(self.executor, "_processes", None) or {}).values())
        self._owner = os.getpid()
        _open.add(self)

    def op(self, fetch: Fetch) -> Callable[[Any], Result | None]:
        return _fetch_in_process

    def close(self) -> None:
        """Ends the processes; those that do not within a few seconds are killed, as torch does."""
        processes, self._processes = self._processes, []
        if self._owner != os.getpid():
            return
        self.executor.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + _GRACE
        for process in processes:
            process.join(max(deadline - time.monotonic(), 0))
        for process in processes:
            if process.is_alive():
                process.kill()


_GRACE = 5.0
_open: weakref.WeakSet[ProcessWorkers] = weakref.WeakSet()


def close_all() -> None:
    """Before the interpreter ends: a pool that is not closed would wait for its processes."""
    for workers in list(_open):
        workers.close()


Workers = ThreadWorkers | ProcessWorkers

# In a worker process: what it does, and what went wrong before it could.
_fetch: MapFetch | None = None
_error: BaseException | None = None


def _begin_process(job: Job, pickled: bytes | None, gate: Any, numbers: Any) -> None:
    global _fetch, _error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of the program
    try:
        with numbers.get_lock():
            number = numbers.value
            numbers.value += 1
        if pickled is not None:
            with gate or nullcontext():
                job = replace(job, dataset=pickle.loads(pickled))
        _become_worker(job, number)
        if job.init is not None:
            job.init(number)
        _fetch = MapFetch(job.dataset, job.batched, job.collate)
    except BaseException as error:
        error.add_note("PyTorchDataLoader: while a worker process began")
        _error = error


def _become_worker(job: Job, number: int) -> None:
    """As in a worker of torch: one thread, its own seeds, get_worker_info()."""
    import random

    import numpy as np
    import torch
    from torch.utils.data._utils import worker

    torch.set_num_threads(1)
    seed = job.seed + number
    random.seed(seed)
    torch.manual_seed(seed)
    entropy = [number, job.seed & 0xFFFFFFFF, job.seed >> 32, 0]
    np.random.seed(np.random.SeedSequence(entropy).generate_state(4))
    worker._worker_info = worker.WorkerInfo(
        id=number, num_workers=job.count, seed=seed, dataset=job.dataset
    )


def _fetch_in_process(task: Any) -> Result:
    global _error
    if _error is not None:
        error, _error = _error, None
        return [task[0], None, _portable(error)]
    if _fetch is None:
        return [task[0], None, RuntimeError("this worker process could not begin")]
    number, batch, problem = _fetch(task)
    return [number, batch, None if problem is None else _portable(problem)]


def _portable(error: BaseException) -> BaseException:
    """The exception as it can travel between processes, with its traceback as a note."""
    lines = "".join(traceback.format_exception(error)).rstrip()
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"in a worker process:\n{lines}")
    return error
