"""What becomes of a sample in a tar: its key, its members and what is in them, their headers."""

from __future__ import annotations

import io as memory
import json
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import io
from penstock.convert._same import same
from penstock.convert._values import is_bytes, is_integer, is_numpy


class Members:
    """Names of members. Nothing is lost on the way: what would not be read back as it is written is
    refused."""

    def __init__(self, by_path: bool = False, root: str = "", image: str = "") -> None:
        """`by_path`: a sample's key is its path below `root`, or its name if that is no folder.
        `image` is the ending that the field of this name gets in all samples; decoders go by the
        content."""
        self._by_path = by_path
        self._root = root if os.path.isdir(root) else ""
        self._image = image or "image"

    def of(self, position: int, sample: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """(key, values by member). label becomes cls; other integers end in .cls, texts in .txt,
        arrays in .npy, lists and maps in .json: what decode() knows. The name goes by the type
        alone, so that it is the same in all samples."""
        members: dict[str, Any] = {}
        origin: dict[str, str] = {}
        for name, value in sample.items():
            if name == "__key__" or (self._by_path and name == "path") or value is None:
                continue
            try:
                field = self._member(name, value)
            except TypeError as error:
                raise TypeError(
                    f"sample {position}: {error}, which a tar cannot hold: choose other fields "
                    "(--fields), or write .parquet"
                ) from None
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
            members[field], origin[field] = value, name
        if not members:
            raise ValueError(
                f"sample {position} has no value in any field ({', '.join(sample)}), and a tar "
                "would not have it at all: choose other fields (--fields)"
            )
        return self._key(position, sample), members

    def _member(self, name: str, value: Any) -> str:
        if is_bytes(value):
            return self._image if name == "image" else name
        if isinstance(value, str):
            return _ending(name, "txt")
        if is_integer(value):
            return "cls" if name == "label" else _ending(name, "cls")
        if isinstance(value, float) or (is_numpy(value) and not value.dtype.hasobject):
            return _ending(name, "npy")
        if isinstance(value, list | dict):
            odd = _not_in_json(value)
            if odd is not None:
                raise TypeError(f"'{name}' is a {type(value).__name__} with {odd} in it")
            return _ending(name, "json")
        raise TypeError(f"'{name}' is a {type(value).__name__}")

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


def member_of(value: Any) -> Any:
    """The bytes of a member."""
    if is_bytes(value):
        return value
    if isinstance(value, str):
        return value.encode()
    if is_integer(value):
        return b"%d" % int(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=lambda array: array.tolist()).encode()
    file = memory.BytesIO()
    np.save(file, np.asarray(value), allow_pickle=False)
    return file.getvalue()


def holds(field: str, data: bytes, value: Any) -> bool:
    """Does a member have this value, as decode() would read it?"""
    if is_bytes(value):
        return same(value, data)
    read: dict[str, Any] = {"cls": int, "txt": bytes.decode, "npy": io.load_npy, "json": json.loads}
    try:
        return same(value, read[field.rsplit(".", 1)[-1]](data))
    except (ValueError, NotImplementedError):  # it is nothing of that kind
        return False


def _not_in_json(value: Any) -> str | None:
    """What of a value JSON does not keep as it is, in words."""
    if value is None or isinstance(value, str | int | float):
        return None
    if isinstance(value, list | tuple):
        return next((odd for one in value if (odd := _not_in_json(one)) is not None), None)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return _not_in_json(list(value.values()))
    if is_numpy(value) and value.dtype.kind in "biuf" and value.dtype.itemsize <= 8:
        return None
    return "bytes" if is_bytes(value) else type(value).__name__


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
