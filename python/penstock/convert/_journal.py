"""What a conversion has done so far: a line for the plan, then one for each complete part."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.convert._writers import Writer


class Journal:
    def __init__(self, path: str, plan: dict[str, Any], writer: Writer, overwrite: bool) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        lines = [] if overwrite else _lines(path)
        if lines:
            if lines[0] != plan:
                differ = [name for name in plan if lines[0].get(name) != plan[name]]
                raise ValueError(
                    f"{path} is of a conversion with another {', '.join(differ)}: give the same "
                    "arguments to go on with it, or overwrite (--overwrite)"
                )
            self._done = {line["part"]: line["skipped"] for line in lines[1:]}
            whole = "".join(json.dumps(line) + "\n" for line in lines)
            write_whole(path, whole.encode())  # without a line that was cut
        else:
            there = writer.there()
            if there and not overwrite:
                raise FileExistsError(
                    f"{there} exists, and no interrupted conversion of it is known: take another "
                    "name, or overwrite (--overwrite)"
                )
            if overwrite:
                writer.clear()
            write_whole(path, (json.dumps(plan) + "\n").encode())
        self.resumed = len(self._done)

    @property
    def skipped(self) -> int:
        """Samples that were left out."""
        return sum(self._done.values())

    def has(self, part: int) -> bool:
        return part in self._done

    def done(self, part: int, skipped: int) -> None:
        with self._lock:
            self._done[part] = skipped
            with open(self._path, "a") as file:
                file.write(json.dumps({"part": part, "skipped": skipped}) + "\n")
                file.flush()
                os.fsync(file.fileno())

    def remove(self) -> None:
        os.unlink(self._path)


def write_whole(path: str, data: Any) -> None:
    """The file appears when it is complete."""
    partial = f"{path}.partial"
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _lines(path: str) -> list[Any]:
    if not os.path.exists(path):
        return []
    found = []
    with open(path) as file:
        for line in file:
            try:
                found.append(json.loads(line))
            except ValueError:
                break  # the last one, cut when the program was killed
    return found
