"""Parquet and Arrow files: values as pyarrow has them, and what bad files get."""

import os
import pickle
import sys
import threading
from decimal import Decimal
from pathlib import Path

import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from penstock.data import PlanError

ROWS = 1000
NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(7)
    columns = {kind: pa.array(rng.integers(0, 100, rows), kind) for kind in NUMBERS}
    for kind in ("float16", "float32", "float64"):
        columns[kind] = pa.array(rng.random(rows).astype(kind))
    columns["flag"] = pa.array(rng.random(rows) < 0.5)
    columns["text"] = pa.array([f"row {i} é" if i % 7 else "" for i in range(rows)])
    columns["raw"] = pa.array([bytes(rng.integers(0, 256, i % 50, "u1")) for i in range(rows)])
    columns["fixed"] = pa.array([b"%04d" % i for i in range(rows)], pa.binary(4))
    columns["tokens"] = pa.array([list(range(i % 9)) for i in range(rows)], pa.list_(pa.uint16()))
    flat = pa.array(rng.random(rows * 6).astype("f4"))
    inner = pa.FixedSizeListArray.from_arrays(flat, 3)
    columns["box"] = pa.FixedSizeListArray.from_arrays(inner, 2)
    columns["kind"] = pa.array([["cat", "dog"][i % 2] for i in range(rows)]).dictionary_encode()
    columns["large"] = pa.array([f"{i}" for i in range(rows)], pa.large_string())
    return pa.table(columns)


def write(path: Path, what: pa.Table, format: str, **options: object) -> str:
    if format == "parquet":
        pq.write_table(what, path, **{"row_group_size": 64, **options})
    elif format == "feather":
        feather.write_feather(what, path, chunksize=64, **options)
    else:
        with pa.ipc.new_stream(path, what.schema) as stream:
            stream.write_table(what, max_chunksize=64)
    return str(path)


