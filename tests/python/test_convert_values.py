"""`penstock convert` keeps values, or says which it cannot keep."""

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from convert_files import table, write_tar
from penstock import io
from penstock.cli import main
from penstock.convert import convert


def picture(i: int, format: str = "png") -> bytes:
    return bytes(io.encode_image(np.full((8, 8, 3), i, np.uint8), format))


def test_images_of_all_kinds_have_one_field(tmp_path: Path) -> None:
    kinds = ["jpeg", "png", "webp"]
    for i in range(9):
        path = tmp_path / "photos" / "ab"[i % 2] / f"{i}.{kinds[i % 3]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(i, kinds[i % 3]))
    done = convert(tmp_path / "photos", tmp_path / "x.tar", verify=True)
    ds = ps.open(done.files)
    assert ds.fields == ["__key__", "jpg", "cls"]
    assert [sample["jpg"].shape for sample in ds.decode_image("jpg")] == [(8, 8, 3)] * 9
    source = [bytes(sample["image"]) for sample in ps.open(tmp_path / "photos")]
    assert [bytes(sample["jpg"]) for sample in ds] == source


def test_a_column_named_path_stays_a_column(tmp_path: Path) -> None:
    source = table(tmp_path / "x.parquet", path=[7, 8], t=["a", "b"])
    convert(source, tmp_path / "x.tar", verify=True)
    got = list(ps.open(tmp_path / "x.tar").decode("cls"))
    assert [int(sample["path.cls"]) for sample in got] == [7, 8]
    assert [sample["__key__"] for sample in got] == ["000000000", "000000001"]
    source = table(tmp_path / "y.parquet", path=["", "/etc/x"])
    convert(source, tmp_path / "y.tar", verify=True)
    assert [bytes(sample["path.txt"]) for sample in ps.open(tmp_path / "y.tar")] == [b"", b"/etc/x"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [1, 2], "a.cls": [3, 4]}, "sample 0: the fields 'a' and 'a.cls' would both be"),
        ({"label": [1, 2], "cls": [3, 4]}, "sample 0: the fields 'label' and 'cls' would both"),
        ({"t": ["a", None]}, r"sample 1 has no value in any field \(t\)"),
        ({"a/b": [1, 2]}, "sample 0: the field 'a/b' would not be read back"),
        ({"Label": [1, 2]}, "sample 0: the field 'Label' would not be read back"),
        ({"A": [1, 2], "a": [1, 2]}, "sample 0: the field 'A' would not be read back"),
        ({"__key__": ["dir", "dir/"], "a": [1, 2]}, "sample 1: the key 'dir/' cannot be"),
        ({"__key__": ["../../etc/x", "b"], "a": [1, 2]}, r"sample 0: the key '\.\./\.\./etc/x'"),
        ({"__key__": ["a/../../x", "b"], "a": [1, 2]}, r"sample 0: the key 'a/\.\./\.\./x'"),
        ({"__key__": ["/abs/y", "b"], "a": [1, 2]}, "sample 0: the key '/abs/y'"),
        ({"__key__": ["", "b"], "a": [1, 2]}, "sample 0: the key ''"),
    ],
)
def test_what_a_tar_would_lose_is_refused(
    tmp_path: Path, columns: dict[str, Any], words: str
) -> None:
    table(tmp_path / "x.parquet", **columns)
    with pytest.raises(ValueError, match=words):
        convert(tmp_path / "x.parquet", tmp_path / "x.tar")
    assert os.listdir(tmp_path) == ["x.parquet"]


def test_keys_never_meet(tmp_path: Path) -> None:
    keys = ["a-000000002", "a", "a", "a", "./b", "c.d"]
    source = table(tmp_path / "x.parquet", __key__=keys, n=list(range(6)))
    convert(source, tmp_path / "x.tar", verify=True)
    got = list(ps.open(tmp_path / "x.tar").decode("cls"))
    assert [int(sample["n.cls"]) for sample in got] == list(range(6))
    assert [sample["__key__"] for sample in got[4:]] == ["./b", "c_d"]


