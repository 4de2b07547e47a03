"""Nothing is lost that is not this conversion's: sources, and what others have put there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.convert._writers import Writer


def keep_apart(names: Sequence[str], writer: Writer) -> None:
    """Raises if the destination is a source, lies in one or holds one. `names` are files, folders
    and URLs."""
    place = os.path.realpath(writer.target)
    for name in names:
        if "://" in name:
            continue
        source = os.path.realpath(name)
        if source == place or writer.owns(os.path.abspath(name)) or writer.owns(source):
            raise ValueError(f"{name} is read, and would be written: take another destination")
        if _below(source, place):
            raise ValueError(
                f"{name} is read, and lies in the destination {writer.target}: take another one"
            )
        if _below(place, source):
            raise ValueError(
                f"the destination {writer.target} lies in {name}, which is read: take another one"
            )


def _below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def in_the_way(path: str, why: str) -> FileExistsError:
    return FileExistsError(f"{path} is in the way: {why}. Remove it, or take another name")
