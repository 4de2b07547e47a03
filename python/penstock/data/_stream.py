"""Sequential plans: an iterable read from front to back, by every rank, each keeping its share."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock import _core
from penstock.data._plan import Leaf, Node, PlanError, Repeat, Shuffle, Skip, Stream, Take, fix_of


class Rows(NamedTuple):
    """The rows of a rank in one round: a batch."""

    first: int
    """The position of the first one; the others follow by `world`."""
    samples: list[Any]
    valid: int
    """From here on they only fill up."""
    state: tuple[int | None, Any]
    """The position after the round, None if the epoch ends there; and the state of the iterable,
    None if it has none."""


_ONCE = "An iterator or a generator can be read once only: give an object whose iter() begins anew"


class _Ahead:
    """Samples that may be looked at before they are taken.

    Where reading them fails, the exception comes after the samples before it.
    """

    def __init__(self, samples: Iterator[Any]) -> None:
        self._samples = samples
        self._seen: list[Any] = []
        self._failure: BaseException | None = None

    def has(self, n: int) -> bool:
        """Are there n more? Also if reading them fails: taking them will say so."""
        try:
            self._seen += itertools.islice(self._samples, n - len(self._seen))
        except BaseException as error:
            self._failure = error
        return len(self._seen) >= n or self._failure is not None

    def take(self, n: int) -> list[Any]:
        """The next n, or as many as there are."""
        if self.has(n) and len(self._seen) < n:
            assert self._failure is not None
            raise self._failure
        taken, self._seen = self._seen[:n], self._seen[n:]
        return taken


def source_of(node: Node) -> Stream:
    while not isinstance(node, Leaf):
        if not isinstance(node, Shuffle | Take | Skip | Repeat):
            step = type(node).__name__.lower()
            raise PlanError(f"{step}: not for a sequential plan; {fix_of(node)}")
        node = node.child
    assert isinstance(node.source, Stream)
    return node.source


def items(node: Node, epoch: int) -> Iterator[Any]:
    """The samples of an epoch, one after the other."""
    if isinstance(node, Leaf):
        assert isinstance(node.source, Stream)
        source = node.source.iterable
        if inspect.isgenerator(source) and source.gi_frame is None:
            raise ValueError(f"from_iterable: the generator was read before. {_ONCE}")
        yield from source
    elif isinstance(node, Take):
        yield from itertools.islice(items(node.child, 0), node.n)
    elif isinstance(node, Skip):
        yield from itertools.islice(items(node.child, 0), node.n, None)
    elif isinstance(node, Shuffle):
        assert node.window is not None
        source = items(node.child, epoch)
        for number in itertools.count():
            window = list(itertools.islice(source, node.window))
            if not window:
                return
            order = _core.Permutation(len(window), node.seed, epoch, number)
            yield from (window[order[i]] for i in range(len(window)))
    else:
        assert isinstance(node, Repeat)
        passes = itertools.count() if node.n is None else range(node.n)
        for number in passes:
            some = False
            for item in items(node.child, epoch * (node.n or 0) + number):
                some = True
                yield item
            if not some:
                raise ValueError(f"repeat: pass {number} over the iterable gave nothing. {_ONCE}")


def names_digest(node: Node) -> str:
    """Of the files it is read from, relative to the folder that holds them all; "": of none."""
    import hashlib

    names = source_of(node).names
    root = os.path.commonprefix(names).rfind("/") + 1  # noqa: RUF071
    text = "\n".join(name[root:] for name in names)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest() if names else ""


def can_save(node: Node) -> bool:
    """Does the state of the iterable, with the position, say all?"""
    return isinstance(node, Leaf) and hasattr(source_of(node).iterable, "state_dict")


def check_resume(node: Node, position: int) -> None:
    if position == 0 or can_save(node) or source_of(node).resume == "replay":
        return
    raise ValueError(
        "load_state_dict: this iterable cannot be resumed: it has no state_dict, or is shuffled or "
        'cut afterwards. from_iterable(..., resume="replay") reads again what was read'
    )


def rounds(
    node: Node,
    epoch: int,
    start: int,
    state: Any,
    rank: int,
    world: int,
    batch: int,
    ends: str,
    convert: Callable[[Any], Any] | None = None,
) -> Iterator[Rows]:
    """The batches of a rank from position `start` on; `convert` is done to each sample."""
    source = source_of(node).iterable
    resumed = state is not None and can_save(node)
    # The first samples of the epoch fill up its last round, wherever this run begins.
    samples = items(node, epoch)
    head = list(itertools.islice(samples, min(world, start) if ends == "pad" else 0))
    if resumed:
        source.load_state_dict(state)
        samples = items(node, epoch)
    else:
        _skip(samples, start - len(head))
    position = start
    ahead = _Ahead(samples)
    more = batch * world if ends == "even" else 1  # samples that make another round
    while True:
        whole = ahead.take(batch * world)
        head += whole[: max(0, world - len(head))]
        mine = whole[rank::world]
        valid = len(mine)
        if ends == "even" and len(whole) < batch * world:
            return
        if ends == "pad" and valid < -(-len(whole) // world):
            # Positions beyond the end stand for the first ones of the epoch.
            mine.append(head[(valid * world + rank - len(whole)) % len(head)])
        if not whole and epoch > 0 and position == start and iter(source) is source:
            raise ValueError(f"from_iterable: epoch {epoch} of the iterator is empty. {_ONCE}")
        if not mine:
            return
        after = source.state_dict() if can_save(node) else None
        position += len(whole)
        # Only now: the state is that of what was taken, not of what was looked at.
        state = (position, after) if ahead.has(more) else (None, None)
        if convert is not None:
            mine = [convert(sample) for sample in mine]
        yield Rows(position - len(whole) + rank, mine, valid, state)


def _skip(samples: Iterator[Any], n: int) -> None:
    next(itertools.islice(samples, n, n), None)
