"""Columns of tables in other types, values for nulls, columns beyond 2 GiB, streams on demand."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from penstock.data import PlanError
from penstock.data._arrow_casts import _converted, joined


def stored(path: Path, what: pa.Table, **options: object) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(what, path, **options)
    else:
        with pa.ipc.new_file(path, what.schema) as writer:
            writer.write_table(what)
    return path


def test_nulls_are_filled_in_a_program_that_knows_no_more_of_pyarrow(tmp_path: Path) -> None:
    path = stored(tmp_path / "x.arrow", pa.table({"x": pa.array([1, None, 3])}))
    code = "import sys, penstock as ps; print([int(s['x']) for s in ps.open(sys.argv[1], "
    code += "nulls={'x': -1})])"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.stdout == "[1, -1, 3]\n", done.stderr


FIXED = pa.list_(pa.int16(), 2)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (pa.array([1, None]), 1.5),
        (pa.array([1, None]), "abc"),
        (pa.array([1, None]), True),
        (pa.array([1, None], pa.uint8()), 256),
        (pa.array([1.0, None], pa.float32()), 1e300),
        (pa.array([True, None]), 2),
        (pa.array(["a", None]), 5),
        (pa.array([[1, 2], None], FIXED), [1, 2, 3]),
        (pa.array([[1, 2], [None, 1]], FIXED), 0.5),
        (pa.array([[1], None]), [0.5]),
        (pa.array([["a"], None]), [5]),
    ],
)
def test_a_value_that_cannot_stand_for_nulls_is_a_slip(
    column: pa.Array, value: object, tmp_path: Path
) -> None:
    path = stored(tmp_path / "x.arrow", pa.table({"x": column}))
    with pytest.raises(PlanError, match=r"nulls=\{'x': .*\}: column 'x' is "):
        ps.open(path, nulls={"x": value})


def test_values_for_nulls_have_the_type_that_is_read(tmp_path: Path) -> None:
    what = pa.table(
        {
            "x": pa.array([1, None, 3]),
            "word": pa.array(["a", None, "a"]).dictionary_encode(),
            "box": pa.array([[1, None], None, [3, 4]], FIXED),
            "deep": pa.array([[["a", None], None], [], None], pa.list_(pa.list_(pa.string()))),
        }
    )
    path = stored(tmp_path / "x.arrow", what)
    fields = {"x": "float32", "word": "string"}
    ds = ps.open(path, fields=fields, nulls={"x": np.float32(0.5), "word": "none"})
    assert [float(one["x"]) for one in ds] == [1, 0.5, 3]
    assert [one["word"] for one in ds] == ["a", "none", "a"]
    rows = ps.open(path, fields=["box", "deep"], nulls={"box": np.array([8, 9]), "deep": []})
    assert rows[1]["box"].tolist() == [8, 9]
    inside = ps.open(path, fields=["deep"], nulls={"deep": "q"})
    assert inside[0]["deep"] == [["a", "q"], None]
    assert inside[2]["deep"] is None
    gaps = ps.open(path, fields=["box"], nulls={"box": 7})
    assert gaps[0]["box"].tolist() == [1, 7]
    assert gaps[2]["box"].tolist() == [3, 4]


def test_a_type_that_no_value_can_have_is_a_slip(tmp_path: Path) -> None:
    what = pa.table(
        {
            "list": [[1], [2]],
            "price": pa.array([Decimal("1.50"), Decimal("2.00")]),
            "count": pa.array([Decimal(3), Decimal(4)], pa.decimal128(9, 0)),
            "struct": [{"a": 1}, {"a": 2}],
            "x": [1, 300],
        }
    )
    path = stored(tmp_path / "x.parquet", what)
    for name, word in (("list", "int64"), ("x", "null"), ("price", "timestamp[s]")):
        with pytest.raises(PlanError, match=f"column '{name}' is .* cannot be read as"):
            ps.open(path, fields={name: word})
    with pytest.raises(PlanError, match=r"'struct' is a struct.*its parts, struct\.a"):
        ps.open(path, fields={"struct": "int64"})
    with pytest.raises(NotImplementedError, match=r'\'price\' is decimal.*"price": "float64"}'):
        ps.open(path, fields=["price"])
    with pytest.raises(NotImplementedError, match=r'\'count\' is decimal.*"count": "int64"}'):
        ps.open(path, fields=["count"])
    advised = ps.open(path, fields={"price": "float64", "count": "int64"})
    assert [(float(one["price"]), int(one["count"])) for one in advised] == [(1.5, 3), (2, 4)]


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [("x", "int8", "300"), ("price", "int64", "Rescaling"), ("text", "int64", "abc")],
)
def test_a_value_that_does_not_fit_the_type_asked_for_is_named(
    name: str, word: str, value: str, tmp_path: Path
) -> None:
    what = pa.table({"x": [1, 300], "price": [Decimal("1.5")] * 2, "text": ["1", "abc"]})
    ds = ps.open(stored(tmp_path / "x.parquet", what), fields={name: word})
    with pytest.raises(ValueError, match=rf"column '{name}' is .* asked for as {word};.*{value}"):
        ds[1]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.list_(pa.int8())])
def test_a_column_too_large_for_offsets_of_32_bits_gets_larger_ones(kind: pa.DataType) -> None:
    value: object = [1, 2, 3] if kind.num_fields else "abc"
    chunks = [pa.array([value, None, value], kind)] * 3
    assert joined(chunks, kind).type == kind
    whole = joined(chunks, kind, limit=20)
    assert "large" in str(whole.type)
    assert whole.to_pylist() == joined(chunks, kind).to_pylist()


def test_so_does_one_that_is_large_once_its_dictionary_is_gone() -> None:
    chunks = [pa.array(words).dictionary_encode() for words in (["a", "bcd", "a"], ["e"] * 9)]
    coded = pa.chunked_array(chunks)
    whole = _converted(coded, pa.string(), limit=8)
    assert whole.type == pa.large_string()
    assert whole.to_pylist() == coded.to_pylist()
    view = pa.chunked_array([pa.array(["a long text in a view"] * 2, pa.string_view())])
    assert _converted(view, pa.string(), limit=8).type == pa.large_string()
    assert _converted(view, pa.string(), limit=2**20).type == pa.string()


def test_a_column_may_be_large_in_one_group_of_rows_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.data import _arrow, _arrow_casts

    texts = [f"text {i}" * (1 + 99 * (i > 9)) for i in range(20)]
    path = stored(tmp_path / "x.parquet", pa.table({"t": texts}), row_group_size=10)
    read = _arrow.ParquetReader.read

    def in_chunks(self, group, columns):
        found = read(self, group, columns)
        return pa.concat_tables([found.slice(0, 5), found.slice(5)])

    kinds = []
    join = _arrow_casts.joined

    def noted(chunks, wanted):
        made = join(chunks, wanted, limit=500)
        kinds.append(made.type)
        return made

    monkeypatch.setattr(_arrow.ParquetReader, "read", in_chunks)
    monkeypatch.setattr(_arrow_casts, "joined", noted)
    assert [one["t"] for one in ps.open(path)] == texts
    assert kinds == [pa.string(), pa.large_string()]


def test_structs_that_pyarrow_reads_in_pieces_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pa.table({"image": [{"bytes": b"%d" % i, "path": f"{i}"} for i in range(100)]})
    path = stored(tmp_path / "x.parquet", what)
    iter_batches = pq.ParquetFile.iter_batches

    def too_large(*given, **options):
        raise pa.ArrowNotImplementedError("Nested data conversions not implemented")

    def in_small_pieces(self, rows, **options):
        return too_large() if rows > 3 else iter_batches(self, rows, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", too_large)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", in_small_pieces)
    ds = ps.open(path)
    assert [int(bytes(one["image.bytes"])) for one in ds] == list(range(100))
    assert ds[99]["image.path"] == "99"


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_each_batch_of_a_stream_has_its_own_dictionaries(
    compression: str | None, tmp_path: Path
) -> None:
    def batch(words: list[str], others: list[str]) -> pa.RecordBatch:
        made = [pa.array(column).dictionary_encode() for column in (words, others)]
        return pa.record_batch([*made, pa.array(range(len(words)))], names=["a", "b", "i"])

    batches = [
        batch(["x", "y"], ["p", "q"]),
        batch(["x", "y", "z"], ["p", "q", "p"]),  # adds to one of them
        batch(["new", "y"], ["p", "q"]),  # replaces it
        batch(["new", "y", "more"], ["r", "p", "q"]),
        batch(["x", "y"], ["p", "q"]),
    ]
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
    path = tmp_path / "x.arrow"
    with pa.ipc.new_stream(path, batches[0].schema, options=options) as writer:
        for one in batches:
            writer.write_batch(one)
    with pa.ipc.open_stream(path) as reader:
        rows = [row for one in reader for row in one.to_pylist()]
    ds = ps.open(path)
    assert [{**one, "i": int(one["i"])} for one in ds] == rows
    for i in (11, 6, 3, 0, 8):  # in any order
        assert ds[i]["a"] == rows[i]["a"]
    chosen = ps.open(path, fields=["b"], filter=[("a", "=", "new")])
    assert [one["b"] for one in chosen] == [row["b"] for row in rows if row["a"] == "new"]


@pytest.mark.parametrize("adds", [True, False])
def test_threads_read_batches_of_a_stream_in_any_order(adds: bool, tmp_path: Path) -> None:
    words, path = ["w"], tmp_path / "x.arrow"
    kind = pa.schema([("d", pa.dictionary(pa.int8(), pa.string())), ("i", pa.int64())])
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=adds)
    wanted = []
    with pa.ipc.new_stream(path, kind, options=options) as writer:
        for i in range(60):
            if i % 7 == 6:
                words = [*words, f"w{i}"] if adds else [f"v{i}", f"w{i}"]
            picked = [(i + j) % len(words) for j in range(5)]
            coded = pa.DictionaryArray.from_arrays(pa.array(picked, pa.int8()), pa.array(words))
            writer.write_batch(pa.record_batch([coded, pa.array([i] * 5)], schema=kind))
            wanted += [(words[j], i) for j in picked]
    ds = ps.open(path, chunk_cache=1)

    def some(seed: int) -> bool:
        order = np.random.default_rng(seed).permutation(len(wanted))
        return all((ds[i]["d"], int(ds[i]["i"])) == wanted[i] for i in order)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(some, range(8)))
    (batch,) = ds.batch(len(wanted)).loader(threads=4)
    assert list(zip(batch["d"], batch["i"].tolist(), strict=True)) == wanted


def test_a_packed_stream_is_unpacked_a_batch_at_a_time(tmp_path: Path) -> None:
    what = pa.table({"x": np.zeros(250_000)})
    path = tmp_path / "x.arrow"
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(path, what.schema, options=options) as writer:
        for _ in range(64):  # 128 MB
            writer.write_table(what)
    code = """if True:
        import sys, penstock as ps, pyarrow as pa
        ds = ps.open(sys.argv[1], chunk_cache="16MB")
        opened = pa.default_memory_pool().max_memory()
        rows = sum(len(batch["x"]) for batch in ds.batch(1000).loader(threads=2))
        print(rows, opened, pa.default_memory_pool().max_memory())
    """
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    rows, opened, most = map(int, done.stdout.split())
    assert rows == 64 * 250_000
    assert opened < 1_000_000
    assert most < 40_000_000


def test_a_stream_that_is_not_packed_stays_mapped(tmp_path: Path) -> None:
    what = pa.table({"raw": [b"x" * 1_000_000] * 20})
    path = tmp_path / "x.arrow"
    with pa.ipc.new_stream(path, what.schema) as writer:
        writer.write_table(what)
    before = pa.total_allocated_bytes()
    sample = ps.open(path)[19]
    assert bytes(sample["raw"]) == b"x" * 1_000_000
    assert pa.total_allocated_bytes() - before < 1_000_000
