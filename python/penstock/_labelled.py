"""Arrays that know what they hold, and say it only as long as it is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np


class Labelled(np.ndarray[Any, np.dtype[Any]]):
    """What it knows goes along with copies and pickles. What else NumPy makes of it knows nothing,
    unless a subclass can tell.
    """

    _labels: ClassVar[Mapping[str, Callable[[], Any]]]
    """Attributes, and what they are where nothing is known."""

    def __array_finalize__(self, made_from: Any) -> None:
        self._forget()

    def _label(self, other: Any) -> Any:
        """`other`, which holds the same, with what is known of this one."""
        if isinstance(other, type(self)) and other is not self:
            for name in self._labels:
                value = getattr(self, name)
                setattr(other, name, list(value) if isinstance(value, list) else value)
        return other

    def copy(self, *args: Any, **options: Any) -> Self:
        return self._label(super().copy(*args, **options))  # type: ignore[no-any-return]

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy()

    def astype(self, *args: Any, **options: Any) -> Any:
        return self._label(super().astype(*args, **options))

    def _forget(self) -> None:
        for name, nothing in self._labels.items():
            setattr(self, name, nothing())

    def sort(self, *args: Any, **options: Any) -> None:
        super().sort(*args, **options)
        self._forget()  # also for np.sort, which sorts a copy

    def partition(self, *args: Any, **options: Any) -> None:
        super().partition(*args, **options)
        self._forget()

    def __reduce__(self) -> Any:
        reduced: Any = super().__reduce__()
        make, arguments, state = reduced
        return make, arguments, (state, {name: getattr(self, name) for name in self._labels})

    def __setstate__(self, state: Any) -> None:
        array, labels = state
        super().__setstate__(array)
        for name, value in labels.items():
            setattr(self, name, value)


def is_number(part: Any) -> bool:
    return isinstance(part, int | np.integer) and not isinstance(part, bool)


def parts_of(key: Any, axes: int) -> list[Any] | None:
    """What a key asks of each axis. None: it is more than numbers and slices, or one array of one
    axis among slices, so that axes may have come or changed places.

    >>> parts_of((..., 3), 3)
    [slice(None, None, None), slice(None, None, None), 3]
    """
    parts = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    whole = [slice(None)] * (axes - len(parts) + len(dots))
    at = dots[0] if dots else len(parts)
    parts[at : at + len(dots)] = whole
    others = [part for part in parts if not isinstance(part, slice)]
    if len(parts) != axes or len(dots) > 1:
        return None
    if all(is_number(part) for part in others):
        return parts
    one = len(others) == 1 and isinstance(others[0], list | np.ndarray) and np.ndim(others[0]) == 1
    return parts if one else None


def places_of(part: Any, count: int) -> list[int]:
    """Where along an axis that is `count` long what a slice or an array picks was.

    >>> places_of(slice(None, None, -1), 3), places_of([True, False, True], 3)
    ([2, 1, 0], [0, 2])
    """
    if isinstance(part, slice):
        return list(range(*part.indices(count)))
    picked = np.asarray(part, dtype=np.intp if len(part) == 0 else None)
    places: list[int] = np.arange(count)[picked].tolist()
    return places
