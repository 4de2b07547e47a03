"""What becomes of a sample in a tar: its key, its members, their headers."""

from __future__ import annotations

import io as memory
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.convert._values import is_bytes, is_integer, is_numpy


class Members:
    """Names and bytes of members. Nothing is lost on the way: what would not be read back as it is
    written is refused."""

    def __init__(self, by_path: bool = False, root: str = "", image: str = "") -> None:
        """`by_path`: a sample's key is its path below `root`, or its name if that is no folder.
        `image` is the ending that the field of this name gets in all samples; decoders go by the
        content."""
        self._by_path = by_path
        self._root = root if os.path.isdir(root) else ""
        self._image = image or "image"

    def of(self, position: int, sample: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """(key, bytes by field). label becomes cls; other integers end in .cls, texts in .txt,
        arrays in .npy: what decode() knows."""
        members: dict[str, Any] = {}
        origin: dict[str, str] = {}
        for name, value in sample.items():
            if name == "__key__" or (self._by_path and name == "path") or value is None:
                continue
            field, data = self._member(name, value)
            if field in origin:
                raise ValueError(
                    f"sample {position}: the fields {origin[field]!r} and {name!r} would both be "
                    f"the member {field!r}: choose fields (--fields)"
                )
            if not _reads_back(field):
                raise ValueError(
                    f"sample {position}: the field {name!r} would not be read back from the member "
                    f"{field!r}: names in tars have small letters and no '/'. Rename it, or choose "
                    "fields (--fields)"
                )
            members[field], origin[field] = data, name
        if not members:
            raise ValueError(
                f"sample {position} has no value in any field ({', '.join(sample)}), and a tar "
                "would not have it at all: choose other fields (--fields)"
            )
        return self._key(position, sample), members

    def _member(self, name: str, value: Any) -> tuple[str, Any]:
        if is_bytes(value):
            return self._image if name == "image" else name, value
        if isinstance(value, str):
            return _ending(name, "txt"), value.encode()
        if is_integer(value):
            return "cls" if name == "label" else _ending(name, "cls"), b"%d" % int(value)
        if is_numpy(value) or isinstance(value, float | list):
            file = memory.BytesIO()
            try:
                array = np.asarray(value)
            except ValueError:
                raise TypeError(
                    f"'{name}' is a list of lists of different lengths, which a tar cannot hold: "
                    "choose fields (--fields)"
                ) from None
            np.save(file, array, allow_pickle=False)
            return _ending(name, "npy"), file.getvalue()
        raise TypeError(f"'{name}' is a {type(value).__name__}, which a tar cannot hold")

    def _key(self, position: int, sample: Mapping[str, Any]) -> str:
        """The sample's own key, its path, or its number. Its last part holds no dot: tars cut names
        there."""
        key = sample.get("__key__")
        if key is None and self._by_path and "path" in sample:
            path = sample["path"]
            key = os.path.splitext(os.path.relpath(path, self._root or os.path.dirname(path)))[0]
        if key is None:
            return f"{position:09}"
        if not isinstance(key, str):
            raise TypeError(
                f"sample {position}: its __key__ is {type(key).__name__}, not text: choose fields "
                "(--fields)"
            )
        folder, _, base = key.rpartition("/")
        if not base or key.startswith("/") or ".." in key.split("/") or "\0" in key:
            raise ValueError(
                f"sample {position}: the key {key!r} cannot be the name of a file below the place "
                "where a tar is unpacked. Rename it, or choose fields (--fields)"
            )
        base = base.replace(".", "_")
        return f"{folder}/{base}" if folder else base


def tar_header(name: str, size: int) -> bytes:
    """A ustar header; names that do not fit have a pax header before it."""
    encoded = name.encode("utf-8", "surrogateescape")  # names of files need not be UTF-8
    if len(encoded) <= 100 and size < 8**11:
        return _ustar(encoded, size, b"0")
    record = _pax(b"path", encoded) + (_pax(b"size", b"%d" % size) if size >= 8**11 else b"")
    begin = _ustar(b"pax", len(record), b"x") + record + bytes(-len(record) % 512)
    return begin + _ustar(encoded[:100], size if size < 8**11 else 0, b"0")


def _reads_back(field: str) -> bool:
    """Readers take ASCII letters as small ones, and a name's last part only."""
    encoded = field.encode("utf-8", "surrogateescape")
    return bool(field) and encoded == encoded.lower() and "/" not in field and "\0" not in field


def _ending(name: str, ending: str) -> str:
    return name if name.rsplit(".", 1)[-1] == ending else f"{name}.{ending}"


def _ustar(name: bytes, size: int, kind: bytes) -> bytes:
    head = struct.pack(
        "100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12s",
        name, b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size, b"%011o\0" % 0,
        b" " * 8, kind, b"", b"ustar\0", b"00", b"", b"", b"0000000\0", b"0000000\0", b"", b"",
    )  # fmt: skip
    return head[:148] + b"%06o\0 " % sum(head) + head[156:]


def _pax(keyword: bytes, value: bytes) -> bytes:
    rest = b" " + keyword + b"=" + value + b"\n"
    length = len(rest)
    while len(b"%d" % length) + len(rest) != length:
        length = len(b"%d" % length) + len(rest)
    return b"%d" % length + rest