@pytest.mark.parametrize("columns", [1, 2])
def test_shards_of_tables_have_one_schema(tmp_path: Path, columns: int) -> None:
    kinds = {
        "n": pa.list_(pa.list_(pa.int64())),
        "m": pa.map_(pa.string(), pa.int64()),
        "b": pa.binary(),
        "t": pa.large_string(),
        "v": pa.string_view(),
        "w": pa.list_(pa.string()),
        "x": pa.list_(pa.int32(), 2),
    }
    rows: dict[str, list[Any]] = {
        "n": [[], None, [[]], [], [], [[1, 2], []]],
        "m": [[], None, [], [], [], [("a", 1)]],
        "b": [None] * 5 + [b"x"],
        "t": [None] * 5 + ["x"],
        "v": [None] * 6,
        "w": [[], [], [], None, [None], ["a"]],
        "x": [[1, 2]] * 6,
    }
    source = tmp_path / "x.parquet"
    made = {name: pa.array(rows[name], kind) for name, kind in kinds.items()}
    made["v"] = pa.array(rows["v"], pa.string())
    pq.write_table(pa.table(made), source)
    done = convert(source, tmp_path / "y.parquet", shard_size=columns, verify=True)
    schemas = [pq.read_schema(name) for name in done.files]
    assert all(schema.equals(schemas[0]) for schema in schemas)
    assert schemas[0].field("m").type == kinds["m"]
    assert schemas[0].field("n").type == kinds["n"]
    together = pa.concat_tables([pq.read_table(name) for name in done.files])
    assert together.drop(["x"]).to_pylist() == pa.table(made).drop(["x"]).to_pylist()
    assert len(ps.open(done.files)) == 6


def test_shards_of_uneven_samples_have_one_schema(tmp_path: Path) -> None:
    samples = [{"cls": b"1"}] * 4 + [{"cls": b"2", "txt": b"x"}, {"txt": b"y", "x.npy": npy([3])}]
    source = write_tar(tmp_path / "x.tar", samples[:-1])
    done = convert(source, tmp_path / "y.parquet", shard_size=2, verify=True)
    texts = [sample["txt"] for sample in ps.open(done.files, fields=["txt"])]
    assert texts == [None, None, None, None, "x"]
    write_tar(tmp_path / "z.tar", samples)
    with pytest.raises(TypeError, match=r"'x\.npy' is missing in some samples"):
        convert(tmp_path / "z.tar", tmp_path / "z.parquet")


def npy(value: Any) -> bytes:
    file = BytesIO()
    np.save(file, np.asarray(value))
    return file.getvalue()


@pytest.mark.parametrize("ending", ["tar", "tfrecord", "parquet"])
def test_uneven_samples_do_not_depend_on_shards(tmp_path: Path, ending: str) -> None:
    samples = [{"txt": b"hi", "cls": b"%d" % i} for i in range(20)]
    samples += [{"cls": b"1", "bin": b"\0"} for _ in range(20)]
    source = write_tar(tmp_path / "m.tar", samples)
    one = convert(source, tmp_path / f"one.{ending}", verify=True)
    ten = convert(source, tmp_path / f"ten.{ending}", shard_size=7, verify=True)
    assert one.samples == ten.samples == 40
    if ending == "tar":
        for done in (one, ten):
            got = [
                {k: bytes(v) for k, v in s.items() if k != "__key__"} for s in ps.open(done.files)
            ]
            assert got == samples
    if ending == "parquet":
        tables = [pa.concat_tables(pq.read_table(f) for f in done.files) for done in (one, ten)]
        assert tables[0].equals(tables[1])
        assert tables[0]["txt"].null_count == 20
    source = write_tar(tmp_path / "bad.tar", [{"cls": b"1"}] * 7 + [{"cls": b"cat"}])
    for size in (None, 3):
        target = tmp_path / f"bad{size}.{ending}"
        if ending == "tar":
            convert(source, target, shard_size=size)
        else:
            with pytest.raises(ValueError, match="'cls' of sample 0007: b'cat' is not a"):
                convert(source, target, shard_size=size)
            assert convert(source, target, shard_size=size, on_error="skip", overwrite=True).skipped


def test_arrays_come_back_from_a_tar(tmp_path: Path) -> None:
    x = np.arange(60, dtype="i4").reshape(20, 3)
    np.save(tmp_path / "x.npy", x)
    convert(tmp_path / "x.npy", tmp_path / "x.tar", shard_size=8)
    shards = str(tmp_path / "x-*.tar")
    for ending in ("npy", "zarr", "parquet", "tfrecord"):
        convert(shards, tmp_path / f"y.{ending}", verify=True)
    assert np.array_equal(np.load(tmp_path / "y.npy"), x)
    for ending in ("zarr", "parquet", "tfrecord"):
        got = [sample["data.npy"] for sample in ps.open(tmp_path / f"y.{ending}")]
        assert np.array_equal(got, x)
    with pytest.raises(ValueError, match="'__key__' is text"):
        convert(shards, tmp_path / "z.zarr", fields=["__key__", "data.npy"])


