"""What sources have in common; any class with these methods fits."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Protocol, TypeVar, runtime_checkable

T_co = TypeVar("T_co", covariant=True)


@runtime_checkable
class IterableWithShuffle(Iterable[T_co], Protocol[T_co]):
    """An iterable that can be put into another order between two iterations.

    >>> class Words:
    ...     def __iter__(self):
    ...         return iter(["a", "b"])
    ...
    ...     def shuffle(self, seed):
    ...         pass
    >>> isinstance(Words(), IterableWithShuffle), isinstance([1], IterableWithShuffle)
    (True, False)
    """

    def shuffle(self, seed: int) -> None:
        """Changes the order of the iterations that follow."""
        ...


@runtime_checkable
class SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """An iterable that knows its length.

    >>> isinstance([1, 2], SizedIterable), isinstance(iter([1, 2]), SizedIterable)
    (True, False)
    """


@runtime_checkable
class SizedIterableWithShuffle(SizedIterable[T_co], Protocol[T_co]):
    """An iterable that knows its length and can be put into another order."""

    def shuffle(self, seed: int) -> None:
        """Changes the order of the iterations that follow."""
        ...
