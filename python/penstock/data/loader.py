"""Loader: runs a dataset, epoch after epoch, and knows where it is."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Literal

from penstock import _core
from penstock.data import _describe, _stream
from penstock.data._build import make_rows, names_after
from penstock.data._checks import checked_seed, checked_threads, checked_whole
from penstock.data._failures import Failures, OnError, SampleError, TooManyErrors
from penstock.data._history import History
from penstock.data._iteration import Iteration
from penstock.data._ledger import Ledger
from penstock.data._listed import array_maker
from penstock.data._output import converter
from penstock.data._plan import Batch, PlanError, fix_of, is_python
from penstock.data._ranks import Rank, from_environment
from penstock.data._rows import is_async, name_of
from penstock.data._sizes import parse_bytes
from penstock.data._tally import Measured, Tally
from penstock.data._token import Token
from penstock.data.dataset import Dataset

_LOG = logging.getLogger("penstock.data")


class Loader:
    """Iterates over the batches of a dataset.

    Args:
        threads: Native workers; None: one pool for all loaders, with a thread per core.
        memory: What batches under way may take, as bytes or "1GB".
        prefetch: Finished batches that may wait.
        seed: Of crops, flips and the `rng` of maps.
        on_error: What becomes of a sample that fails: "raise" when its batch is due, "skip" it (its
            batch is shorter), or "replace" it by another one of its source.
        max_errors: How many may fail, on this rank; None: any number.
        epoch: Where to begin.
        output: "numpy", "torch", "jax" or "dlpack".

    >>> import penstock as ps
    >>> loader = ps.from_list(range(5)).batch(2).loader()
    >>> [batch["data"].tolist() for batch in loader]
    [[0, 1], [2, 3], [4]]
    >>> loader.epoch
    1
    """

    def __init__(
        self,
        dataset: Dataset,
        threads: int | None = None,
        memory: int | str = "1GB",
        prefetch: int = 2,
        seed: int = 0,
        on_error: OnError = "raise",
        max_errors: int | None = None,
        epoch: int = 0,
        output: Literal["numpy", "torch", "jax", "dlpack"] = "numpy",
    ) -> None:
        if on_error not in ("raise", "skip", "replace"):
            raise ValueError(f"on_error must be raise, skip or replace, not {on_error!r}")
        if threads is not None:
            threads = checked_threads(threads)
        checked_whole(prefetch, "prefetch", 1)
        if max_errors is not None:
            checked_whole(max_errors, "max_errors")
        self.dataset = dataset
        self.epoch = checked_whole(epoch, "epoch")
        self._threads = threads
        self._prefetch = prefetch
        self._seed = checked_seed(seed)
        self._on_error = on_error
        self._batch = dataset._batch or Batch(1, False, "pad", False, "NHWC", "uint8", None, None)
        self._whole_batches = dataset._batch is not None
        self._rank = self._find_rank()
        # A sequential plan has no order, no leaves and no length of its own.
        self._sequential = dataset.sequential
        self._failures = Failures(on_error, max_errors, self._sequential)
        self._leaves = [] if self._sequential else dataset._leaves()
        self._order = _core.Order.leaf(0, 0) if self._sequential else dataset._order()
        self._length = None if self._sequential else self._order.length
        self._source_state: Any = None
        self._identity = self._describe_plan()
        self._rows = make_rows(
            dataset._node, self._leaves, dataset._steps, self._seed, threads, self._batch
        )
        steps = dataset._steps
        own = self._sequential and not any(is_python(step) for step in steps)
        self._lists = array_maker(self._batch, names_after(steps, 0)) if own else None
        self._convert = converter(output)
        self._on_batch = self._batch_function()
        self._memory = _core.LoaderMemory(
            parse_bytes(memory, "memory"),
            dict(self._batch.collate),
            self._batch.mask,
            not self._whole_batches,
            self._rows.images,
        )
        self._place = threading.RLock()  # around what the token and the ledger say: for a moment
        self._position: int | None = 0  # of what the loop has not received yet; None: at the end
        self._start = 0  # of the epoch under way, or where the next one begins
        self._tally = Tally()  # of the iteration under way, or of the last one
        self._ledger = Ledger()
        # Weak: an iteration that nobody holds any more ends by itself, and at once.
        self._iteration: weakref.ref[Iteration] | None = None
        self._last_stats: Measured | None = None
        self._history = History()
        self._closed = False
        self._process = os.getpid()

    # Who and how many.

    @property
    def rank(self) -> int:
        return self._rank.rank

    @property
    def world(self) -> int:
        return self._rank.world

    @property
    def batch_size(self) -> int | None:
        return self._batch.size if self._whole_batches else None

    def __len__(self) -> int:
        batches = self._batches(0)
        if self._sequential:
            fix = fix_of(self.dataset._node)
            raise TypeError(f"this plan is sequential and has no length; {fix}")
        if batches is None:
            raise TypeError("an endless dataset has no number of batches; take(n) ends it")
        return batches

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is over this epoch. After load_state_dict the same epoch goes on.

        >>> import penstock as ps
        >>> loader = ps.from_list(range(4)).shuffle(seed=0).batch(2).loader()
        >>> loader.set_epoch(3)
        >>> loader.epoch
        3
        """
        epoch = checked_whole(epoch, "set_epoch: epoch")
        if epoch != self.epoch or self._at_end():
            self._end_iteration("set_epoch() chose another epoch")
            with self._place:
                self._start = self._position = 0
                self._source_state = None
                self.epoch = epoch

    # Iteration.

    def __iter__(self) -> Iterator[Any]:
        self._check_process()
        if self._closed:
            raise RuntimeError("this loader is closed")
        self._end_iteration("another iteration of this loader has begun")
        self._pass_end()
        start, self._start = self._start, 0
        state = self._source_state = self._source_state if start > 0 else None
        self._position = start
        self._tally = Tally()
        iteration = Iteration(self, start, state)
        self._iteration = weakref.ref(iteration)
        return iteration

    def _pass_end(self) -> None:
        """An epoch whose last batch was received is over, though nobody has asked for more."""
        with self._place:
            if self._at_end():
                self.epoch += 1
                self._position, self._source_state = 0, None

    def _at_end(self) -> bool:
        return self._position is None or 0 < self._position == self._length

    def close(self) -> None:
        """Ends all work. A loader that is not needed any more does so by itself.

        >>> import penstock as ps
        >>> with ps.from_list(range(4)).batch(2).loader() as loader:  # closes it
        ...     first = next(iter(loader))
        """
        self._closed = True
        self._end_iteration("the loader was closed")

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Where it is.

    def state_dict(self) -> dict[str, Any]:
        """Where the loop is, as a small plain dict: what it has received, not what is prefetched.

        The token of any one rank serves all ranks of the next run, whatever their number.

        >>> import json, penstock as ps
        >>> loader = ps.from_list(range(9)).batch(3).loader()
        >>> first = next(iter(loader))
        >>> token = json.dumps(loader.state_dict())
        """
        return self._token().to_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration goes on from there.

        >>> import penstock as ps
        >>> plan = ps.from_list(range(6)).batch(2)
        >>> loader, other = plan.loader(), plan.loader(threads=1)
        >>> first = next(iter(loader))
        >>> other.load_state_dict(loader.state_dict())
        >>> [batch["data"].tolist() for batch in other]
        [[2, 3], [4, 5]]
        """
        token = Token.from_dict(state)
        token.check(self._token())
        if self._length is not None and token.position > self._length:
            raise ValueError("load_state_dict: the token is damaged: it is beyond the end")
        if self._sequential:
            _stream.check_resume(self.dataset._node, token.position)
        self._end_iteration("a state was loaded")
        with self._place:
            self.epoch = token.epoch
            self._start = self._position = token.position
            self._failures.count = token.errors
            self._source_state = token.source

    def errors(self) -> list[SampleError]:
        """The samples that failed, and were skipped or replaced, in batches that were delivered.

        >>> import penstock as ps
        >>> ds = ps.from_list([4, 0, 2]).map(lambda sample: {"x": 8 // sample["data"]})
        >>> loader = ds.batch(3).loader(on_error="skip")
        >>> [batch["x"].tolist() for batch in loader], loader.errors()[0].position
        ([[2, 4]], 1)
        """
        return list(self._failures.listed)

    def ledger(self) -> Ledger:
        """Which positions were delivered; see :class:`Ledger`.

        >>> import penstock as ps
        >>> loader = ps.from_list(range(5)).batch(2).loader()
        >>> for batch in loader:
        ...     pass
        >>> loader.ledger().complete(epoch=0, length=5)
        True
        """
        with self._place:
            return Ledger.merge([self._ledger])

    def stats(self) -> dict[str, Any]:
        """``"stages"`` of the epoch that runs, or of the last one: as `Pipeline.stats()` gives
        them. ``"memory"`` in bytes, the number of ``"errors"``.

        >>> import penstock as ps
        >>> loader = ps.from_list(range(6)).batch(2).loader()
        >>> for batch in loader:
        ...     pass
        >>> loader.stats()["stages"][-1].items_out
        3
        """
        from penstock.pipeline._stats import from_engine  # not before it is asked for: it is large

        iteration = self._iteration() if self._iteration is not None else None
        run = iteration.run if iteration is not None else None
        if iteration is not None and run is not None and os.getpid() == self._process:
            self._last_stats = iteration.measured(run)
        stages = [] if self._last_stats is None else from_engine(*self._last_stats)
        if stages:
            stages[-1] = self._tally.into(stages[-1])
        return {
            "stages": stages,
            "memory": self._memory.stats(),
            "errors": self._failures.count,
        }

    def __str__(self) -> str:
        """The stages as a table, as print(pipeline) shows them."""
        from penstock.pipeline._stats import shown

        stages = self.stats()["stages"]
        head = f"Loader of {self.dataset!r}"
        return f"{head}\n{shown(stages)}" if stages else head

    def progress(self) -> Iterator[Any]:
        """The batches, with a bar on standard error if that is a terminal; see `ps.progress`.

        >>> import penstock as ps
        >>> for batch in ps.from_list(range(8)).batch(4).loader().progress():
        ...     pass
        """
        from penstock.insight import progress

        return progress(self)

    def report(self, path: str) -> None:
        """Writes one HTML page: the verdict, the flow, waits and memory over time, errors.

        >>> import penstock as ps
        >>> loader = ps.from_list(range(6)).batch(2).loader()
        >>> for batch in loader:
        ...     pass
        >>> loader.report("report.html")
        """
        from penstock.insight import report

        report(path, self)

    # Inside.

    def _keep_statistics(self) -> Callable[[], None]:
        """Calling the result, as often as needed, makes them again what they are now, if there are
        any, and the ledger and the errors too."""
        found = self.stats()["stages"]
        last, tally, history = self._last_stats, self._tally, self._history.copy()
        ledger, failures = self.ledger(), self._failures.copy()

        def again() -> None:
            with self._place:
                self._ledger = Ledger.merge([ledger])
                self._failures = failures.copy()
            if found:
                self._last_stats, self._tally, self._history = last, tally, history.copy()

        return again

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "this loader belongs to another process: it does not survive a fork; make a loader "
                "after forking"
            )

    def _end_iteration(self, why: str) -> None:
        iteration = self._iteration() if self._iteration is not None else None
        self._iteration = None
        if iteration is not None:
            iteration.end(why)

    def _find_rank(self) -> Rank:
        if self.dataset._shard is not None:
            return Rank(*self.dataset._shard, "given")
        found = from_environment()
        if found.world > 1:
            _LOG.info(
                "this is rank %d of %d, says %s; .shard(0, 1) switches that off",
                found.rank,
                found.world,
                found.origin,
            )
        return found

    def _batch_function(self) -> Callable[[dict[str, Any]], Any] | None:
        maps, convert, loop = self._batch.maps, self._convert, self._rows.loop
        if not maps:
            return None

        def on_batch(columns: dict[str, Any]) -> Any:
            batch: Any = convert(columns)
            for fn in maps:
                batch = loop.run(fn(batch)) if is_async(fn) else fn(batch)
                if batch is None:
                    raise TypeError(f"map: {name_of(fn)} returned None for a batch")
            return batch

        return on_batch

    @property
    def _ends(self) -> str:
        return "even" if self._batch.drop_last else self._batch.ends

    def _batches(self, start: int) -> int | None:
        return _core.batches_of(
            self.rank, self.world, self._batch.size, self._ends, self._length, start
        )

    def _batches_behind(self) -> int:
        """Of the epoch that the next iteration goes on with."""
        whole, rest = self._batches(0), self._batches(self._start)
        return 0 if whole is None or rest is None else whole - rest

    def _describe_plan(self) -> dict[str, Any]:
        """The parts of a token that say what it is a token of."""
        plan = _describe.order(self.dataset._node)
        data = ".".join(f"{leaf.digest:016x}" for leaf in self._leaves)
        if self._sequential:
            data = _stream.names_digest(self.dataset._node)
        return {
            "data": data if len(data) < 200 else _short(data),
            "order": _short(plan) if self._sequential else f"{self._order.digest:016x}",
            "records": sum(len(leaf) for leaf in self._leaves),
            "plan": plan[:500],
        }

    def _token(self) -> Token:
        with self._place:
            epoch, position = self.epoch, self._position
            errors, source = self._failures.count, self._source_state
            over = self._at_end()
        if over or position is None:
            epoch, position = epoch + 1, 0
        return Token(epoch=epoch, position=position, errors=errors, source=source, **self._identity)

    def _start_run(self, start: int, state: Any) -> _core.DataRun:
        stream = None
        if self._sequential:
            size = self._batch.size
            stream = _stream.rounds(
                self.dataset._node,
                self.epoch,
                start,
                state,
                self.rank,
                self.world,
                size,
                self._ends,
                self._lists,
            )
        return _core.DataRun(
            plan=self._rows.native,
            order=self._order,
            leaves=self._leaves,
            memory=self._memory,
            seed=self._seed,
            rank=self.rank,
            world=self.world,
            batch=self._batch.size,
            ends=self._ends,
            epoch=self.epoch,
            start=start,
            prefetch=self._prefetch,
            threads=self._threads or 0,
            on_error=self._on_error,
            on_batch=self._on_batch,
            stream=stream,
            report=_report,
        )


def _report(stage: str, task: int, error: BaseException, item: Any) -> None:
    _LOG.error("%s failed: %s", stage, error)


def _short(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


__all__ = ["Loader", "PlanError", "SampleError", "TooManyErrors"]
