"""ImageNet (ILSVRC 2012) in a local folder as a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from penstock.source._imagenet_classes import WORDNET_NUMBERS
from penstock.source._protocols import IterableWithShuffle
from penstock.source.local_directory import LocalDirectory

__all__ = ["ImageNet", "get_mappings", "parse_wnid"]


class ImageNet(IterableWithShuffle[tuple[Path, int]]):
    """Image paths and their classes: ``<root>/<split>/<WordNet ID>/*.JPEG``.

    Args:
        root: The folder with ``train`` and ``val``.
        split: Which of the two.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     image = pathlib.Path(folder, "val", "n01443537", "1.JPEG")
    ...     image.parent.mkdir(parents=True)
    ...     image.touch()
    ...     [(path.name, label) for path, label in ImageNet(folder)]
    [('1.JPEG', 1)]
    """

    def __init__(self, root: str | PathLike[str], split: str = "val") -> None:
        splits = ["train", "val"]
        if split not in splits:
            raise ValueError(f"`split` must be one of {splits}")
        self._classes = get_mappings()
        self._files = LocalDirectory(root, f"{split}/*/*.JPEG")

    def shuffle(self, seed: int) -> None:
        """Shuffles the files in place, as :class:`LocalDirectory` does."""
        self._files.shuffle(seed)

    def __iter__(self) -> Iterator[tuple[Path, int]]:
        for path in self._files:
            yield path, self._classes[parse_wnid(str(path))]


def parse_wnid(s: str) -> str:
    """The first WordNet ID (n and eight digits) in a text.

    >>> parse_wnid("train/n01440764/n01440764_10026.JPEG")
    'n01440764'
    """
    found = re.search(r"n\d{8}", s)
    if found is None:
        raise ValueError(f"The given string does not contain WNID: {s}")
    return found[0]


def get_mappings() -> dict[str, int]:
    """From WordNet ID to class: the place of the ID among the 1000 of ILSVRC 2012, sorted.

    >>> get_mappings()["n03709823"]
    636
    """
    return {f"n{number}": place for place, number in enumerate(WORDNET_NUMBERS.split())}
