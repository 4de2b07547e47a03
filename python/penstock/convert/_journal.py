"""What a conversion has done so far: a line for the plan, then one for each complete part. Who
holds its lock is the only one who writes to the destination."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.convert._writers import Writer


class Journal:
    """Goes on with what an interrupted run with the same plan has left, or begins anew.

    Parts that are noted but not there any more, with the size they had, are written again.
    """

    def __init__(self, path: str, plan: dict[str, Any], writer: Writer, overwrite: bool) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._done: dict[int, int] = {}
        self._file = _locked(path)
        lines = _lines(self._file)
        try:
            if lines and not overwrite:
                self._go_on(lines, plan, writer)
            else:
                self._begin(plan, writer, overwrite, bool(lines))
        except BaseException:
            if not lines:
                os.unlink(path)
            self._file.close()
            raise
        self.resumed = len(self._done)

    def _begin(self, plan: dict[str, Any], writer: Writer, overwrite: bool, stale: bool) -> None:
        there = writer.there()
        if there and not overwrite:
            raise FileExistsError(
                f"{there} exists, and no interrupted conversion of it is known: take another "
                "name, or overwrite (--overwrite)"
            )
        if there:
            writer.clear()
        if stale:
            writer.abandon()
        self._file.truncate(0)
        self._note(plan)

    def _go_on(self, lines: list[Any], plan: dict[str, Any], writer: Writer) -> None:
        differ = [name for name in plan if lines[0].get(name) != plan[name]]
        if differ == ["files"]:
            raise ValueError(
                f"the source has changed since {self._path} was begun: start anew (--overwrite)"
            )
        if differ:
            raise ValueError(
                f"{self._path} is of a conversion with another {', '.join(differ)}: give the same "
                "arguments to go on with it, or overwrite (--overwrite)"
            )
        writer.moved = writer.moves and any("finished" in line for line in lines[1:])
        done = {line["part"]: line for line in lines[1:] if "part" in line}
        standing = {part for part in done if writer.standing(part) == done[part]["bytes"]}
        if writer.moved and len(standing) != writer.parts:  # it was all there; now begin anew
            writer.clear()
            writer.moved, standing = False, set()
            self._file.truncate(0)
            self._note(plan)
        self._done = {part: done[part]["skipped"] for part in standing}
        if not standing:
            writer.abandon()

    @property
    def skipped(self) -> int:
        """Samples that were left out."""
        return sum(self._done.values())

    def has(self, part: int) -> bool:
        return part in self._done

    def done(self, part: int, skipped: int, size: int) -> None:
        """A part is there, with so many bytes."""
        with self._lock:
            self._done[part] = skipped
            self._note({"part": part, "skipped": skipped, "bytes": size})

    def finished(self) -> None:
        """All parts are where they belong."""
        self._note({"finished": True})

    def worth_keeping(self) -> bool:
        """Is there anything to go on with?"""
        return bool(self._done)

    def remove(self) -> None:
        os.unlink(self._path)

    def close(self) -> None:
        self._file.close()

    def _note(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def write_whole(path: str, data: Any) -> None:
    """The file appears when it is complete."""
    partial = f"{path}.partial"
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _locked(path: str) -> IO[bytes]:
    """The file, made if there is none, for this process alone."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    while True:
        file = open(path, "a+b")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise BlockingIOError(
                f"another conversion to this destination is running: it holds {path}"
            ) from None
        except OSError:  # a file system without locks
            return file
        if os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
        file.close()  # its owner was done, and has removed it


def _lines(file: IO[bytes]) -> list[Any]:
    """What is in it; a last line that was cut when the program was killed is cut off."""
    file.seek(0)
    found = []
    whole = 0
    for line in file:
        try:
            if not line.endswith(b"\n"):
                break
            found.append(json.loads(line))
        except ValueError:
            break
        whole += len(line)
    file.truncate(whole)
    return found
