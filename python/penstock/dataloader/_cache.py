"""CacheDataLoader: how fast would training be if data cost nothing?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from penstock._whole import as_whole, as_whole_or_none, check_iterable
from penstock.pipeline._cache import cache_iterator

T = TypeVar("T")


class CacheDataLoader(Generic[T]):
    """Gives the loader's batches for a while, then a few of them again and again from memory.

    Compare the time of a training step before and after: the difference is what a faster loader
    could win. All other attributes are the loader's.

    Args:
        loader: The loader, or any iterable. `dl` is another name for it.
        num_caches, return_caches_after, stop_after: as in :func:`penstock.pipeline.cache_iterator`.

    >>> list(CacheDataLoader(range(100), num_caches=2, return_caches_after=3, stop_after=7))
    [0, 1, 2, 0, 1, 0, 1]
    """

    def __init__(
        self,
        loader: Iterable[T] | None = None,
        num_caches: int | None = None,
        return_caches_after: int | None = None,
        stop_after: int | None = None,
        *,
        dl: Iterable[T] | None = None,
    ) -> None:
        if loader is not None and dl is not None:
            raise TypeError("CacheDataLoader: loader and dl are the same; give one")
        given: Any = dl if loader is None else loader
        check_iterable(given, "CacheDataLoader: loader")
        self.dl: Iterable[T] = given
        self.num_caches = as_whole(num_caches, "CacheDataLoader: num_caches")
        name = "CacheDataLoader: return_caches_after"
        self.return_caches_after = as_whole(return_caches_after, name)
        self.stop_after = as_whole_or_none(stop_after, "CacheDataLoader: stop_after")
        next(self._cached(()), None)  # numbers that cannot be are refused now

    def __iter__(self) -> Iterator[T]:
        return self._cached(self.dl)

    def _cached(self, batches: Iterable[T]) -> Iterator[T]:
        return cache_iterator(
            batches,
            num_caches=self.num_caches,
            return_caches_after=self.return_caches_after,
            stop_after=self.stop_after,
        )

    def __len__(self) -> int:
        """The length of the loader, if it has one."""
        return len(self.dl)  # type: ignore[arg-type]

    def progress(self) -> Iterator[T]:
        """What iterating gives, with a bar; see :func:`penstock.progress`."""
        from penstock.insight import progress

        return progress(self)

    def _total(self) -> int | None:
        """How many batches a loop gets; None: no end."""
        return self.stop_after

    def _batches_behind(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        if name == "dl":  # not there yet: a copy or an unpickled object in the making
            raise AttributeError(name)
        return getattr(self.dl, name)
