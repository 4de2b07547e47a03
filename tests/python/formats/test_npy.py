"""NumPy's files beside numpy.load: every dtype, order and version; damage; datasets of them."""

import io as pyio
import pickle
import struct
import subprocess
import sys
import tarfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock import io
from penstock.cli import main

DTYPES = [
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "S5", "U3",
    "M8[ns]", "m8[s]", "V7", ">i4", ">f8", "f16", "c32",
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4, 5)]


def saved(array: Any, **options: Any) -> bytes:
    file = pyio.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def filled(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(0).integers(0, 2 if dtype == "?" else 120, size, np.uint8)
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape)


def assert_same(got: Any, wanted: np.ndarray[Any, Any]) -> None:
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape_is_what_numpy_loads(dtype: str, tmp_path: Path) -> None:
    for shape in SHAPES:
        for order in "CF":
            array = np.array(filled(dtype, shape), order=order)  # type: ignore[call-overload]
            data = saved(array)
            assert_same(io.load_npy(data), array)
            path = tmp_path / "x.npy"
            path.write_bytes(data)
            assert_same(io.load_npy(path), array)
            assert_same(io.load_npy(path, mmap=True), array)


@pytest.mark.parametrize(
    "descr", ["f8", "i4", "u1", "b1", "c16", "S3", "U2", "M8[ns]", "float64", "bool", "complex64"]
)
def test_types_that_leave_out_the_byte_order(descr: str) -> None:
    words = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': (2,), }}\n".encode()
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(words)) + words
    data += bytes(2 * np.dtype(descr).itemsize)
    expected = np.load(pyio.BytesIO(data))
    got = io.load_npy(data)
    assert got.dtype == expected.dtype
    assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_header(version: tuple[int, int]) -> None:
    file = pyio.BytesIO()
    array = np.arange(5, dtype="f4")
    np.lib.format.write_array(file, array, version)
    assert_same(io.load_npy(file.getvalue()), array)


def test_records_keep_their_fields() -> None:
    kind = np.dtype([("a", "<f4"), ("b", ">i2", (2,)), ("c", [("x", "S3")])])
    array = np.frombuffer(bytes(range(11 * 4)), kind)
    assert_same(io.load_npy(saved(array)), array)
    named = np.zeros(2, np.dtype([("ü, '|O'", "<f8")]))
    assert_same(io.load_npy(saved(named)), named)


@pytest.mark.parametrize(
    "array", [np.array([{}, None]), np.zeros(2, [("a", "O"), ("b", "i4")])], ids=["plain", "record"]
)
def test_objects_are_refused_and_nothing_is_run(array: Any) -> None:
    with pytest.raises(NotImplementedError, match="holds Python objects"):
        io.load_npy(saved(array))


@pytest.mark.parametrize("cut", [0, 5, 9, 11, 60, 127, 128, 200, 207])
def test_a_cut_file_is_an_error(cut: int, tmp_path: Path) -> None:
    data = saved(np.arange(20, dtype="i4"))
    assert len(data) == 208
    with pytest.raises(ValueError, match="not a \\.npy array"):
        io.load_npy(data[:cut])
    (tmp_path / "x.npy").write_bytes(data[:cut])
    for mmap in (False, True):
        with pytest.raises(ValueError, match=r"not a .npy array.*x.npy"):
            io.load_npy(tmp_path / "x.npy", mmap=mmap)


def test_a_shape_of_two_to_the_62_is_an_error() -> None:
    data = saved(np.arange(20, dtype="i4"))
    for shape in (
        b"(4611686018427387904,)",
        b"(4294967296, 4294967296)",
        b"(99999999999999999999,)",
        b"(0, 4000073789205, 270756671)",  # NumPy refuses it, too
    ):
        grown = data.replace(b"(20,), }" + b" " * (len(shape) - 5), shape + b", }")
        assert len(grown) == len(data)
        with pytest.raises(ValueError, match="not a \\.npy array"):
            io.load_npy(grown)


@given(st.integers(0, 127), st.integers(1, 255))
@settings(deadline=None, max_examples=300)
def test_a_damaged_header_is_an_error_or_what_numpy_makes_of_it(at: int, change: int) -> None:
    array = np.arange(20, dtype="i4")
    data = bytearray(saved(array))
    data[at] ^= change
    try:
        got = io.load_npy(bytes(data))
    except (ValueError, NotImplementedError, TypeError):
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            wanted = np.load(pyio.BytesIO(bytes(data)))
    except Exception:
        wanted = array  # commas and blanks, of which NumPy is fonder
    assert_same(got, wanted)


