"""The files of a folder as a source."""

from __future__ import annotations

import random
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from penstock.source._protocols import IterableWithShuffle

__all__ = ["LocalDirectory"]


class LocalDirectory(IterableWithShuffle[Path]):
    """The files under ``root`` that match a pattern of :meth:`pathlib.Path.glob`, sorted.

    They are listed once, when the object is made. ``shuffle`` shuffles what is there now, so a
    second one starts from the order of the first.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.txt", "a.txt", "c.png"):
    ...         pathlib.Path(folder, name).touch()
    ...     [path.name for path in LocalDirectory(folder, "*.txt")]
    ['a.txt', 'b.txt']
    """

    def __init__(self, root: str | PathLike[str], pattern: str) -> None:
        self.root = Path(root)
        self.pattern = pattern
        self._files = sorted(self.root.glob(pattern))

    def shuffle(self, seed: int) -> None:
        """Shuffles the files in place: ``random.Random(seed).shuffle``."""
        random.Random(seed).shuffle(self._files)

    def __iter__(self) -> Iterator[Path]:
        yield from self._files
