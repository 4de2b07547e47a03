"""Arrow and Parquet files with flipped bits: errors of some rows, never the end of a process."""

import os
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

ROWS = 12


def table() -> pa.Table:
    """Every type whose values are found by way of offsets."""
    count = range(ROWS)
    words = [f"word {i}" * (1 + i % 3) for i in count]
    pairs = pa.map_(pa.string(), pa.list_(pa.int32()))
    union = pa.UnionArray.from_dense(
        pa.array([i % 2 for i in count], pa.int8()),
        pa.array([i // 2 for i in count], pa.int32()),
        [pa.array(range(ROWS // 2)), pa.array(words[: ROWS // 2])],
    )
    return pa.table(
        {
            "i": pa.array(count),
            "text": words,
            "coded": pa.array(["a", "b", "c"] * 4).dictionary_encode(),
            "texts": [[word, "x"] for word in words],
            "structs": [[{"x": i, "y": words[i]}] for i in count],
            "map": pa.array([[("k", [1, i])] for i in count], pairs),
            "view": pa.array([word * 4 for word in words], pa.string_view()),
            "union": union,
            "ends": pa.RunEndEncodedArray.from_arrays(pa.array([5, 12], pa.int32()), ["q", "r"]),
            "lists": pa.array([[[i], []] for i in count], pa.large_list(pa.list_(pa.int16()))),
            "times": pa.array([[i, i] for i in count], pa.list_(pa.timestamp("s"))),
            "numbers": [list(range(i % 4)) for i in count],
        }
    )


def stored(path: Path, what: pa.Table, compression: str | None = None) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(what, path, compression=compression or "none")
    elif path.suffix == ".feather":
        feather.write_feather(what, path, compression=compression or "uncompressed")
    else:
        options = pa.ipc.IpcWriteOptions(compression=compression)
        new = pa.ipc.new_stream if "stream" in path.name else pa.ipc.new_file
        with new(path, what.schema, options=options) as writer:
            writer.write_table(what)
    return path


def flip_bits(path: Path, step: int) -> None:
    script = Path(__file__).with_name("arrow_flips.py")
    done = subprocess.run(
        [sys.executable, script, path, str(step)], capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, (done.stdout[-20:], done.stderr[-2000:])


def test_a_flipped_bit_in_an_arrow_file_ends_nothing(tmp_path: Path) -> None:
    flip_bits(stored(tmp_path / "x.arrow", table()), 29)


@pytest.mark.parametrize(
    ("name", "compression"),
    [("stream.arrow", None), ("stream.arrow", "zstd"), ("x.feather", "lz4"), ("x.parquet", "zstd")],
)
def test_nor_does_one_in_other_files(name: str, compression: str | None, tmp_path: Path) -> None:
    no_parquet = ["view", "union", "ends"] if name.endswith("parquet") else []
    what = table().drop_columns(no_parquet)
    flip_bits(stored(tmp_path / name, what, compression), 97)


def test_damaged_offsets_of_a_dictionary_are_an_error_of_its_rows(tmp_path: Path) -> None:
    what = pa.table({"c": pa.array(["r" * 222222, "g" * 111111]).dictionary_encode()})
    path = stored(tmp_path / "x.arrow", what)
    damaged = bytearray(path.read_bytes())
    offsets = np.array([0, 222222, 333333], "i4").tobytes()
    damaged[damaged.find(offsets) + 7] ^= 0x40
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"row group 0 cannot be read.*x\.arrow"):
        list(ps.open(path))


def test_a_stream_that_is_cut_is_told_of_when_it_is_opened(tmp_path: Path) -> None:
    path = stored(tmp_path / "stream.arrow", table())
    sound = path.read_bytes()
    for cut in (0, 3, 100, len(sound) // 2, len(sound) - 20):
        path.write_bytes(sound[:cut])
        with pytest.raises(ValueError, match=r"corrupt.*stream\.arrow"):
            ps.open(path)
    path.write_bytes(sound[:-8])  # the format allows that
    with pytest.warns(UserWarning, match="no end mark"):
        assert len(ps.open(path)) == ROWS
    path.write_bytes(sound)
    ds = ps.open(path)
    os.truncate(path, len(sound) // 2)
    with pytest.raises(OSError, match="changed while it was in use"):
        ds[0]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view(), "extension", "dictionary"])
def test_a_null_among_views_may_be_anything_in_the_file(kind: Any, tmp_path: Path) -> None:
    ghost = np.array([-(2**31), -1, 2**31 - 1, 2**31 - 1], "i4").tobytes()
    words = ["a" * 40, None, "bb", None, "c" * 20]
    sound = pa.array(words, pa.binary_view() if kind == pa.binary_view() else pa.string_view())
    validity, views, *data = sound.buffers()
    rows = bytearray(views)
    rows[16:32] = rows[48:64] = ghost
    buffers = [validity, pa.py_buffer(rows), *data]
    column = pa.Array.from_buffers(sound.type, len(words), buffers)
    if kind == "extension":
        column = pa.ExtensionArray.from_storage(pa.json_(pa.string_view()), column)
    if kind == "dictionary":
        column = pa.DictionaryArray.from_arrays(pa.array(range(5), pa.int8()), column)
    for name in ("x.arrow", "stream.arrow"):
        path = stored(tmp_path / name, pa.table({"x": column}))
        assert ghost in path.read_bytes()
        code = "import sys, penstock as ps; got = [one['x'] for one in ps.open(sys.argv[1])]; "
        code += (
            "print([one if type(one) is not memoryview else bytes(one).decode() for one in got])"
        )
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.strip() == str(words)


def test_rows_that_a_stream_claims_and_has_not_are_an_error_when_it_is_opened(
    tmp_path: Path,
) -> None:
    path = stored(tmp_path / "stream.arrow", pa.table({"x": range(ROWS)}))
    sound = path.read_bytes()
    number = ROWS.to_bytes(8, "little")
    places = [i for i in range(len(sound)) if sound.startswith(number, i)]
    assert len(places) >= 2  # the lengths of the batch and of its column, and maybe a value
    said = []
    for at in places:
        damaged = bytearray(sound)
        damaged[at + 7] ^= 0x40
        path.write_bytes(damaged)
        try:
            said.append(str(len(ps.open(path))))
        except ValueError as error:
            said.append(str(error))
    assert sum("rows, and its first column has" in one for one in said) == 2
    assert all("stream.arrow" in one or one == str(ROWS) for one in said)


def damaged(path: Path, places: range) -> list[int]:
    """How many rows there are with a bit flipped, where there are any: every third bit."""
    whole, found = path.read_bytes(), []
    bad = path.with_name(f"bad{path.suffix}")
    for place in places:
        for bit in range(place % 3, 8, 3):
            data = bytearray(whole)
            data[place] ^= 1 << bit
            bad.write_bytes(data)
            try:
                found.append(len(ps.open(bad)))
            except ValueError:
                continue
    return found


def test_no_bit_of_a_footer_takes_rows_away(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"y": list(range(60))}), path, row_group_size=11)
    (size,) = struct.unpack("<I", path.read_bytes()[-8:-4])
    end = path.stat().st_size - 8
    counts = damaged(path, range(end - size, end))
    assert len(counts) > 300
    assert set(counts) == {60}


@pytest.mark.filterwarnings("ignore:.*no end mark")  # if it is that mark's bit
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_no_bit_of_a_stream_takes_batches_away(compression: str | None, tmp_path: Path) -> None:
    path, what = tmp_path / "x.arrow", pa.table({"y": list(range(60))})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(path, what.schema, options=options) as writer:
        writer.write_table(what, max_chunksize=13)
    assert len(ps.open(path)) == 60
    counts = damaged(path, range(path.stat().st_size))
    assert len(counts) > 300
    assert set(counts) == {60}


def test_a_stream_that_ends_between_two_batches_is_told(tmp_path: Path) -> None:
    path, what = tmp_path / "x.arrow", pa.table({"y": list(range(60))})
    with pa.ipc.new_stream(path, what.schema) as writer:
        writer.write_table(what, max_chunksize=13)
    whole, told = path.read_bytes(), []
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                told.append(len(ps.open(path)))
            except ValueError:
                continue
        assert "no end mark" in str(heard[0].message)
    assert told[:5] == [0, 13, 26, 39, 52]
    path.write_bytes(whole + whole)
    with pytest.raises(ValueError, match="other streams follow"):
        ps.open(path)
    path.write_bytes(whole + bytes(100))
    assert len(ps.open(path)) == 60
