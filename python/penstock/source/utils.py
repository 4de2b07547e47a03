"""Iterables made of other iterables: merged, shuffled before each iteration, repeated."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, TypeVar, overload

from penstock.source._merge import MergeIterator
from penstock.source._protocols import (
    IterableWithShuffle,
    SizedIterable,
    SizedIterableWithShuffle,
)

__all__ = ["MergeIterator", "embed_shuffle", "repeat_source"]

T = TypeVar("T")

_LOG = logging.getLogger("penstock.source")
_SLOW_SHUFFLE = 3.0  # seconds


@overload
def embed_shuffle(
    src: SizedIterableWithShuffle[T], /, *, shuffle_last: bool = False, epoch: int = 0
) -> SizedIterable[T]: ...


@overload
def embed_shuffle(
    src: IterableWithShuffle[T], /, *, shuffle_last: bool = False, epoch: int = 0
) -> Iterable[T]: ...


def embed_shuffle(
    src: IterableWithShuffle[T] | SizedIterableWithShuffle[T],
    /,
    *,
    shuffle_last: bool = False,
    epoch: int = 0,
) -> Iterable[T] | SizedIterable[T]:
    """An iterable that calls ``src.shuffle(seed=epoch)`` at each iteration, counting epochs.

    With ``shuffle_last`` it does so after the iteration, also after one that was broken off, so
    that the time it takes does not delay the first item. It pickles if ``src`` does.

    >>> from penstock.source import DistributedRandomSampler
    >>> sampler = DistributedRandomSampler(5, rank=0, world_size=1)
    >>> source = embed_shuffle(sampler)
    >>> first, second = list(source), list(source)
    >>> sampler.shuffle(seed=1)
    >>> second == list(sampler), sorted(first) == sorted(second)
    (True, True)
    """
    return _Shuffled(src, epoch, shuffle_last)


class _Shuffled(Generic[T]):
    def __init__(self, src: IterableWithShuffle[T], epoch: int, shuffle_last: bool) -> None:
        self.src = src
        self._epoch = epoch
        self._last = shuffle_last

    def __iter__(self) -> Iterator[T]:
        if not self._last:
            self._shuffle()
        try:
            yield from self.src
        finally:
            if self._last:
                self._shuffle()

    def __len__(self) -> int:
        if isinstance(self.src, Sized):
            return len(self.src)
        raise TypeError(f"Source iterator of type {type(self.src)} does not support length")

    def _shuffle(self) -> None:
        begun = time.monotonic()
        self.src.shuffle(seed=self._epoch)
        seconds = time.monotonic() - begun
        if seconds > _SLOW_SHUFFLE:
            _LOG.warning("Shuffling took %.2f sec.", seconds)
        self._epoch += 1


def repeat_source(
    src: Iterable[T] | IterableWithShuffle[T],
    /,
    epoch: int = 0,
) -> Iterator[T]:
    """Iterates over ``src`` again and again, without end.

    If it has ``shuffle``, ``src.shuffle(seed=epoch)`` is called before each round, and ``epoch`` is
    the first seed. The iterator pickles as long as nothing was read from it.

    >>> import itertools
    >>> list(itertools.islice(repeat_source([1, 2, 3]), 7))
    [1, 2, 3, 1, 2, 3, 1]
    """
    return _Repeated(src, epoch)


class _Repeated(Iterator[T]):
    def __init__(self, src: Iterable[T], epoch: int) -> None:
        self.src = src
        self.epoch = epoch
        self._items: Iterator[T] | None = None

    def __next__(self) -> T:
        if self._items is None:
            self._items = _rounds(self.src, self.epoch)
        return next(self._items)

    def __getstate__(self) -> dict[str, Any]:
        if self._items is not None:
            raise ValueError("Cannot pickle after iteration is started.")
        return self.__dict__


def _rounds(src: Iterable[T], epoch: int) -> Iterator[T]:
    while True:
        _LOG.info("Starting source epoch %d.", epoch)
        begun = time.monotonic()
        if isinstance(src, IterableWithShuffle):
            src.shuffle(seed=epoch)
        count = 0
        for item in src:
            count += 1
            yield item
        seconds = time.monotonic() - begun
        _LOG.info(
            "Finished source epoch %d. (Yielded %d rows in %.2f sec. QPS: %.2f)",
            epoch,
            count,
            seconds,
            count / seconds if seconds > 0 else float("nan"),
        )
        epoch += 1