def test_a_message_may_quote_what_is_no_text() -> None:
    data = saved(np.zeros(3)).replace(b"descr", b"des\xffr")
    with pytest.raises(ValueError, match=r"des\\xffr") as caught:
        io.load_npy(data)
    assert type(caught.value) is ValueError


def test_the_old_name_of_bytes_is_read() -> None:
    array = np.array([b"ab", b"cdef"])
    data = saved(array)
    assert b"|S4" in data
    assert_same(io.load_npy(data.replace(b"|S4", b"|a4")), array)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npy"):
        io.load_npy("nowhere.npy")


def test_arrays_of_bytes_share_their_memory() -> None:
    data = bytearray(saved(np.arange(4, dtype="u1")))
    array = io.load_npy(data)
    assert not array.flags.writeable
    data[-1] = 9
    assert array.tolist() == [0, 1, 2, 9]


def test_memory_is_used_again(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(150_000, "f4"))
    places = set()
    for _ in range(20):
        array = io.load_npy(tmp_path / "x.npy")
        places.add(array.ctypes.data)
        array[0] = 1
        del array
    assert len(places) < 5
    kept = [io.load_npy(tmp_path / "x.npy") for _ in range(3)]
    assert len({array.ctypes.data for array in kept}) == 3


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_what_numpy_loads(save: Any, tmp_path: Path) -> None:
    arrays = {
        "x": np.arange(1000).reshape(10, 100),
        "words": np.array(["ä", "bc"]),
        "one": np.float32(2),
        "columns": np.asfortranarray(np.ones((3, 5), "i2")),
        "none": np.zeros((0, 3)),
    }
    save(tmp_path / "a.npz", **arrays)
    for source in (tmp_path / "a.npz", (tmp_path / "a.npz").read_bytes()):
        got = io.load_npz(source)
        assert list(got) == list(arrays)
        for name, array in arrays.items():
            assert_same(got[name], np.asarray(array))
        assert list(io.load_npz(source, ["words"])) == ["words"]
    with pytest.raises(KeyError, match="no array 'y'"):
        io.load_npz(tmp_path / "a.npz", ["y"])


