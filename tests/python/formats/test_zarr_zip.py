"""Zarr stores in zip archives whose directory is damaged: nothing is missing without a word."""

import contextlib
import struct
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
import zarr

ROWS = np.arange(1, 25).reshape(12, 2).astype("i4")


def write(path: Path, version: int, group: bool) -> bytes:
    """Two chunks of four: those that are missing are fill values."""
    store = zarr.storage.ZipStore(path, mode="w")
    options: dict[str, Any] = {
        "shape": (24, 2),
        "chunks": (6, 2),
        "dtype": "i4",
        "compressors": None,
    }
    if group:
        array = zarr.create_group(store, zarr_format=version).create_array("x", **options)
    else:
        array = zarr.create_array(store, zarr_format=version, **options)
    array[:12] = ROWS
    store.close()
    return path.read_bytes()


def names_in(data: bytes) -> list[range]:
    """Where the names of the directory are."""
    at = struct.unpack("<I", data[data.rfind(b"PK\5\6") + 16 :][:4])[0]
    found = []
    while data[at : at + 4] == b"PK\1\2":
        name, extra, comment = struct.unpack("<HHH", data[at + 28 : at + 34])
        found.append(range(at + 46, at + 46 + name))
        at += 46 + name + extra + comment
    return found


def rows(path: Path, field: str) -> Any:
    return next(iter(ps.open(path, fields=[field]).batch(24).loader(threads=1)))[field]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("group", [False, True])
def test_a_flipped_bit_in_a_name_is_never_fill_values(
    tmp_path: Path, version: int, group: bool
) -> None:
    path, field = tmp_path / "x.zarr.zip", "x" if group else "data"
    data = write(path, version, group)
    wanted = rows(path, field)
    assert (wanted[:12] == ROWS).all()
    assert not wanted[12:].any()
    became: Counter[str] = Counter()
    for name in names_in(data):
        for at in name:
            for bit in range(8):
                damaged = bytearray(data)
                damaged[at] ^= 1 << bit
                path.write_bytes(damaged)
                try:
                    became["right" if (rows(path, field) == wanted).all() else "wrong"] += 1
                except (ValueError, KeyError, FileNotFoundError) as error:
                    became[type(error).__name__] += 1
    assert became["wrong"] == 0
    assert became["ValueError"] > became.total() / 2


def test_an_array_that_a_flipped_bit_hides_from_its_group(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    store = zarr.storage.ZipStore(path, mode="w")
    group = zarr.create_group(store)
    for name in ("x", "y"):
        group.create_array(name, shape=(4,), chunks=(2,), dtype="i4", fill_value=3)
    store.close()
    data = path.read_bytes()
    assert ps.open(path).fields == ["x", "y"]
    for name in names_in(data):
        for at in name:
            for bit in range(8):
                damaged = bytearray(data)
                damaged[at] ^= 1 << bit
                path.write_bytes(damaged)
                with contextlib.suppress(ValueError, FileNotFoundError):
                    assert ps.open(path).fields == ["x", "y"]


def test_a_directory_that_counts_too_few_members(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    data = bytearray(write(path, 3, False))
    data[data.rfind(b"PK\5\6") + 10] -= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="longer than its entries"):
        ps.open(path)


def test_a_member_that_was_written_again_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    write(path, 3, False)
    with zipfile.ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("c/1/0", (ROWS[6:] + 100).tobytes())
    assert (rows(path, "data")[6:12] == ROWS[6:] + 100).all()
