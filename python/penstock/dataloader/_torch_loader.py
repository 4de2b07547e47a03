"""PyTorchDataLoader: torch.utils.data.DataLoader with threads in place of processes."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal

from penstock.dataloader._fetch import CollateFetch, MapFetch, one_by_one, read_batches
from penstock.dataloader._iteration import Iteration
from penstock.dataloader._pin import on_results, pin_function
from penstock.dataloader._position import Position
from penstock.dataloader._progress import Progress
from penstock.dataloader._run import FedRun, InlineRun, Run
from penstock.dataloader._shared_batch import SharedFetch
from penstock.dataloader._torch_class import declared, is_iterable_dataset, with_torch
from penstock.dataloader._watch import NAMES, Watched
from penstock.dataloader._workers import Job, ProcessWorkers, ThreadWorkers, Workers

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


class PyTorchDataLoader(Watched, Generic[T]):
    """Takes the arguments of ``torch.utils.data.DataLoader``, and gives the same batches.

    ``__getitem__`` of the dataset runs on ``num_workers`` threads. The order is the one that torch
    gives for the same sampler and generator, and the seeds are drawn in the same sequence. Objects
    of this class are also objects of torch's class; PyTorch is imported when the first one is made.

    Differences: docs/dataloader.md has them all. In short: transforms that draw from global
    generators share them with the program, ``get_worker_info()`` is None, ``worker_init_fn`` is
    called once per thread, an iterable dataset is read once, by one thread.

    Args:
        executor: "thread", or "process" for datasets that hold the GIL: worker processes as torch
            has them, with the dataset copied into each. The other arguments are torch's.

    >>> loader = PyTorchDataLoader(range(10), batch_size=4, num_workers=2)
    >>> [batch.tolist() for batch in loader]
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    >>> batches = iter(loader)
    >>> next(batches).tolist()
    [0, 1, 2, 3]
    >>> state = loader.state_dict()
    >>> again = PyTorchDataLoader(range(10), batch_size=4)
    >>> again.load_state_dict(state)
    >>> [batch.tolist() for batch in again]
    [[4, 5, 6, 7], [8, 9]]
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    batch_sampler: Any
    collate_fn: Callable[[Any], Any]
    worker_init_fn: Callable[[int], Any] | None
    generator: Any
    prefetch_factor: int | None
    persistent_workers: bool
    pin_memory_device: str
    in_order: bool
    multiprocessing_context: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> PyTorchDataLoader[T]:
        made: PyTorchDataLoader[T] = object.__new__(with_torch(cls))
        return made

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        executor: Literal["thread", "process"] = "thread",
    ) -> None:
        if executor not in ("thread", "process"):
            raise ValueError(f"executor is {executor!r}; give 'thread' or 'process'")
        self.executor = executor
        # torch's own: it checks the arguments and makes the samplers.
        super().__init__(  # type: ignore[call-arg]
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )
        if executor == "process" and self._is_stream:
            raise ValueError(
                "executor='process' is for map-style datasets; an iterable dataset is read once, "
                "by one thread"
            )
        self._skip_failed = False
        self._pickled: bytes | None = None
        self._begin_at_once: int | None = None
        self._forget_work()

    @classmethod
    def from_torch(cls, loader: Any, **changes: Any) -> PyTorchDataLoader[T]:
        """A loader like this one of torch, with other arguments where they are given.

        >>> import torch
        >>> theirs = torch.utils.data.DataLoader(range(4), batch_size=2)
        >>> ours = PyTorchDataLoader.from_torch(theirs, num_workers=1)
        >>> [batch.tolist() for batch in ours]
        [[0, 1], [2, 3]]
        """
        names = (
            "dataset num_workers collate_fn pin_memory timeout worker_init_fn generator "
            "multiprocessing_context prefetch_factor persistent_workers pin_memory_device in_order"
        )
        options = {name: getattr(loader, name) for name in names.split()}
        inner = getattr(loader.batch_sampler, "sampler", None)
        if is_iterable_dataset(loader.dataset):
            options |= {"batch_size": loader.batch_size, "drop_last": loader.drop_last}
        elif loader.batch_sampler is None:
            options |= {"batch_size": None, "sampler": loader.sampler}
        elif loader.batch_size is None or inner is not loader.sampler:
            options |= {"batch_sampler": loader.batch_sampler}
        else:
            options |= {
                "batch_size": loader.batch_size,
                "sampler": loader.sampler,
                "drop_last": loader.drop_last,
            }
        return cls(**(options | changes))

    # Iteration.

    def __iter__(self) -> Iterator[T]:
        if self.num_workers == 0 and self.timeout != 0:
            raise AssertionError("timeout needs num_workers > 0: without workers nobody waits")
        if self._is_stream:
            return self._iterate_stream()
        batched = self.batch_sampler is not None
        source = self.batch_sampler if batched else self.sampler
        progress, indices, seed = self._position.begin(self, source)
        tasks = progress.tasks(indices)
        pin = pin_function(self)
        collate = _then(self.collate_fn, pin)
        if self.num_workers == 0:
            fetch = MapFetch(self.dataset, batched, collate)
            return self._iteration(InlineRun(tasks, fetch), progress)
        workers = self._workers(seed)
        if isinstance(workers, ProcessWorkers):
            fetch = MapFetch(self.dataset, batched, self.collate_fn)
            run = FedRun(
                tasks,
                fetch,
                workers=workers,
                finish=None if pin is None else on_results(pin),
                **self._run_options(),
            )
        else:
            shared = SharedFetch(self.dataset, batched, collate, self.num_workers)
            run = FedRun(tasks, shared, source=shared.dealt, workers=workers, **self._run_options())
        return self._iteration(run, progress, workers)

    def _iterate_stream(self) -> Iterator[T]:
        progress = self._position.begin_stream(self)
        fetch = CollateFetch(_then(self.collate_fn, pin_function(self)))
        items = iter(self.dataset) if self.num_workers == 0 else self.dataset
        tasks = read_batches(
            items, self.batch_size, self.drop_last, progress.done, frozenset(progress.ahead)
        )
        if self.num_workers == 0:
            return self._iteration(InlineRun(tasks, fetch), progress)
        workers = self._workers(0)
        run = FedRun(
            itertools.repeat(True),
            fetch,
            source=functools.partial(one_by_one, tasks),
            workers=workers,
            **self._run_options(),
        )
        return self._iteration(run, progress, workers)

    def __len__(self) -> int:
        return int(super().__len__())  # type: ignore[misc]

    # Where it is.

    @property
    def epoch(self) -> int:
        """The epoch under way, or the next one; counted from 0."""
        return self._position.epoch(self)

    def state_dict(self) -> dict[str, Any]:
        """Where the loop is: what it has received, not what is prefetched. Small, and plain JSON.

        It belongs to the iteration that was begun last. A batch that has failed counts as received.
        """
        return self._position.state(self)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on from there. An epoch that is complete is not gone over again.

        The order is made again from the generators' states: give this loader a sampler of the same
        kind, and a generator if the other one had one. With an iterable dataset what was received
        is read again, and left out.
        """
        self._position.load(self, state)

    def close(self) -> None:
        """Ends workers that were kept (``persistent_workers``); they end with the loader, too."""
        self._close_workers()

    # Inside.

    @property
    def _is_stream(self) -> bool:
        return is_iterable_dataset(self.dataset)

    def check_worker_number_rationality(self) -> None:
        """torch warns of more workers than cores; with threads that is no problem."""

    def _forget_work(self) -> None:
        self._position = Position()
        self._kept: Workers | None = None
        self._close_workers: Callable[[], Any] = lambda: None

    def _workers(self, seed: int) -> Workers | None:
        """A pool where threads have to be told apart or live on; None: those of the pipeline."""
        needed = self.worker_init_fn is not None or self.persistent_workers
        if self.executor == "thread" and not needed:
            return None
        if self._kept is not None:
            return self._kept
        workers: Workers
        if self.executor == "process":
            job = Job(
                self.dataset,
                self.batch_sampler is not None,
                self.collate_fn,
                self.worker_init_fn,
                self.num_workers,
                seed,
            )
            workers = ProcessWorkers(
                job, self.multiprocessing_context, self._pickled, self._begin_at_once
            )
        else:
            workers = ThreadWorkers(self.num_workers, self.worker_init_fn)
        if self.persistent_workers:
            self._kept = workers
            self._close_workers = weakref.finalize(self, workers.close)
        return workers

    def _run_options(self) -> dict[str, Any]:
        return {
            "count": self.num_workers,
            "ahead": self.num_workers * max(self.prefetch_factor or 1, 1),
            "in_order": self.in_order,
            "timeout": self.timeout,
        }

    def _iteration(
        self, run: Run, progress: Progress, workers: Workers | None = None
    ) -> Iterator[T]:
        close = None if workers is None or self.persistent_workers else workers.close
        iteration = Iteration(self, run, progress, close)
        self._loop = weakref.ref(iteration)
        return iteration

    def _batches_behind(self) -> int:
        return self._position.behind(self)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name not in _WORK}
        return _rebuild, (declared(type(self)), state)


# What belongs to a running loader and does not travel with a copy of it.
_WORK = ("_position", "_kept", "_close_workers", *NAMES)


def _rebuild(cls: type[PyTorchDataLoader[Any]], state: dict[str, Any]) -> PyTorchDataLoader[Any]:
    made = cls.__new__(cls)
    vars(made).update(state)
    made._forget_work()
    return made


def _then(collate: Callable[[Any], Any], pin: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return collate if pin is None else lambda samples: pin(collate(samples))