def test_other_members_of_an_archive_are_bytes(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", saved(np.arange(3)))
        archive.writestr("notes.txt", "hello")
        archive.comment = b"a comment"
    got = io.load_npz(tmp_path / "a.npz")
    assert got["notes.txt"] == b"hello"
    assert got["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damage_to_an_archive_never_passes_unnoticed(save: Any) -> None:
    file = pyio.BytesIO()
    save(file, x=np.arange(100), y=np.zeros(50))
    sound = file.getvalue()
    wanted = io.load_npz(sound)
    for cut in range(0, len(sound), 7):
        with pytest.raises(ValueError, match="damaged"):
            io.load_npz(sound[:cut])
    rng = np.random.default_rng(1)
    for _ in range(2000):
        data = bytearray(sound)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        try:
            got = io.load_npz(bytes(data))
        except (ValueError, NotImplementedError):
            continue
        for name, array in got.items():  # a bit that says nothing: a date, a name
            if name in wanted:
                assert np.array_equal(array, wanted[name])


def test_a_size_that_lies_takes_no_memory() -> None:
    file = pyio.BytesIO()
    np.savez_compressed(file, x=np.arange(100))
    data = bytearray(file.getvalue())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", 0xFFFFFF00)
    with pytest.raises(ValueError, match=r"size of member 'x\.npy' is wrong"):
        io.load_npz(bytes(data))


# ---- datasets


def test_rows_of_an_array_are_samples(tmp_path: Path) -> None:
    array = np.arange(60, dtype="i2").reshape(20, 3)
    np.save(tmp_path / "x.npy", array)
    ds = ps.open(tmp_path / "x.npy")
    assert len(ds) == 20
    assert ds[7]["data"].tolist() == [21, 22, 23]
    rows = np.concatenate([b["data"] for b in pickle.loads(pickle.dumps(ds)).batch(6).loader()])
    assert rows.dtype == np.int16
    assert np.array_equal(rows, array)
    shuffled = np.concatenate([b["data"] for b in ds.shuffle(seed=1).batch(6).loader(threads=2)])
    assert not np.array_equal(shuffled, array)
    assert np.array_equal(shuffled[np.argsort(shuffled[:, 0])], array)


@pytest.mark.parametrize("kind", ["fortran", ">f4", "c8", "U3"])
def test_rows_of_other_arrays_are_samples_too(kind: str, tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    if kind != "fortran":
        array = array.astype(kind)
    np.save(tmp_path / "x.npy", array)
    ds = ps.open(tmp_path / "x.npy")
    assert [sample["data"].tolist() for sample in ds] == array.tolist()
    pairs = ps.open(tmp_path / "x.npy", window=2, stride=1)
    assert [sample["data"].tolist() for sample in pairs] == [
        array[i : i + 2].tolist() for i in range(3)
    ]
    (batch,) = ds.batch(4).loader()
    assert np.array_equal(np.stack(list(batch["data"])), array)


def test_several_files_are_a_sample_each(tmp_path: Path) -> None:
    for i in range(5):
        np.save(tmp_path / f"{i}.npy", np.full((2, 3), i, "f4"))
    ds = ps.open(tmp_path / "*.npy")
    assert len(ds) == 5
    assert ds[3]["data"].tolist() == [[3.0] * 3] * 2
    (batch,) = ds.batch(5).loader()
    assert batch["data"].shape == (5, 2, 3)
    (tmp_path / "2.npy").write_bytes(b"rubbish")
    loader = ps.open(tmp_path / "*.npy").batch(5).loader(on_error="skip")
    assert [batch["data"][:, 0, 0].tolist() for batch in loader] == [[0.0, 1.0, 3.0, 4.0]]
    assert "2.npy" in str(loader.errors()[0])


def test_several_files_of_which_the_first_is_damaged(tmp_path: Path) -> None:
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.full(2, i))
    (tmp_path / "0.npy").write_bytes(b"rubbish")
    loader = ps.open(tmp_path / "*.npy").batch(3).loader(on_error="skip")
    assert [batch["data"].tolist() for batch in loader] == [[[1, 1], [2, 2]]]


def test_members_that_are_no_arrays_are_passed_over(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(4))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("README.txt", b"hi")
    ds = ps.open(tmp_path / "a.npz")
    assert ds.fields == ["x"]
    assert ds[3]["x"] == 3
    with pytest.raises(ps.PlanError, match=r"'README\.txt' of .*a\.npz is no array"):
        ps.open(tmp_path / "a.npz", fields=["README.txt"])


def test_an_archive_of_nothing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"there is no array in .*a\.npz"):
        ps.open(tmp_path / "a.npz")
    assert main(["inspect", str(tmp_path / "a.npz")]) == 1
    assert "a.npz" in capsys.readouterr().err


def test_arrays_of_an_archive_are_fields(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(12).reshape(4, 3), y=np.arange(4))
    ds = ps.open(tmp_path / "a.npz")
    assert ds.fields == ["x", "y"]
    assert ds[2]["x"].tolist() == [6, 7, 8]
    assert ds[2]["y"] == 2
    assert ps.open(tmp_path / "a.npz", fields=["y"]).fields == ["y"]


OTHERS: dict[str, Any] = {
    "text": np.array(["a", "bc", "", "d"]),
    "bytes": np.asfortranarray([[b"a", b"b"], [b"c", b"d"], [b"e", b"f"], [b"g", b"h"]]),
    "swapped": np.arange(4, dtype=">i4"),
    "complex": filled("c8", (4, 2)),
    "dates": np.arange(4).astype("M8[s]"),
    "records": np.array([(i, b"x") for i in range(4)], [("a", "<i4"), ("b", "S2")]),
    "nothing": np.zeros((4, 0), "U3"),
    "many dimensions": filled("f4", (4, *[1] * 11)),
}


@pytest.mark.parametrize("array", OTHERS.values(), ids=OTHERS)
def test_several_files_of_every_type(array: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", array)
    np.save(tmp_path / "1.npy", array[::-1])
    ds = ps.open(tmp_path / "*.npy")
    for sample, wanted in zip(ds, (array, array[::-1]), strict=True):
        assert sample["data"].dtype == array.dtype.newbyteorder("=")
        assert np.array_equal(sample["data"], wanted)
    (batch,) = pickle.loads(pickle.dumps(ds)).batch(2).loader()
    assert all(
        np.array_equal(one, array[::step]) for one, step in zip(batch["data"], (1, -1), strict=True)
    )


@pytest.mark.parametrize("how", ["npz", "npz of windows", "arrays", "npy"])
@pytest.mark.parametrize("array", OTHERS.values(), ids=OTHERS)
def test_rows_of_every_type(array: Any, how: str, tmp_path: Path) -> None:
    windows = {"window": 2, "stride": 1} if how == "npz of windows" else {}
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "x.npz", data=array, number=np.arange(4))
    if how == "arrays":
        ds = ps.from_arrays(data=array)
    else:
        ds = ps.open(tmp_path / f"x.{how[:3]}", **windows)
    for made in (ds, pickle.loads(pickle.dumps(ds))):
        for i in range(len(made)):
            row = made[i]["data"]
            assert np.array_equal(row, array[i : i + 2] if windows else array[i])
            assert row.dtype == array.dtype.newbyteorder("=")
    batch = next(iter(ds.batch(3).loader()))
    assert len(batch["data"]) == 3


def test_a_single_value_has_no_rows(tmp_path: Path) -> None:
    for dtype in ("<f4", ">f4", "U2"):
        np.save(tmp_path / "x.npy", np.zeros((), dtype))
        with pytest.raises(ValueError, match=r"x\.npy.*single value|single value.*x\.npy"):
            ps.open(tmp_path / "x.npy")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("shape", [(50,), (50, 7), (50, 0), (50, 30, 200)])
def test_batches_of_rows_are_those_of_numpy(
    shape: tuple[int, ...], window: int | None, order: Any, tmp_path: Path
) -> None:
    array = np.random.default_rng(1).integers(-999, 999, shape).astype("f4", order)
    np.save(tmp_path / "rows.npy", array)
    ds = ps.open(tmp_path / "rows.npy", window=window, stride=2 if window else None)
    wanted = array
    if window:
        wanted = np.stack([array[i : i + 3] for i in range(0, 48, 2)])
    for loader in (
        ds.batch(16).loader(threads=2),
        ds.rename(data="x").batch(16).loader(threads=2),
        ds.batch(16, collate="list").loader(threads=2),
        ds.map(lambda sample: sample).batch(16).loader(threads=2),
    ):
        got = [batch.get("data", batch.get("x")) for batch in loader]
        assert [len(rows) for rows in got] == [16] * (len(wanted) // 16) + [len(wanted) % 16]
        assert np.array_equal(np.concatenate([np.stack(rows) for rows in got]), wanted)
    shuffled = ds.shuffle(seed=4)
    one = np.concatenate([b["data"] for b in shuffled.batch(9).loader(threads=1)])
    two = np.concatenate([b["data"] for b in shuffled.batch(9).loader(threads=2)])
    assert np.array_equal(one, two)
    assert np.array_equal(one[5], shuffled[5]["data"])


SHORTENED = """
import os, sys
import numpy as np
import penstock as ps
from penstock import io

path, kind = sys.argv[1], sys.argv[2]
size = os.path.getsize(path)
if kind == "records":
    records = io.TFRecords(path, mmap=True)
    read = lambda: records[list(range(0, len(records), 7))]
else:
    ds = ps.open(path, mmap=kind == "mapped", window=2 if kind == "windows" else None)
    if kind == "rows":
        read = lambda: list(ds.shuffle(seed=1).batch(64).loader())
    else:
        read = lambda: [ds[i] for i in range(len(ds))]
read()
for left in (size - 1, size // 2 + 100, 4096):
    os.truncate(path, left)
    try:
        read()
    except OSError as e:
        assert "become shorter" in str(e) and os.path.basename(path) in str(e), e
    else:
        raise AssertionError(f"{left} bytes of {size} were enough")
print("survived")
"""


@pytest.mark.parametrize(
    "kind",
    ["rows", "windows", "large", "columns", "swapped", "swapped columns", "mapped", "records"],
)
def test_a_file_that_is_shortened_between_open_and_read_is_an_error(
    kind: str, tmp_path: Path
) -> None:
    array = np.arange(60_000, dtype=">i4" if "swapped" in kind else "i4")
    array = array.reshape((10, 6000) if kind == "large" else (1000, 60))
    path = tmp_path / "shrinking.npy"
    if kind == "mapped":
        path = tmp_path / "shrinking.tar"
        with tarfile.open(path, "w") as tar:
            for i, row in enumerate(array):
                member = tarfile.TarInfo(f"{i:04d}.bin")
                member.size = row.nbytes
                tar.addfile(member, pyio.BytesIO(row.tobytes()))
    elif kind == "records":
        path = tmp_path / "shrinking.tfrecord"
        with io.TFRecordWriter(path) as writer:
            for row in array:
                writer.write(row.tobytes())
    else:
        np.save(path, np.asfortranarray(array) if "columns" in kind else array)
    command = [sys.executable, "-c", SHORTENED, str(path), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout == "survived\n"
