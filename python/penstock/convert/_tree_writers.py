"""Formats that are a folder: it is filled beside its place and moved there in the end."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from penstock.convert._journal import write_whole
from penstock.convert._safety import in_the_way
from penstock.convert._values import image_file, label_of
from penstock.convert._writers import Batches, Samples, Writer, differs

if TYPE_CHECKING:
    from penstock.convert._source import Source


class TreeWriter(Writer):
    moves = True

    @property
    def place(self) -> str:
        """Where parts are written."""
        return self.target if self.moved else f"{self.target}.partial"

    def foreign(self) -> str | None:
        """Something in the destination that no conversion to this format has written."""
        raise NotImplementedError

    def clear(self) -> None:
        if not os.path.isdir(self.target):
            raise in_the_way(self.target, "it is a file, and a folder would be written")
        found = self.foreign()
        if found is not None:
            raise in_the_way(found, f"no conversion to {self.format} has written it")

    def begin(self, resumed: bool) -> None:
        for path in () if resumed else (self.place, f"{self.target}.replaced"):
            if os.path.lexists(path):
                raise in_the_way(path, "no conversion is known that has made it")
        os.makedirs(self.place, exist_ok=True)

    def finish(self) -> None:
        if self.moved:
            return
        replaced = f"{self.target}.replaced"
        if os.path.lexists(self.target):
            os.rename(self.target, replaced)
        os.rename(self.place, self.target)
        if os.path.islink(replaced):
            os.unlink(replaced)
        elif os.path.exists(replaced):
            shutil.rmtree(replaced)

    def abandon(self) -> None:
        if not self.moved and os.path.exists(self.place):
            shutil.rmtree(self.place)


class FolderWriter(TreeWriter):
    """Images in a sub-folder for each label."""

    format = "folder"
    renumber = False
    """May labels have gaps? Who reads the folder numbers its sub-folders from 0."""

    _image = re.compile(r"(\d{9})\.[a-z0-9]+")
    _digits = 5
    _labelled = False

    def __init__(self, target: str, samples: int, rows: int | None) -> None:
        super().__init__(target, samples, rows or 1000)

    def foreign(self) -> str | None:
        for folder, _, names in os.walk(self.target):
            for name in names:
                if not self._image.fullmatch(name):
                    return os.path.join(folder, name)
        return None

    def learn(self, source: Source) -> None:
        labels = {label_of(sample) for sample in source.values_of("label", "cls")} - {None}
        numbers = sorted(label for label in labels if isinstance(label, int))
        self._labelled = bool(labels)
        if not numbers:
            return
        if numbers[0] < 0:
            raise ValueError(f"a label is {numbers[0]}, which cannot be the name of a folder")
        self._digits = max(5, len(str(numbers[-1])))
        if numbers != list(range(len(numbers))) and not self.renumber:
            gap = next(i for i in range(numbers[-1]) if i not in labels)
            raise ValueError(
                f"labels go up to {numbers[-1]}, but none is {gap}: read back from a folder they "
                f"would be 0 to {len(numbers) - 1}. To write it nevertheless: --renumber"
            )

    def write(self, part: int, samples: Samples, batches: Batches) -> int:
        size = 0
        for position, sample in samples:
            name, data = self._file(position, sample)
            path = os.path.join(self.place, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_whole(path, data)
            size += len(data)
        return size

    def _file(self, position: int, sample: dict[str, object]) -> tuple[str, bytes]:
        name, data = image_file(position, sample, self._digits)
        if self._labelled and "/" not in name:
            raise ValueError(f"sample {position} has no label, and others have one")
        return name, data

    def standing(self, part: int) -> int:
        return self._sizes.get(part, -1)

    @cached_property
    def _sizes(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for folder, _, names in os.walk(self.place):
            for name in names:
                match = self._image.fullmatch(name)
                if match:
                    size = os.path.getsize(os.path.join(folder, name))
                    found[int(match[1]) // self.rows] += size
        return found

    def check(self, part: int, samples: Samples, batches: Batches) -> None:
        for position, sample in samples:
            name, data = self._file(position, sample)
            with open(os.path.join(self.target, name), "rb") as file:
                if file.read() != bytes(data):
                    raise differs(self.target, name)
            label, folder = label_of(sample), os.path.dirname(name)
            if isinstance(label, int):
                got: int | str = int(folder) if self.renumber else self._numbers[folder]
            else:
                got = folder
            if got != ("" if label is None else label):
                raise differs(self.target, f"the label of {name}")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Labels as they are read: the place of a sub-folder among all."""
        with os.scandir(self.target) as entries:
            found = sorted((one.name for one in entries if one.is_dir()), key=os.fsencode)
        return {name: i for i, name in enumerate(found)}
