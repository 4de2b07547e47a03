"""`penstock convert` changes no value on its way, and its verification would notice if it did."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from convert_files import table, write_tar
from penstock import io
from penstock.cli import main
from penstock.convert import (
    _array_writers,
    _columns,
    _examples,
    _parquet_writer,
    _tar_members,
    _tree_writers,
    _writers,
    convert,
)

GOLDEN = Path(__file__).parent / "formats" / "golden"


def examples(path: Path, *samples: dict[str, Any]) -> Path:
    with io.TFRecordWriter(path) as writer:
        for sample in samples:
            writer.write_example(sample)
    return path


def npy(value: Any) -> bytes:
    file = BytesIO()
    np.save(file, np.asarray(value))
    return file.getvalue()


def arrays(folder: Path, *values: Any) -> Path:
    for i, value in enumerate(values):
        np.save(folder / f"mx-{i}.npy", value)
    return folder / "mx-*.npy"


# TFRecord


def test_records_are_copied_as_they_are(tmp_path: Path) -> None:
    records = [
        io.encode_example({"frames": [b"jpg1", b"jpg2"], "n": 1}),
        io.encode_example({"frames": [b"j", b"jpg", b""], "n": np.zeros(0, "i8")}),
        io.encode_example({"frames": np.zeros(0, "S1"), "later": [0.5, 1.5]}),
        *io.iter_tfrecord(GOLDEN / "sequences.tfrecord"),
        b"no Example at all",
        b"",
    ]
    with io.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for record in records:
            writer.write(record)
    done = convert(tmp_path / "a.tfrecord", tmp_path / "b.tfrecord", shard_size=2, verify=True)
    assert done.samples == len(records)
    assert list(io.iter_tfrecord(done.files)) == records
    done = convert(done.files, tmp_path / "c.tfrecord", shuffle=3, verify=True)
    got = list(io.iter_tfrecord(done.files))
    assert got != records
    assert sorted(got) == sorted(records)


@pytest.mark.parametrize("fields", [{"frames": "bytes[]", "n": "int64[]"}, ["frames", "n"]])
def test_features_that_are_chosen_keep_their_values(tmp_path: Path, fields: Any) -> None:
    frames = [[b"jpg1", b"jpg2"], [b"j", b"jpg", b"\0"], []]
    samples = [{"frames": one or np.zeros(0, "S1"), "n": [1, 2], "x": 1.5} for one in frames]
    source = examples(tmp_path / "a.tfrecord", *samples)
    convert(source, tmp_path / "b.tfrecord", fields=fields, verify=True)
    got = list(ps.open(tmp_path / "b.tfrecord"))
    assert [[bytes(one) for one in sample["frames"]] for sample in got] == frames
    assert [sample["n"].tolist() for sample in got] == [[1, 2]] * 3
    assert list(got[0]) == ["frames", "n"]


def test_lists_of_bytes_go_to_parquet_and_back(tmp_path: Path) -> None:
    frames = [[b"jpg1", b"jpg2"], [], [b"\0", b""]]
    samples = [{"frames": one or np.zeros(0, "S1")} for one in frames]
    source = examples(tmp_path / "a.tfrecord", *samples)
    done = convert(source, tmp_path / "b.parquet", shard_size=1, verify=True)
    assert pq.read_table(done.files[1]).to_pylist() == [{"frames": []}]
    convert(done.files, tmp_path / "c.tfrecord", verify=True)
    got = [sample["frames"] for sample in ps.open(tmp_path / "c.tfrecord")]
    assert [[bytes(one) for one in sample] for sample in got] == frames
    with pytest.raises(TypeError, match=r"sample 0: 'frames' is a list with bytes in it"):
        convert(source, tmp_path / "d.tar")


def test_steps_of_any_length_go_to_parquet_and_json(tmp_path: Path) -> None:
    with io.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for record in io.iter_tfrecord(GOLDEN / "sequences.tfrecord"):
            writer.write(record)
    fields = {"pose": "float[][]", "action": "int64[][]"}
    expected = [
        {name: [one.tolist() for one in value] for name, value in sample.items()}
        for sample in ps.open(tmp_path / "a.tfrecord", fields=fields)
    ]
    assert any(sample["pose"] for sample in expected)
    convert(tmp_path / "a.tfrecord", tmp_path / "b.parquet", fields=fields, verify=True)
    assert pq.read_table(tmp_path / "b.parquet").to_pylist() == expected
    convert(tmp_path / "a.tfrecord", tmp_path / "b.tar", fields=fields, verify=True)
    got = ps.open(tmp_path / "b.tar").decode("json")
    assert [sample["pose.json"] for sample in got] == [sample["pose"] for sample in expected]
    with pytest.raises(TypeError, match=r"sample \d: '\w+' is a list with lists in it"):
        convert(tmp_path / "a.tfrecord", tmp_path / "c.tfrecord", fields=fields)


@pytest.mark.parametrize("ending", ["tar", "parquet", "npy"])
def test_a_feature_that_the_first_record_lacks_is_not_left_out(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = examples(tmp_path / "a.tfrecord", {"n": 1}, {"n": 2, "more": [1.5, 2.5]})
    target = tmp_path / f"b.{ending}"
    said = r"the feature 'more', .* \(--fields n=int64,more=float\[\]\)"
    with pytest.raises(ValueError, match=said):
        convert(source, target)
    assert main(["convert", str(source), str(target)]) == 1
    assert "a.tfrecord:1" in capsys.readouterr().err
    assert not target.exists()
    convert(source, target, fields=["n"], verify=True)  # it is not wanted
    if ending == "parquet":
        fields = {"n": "int64", "more": "float[]"}
        convert(source, target, fields=fields, verify=True, overwrite=True)
        got = pq.read_table(target).to_pylist()
        assert got == [{"n": 1, "more": []}, {"n": 2, "more": [1.5, 2.5]}]
        source = examples(tmp_path / "c.tfrecord", {"a_": 1, "a": 2, "data": 3})
        convert(source, tmp_path / "c.parquet", verify=True)
        assert pq.read_table(tmp_path / "c.parquet").to_pylist() == [{"a": 2, "a_": 1, "data": 3}]


def test_views_in_lists_are_bytes() -> None:
    for texts in ([memoryview(b"hello")], [memoryview(b"a"), b"bc", "d"], ("a", memoryview(b""))):
        record = io.encode_example({"t": texts})
        got = io.parse_example(record, {"t": "bytes[]"})["t"]
        assert [bytes(one) for one in got] == [
            one.encode() if isinstance(one, str) else bytes(one) for one in texts
        ]
    for bad in ([b"a", 1], [1, b"a"], [[memoryview(b"ab")]], [[b"a"], [b"b"]]):
        with pytest.raises(TypeError, match="'t' is a list of text or bytes with other values"):
            io.encode_example({"t": bad})


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, [1, 2**64], [2**63, -1], [[2**63], [-1]]])
def test_whole_numbers_beyond_int64_are_no_floats(value: Any) -> None:
    with pytest.raises(ValueError, match=r"'n' has -?\d+, which is more than an int64 holds"):
        io.encode_example({"n": value})


# Parquet


@pytest.mark.parametrize("in_tar", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.array([0.5, 0.25], "f4"), np.array([1 / 3, 1e300])),
        (np.array([1, 2]), np.array([1.5, 2**60])),
        (np.array([1, 2]), np.array([1, 2**63], "u8")),
        (np.array([1, 2], "u8"), np.array([1, 2])),
        (np.array([True, False]), np.array([1, 5])),
        (np.array([1, 5]), np.array([True, False])),
        (np.array([0.5, 1.0]), np.array([2**53 + 1, 1])),
    ],
)
def test_arrays_that_a_column_would_change_are_refused(
    tmp_path: Path, first: Any, second: Any, in_tar: bool
) -> None:
    source, name = arrays(tmp_path, first, first, second), "data"
    if in_tar:
        samples = [{"x.npy": npy(value)} for value in (first, first, second)]
        source, name = write_tar(tmp_path / "x.tar", samples), "x.npy"
    said = (
        f"sample 2: '{name}' is {second.dtype}, and {first.dtype} in the first sample: .*write .tar"
    )
    for size in (None, 1):
        with pytest.raises(TypeError, match=said):
            convert(source, tmp_path / "y.parquet", shard_size=size, threads=1, overwrite=True)


@pytest.mark.parametrize("pair", ["f8 f4", "i8 i4", "i8 u4", "f8 i4", "f4 i2", "u2 u1", "f4 f2"])
def test_arrays_of_narrower_types_go_into_the_same_column(tmp_path: Path, pair: str) -> None:
    wide, narrow = pair.split()
    top = np.finfo(narrow).max if "f" in narrow else np.iinfo(narrow).max
    source = arrays(tmp_path, np.array([1, 2], wide), np.array([1, top], narrow))
    convert(source, tmp_path / "y.parquet", verify=True)
    got = pq.read_table(tmp_path / "y.parquet")["data"].to_pylist()
    assert got == [[1, 2], [1, top.item() if "f" in narrow else top]]


@pytest.mark.parametrize(
    "values",
    [
        [np.int64(3), np.int64(4), np.float32(4.5)],
        [np.int64(3), np.int64(4), np.float64(4)],
        [np.float32(0.1), np.float32(0.1), np.float64(0.1)],
        [np.float64(3), np.float64(4), np.int64(2**53 + 1)],
        [np.bool_(True), np.bool_(False), np.int64(3)],
        [np.int64(3), np.int64(4), np.bool_(True)],
        [np.int64(3), np.int64(4), np.uint64(4)],
        [np.datetime64("2020", "s"), np.datetime64("NaT", "s"), np.datetime64(1, "ns")],
    ],
    ids=lambda values: f"{values[0].dtype} {values[2].dtype}",
)
def test_single_numbers_that_a_column_would_change_are_refused(
    tmp_path: Path, values: list[Any]
) -> None:
    source = write_tar(tmp_path / "x.tar", [{"score.npy": npy(value)} for value in values])
    said = f"sample 2: 'score.npy' is {values[2].dtype}, and {values[0].dtype} in the first sample"
    for size in (None, 1):
        with pytest.raises(TypeError, match=re.escape(said)):
            convert(source, tmp_path / "y.parquet", shard_size=size, threads=1, overwrite=True)


def test_single_numbers_of_narrower_types_go_into_the_same_column(tmp_path: Path) -> None:
    values = [np.float64(0.1), np.float32(0.1), np.int32(-7), np.float16(2), np.uint8(255)]
    samples = [{"score.npy": npy(value), "cls": b"1"} for value in values]
    source = write_tar(tmp_path / "x.tar", [*samples, {"cls": b"2"}])
    convert(source, tmp_path / "y.parquet", verify=True)
    got = pq.read_table(tmp_path / "y.parquet")["score.npy"]
    assert got.type == pa.float64()
    assert got.to_pylist() == [*(float(value) for value in values), None]


def test_arrays_of_no_values_are_named(tmp_path: Path) -> None:
    source = write_tar(tmp_path / "x.tar", [{"x.npy": npy(np.zeros((0, 3)))}] * 2)
    with pytest.raises(TypeError, match=r"sample 0: 'x\.npy' has the shape \[0, 3\], and a column"):
        convert(source, tmp_path / "y.parquet")


@pytest.mark.parametrize("first", [0, 1, 2])
def test_lists_of_variable_length_in_hdf5_are_lists_in_parquet(tmp_path: Path, first: int) -> None:
    rows = [list(range(first + i)) for i in range(5)]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        column = file.create_dataset("v", (5,), dtype=h5py.vlen_dtype("i4"))
        for i, row in enumerate(rows):
            column[i] = row
    done = convert(tmp_path / "x.h5", tmp_path / "y.parquet", shard_size=2, verify=True)
    tables = [pq.read_table(name) for name in done.files]
    assert all(one.schema.field("v").type == pa.list_(pa.int32()) for one in tables)
    assert pa.concat_tables(tables)["v"].to_pylist() == rows


@pytest.mark.parametrize("numbers", [[2**64, 1], [1, 2**64], [1, 2**63], [2**63, 1]])
def test_a_label_beyond_int64_is_named(
    tmp_path: Path, numbers: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_tar(tmp_path / "x.tar", [{"cls": b"%d" % one} for one in numbers])
    at = numbers.index(max(numbers))
    assert main(["convert", str(source), str(tmp_path / "y.parquet")]) == 1
    said = capsys.readouterr().err
    assert f"sample {at}: 'cls' is {max(numbers)}" in said
    assert "--fields" in said
    assert main(["convert", str(source), str(tmp_path / "y.tfrecord")]) == 1
    assert f"sample {at}: 'cls' has {max(numbers)}, which is more than" in capsys.readouterr().err


def test_dates_of_arrays_keep_their_unit_and_their_gaps(tmp_path: Path) -> None:
    days = np.array(["2020-01-02", "NaT", "1969-12-31"], "M8[D]")
    convert(arrays(tmp_path, days, days), tmp_path / "y.parquet", verify=True)
    got = pq.read_table(tmp_path / "y.parquet")["data"].to_pylist()
    assert got == [days.tolist()] * 2
    with pytest.raises(
        TypeError, match=r"sample 1: 'data' is datetime64\[ms\], and datetime64\[D\]"
    ):
        convert(arrays(tmp_path, days, days.astype("M8[ms]")), tmp_path / "z.parquet")


DATES = {
    "zone": pa.timestamp("us", "Europe/Berlin"),
    "ns": pa.timestamp("ns"),
    "day": pa.date32(),
    "time": pa.time32("ms"),
    "long": pa.time64("us"),
    "for": pa.duration("s"),
}


def dates() -> pa.Table:
    columns = {}
    for name, kind in DATES.items():
        counts = pa.array([0, 3000, None, 86_399_000], pa.int32() if "32" in str(kind) else None)
        made = counts.view(kind)
        columns[name] = made
        columns[f"{name} lists"] = pa.ListArray.from_arrays([0, 1, 1, 3, 4], made)
        pairs = pa.concat_arrays([made, made])
        columns[f"{name} pairs"] = pa.FixedSizeListArray.from_arrays(pairs, 2)
    columns["at"] = pa.StructArray.from_arrays([columns["zone"]], ["when"])
    return pa.table(columns)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_dates_of_tables_keep_their_types(tmp_path: Path, ending: str) -> None:
    what, source = dates(), tmp_path / f"x.{ending}"
    if ending == "parquet":
        pq.write_table(what, source)
    else:
        feather.write_feather(what, source)
    done = convert(source, tmp_path / "y.parquet", shard_size=3, verify=True)
    got = pa.concat_tables(pq.read_table(name) for name in done.files)
    for name, kind in DATES.items():
        assert got.schema.field(name).type == kind
        assert got.schema.field(f"{name} lists").type == pa.list_(kind)
        assert got.schema.field(f"{name} pairs").type == pa.list_(kind, 2)
    plain = what.flatten()
    assert got.schema.field("at.when").type == DATES["zone"]
    for name in plain.schema.names:
        assert got[name].combine_chunks() == plain[name].combine_chunks(), name


def test_verification_notices_that_a_zone_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = pa.array([1, 2], pa.timestamp("us", "UTC"))
    made = _columns.schema_of

    def without(source: Any) -> Any:
        return pa.schema([("when", pa.timestamp("us"))] if made(source) else [])

    monkeypatch.setattr(_parquet_writer, "schema_of", without)
    fails(table(tmp_path / "x.parquet", when=times), tmp_path / "y.parquet")


# Zarr


def test_arrays_in_groups_are_found_again(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["train/x"] = np.arange(10.0)
        file["a/b/c"] = np.arange(20).reshape(10, 2)
        file["lab"] = np.arange(10)
    convert(tmp_path / "g.h5", tmp_path / "g.zarr", shard_size=4, verify=True)
    ds = ps.open(tmp_path / "g.zarr")
    assert sorted(ds.fields) == ["a/b/c", "lab", "train/x"]
    assert [sample["train/x"].item() for sample in ds] == list(range(10))
    zarr = pytest.importorskip("zarr")
    store = zarr.open_group(tmp_path / "g.zarr", mode="r")
    assert store["a"]["b"]["c"][3].tolist() == [6, 7]
    assert sorted(store["train"].array_keys()) == ["x"]


def test_an_array_is_never_a_group(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{"x": np.arange(3), "x/c": np.arange(3)})
    with pytest.raises(ValueError, match="'x/c' would lie in 'x', which is an array, too"):
        convert(tmp_path / "a.npz", tmp_path / "a.zarr")
    np.savez(tmp_path / "b.npz", **{"x/zarr.json": np.arange(3)})
    with pytest.raises(ValueError, match=r"'x/zarr\.json' cannot be the name of an array"):
        convert(tmp_path / "b.npz", tmp_path / "b.zarr")


# Lists and maps

KEPT: dict[str, tuple[Any, Any]] = {
    "texts": ([["a\0", None], [], ["é"]], pa.list_(pa.string())),
    "map": ([[("a", 1)], [], [("b", 2)]], pa.map_(pa.string(), pa.int64())),
    "numbers": ([[(2**60 + 1, 1 / 3)], [], []], pa.map_(pa.int64(), pa.float64())),
    "lists": ([[[1 / 3, 1e300], []], [], [[float("inf")]]], pa.list_(pa.list_(pa.float64()))),
    "even": ([[[1, 2], [3, 4]]] * 3, pa.list_(pa.list_(pa.uint64()))),
    "structs": ([[{"a": 1, "b": "x"}], [], [{"a": None, "b": None}]], None),
}


@pytest.mark.parametrize("name", KEPT)
def test_lists_and_maps_are_json_in_a_tar(tmp_path: Path, name: str) -> None:
    values, kind = KEPT[name]
    source = table(tmp_path / "x.parquet", v=pa.array(values, kind))
    convert(source, tmp_path / "x.tar", verify=True)
    got = [sample["v.json"] for sample in ps.open(tmp_path / "x.tar").decode("json")]
    assert got == json.loads(json.dumps(values))  # pairs are lists there
    convert(source, tmp_path / "y.parquet", verify=True)
    assert pq.read_table(tmp_path / "y.parquet")["v"].to_pylist() == values
    with pytest.raises(TypeError, match=r"sample 0: 'v' is a list with .* choose other fields"):
        convert(source, tmp_path / "x.tfrecord")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[b"a\0", b"bb"], [b"c"]], pa.list_(pa.binary())),
        ([[("a", b"b")], []], pa.map_(pa.string(), pa.binary())),
    ],
)
def test_bytes_in_lists_are_refused_where_nothing_keeps_them(
    tmp_path: Path, values: Any, kind: Any
) -> None:
    source = table(tmp_path / "x.parquet", v=pa.array(values, kind))
    with pytest.raises(
        TypeError, match=r"sample 0: 'v' is a list with bytes in it, .* write \.parquet"
    ):
        convert(source, tmp_path / "x.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


# Verification


def fails(source: Path, target: Path, **options: Any) -> None:
    with pytest.raises(ValueError, match="verification failed"):
        convert(source, target, verify=True, **options)


def test_verification_compares_values_not_encodings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way of writing is made to lose something; reading back must show it."""
    source = table(
        tmp_path / "x.parquet",
        n=[1, 2, 3],
        x=pa.array([0.5, 1.5, 2.5], pa.float32()),
        t=["a", "b", "c"],
        l=pa.array([[1, 2], [3], []], pa.list_(pa.int32())),
    )
    member, plain, feature = _tar_members.member_of, _columns._arrays, _examples._feature
    for field, change in {
        "n": lambda value: np.asarray(value + 1),
        "x": lambda value: np.asarray(np.nextafter(value, np.float32(9))),
        "t": lambda value: value + " ",
        "l": lambda value: value[:-1] if len(value) else np.zeros(1, "i4"),
    }.items():
        one = table(tmp_path / "one.parquet", **{field: pq.read_table(source)[field]})
        with monkeypatch.context() as patch:
            patch.setattr(_writers, "member_of", lambda value, c=change: member(c(value)))
            fails(one, tmp_path / f"{field}.tar")
            patch.setattr(_examples, "_feature", lambda n, v, c=change: feature(n, c(v)))
            fails(one, tmp_path / f"{field}.tfrecord")
            if field != "t":
                patch.setattr(
                    _columns,
                    "_arrays",
                    lambda n, v, *more, c=change: plain(n, [c(value) for value in v], *more),
                )
                fails(one, tmp_path / f"{field}-.parquet")


