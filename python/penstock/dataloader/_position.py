"""Which epoch a loader is in, where in it, and how the next iteration begins."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from penstock.data._ranks import from_environment
from penstock.dataloader._progress import Origin, Progress, checksum


class Beginning(NamedTuple):
    """What an iteration begins with: indices that are still to be read, the seed of its workers."""

    progress: Progress
    indices: Iterator[Any]
    seed: int


class Position:
    """Belongs to one loader, which it is given in each call."""

    def __init__(self) -> None:
        self._epoch = 0
        self._progress: Progress | None = None  # of the iteration that was begun last
        self._resume: Progress | None = None  # what the next iteration goes on with
        self._resume_rank: int | None = None
        self._seed: int | None = None

    def epoch(self, loader: Any) -> int:
        progress = self._resume or self._progress
        if progress is None:
            return self._epoch
        return progress.epoch + _is_complete(progress, loader)

    def behind(self, loader: Any) -> int:
        """How many batches of the epoch were received before the state that was loaded."""
        resume = self._resume
        return 0 if resume is None or _is_complete(resume, loader) else resume.done

    def state(self, loader: Any) -> dict[str, Any]:
        progress = self._resume or self._progress
        if progress is None:
            origin = None if loader._is_stream else Origin.of(loader, epoch_begins=False)
            progress = Progress(self._epoch, origin)
        return progress.to_dict() | {"loader": _described(loader), "rank": _rank()}

    def load(self, loader: Any, state: dict[str, Any]) -> None:
        progress = Progress.from_dict(state)
        theirs, ours = state.get("loader"), _described(loader)
        if theirs != ours:
            raise ValueError(
                f"load_state_dict: the state is of another loader: of {theirs}, this is {ours}"
            )
        if progress.origin is not None:
            progress.origin.set_sampler_epoch(loader)
        self._resume, self._resume_rank = progress, state.get("rank")
        self._progress = None

    def begin_stream(self, loader: Any) -> Progress:
        resume, self._resume = self._resume, None
        self._progress = progress = resume or Progress(self._epoch)
        self._epoch = progress.epoch
        if self._seed is None or not loader.persistent_workers:
            self._draw_seed(loader)
        return progress

    def begin(self, loader: Any, source: Any) -> Beginning:
        """The next epoch, or the rest of the one that was loaded; ``source`` gives its indices."""
        self._epoch = self.epoch(loader)  # a loop may stop at the last batch, without asking again
        resume, self._resume = self._resume, None
        beginning = None
        if resume is not None:
            self._epoch = resume.epoch
            beginning = self._go_on(loader, source, resume)
        if beginning is None:
            origin = Origin.of(loader, epoch_begins=True)
            indices = iter(source)  # before the seed is drawn, as torch does
            # Workers that live on keep their seed: torch draws none for their second epoch.
            origin.drawn = self._seed is None or not loader.persistent_workers
            origin.seed = seed = self._draw_seed(loader) if origin.drawn else self._seed or 0
            beginning = Beginning(Progress(self._epoch, origin), indices, seed)
        self._progress = beginning.progress
        return beginning

    def ended(self, progress: Progress) -> None:
        self._epoch = max(self._epoch, progress.epoch + 1)
        if self._progress is progress:
            self._progress = None

    def _go_on(self, loader: Any, source: Any, progress: Progress) -> Beginning | None:
        """The rest of an epoch; None if it had not begun or is complete."""
        origin = progress.origin
        assert origin is not None
        origin.restore(loader)
        if origin.seed is None:
            return None
        with origin.shared_restored():
            indices = iter(source)
            if origin.drawn:
                self._draw_seed(loader)
            self._seed = origin.seed
            passed, order = 0, 0
            for index in itertools.islice(indices, progress.done):
                passed, order = passed + 1, checksum(index, order)
            if passed < progress.done or (order != progress.order and self._resume_rank == _rank()):
                raise ValueError(
                    f"load_state_dict: {passed} batches of the sampler are not the {progress.done} "
                    "that were received: its order depends on something that is not saved; give it "
                    "a generator, or set its epoch or seed as it was"
                )
            # Now, because samplers draw what they draw before their first index.
            following = list(itertools.islice(indices, 1))
        if not following:
            self._epoch += 1
            return None
        return Beginning(progress, itertools.chain(following, indices), origin.seed)

    def _draw_seed(self, loader: Any) -> int:
        import torch

        drawn = torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
        self._seed = int(drawn.item())
        return self._seed


def _rank() -> int:
    return from_environment().rank


def _described(loader: Any) -> dict[str, Any]:
    try:
        samples = len(loader.dataset)
    except (TypeError, NotImplementedError):
        samples = None
    return {"samples": samples, "batch_size": loader.batch_size, "drop_last": loader.drop_last}


def _is_complete(progress: Progress, loader: Any) -> bool:
    if loader._is_stream or progress.done == 0:
        return False
    try:
        return progress.done >= len(loader)
    except TypeError:  # a sampler without a length
        return False
