"""Where a loop over a loader is, and how the order of its epoch can be made again.

The order of an epoch is not kept. What is kept is what it came from: the states of the generators
when the epoch began, and the epoch of the sampler. To resume, the sampler is asked again, and what
the loop has received is passed over. A checksum over those indices tells whether they are the same.
"""

from __future__ import annotations

import base64
import contextlib
import zlib
from array import array
from collections.abc import Iterator
from typing import Any

_VERSION = 1
_NUMBER = 8  # bytes of a number in a generator's state


class Progress:
    """What the loop has received of one epoch."""

    def __init__(self, epoch: int, origin: Origin | None = None) -> None:
        self.epoch = epoch
        self.origin = origin
        self.done = 0  # all batches before this one were received,
        self.ahead: set[int] = set()  # and these after it, if batches come as they are finished
        self.order = 0  # checksum over the indices of the batches before `done`; 0 for streams
        self._orders: dict[int, int] = {}

    def tasks(self, indices: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        """The indices with their numbers, without those that the loop has already."""
        number, order = self.done, self.order
        for index in indices:
            order = self._orders[number] = checksum(index, order)
            if number not in self.ahead:
                yield number, index
            number += 1

    def received(self, number: int) -> None:
        self.ahead.add(number)
        while self.done in self.ahead:
            if self.origin is not None:
                if self.done not in self._orders:
                    return  # loaded with the state, and the sampler is not there yet
                self.order = self._orders.pop(self.done)
            self.ahead.remove(self.done)
            self.done += 1

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "epoch": self.epoch,
            "batches": self.done,
            "ahead": sorted(self.ahead),
            "order": self.order,
            "origin": None if self.origin is None else self.origin.to_dict(),
        }

    @staticmethod
    def from_dict(state: dict[str, Any]) -> Progress:
        try:
            if state["version"] != _VERSION:
                raise ValueError(
                    f"load_state_dict: the state has version {state['version']!r}, this is version "
                    f"{_VERSION}"
                )
            origin = state["origin"]
            progress = Progress(state["epoch"], None if origin is None else Origin(**origin))
            progress.done, progress.order = state["batches"], state["order"]
            progress.ahead = set(state["ahead"])
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"load_state_dict: this is not the state of a PyTorchDataLoader: {error!r}"
            ) from error
        return progress


class Origin:
    """What the order of an epoch comes from.

    ``generators`` holds the states of the loader's and its samplers' generators, ``shared`` that of
    torch's own, if the sampler draws from it; ``seed`` is the base seed of the workers (None: the
    epoch has not begun), and ``drawn`` says whether it was drawn for this epoch.
    """

    def __init__(
        self,
        generators: dict[str, Any],
        shared: Any = None,
        sampler_epoch: int | None = None,
        seed: int | None = None,
        drawn: bool = True,
    ) -> None:
        self.generators = generators
        self.shared = shared
        self.sampler_epoch = sampler_epoch
        self.seed = seed
        self.drawn = drawn

    @staticmethod
    def of(loader: Any, epoch_begins: bool) -> Origin:
        """As it is now. Between epochs torch's own generator is the user's business alone."""
        import torch

        shared = None
        if epoch_begins and _draws_from_shared(loader):
            shared = torch.get_rng_state()
        states = {name: one.get_state() for name, one in _generators(loader).items()}
        return Origin(states, shared, _sampler_epoch(loader))

    def to_dict(self) -> dict[str, Any]:
        # Packing takes longer than all the rest, and an epoch has one origin: it is done once.
        self.generators = {name: _packed(one) for name, one in self.generators.items()}
        self.shared = None if self.shared is None else _packed(self.shared)
        return dict(vars(self))

    def restore(self, loader: Any) -> None:
        generators = _generators(loader)
        if set(generators) != set(self.generators):
            raise ValueError(
                f"load_state_dict: the state knows generators of {sorted(self.generators)}, this "
                f"loader has generators of {sorted(generators)}"
            )
        for name, one in generators.items():
            one.set_state(_unpacked(self.generators[name]))

    @contextlib.contextmanager
    def shared_restored(self) -> Iterator[None]:
        """Torch's own generator is as it was then, for a moment."""
        import torch

        if self.shared is None:
            yield
            return
        now = torch.get_rng_state()
        torch.set_rng_state(_unpacked(self.shared))
        try:
            yield
        finally:
            torch.set_rng_state(now)

    def set_sampler_epoch(self, loader: Any) -> None:
        if self.sampler_epoch is not None:
            for _, sampler in samplers(loader):
                if hasattr(sampler, "set_epoch"):
                    sampler.set_epoch(self.sampler_epoch)


def samplers(loader: Any) -> list[tuple[str, Any]]:
    """The sampler that is used, with those inside of it, by where they are found."""
    used = "sampler" if loader.batch_sampler is None else "batch_sampler"
    found = [(used, getattr(loader, used))]
    for place, owner in found:  # it grows meanwhile
        for name in ("sampler", "batch_sampler"):
            one = getattr(owner, name, None)
            if one is not None and all(one is not other for _, other in found):
                found.append((f"{place}.{name}", one))
    return found


def checksum(index: Any, before: int) -> int:
    if isinstance(index, list):
        with contextlib.suppress(TypeError, OverflowError):
            return zlib.crc32(array("q", index), before)
    return zlib.crc32(repr(index).encode(), before)


def _generators(loader: Any) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {}
    for place, owner in [("loader", loader), *samplers(loader)]:
        one = getattr(owner, "generator", None)
        if isinstance(one, torch.Generator) and all(one is not other for other in found.values()):
            found[place] = one
    return found


def _draws_from_shared(loader: Any) -> bool:
    from torch.utils.data import SequentialSampler

    return not any(
        isinstance(one, SequentialSampler) or getattr(one, "generator", None) is not None
        for _, one in samplers(loader)
    )


def _sampler_epoch(loader: Any) -> int | None:
    for _, sampler in samplers(loader):
        epoch = getattr(sampler, "epoch", None)
        if isinstance(epoch, int) and hasattr(sampler, "set_epoch"):
            return epoch
    return None


def _packed(state: Any) -> str:
    """A generator's state as text. It is 5 KB of numbers whose upper halves are zero: those of a
    place together, they take no room."""
    if isinstance(state, str):
        return state
    columns = state.numpy().reshape(-1, _NUMBER).T
    return base64.b85encode(zlib.compress(columns.tobytes())).decode()


def _unpacked(state: Any) -> Any:
    import numpy as np
    import torch

    if not isinstance(state, str):
        return state
    columns = np.frombuffer(zlib.decompress(base64.b85decode(state)), np.uint8)
    return torch.from_numpy(columns.reshape(_NUMBER, -1).T.copy().reshape(-1))
