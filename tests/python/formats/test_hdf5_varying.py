"""Text and lists of any length in HDF5 files, beside h5py; and bits that flip where they are."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import penstock as ps
import pytest
from arrays import assert_same
from penstock import io

VERSIONS = ["earliest", ("earliest", "v108"), ("v108", "v108"), ("v110", "v110")]
LAYOUTS: dict[str, Any] = {
    "contiguous": {},
    "chunks": {"chunks": (7,)},
    "gzip": {"chunks": (16,), "compression": "gzip", "shuffle": True},
    "growing": {"chunks": (5,), "maxshape": (None,)},
}
LISTS = ["i1", "u1", "<i2", ">i2", "<i4", ">u4", "<i8", "<f2", ">f4", "<f8", ">f8", "?"]


def lists_of(dtype: str, rows: int) -> list[np.ndarray]:
    random = np.random.default_rng(5)
    sizes = random.integers(0, 60, rows)
    return [(3 * random.integers(0, 2, n)).astype(dtype) for n in sizes]


@pytest.mark.parametrize("libver", VERSIONS, ids=str)
@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_are_what_h5py_has(options: Any, libver: Any, tmp_path: Path) -> None:
    path, rows = tmp_path / "x.h5", 40
    texts = [["", "a", "värld ☃", "x" * 70_000, "two\nlines"][i % 5] for i in range(rows)]
    with h5py.File(path, "w", libver=libver, userblock_size=512) as file:
        file.create_dataset("utf8", data=texts, dtype=h5py.string_dtype(), **options)
        plain = [text.encode("ascii", "ignore") for text in texts]
        file.create_dataset("ascii", data=plain, dtype=h5py.string_dtype("ascii"), **options)
        file.create_dataset("fixed", data=np.array(plain, "S9"), **options)
        file.create_dataset("unwritten", (rows,), h5py.string_dtype(), **options)
        file.create_dataset("never", (rows,), h5py.vlen_dtype("f4"), **options)
        some = file.create_dataset("some", (rows,), h5py.string_dtype(), **options)
        some[11] = "eleven"
        filled = h5py.string_dtype()
        full = file.create_dataset("filled", (rows,), filled, fillvalue=b"nothing", **options)
        full[3] = "three"
        for dtype in LISTS:
            made = file.create_dataset(f"list {dtype}", (rows,), h5py.vlen_dtype(dtype), **options)
            for i, one in enumerate(lists_of(dtype, rows)):
                made[i] = one
        file.create_dataset("numbers", (rows,), "i2", fillvalue=7, **options)
    ds = ps.open(path)
    assert ds.explain().count("read by libhdf5") == (options == {})  # numbers
    copy = shutil.copy(path, tmp_path / "copy.h5")
    with h5py.File(copy, "r+") as file:  # to read fill values h5py writes them first
        assert {int(sample["numbers"]) for sample in ds} == {7}
        for name in ("utf8", "ascii", "unwritten", "some", "filled"):
            wanted = [bytes(one).decode() for one in file[name][...]]
            assert [sample[name] for sample in ds] == wanted
        assert [sample["fixed"] for sample in ds] == file["fixed"][...].tolist()
        assert {len(sample["never"]) for sample in ds} == {0}
        for dtype in LISTS:
            name = f"list {dtype}"
            # Of lists in the other byte order h5py reads something else than it wrote.
            theirs = lists_of(dtype, rows) if ">" in dtype else file[name][...]
            for sample, one in zip(ds, theirs, strict=True):
                assert_same(sample[name], one.astype(one.dtype.newbyteorder("=")))
            for sample, one in zip(ds, lists_of(dtype, rows), strict=True):
                assert sample[name].tolist() == one.tolist()


def test_many_rows_in_many_collections_from_many_threads(tmp_path: Path) -> None:
    path, rows = tmp_path / "x.h5", 20_000
    texts = [f"{i} " * (i % 50) for i in range(rows)]
    with h5py.File(path, "w") as file:
        file.create_dataset("text", data=texts, dtype=h5py.string_dtype(), chunks=(100,))
        made = file.create_dataset("large", (rows,), h5py.vlen_dtype("u1"), chunks=(1000,))
        for i in range(0, rows, 2000):
            made[i] = np.full(300_000 + i, i % 251, "u1")
    ds = ps.open(path)
    assert [sample["text"] for sample in ds] == texts
    order = np.random.default_rng(1).permutation(rows)
    with ThreadPoolExecutor(8) as pool:
        for part in pool.map(lambda rows: [(i, ds[int(i)]) for i in rows], np.split(order, 8)):
            for i, sample in part:
                assert sample["text"] == texts[i]
                assert len(sample["large"]) == (0 if i % 2000 else 300_000 + i)
    assert ds[4000]["large"].tolist() == [4000 % 251] * 304_000


def damaged(good: bytes, at: int, bit: int) -> bytes:
    return good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :]


def small(path: Path, libver: Any = "earliest", **options: Any) -> bytes:
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("text", data=[f"words {i}" for i in range(9)], **options)
        made = file.create_dataset("list", (9,), h5py.vlen_dtype("i4"), **options)
        for i in range(9):
            made[i] = np.arange(i)
        full = file.create_dataset("full", (9,), h5py.string_dtype(), fillvalue=b"x", chunks=(3,))
        full[0] = "y"
        file.attrs["about"] = "a file"
        file["text"].attrs["names"] = ["one", "two", "three"]
        sizes = np.array([np.arange(3), None], "O")[:1]
        file["list"].attrs.create("sizes", sizes, (1,), h5py.vlen_dtype("i8"))
    return path.read_bytes()


def test_damage_names_dataset_row_and_address(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    good = small(path)
    at = good.index(b"words 5")
    collection = good.rindex(b"GCOL", 0, at)
    for where, bit, why in (
        (at - 16, 6, r"there is no object \d+ in a collection"),  # its number
        (at - 8, 1, r"object \d+ of a collection has 5 bytes, not 7 x 1"),
        (at - 4, 0, "an object reaches beyond its collection"),
        (collection, 3, "there is no collection of texts or lists"),
        (collection + 4, 1, "there is no collection of texts or lists"),
        (collection + 14, 0, "something lies outside it"),
        (collection + 10, 5, "something lies outside it"),
    ):
        path.write_bytes(damaged(good, where, bit))
        ds = ps.open(path, fields=["text"])
        with pytest.raises(ValueError, match=rf"dataset 'text', row 5: .*({why}).*x.h5.*offset"):
            ds[5]


def test_attributes_of_any_length_are_read_and_damage_leaves_them_out(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    good = small(path)
    info = io.array_info(path)
    assert info[""]["attributes"] == {"about": "a file"}
    assert info["text"]["attributes"] == {"names": ["one", "two", "three"]}
    assert info["list"]["attributes"] == {"sizes": [[0, 1, 2]]}
    path.write_bytes(damaged(good, good.index(b"three") - 8, 2))
    left_out = io.array_info(path)["text"]["left_out"]
    assert "of a collection has 1 bytes, not 5 x 1" in left_out["names"]


@pytest.mark.parametrize("count", [5, 20, 200])
@pytest.mark.parametrize("libver", VERSIONS, ids=str)
def test_many_attributes(libver: Any, count: int, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    wanted = {f"name {i}": f"{i} " * (i % 70) for i in range(count)}
    with h5py.File(path, "w", libver=libver, track_order=count == 20, userblock_size=1024) as file:
        for key, value in wanted.items():
            file.attrs[key] = value
        made = file.create_dataset("x", data=1).attrs
        for i in range(count):
            made[f"fixed {i}"] = np.arange(i % 40)
        made["grid"] = [["a", "b", "c"], ["d", "", "f"]]
        for i in range(3, count, 3):
            del made[f"fixed {i}"]
    info = io.array_info(path)
    assert info[""]["attributes"] == wanted
    assert "left_out" not in info[""]
    assert info["x"]["attributes"]["grid"] == [["a", "b", "c"], ["d", "", "f"]]


FLIPS = """
import sys
from itertools import islice
from pathlib import Path
import penstock as ps
from penstock import io
path, first, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
good = path.read_bytes()
for number in range(first, 8 * len(good), step):
    print(number, flush=True)
    at, bit = divmod(number, 8)
    path.write_bytes(good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :])
    for name in ("text", "list", "full"):
        try:
            for sample in islice(ps.open(path, fields=[name]), 9):  # a bit may make more rows
                pass
        except (ValueError, NotImplementedError, KeyError, OSError, MemoryError) as error:
            pass
    try:
        io.array_info(path)
    except (ValueError, NotImplementedError, KeyError, OSError, MemoryError) as error:
        pass
print("done")
"""


@pytest.mark.parametrize("libver", ["earliest", ("v110", "v110")], ids=str)
def test_no_flipped_bit_ends_the_process(libver: Any, tmp_path: Path) -> None:
    good = small(tmp_path / "x.h5", libver, chunks=(4,))
    step = 211 if len(good) < 20_000 else 421
    found = subprocess.run(
        [sys.executable, "-c", FLIPS, tmp_path / "x.h5", "3", str(step)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.stdout.endswith("done\n"), (found.returncode, found.stdout[-20:], found.stderr)