def test_rows_of_several_types_are_not_cast(tmp_path: Path) -> None:
    for i, other in enumerate((np.float64(1.5), np.float32([1, 2]))):
        source = write_tar(
            tmp_path / f"{i}.tar", [{"x.npy": npy(np.float32(1))}, {"x.npy": npy(other)}]
        )
        with pytest.raises(ValueError, match=r"x\.npy"):
            convert(source, tmp_path / "y.npy")


def test_images_of_a_folder_need_no_fields_for_arrays(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for i in range(3):
        (tmp_path / "photos" / f"{i}.png").write_bytes(picture(i))
    convert(tmp_path / "photos", tmp_path / "x.npy", image_size=(4, 4), verify=True)
    assert np.load(tmp_path / "x.npy").shape == (3, 4, 4, 3)


def images(path: Path, labels: list[Any]) -> Path:
    return table(path, image=[picture(i) for i in range(len(labels))], label=labels)


def test_labels_that_a_folder_would_change_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = images(tmp_path / "x.parquet", [5, 2, 5, 9, 100000])
    arguments = ["convert", str(source), f"{tmp_path}/out/"]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "labels go up to 100000, but none is 0" in said
    assert "--renumber" in said
    assert not list(tmp_path.glob("out*"))
    assert main([*arguments, "--renumber", "--verify"]) == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["000002", "000005", "000009", "100000"]
    assert [sample["label"] for sample in ps.open(tmp_path / "out")] == [0, 1, 1, 2, 3]
    for i, bad in enumerate(([0, -1], [0.5, 1.0], [0, 1])):
        source = images(tmp_path / f"{i}.parquet", bad)
        if i < 2:
            with pytest.raises(
                (ValueError, TypeError), match=r"a label is -1|the label is float64"
            ):
                convert(source, f"{tmp_path}/{i}/", renumber=True)
        else:
            convert(source, f"{tmp_path}/{i}/")
    with pytest.raises(ValueError, match="sample 1 has no label"):
        convert(images(tmp_path / "t.parquet", ["a", None]), f"{tmp_path}/t/")
    convert(images(tmp_path / "u.parquet", ["b", "a"]), f"{tmp_path}/u/")
    assert sorted(os.listdir(tmp_path / "u")) == ["a", "b"]


def test_labels_of_tars_and_examples_are_looked_at(tmp_path: Path) -> None:
    samples = [{"png": picture(i), "cls": b"%d" % label} for i, label in enumerate([0, 3])]
    source = write_tar(tmp_path / "x.tar", samples)
    with pytest.raises(ValueError, match="none is 1"):
        convert(source, f"{tmp_path}/out/")
    with io.TFRecordWriter(tmp_path / "x.tfrecord") as writer:
        writer.write_example({"image": picture(0), "label": b"cat"})
    with pytest.raises(TypeError, match="label=text"):
        convert(tmp_path / "x.tfrecord", f"{tmp_path}/out/")
    fields = {"image": "bytes", "label": "text"}
    convert(tmp_path / "x.tfrecord", f"{tmp_path}/out/", fields=fields)
    assert os.listdir(tmp_path / "out") == ["cat"]


ODD = {
    "complex64": np.arange(6).astype("c8").reshape(3, 2),
    "complex128": np.arange(3).astype("c16"),
    "text": np.array(["ab", "c", "dé"]),
    "bytes": np.array([b"ab", b"c", b"d"]),
    "dates": np.arange(3).astype("M8[s]"),
    "spans": np.arange(3).astype("m8[ms]"),
    "float128": np.arange(3).astype("g"),
    "struct": np.array([(1, 2.5), (2, 3.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
}


@pytest.mark.parametrize("name", ODD)
def test_arrays_of_all_types_go_to_npy(tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "x.npy", ODD[name])
    convert(tmp_path / "x.npy", tmp_path / "y.npy", shuffle=None, verify=True)
    got = np.load(tmp_path / "y.npy")
    assert got.dtype == ODD[name].dtype
    assert np.array_equal(got, ODD[name])
    if "complex" in name:
        convert(tmp_path / "x.npy", tmp_path / "y.zarr", verify=True)
        zarr = pytest.importorskip("zarr")
        assert np.array_equal(
            zarr.open_group(tmp_path / "y.zarr", mode="r")["data"][...], ODD[name]
        )
    else:
        with pytest.raises(ValueError, match=r"'data' has values of type .* write \.npy"):
            convert(tmp_path / "x.npy", tmp_path / "y.zarr")


def test_words_about_types_are_true(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npy", ODD["complex64"])
    with pytest.raises(TypeError, match=r"complex64, .* or write \.npy$"):
        convert(tmp_path / "c.npy", tmp_path / "c.parquet")
    np.save(tmp_path / "g.npy", ODD["float128"])
    with pytest.raises(TypeError, match="'data' is float128, which an Example cannot hold"):
        convert(tmp_path / "g.npy", tmp_path / "g.tfrecord")


def test_inspect_lists_fields_of_later_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_tar(tmp_path / "x.tar", [{"cls": b"1"}, {"txt": b"a", "cls": b"2"}])
    assert main(["inspect", str(source), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["fields"]
    assert [one["name"] for one in found] == ["__key__", "cls", "txt"]
    assert main(["inspect", str(source)]) == 0
    assert "txt      not in the first sample" in capsys.readouterr().out


def test_the_command_takes_formats_types_windows_and_several_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with io.TFRecordWriter(tmp_path / "v.tfrecord") as writer:
        for i in range(4):
            writer.write_example({"ids": list(range(i + 1)), "box": [0.5] * 4})
    source = str(tmp_path / "v.tfrecord")
    assert main(["convert", source, str(tmp_path / "v.parquet")]) == 1
    target = str(tmp_path / "w.parquet")
    assert main(["convert", source, target, "--fields", "ids=int64[],box=float[2,2]"]) == 0
    got = list(ps.open(target))
    assert [sample["ids"].tolist() for sample in got] == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    assert got[0]["box"].shape == (2, 2)
    for wrong in ("ids=int64[],box", "a,,b", "=int64"):
        with pytest.raises(SystemExit):
            main(["convert", source, target, "--fields", wrong])
    np.arange(10, dtype="u4").tofile(tmp_path / "t.data")
    tokens = ["--format", "tokens", "--dtype", "uint32", "--window", "4", "--stride", "3"]
    assert main(["convert", str(tmp_path / "t.data"), str(tmp_path / "t.npy"), *tokens]) == 0
    assert np.load(tmp_path / "t.npy").tolist() == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]
    for i in range(3):
        table(tmp_path / f"{i}.parquet", n=[i])
    sources = [str(tmp_path / f"{i}.parquet") for i in range(3)]
    assert main(["convert", *sources, str(tmp_path / "all.npy"), "--verify"]) == 0
    assert np.load(tmp_path / "all.npy").tolist() == [0, 1, 2]
    (tmp_path / "x.odd").write_text("")
    capsys.readouterr()
    assert main(["convert", str(tmp_path / "x.odd"), target]) == 1
    assert "give --format, one of" in capsys.readouterr().err


def test_files_of_one_name_are_two_samples(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "0.png").write_bytes(picture(0))
    convert([tmp_path / "one/0.png", tmp_path / "two/0.png"], tmp_path / "x.tar", verify=True)
    assert [sample["__key__"] for sample in ps.open(tmp_path / "x.tar")] == ["0", "0-000000001"]


@pytest.mark.parametrize("bad", [0, 2])
@pytest.mark.parametrize("ending", ["npy", "zarr"])
def test_arrays_have_no_holes_whichever_sample_is_bad(
    tmp_path: Path, ending: str, bad: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photos").mkdir()
    for i in range(4):
        picture = bytes(io.encode_image(np.full((8, 8, 3), i, np.uint8), "png"))
        (tmp_path / "photos" / f"{i}.png").write_bytes(b"no picture" if i == bad else picture)
    target = tmp_path / f"x.{ending}"
    arguments = ["convert", str(tmp_path / "photos"), str(target), "--image-size", "8x8"]
    arguments += ["--fields", "image"]
    assert main([*arguments, "--on-error", "skip"]) == 1
    said = capsys.readouterr().err
    assert "sample could not be read" in said
    assert "arrays have no holes: write shards, or mend the source" in said
    assert main(arguments) == 1  # then it is the sample's own error
    said = capsys.readouterr().err
    assert f"{bad}.png" in said
    assert "mend the source" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]
