"""A URL as a file of Python, for libraries that read from one."""

from __future__ import annotations

import errno
import io
import os
from typing import Any

from penstock import _core


def is_url(name: str) -> bool:
    return "://" in name


class RemoteBytes:
    """What is at a URL. Its end is kept: files of tables say there what is where."""

    _END = 64 << 10

    def __init__(self, url: str) -> None:
        self._source = _core.ByteSource(url)
        self.size = self._source.size
        self._end_at = max(0, self.size - self._END)
        self._end = self._source.read(self._end_at, self.size - self._end_at)

    def read(self, offset: int, size: int) -> bytes:
        if offset >= self._end_at:
            return self._end[offset - self._end_at :][:size]
        try:
            return self._source.read(offset, size)
        except OSError as error:  # with a number: it is not the data that is bad
            raise OSError(errno.EIO, str(error)) from error


class RemoteFile(io.RawIOBase):
    """Reads by range requests. Several may share the bytes; each is for one thread at a time."""

    def __init__(self, remote: RemoteBytes) -> None:
        super().__init__()
        self._remote, self._position = remote, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._remote.size}
        self._position = max(0, base[whence] + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._remote.size - self._position)
        count = left if size is None or size < 0 else min(size, left)
        data = self._remote.read(self._position, count) if count else b""
        self._position += count
        return data

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