def plain(value: object) -> object:
    if isinstance(value, memoryview):
        return bytes(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def same(sample: dict[str, object], row: dict[str, object]) -> bool:
    return {name: plain(value) for name, value in sample.items()} == row


@pytest.fixture(params=["parquet", "feather", "arrow"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, pa.Table]:
    what = table()
    return write(tmp_path / f"x.{request.param}", what, request.param), what


def test_every_row_is_what_pyarrow_has(stored: tuple[str, pa.Table]) -> None:
    name, what = stored
    ds = ps.open(name)
    assert len(ds) == ROWS
    assert ds.fields == what.column_names
    rows = what.to_pylist()
    assert all(same(ds[i], rows[i]) for i in range(0, ROWS, 17))
    some = [999, 0, 63, 64]
    assert all(same(one, rows[i]) for one, i in zip(ds[some], some, strict=True))
    assert ds[5]["int16"].dtype == np.int16
    assert ds[5]["box"].shape == (2, 3)
    assert [int(one["int64"]) for one in ds[10:20]] == what["int64"][10:20].to_pylist()


def test_batches_are_the_columns(stored: tuple[str, pa.Table]) -> None:
    name, what = stored
    loader = ps.open(name).batch(96, collate={"tokens": "ragged"}).loader(threads=2)
    parts: dict[str, list[object]] = {}
    for batch in loader:
        assert list(batch) == what.column_names
        for field, value in batch.items():
            parts.setdefault(field, []).append(value)
    for kind in [*NUMBERS, "float16", "float32", "float64", "flag"]:
        got = np.concatenate(parts[kind])
        assert got.dtype == (bool if kind == "flag" else kind)
        assert np.array_equal(got, what[kind].to_numpy())
    assert np.concatenate(parts["box"]).tolist() == what["box"].to_pylist()
    for field in ("text", "kind", "large"):
        assert [one for part in parts[field] for one in part] == what[field].to_pylist()
    assert [bytes(one) for part in parts["raw"] for one in part] == what["raw"].to_pylist()
    lists = [
        part.values[a:b].tolist()
        for part in parts["tokens"]
        for a, b in zip(part.offsets, part.offsets[1:], strict=False)
    ]
    assert lists == what["tokens"].to_pylist()


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_compressions(tmp_path: Path, compression: str) -> None:
    what = table(300)
    name = write(tmp_path / "x.parquet", what, "parquet", compression=compression)
    batch = next(iter(ps.open(name, fields=["int64", "box"]).batch(300).loader()))
    assert np.array_equal(batch["int64"], what["int64"].to_numpy())


def test_shuffle_shard_resume_and_windows(tmp_path: Path) -> None:
    what = table()
    names = []
    for i in range(4):
        part = what.slice(i * 250, 250)
        names.append(write(tmp_path / f"x-{i}.parquet", part, "parquet"))
    ds = ps.open(str(tmp_path / "x-*.parquet"), fields=["int64", "text"])
    texts = what["text"].to_pylist()
    assert len(ds) == ROWS
    assert ds[601]["text"] == texts[601]
    assert len(ps.open(str(tmp_path), format="parquet")) == ROWS

    def read(ds: ps.Dataset, **options: object) -> list[str]:
        return [text for batch in ds.batch(32).loader(**options) for text in batch["text"]]

    once = read(ds.shuffle(seed=3), threads=1)
    assert once == read(ds.shuffle(seed=3), threads=4) != texts
    assert sorted(once) == sorted(texts)
    halves = [read(ds.shuffle(seed=3).shard(r, 2), threads=2) for r in range(2)]
    assert sorted(halves[0] + halves[1])[:10] == sorted(texts)[:10]
    near = ps.open(names, fields=["text"], chunk_cache="1MB").shuffle(seed=1, window=128)
    assert sorted(read(near, threads=1)) == sorted(texts)
    assert near._leaves()[0].chunks_loaded <= 20  # of 16: each about once

    loader = ds.shuffle(seed=3).batch(32).loader()
    first = [text for _, batch in zip(range(5), loader, strict=False) for text in batch["text"]]
    token = loader.state_dict()
    other = pickle.loads(pickle.dumps(ds)).shuffle(seed=3).batch(50).loader(threads=3)
    other.load_state_dict(token)
    assert first + [text for batch in other for text in batch["text"]] == once


def test_projection_renaming_and_steps_on_some_columns(tmp_path: Path) -> None:
    name = write(tmp_path / "x.parquet", table(), "parquet")
    ds = ps.open(name, fields=["text", "int32", "flag", "tokens"])
    assert ds.fields == ["text", "int32", "flag", "tokens"]
    chosen = ds.select("flag", "text", "int32").rename(int32="label")
    batch = next(iter(chosen.batch(8).loader()))
    assert list(batch) == ["flag", "text", "label"]
    assert batch["label"].dtype == np.int32
    numbers = next(iter(ds.select("int32").batch(8).loader()))
    assert list(numbers) == ["int32"]
    mapped = ds.map(lambda s: {"double": s["int32"] * 2, "text": s["text"]})
    got = next(iter(mapped.batch(8).loader()))
    assert got["double"].tolist() == (batch["label"] * 2).tolist()
    both = ds.select("int32").concat(ds.select("int32").take(3))
    assert len(both) == ROWS + 3
    assert both[ROWS + 2]["int32"] == ds[2]["int32"]
    listed = next(iter(ds.select("int32").batch(4, collate="list").loader()))
    assert [int(one) for one in listed["int32"]] == batch["label"][:4].tolist()
    odd = ds.filter(lambda s: s["int32"] % 2 == 1)
    assert all(sample["int32"] % 2 == 1 for sample in odd)


def test_filters_prune_groups_and_leave_exact_lengths(tmp_path: Path) -> None:
    what = pa.table({"i": range(1000), "t": [f"{i % 10}" for i in range(1000)]})
    name = write(tmp_path / "x.parquet", what, "parquet")
    ds = ps.open(name, filter=[("i", ">=", 500), ("t", "in", ["3", "4"])])
    expected = [i for i in range(500, 1000) if i % 10 in (3, 4)]
    assert [int(one["i"]) for one in ds] == expected
    assert len(ds) == 100
    either = ps.open(name, filter=[[("i", "<", 5)], [("i", ">", 997)]])
    assert [int(one["i"]) for one in either] == [0, 1, 2, 3, 4, 998, 999]
    assert either._leaves()[0].chunks_loaded == 2  # of sixteen groups
    assert len(ps.open(name, filter=pc.field("i") < 7)) == 7
    assert len(ps.open(name, filter=[("i", ">", 10**6)])) == 0
    shuffled = [int(i) for batch in ds.shuffle(seed=1).batch(7).loader() for i in batch["i"]]
    assert sorted(shuffled) == expected
    whole = ps.open(name).batch(10).loader()
    token = next(iter(whole)) and whole.state_dict()
    with pytest.raises(ValueError, match="data"):
        ds.batch(10).loader().load_state_dict(token)  # other data
    with pytest.raises(PlanError, match="filter"):
        ps.open(name, filter=[("i", "~", 3)])
    with pytest.raises((PlanError, ValueError), match="nowhere"):
        ps.open(name, filter=[("nowhere", "=", 3)])
    feathered = write(tmp_path / "x.feather", what, "feather")
    assert len(ps.open(feathered, filter=[("i", "<", 70)])) == 70


def test_nulls(tmp_path: Path) -> None:
    what = pa.table(
        {
            "x": pa.array([1, None, 3], pa.int64()),
            "t": pa.array(["a", None, "c"]),
            "l": pa.array([[1.0], None, [2.0, None]], pa.list_(pa.float32())),
        }
    )
    name = write(tmp_path / "x.parquet", what, "parquet")
    ds = ps.open(name, fields=["x", "t"])
    assert ds[0] == {"x": 1, "t": "a"}
    with pytest.raises(ValueError, match=r"column 'x' is null here.*nulls=.*row group 0, row 1"):
        ds[1]
    loader = ds.batch(3).loader(on_error="skip")
    assert [batch["x"].tolist() for batch in loader] == [[1, 3]]
    assert "'x' is null" in str(loader.errors()[0].error)
    filled = next(iter(ps.open(name, fields=["x", "t"], nulls={"x": -1}).batch(3).loader()))
    assert filled["x"].tolist() == [1, -1, 3]
    assert filled["t"] == ["a", None, "c"]
    replaced = next(iter(ds.batch(3).loader(on_error="replace")))
    assert replaced["x"].tolist()[::2] == [1, 3]
    assert replaced["x"][1] in (1, 3)
    lists = ps.open(name, fields=["l"], nulls={"l": []})
    assert lists[1]["l"].tolist() == []
    with pytest.raises(ValueError, match="column 'l' is null"):
        lists[2]


def test_types_that_samples_do_not_have_are_named(tmp_path: Path) -> None:
    what = pa.table(
        {
            "when": pa.array([1, 2], pa.timestamp("ms")),
            "price": pa.array([Decimal("1.50"), Decimal("2.25")]),
            "prices": pa.array([[("a", Decimal(1))], []], pa.map_(pa.string(), pa.decimal128(3))),
            "x": [1, 2],
        }
    )
    name = write(tmp_path / "x.parquet", what, "parquet")
    for fields, column, kind in (
        (None, "price", "decimal"),
        (["price"], "price", "decimal"),
        (["prices"], "prices", "map<"),
    ):
        with pytest.raises(
            NotImplementedError, match=rf"x\.parquet: column '{column}' is {kind}.*fields="
        ):
            ps.open(name, fields=fields)
    ds = ps.open(name, fields={"when": "int64", "price": "float64", "x": "float32"})
    assert next(iter(ds.batch(2).loader()))["price"].tolist() == [1.5, 2.25]
    assert ds[1]["when"] == 2
    assert ds[1]["x"].dtype == np.float32
    with pytest.raises(KeyError, match="no column 'y'; it has: when, price, prices, x"):
        ps.open(name, fields=["y"])
    with pytest.raises(PlanError, match="no such type"):
        ps.open(name, fields={"x": "number"})


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_other_lists_and_maps_are_pythons(format: str, tmp_path: Path) -> None:
    pairs = pa.map_(pa.string(), pa.list_(pa.int32()))
    what = pa.table(
        {
            "words": [["a", "é"], [], None, ["b", None]],
            "bytes": [[b"x"], [b""], [], [b"y", b"z"]],
            "nested": [[[1, 2], [3]], [[4]], [], [[5], []]],
            "structs": [[{"x": 1, "y": "q"}]] * 4,
            "map": pa.array([[("k", [1, 2])], [], [("l", [])], None], pairs),
            "part": [{"tags": ["t"] * i} for i in range(4)],
            "label": [1, 2, 3, 4],
        }
    )
    ds = ps.open(write(tmp_path / f"x.{format}", what, format))
    lists = ["words", "bytes", "nested", "structs", "map"]
    for i, row in enumerate(what.to_pylist()):
        sample = ds[i]
        assert {name: sample[name] for name in lists} == {name: row[name] for name in lists}
        assert sample["part.tags"] == row["part"]["tags"]
    (batch,) = ds.shuffle(seed=1).batch(4).loader()
    for at, label in enumerate(batch["label"]):
        assert batch["nested"][at] == what["nested"].to_pylist()[label - 1]
    again = pickle.loads(pickle.dumps(ds.select("words", "label")))
    assert [sample["words"] for sample in again] == what["words"].to_pylist()
    assert "values(words" in ds.explain()


def test_pictures_in_structs(tmp_path: Path) -> None:
    picture = np.full((8, 8, 3), 200, "u1")
    data = bytes(ps.io.encode_image(picture, "png"))
    what = pa.table({"image": [{"bytes": data, "path": None}] * 5, "label": range(5)})
    name = write(tmp_path / "x.parquet", what, "parquet")
    ds = ps.open(name, fields=["image", "label"])
    assert ds.fields == ["image.bytes", "image.path", "label"]
    batch = next(iter(ds.decode_image(size=(4, 4)).batch(5).loader()))
    assert batch["image.bytes"].shape == (5, 4, 4, 3)
    assert (batch["image.bytes"] == 200).all()
    assert batch["label"].tolist() == [0, 1, 2, 3, 4]
    chosen = ds.decode_image(size=(4, 4)).select("label", "image.bytes").rename(label="y")
    assert list(next(iter(chosen.batch(2).loader()))) == ["y", "image.bytes"]


def test_empty_files(tmp_path: Path) -> None:
    for format in ("parquet", "feather"):
        name = write(tmp_path / f"x.{format}", table().slice(0, 0), format)
        ds = ps.open(name)
        assert len(ds) == 0
        assert list(ds.batch(4).loader()) == []


def test_damage_is_named_and_costs_its_group_only(tmp_path: Path) -> None:
    what = pa.table({"x": np.arange(1000), "t": [f"{i}" * 20 for i in range(1000)]})
    name = write(
        tmp_path / "x.parquet", what, "parquet", write_page_checksum=True, use_dictionary=False
    )
    group = pq.ParquetFile(name).metadata.row_group(3).column(1)
    sound = Path(name).read_bytes()
    damaged = bytearray(sound)
    damaged[group.data_page_offset + group.total_compressed_size // 2] ^= 0xFF
    Path(name).write_bytes(damaged)
    ds = ps.open(name)
    with pytest.raises(ValueError, match=r"row group 3 cannot be read.*x\.parquet"):
        ds[3 * 64]
    assert ds[0]["x"] == 0
    loader = ds.batch(50).loader(on_error="skip", max_errors=100, threads=2)
    got = [int(x) for batch in loader for x in batch["x"]]
    assert got == [i for i in range(1000) if i // 64 != 3]
    assert len(loader.errors()) == 64
    assert len([x for b in ps.open(name, fields=["x"]).batch(50).loader() for x in b["x"]]) == 1000
    for cut in (0, 3, 10, len(sound) // 2, len(sound) - 1):
        Path(name).write_bytes(sound[:cut])
        with pytest.raises(ValueError, match=r"x\.parquet"):
            ps.open(name)


@pytest.mark.parametrize("format", ["parquet", "feather", "arrow"])
def test_a_name_that_is_no_text_is_damage(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{format}"
    write(path, pa.table({"columnname": [1, 2], "b": [3, 4]}), format)
    path.write_bytes(path.read_bytes().replace(b"columnname", b"column\xffame"))
    with pytest.raises(ValueError, match=rf"corrupt.*x\.{format}") as caught:
        ps.open(path)
    assert type(caught.value) is ValueError


def test_flipped_bytes_never_crash(tmp_path: Path) -> None:
    what = pa.table({"x": np.arange(200), "t": [f"row {i}" for i in range(200)]})
    for format in ("parquet", "feather", "arrow"):
        options = {"write_page_checksum": True} if format == "parquet" else {}
        name = write(tmp_path / f"x.{format}", what, format, **options)
        sound = Path(name).read_bytes()
        rng = np.random.default_rng(3)
        for at in rng.integers(0, len(sound), 60):
            damaged = bytearray(sound)
            damaged[at] ^= 1 << rng.integers(8)
            Path(name).write_bytes(damaged)
            try:
                for batch in ps.open(name).batch(64).loader(on_error="skip", max_errors=1000):
                    assert len(batch["x"]) == len(batch["t"])
            except (ValueError, OSError, NotImplementedError):
                pass


def test_a_file_that_changes_while_in_use(tmp_path: Path) -> None:
    name = write(tmp_path / "x.parquet", table(), "parquet")
    ds = ps.open(name, fields=["int64"])
    write(tmp_path / "x.parquet", table(10), "parquet")
    with pytest.raises(OSError, match="changed while it was in use"):
        ds[999]


@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_a_file_that_shrinks_while_in_use(format: str, tmp_path: Path) -> None:
    name = write(tmp_path / f"x.{format}", table(), format)
    ds = ps.open(name, fields=["int64"])
    os.truncate(name, os.path.getsize(name) // 3)
    with pytest.raises((OSError, ValueError), match=rf"x\.{format}"):
        ds[999]
    with pytest.raises((OSError, ValueError), match=rf"x\.{format}"):
        list(ds.batch(100).loader(threads=2))


def test_what_does_not_fit_together(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", pa.table({"x": [1]}), "parquet")
    write(tmp_path / "b.parquet", pa.table({"x": ["1"]}), "parquet")
    with pytest.raises(PlanError, match=r"column 'x' is int64 in the first file; in .*b.parquet"):
        ps.open(str(tmp_path / "*.parquet"))
    with pytest.raises(PlanError, match="filter= is for Parquet"):
        ps.open(str(tmp_path), format="tar", filter=[("x", "=", 1)])


def test_without_pyarrow_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write(tmp_path / "x.parquet", table(10), "parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match="pip install pyarrow"):
        ps.open(name)


def test_memory_stays_within_the_cache(tmp_path: Path) -> None:
    what = pa.table({"x": np.arange(400_000, dtype="i8")})
    name = write(tmp_path / "x.parquet", what, "parquet", row_group_size=10_000)
    ds = ps.open(name, chunk_cache="200KB")
    total = sum(int(batch["x"].sum()) for batch in ds.batch(1000).loader(threads=3))
    assert total == 400_000 * 399_999 // 2
    leaf = ds._leaves()[0]
    assert leaf.chunk_bytes <= 200_000
    assert leaf.chunks_loaded <= 45


def test_a_loop_that_waits_never_reads_tables_itself(tmp_path, monkeypatch):
    # What a signal raises there would be taken for a damaged group, which is then lost for good.
    from penstock.data import _arrow

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": np.arange(20_000)}), path, row_group_size=100)
    by: set[str] = set()
    read = _arrow.ParquetReader.read

    def noted(self, *given):
        by.add(threading.current_thread().name)
        return read(self, *given)

    monkeypatch.setattr(_arrow.ParquetReader, "read", noted)
    batches = ps.open(path).shuffle(window=1000, seed=1).batch(10).loader(threads=1)
    assert sum(len(batch["x"]) for batch in batches) == 20_000
    assert by
    assert threading.main_thread().name not in by