@pytest.mark.parametrize("ending", ["zarr", "npy"])
def test_verification_reads_arrays_as_anybody_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    np.save(tmp_path / "x.npy", np.arange(10.0))
    part_of = _array_writers.ArrayWriter.part_of

    def changed(self: Any, batches: Any) -> Any:
        return {name: array + 1e-9 for name, array in part_of(self, batches).items()}

    with monkeypatch.context() as patch:
        patch.setattr(_array_writers.ArrayWriter, "part_of", changed)
        fails(tmp_path / "x.npy", tmp_path / f"y.{ending}")
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["train/x"] = np.arange(10.0)
        file["lab"] = np.arange(10)
    if ending == "zarr":
        monkeypatch.setattr(_array_writers.ZarrWriter, "_groups", lambda self: [""])
        fails(tmp_path / "g.h5", tmp_path / "g.zarr")


def test_verification_reads_the_labels_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = bytes(io.encode_image(np.zeros((4, 4, 3), np.uint8), "png"))
    source = table(tmp_path / "x.parquet", image=[image] * 3, label=[0, 1, 2])
    named = _tree_writers.image_file

    def wrong(position: int, sample: Any, digits: int) -> Any:
        return named(position, {**sample, "label": int(sample["label"]) // 2}, digits)

    monkeypatch.setattr(_tree_writers, "image_file", wrong)
    fails(source, tmp_path / "out", to="folder")


def test_verification_notices_rows_of_a_table_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = table(tmp_path / "x.parquet", n=[1, 2, 3])
    made = _parquet_writer.table_of
    monkeypatch.setattr(_parquet_writer, "table_of", lambda *given: made(*given).slice(0, 2))
    fails(source, tmp_path / "y.parquet")
