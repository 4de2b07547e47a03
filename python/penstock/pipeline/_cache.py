"""cache_iterator: batches from a loader for a while, then from memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def cache_iterator(
    src: Iterable[T],
    num_caches: int,
    *,
    return_caches_after: int | None = None,
    stop_after: int | None = None,
    delete_src: bool = True,
) -> Iterator[T]:
    """Gives the items of ``src`` for a while, then the first ones of them again and again.

    Put it around a loader, and compare the time of a training step before and after: the
    difference is what a faster loader could win.

    Args:
        src: The loader.
        num_caches: How many items are kept.
        return_caches_after: How many items of the source come first; ``num_caches`` by default.
        stop_after: How many items come in all; None: no end. An empty source ends at once.
        delete_src: Lets go of the source once the kept items are used, so that it frees what it
            holds.

    >>> list(cache_iterator(range(100), 2, return_caches_after=3, stop_after=8))
    [0, 1, 2, 0, 1, 0, 1, 0]
    """
    first = num_caches if return_caches_after is None else return_caches_after
    if num_caches <= 0:
        raise ValueError(f"`num_caches` must be greater than zero. Found: {num_caches}")
    if first < num_caches:
        raise ValueError(
            "When provided, `return_caches_after` must be greater than or equal to `num_caches`. "
            f"{num_caches=}, {return_caches_after=}"
        )
    if stop_after is not None and stop_after < num_caches:
        raise ValueError(
            "When provided, `stop_after` must be greater than or equal to `num_caches`. "
            f"{num_caches=}, {stop_after=}"
        )
    if stop_after is not None and stop_after < first:
        raise ValueError(
            "When provided, `stop_after` must be greater than or equal to `return_caches_after`. "
            f"{return_caches_after=}, {stop_after=}"
        )
    kept: list[T] = []
    given = 0
    for item in src:
        yield item
        given += 1
        if len(kept) < num_caches:
            kept.append(item)
        if given == stop_after:
            return
        if given >= first:
            break
    if delete_src:
        del src
    while kept:
        for item in kept:
            yield item
            given += 1
            if given == stop_after:
                return
