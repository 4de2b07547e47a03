"""Objects between two processes. Arrays cross in memory that both share.

A message is a packet on a Unix socket. What is large is written to a memory file without a name,
whose descriptor travels with the packet. Nothing of it can be left behind: the kernel frees the
memory when the last process that holds it is gone, however it went.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import select
import socket
import struct
import sys
import time
from collections.abc import Sequence
from typing import Any

_INLINE = 32 << 10  # larger messages go into a memory file
_OUT_OF_BAND = 4 << 10  # smaller buffers are pickled with the rest
_PACKET = 64 << 10
_MAPPED = (
    1 << 20
)  # smaller memory files are copied: that is quicker, and maps are limited in number
_ALIGNMENT = 64

# kind of message, whether it is in a memory file, and there: size of the pickle, and how many
# buffers of which sizes follow it
_HEADER = struct.Struct("<B?QQ")
_SIZE = struct.Struct("<Q")


class _Pickler(pickle.Pickler):
    """Knows tensors of torch: plain ones on the CPU travel as arrays do."""

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or type(obj) is not torch.Tensor or not _is_plain(torch, obj):
            return NotImplemented
        return _tensor, (obj.contiguous().numpy(),)


def _is_plain(torch: Any, tensor: Any) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not tensor.requires_grad
        and not tensor.is_conj()
        and not tensor.is_neg()
        and tensor.dtype not in (torch.bfloat16, torch.complex32)
        and not tensor.is_quantized
    )


def _tensor(array: Any) -> Any:
    import torch

    return torch.from_numpy(array)


class Wire:
    """One end. One thread at a time sends, one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @staticmethod
    def pair() -> tuple[Wire, Wire]:
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return Wire(one), Wire(other)

    def close(self) -> None:
        self._socket.close()

    def __getstate__(self) -> socket.socket:
        return self._socket  # multiprocessing passes it on while it starts a process

    def __setstate__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, kind: int, message: Any = None) -> None:
        """Raises what pickling raises, or OSError if the other end is gone."""
        buffers: list[memoryview] = []

        def in_band(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes < _OUT_OF_BAND:
                return True
            buffers.append(raw)
            return False

        stream = io.BytesIO()
        _Pickler(stream, protocol=5, buffer_callback=in_band).dump(message)
        pickled = stream.getbuffer()
        if not buffers and pickled.nbytes <= _INLINE:
            self._socket.sendmsg([_HEADER.pack(kind, False, pickled.nbytes, 0), pickled])
            return
        header = _HEADER.pack(kind, True, pickled.nbytes, len(buffers))
        sizes = b"".join(_SIZE.pack(buffer.nbytes) for buffer in buffers)
        file = os.memfd_create("penstock", os.MFD_CLOEXEC)
        try:
            _write(file, [memoryview(sizes), pickled, *buffers])
            socket.send_fds(self._socket, [header], [file])
        finally:
            os.close(file)

    def receive(self, timeout: float | None = None) -> tuple[int, Any] | None:
        """A kind and a message, or None if nothing came in time. EOFError if the other end is
        gone."""
        if not self._wait(timeout):
            return None
        try:
            packet, files, _, _ = socket.recv_fds(
                self._socket, _HEADER.size + _PACKET, 1, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:
            packet, files = b"", []
        if not packet:
            raise EOFError("the other process is gone")
        kind, in_file, pickled, count = _HEADER.unpack_from(packet)
        if not in_file:
            return kind, pickle.loads(memoryview(packet)[_HEADER.size :])
        try:
            memory = _contents(files[0])
        finally:
            os.close(files[0])
        sizes = [_SIZE.unpack_from(memory, _SIZE.size * i)[0] for i in range(count)]
        parts = _split(memory, [_SIZE.size * count, pickled, *sizes])
        return kind, pickle.loads(parts[1], buffers=parts[2:])

    def _wait(self, timeout: float | None) -> bool:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if poll.poll(None if left is None else left * 1000):
                return True
            if left is not None and left <= 0:
                return False


def _aligned(offset: int) -> int:
    return (offset + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT


def _write(file: int, parts: Sequence[memoryview]) -> None:
    offset = 0
    for part in parts:
        done = 0
        while done < part.nbytes:
            done += os.pwrite(file, part[done:], offset + done)
        offset = _aligned(offset + part.nbytes)
    os.ftruncate(file, max(offset, 1))


def _contents(file: int) -> memoryview:
    size = os.fstat(file).st_size
    if size >= _MAPPED:
        return memoryview(mmap.mmap(file, size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE))
    copy = memoryview(bytearray(size))
    done = 0
    while done < size:
        done += os.preadv(file, [copy[done:]], done)
    return copy


def _split(memory: memoryview, sizes: Sequence[int]) -> list[memoryview]:
    parts, offset = [], 0
    for size in sizes:
        parts.append(memory[offset : offset + size])
        offset = _aligned(offset + size)
    return parts
