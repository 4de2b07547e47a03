"""What a hostile review found: files and arguments that nobody makes by accident, or hardly."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from penstock import io

zarr = pytest.importorskip("zarr")


def windows(path: Path, **options: Any) -> list[tuple[list[int], int]]:
    ds = ps.open(path, format="tokens", **options)
    return [(sample["tokens"].tolist(), int(sample["document"])) for sample in ds]


@pytest.mark.parametrize("stride", [6, 10, 20, 10**8, 2**63 - 1, 2**64 - 1])
def test_windows_of_documents_with_gaps_between_them(tmp_path: Path, stride: int) -> None:
    path = tmp_path / "t.bin"
    np.arange(1, 11, dtype="uint16").tofile(path)
    one = windows(path, window=3, stride=stride, documents=[[0]])
    rest = [([7, 8, 9], 0)] if stride == 6 else []
    assert one == [([1, 2, 3], 0), *rest]
    two = windows(path, window=3, stride=stride, documents=[[0, 5]])
    assert two == [([1, 2, 3], 0), ([6, 7, 8], 1)]


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (70_000, "no token of uint16"),
        (-1, "no token of uint16"),
        ([np.zeros(0, int)], "no document"),
        ([np.array([0, 2.7])], "whole numbers"),
        ([np.array([[0], [2]])], "one dimension"),
        ([np.array([0, -2])], "begins at token -2"),
    ],
)
def test_documents_that_cannot_be(tmp_path: Path, documents: Any, words: str) -> None:
    path = tmp_path / "t.bin"
    np.arange(10, dtype="uint16").tofile(path)
    with pytest.raises(ps.PlanError, match=words):
        ps.open(path, format="tokens", window=3, documents=documents)


def test_documents_of_a_url_are_not_looked_for() -> None:
    with pytest.raises(ps.PlanError, match="read as a whole"):
        ps.open("http://127.0.0.1:1/t.bin", format="tokens", window=3, documents=0)


def test_shapes_of_features_that_overflow(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with io.TFRecordWriter(path) as writer:
        writer.write_example({"x": [1.0, 2.0]})
    for shape in ("[][4294967296,4294967296]", "[4294967296,4294967296]"):
        with pytest.raises(ValueError, match="more values than there can be"):
            ps.open(path, fields={"x": f"float{shape}"})


def test_the_sidecar_of_another_tfrecord_file(tmp_path: Path) -> None:
    """Of the same size and time; lengths differ."""

    def write(name: str, lengths: list[int]) -> Path:
        path = tmp_path / name
        with io.TFRecordWriter(path) as writer:
            for i, length in enumerate(lengths):
                writer.write(bytes([65 + i]) * length)
        return path

    for number, lengths in enumerate(([30, 20, 10], [20, 10, 30])):
        first = write(f"a{number}.tfrecord", [10, 20, 30])
        second = write(f"b{number}.tfrecord", lengths)
        assert len(ps.open(first)) == 3  # makes the sidecar
        times = first.stat()
        os.utime(second, ns=(times.st_atime_ns, times.st_mtime_ns))
        shutil.copy(f"{first}.psidx", f"{second}.psidx")
        for verify in (True, False):
            with pytest.raises(ValueError, match="index --refresh"):
                ps.open(second, verify=verify)


def test_a_sidecar_of_another_format(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    with io.TFRecordWriter(path) as writer:
        writer.write(b"x" * 2000)
    for checksums in (False, True):
        assert len(ps.open(path, checksums=checksums)) == 1
        with pytest.raises(ValueError, match="index --refresh"):
            ps.open(path, format="tar")
        os.remove(f"{path}.psidx")


def changed(path: Path, name: str = "zarr.json", **members: Any) -> Path:
    """Of an array of Zarr: members of its metadata."""
    file = path / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **members}))
    return path


@pytest.mark.parametrize("side", [2**32, 2**40])
def test_shards_with_more_chunks_than_there_can_be(tmp_path: Path, side: int) -> None:
    path = tmp_path / "a.zarr"
    zarr.create_array(path, shape=(4, 4), chunks=(1, 1), shards=(2, 2), dtype="i4")[...] = 1
    metadata = json.loads((path / "zarr.json").read_text())
    metadata["codecs"][0]["configuration"]["index_codecs"] = [{"name": "bytes"}]
    grid = {"name": "regular", "configuration": {"chunk_shape": [side, side]}}
    changed(path, chunk_grid=grid, codecs=metadata["codecs"])
    (path / "c/0/0").write_bytes(bytes(64))
    with pytest.raises(ValueError, match="more chunks than there can be"):
        ps.open(path)


def test_metadata_that_is_nested_deeply(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    zarr.create_array(path, shape=(4,), chunks=(2,), dtype="i4", zarr_format=2)
    dtype = '"<i4"'
    for _ in range(20_000):
        dtype = f'[["a",{dtype}]]'
    plain = (path / ".zarray").read_text()
    text = json.dumps({**json.loads(plain), "dtype": "HERE"}).replace('"HERE"', dtype)
    (path / ".zarray").write_text(text)
    with pytest.raises(ValueError, match="nested too deeply"):
        ps.open(path)
    (path / ".zarray").write_text(plain)
    deep = "[" * 200_000 + "]" * 200_000
    (path / ".zattrs").write_text(f'{{"a": {deep}}}')
    inside = f'{{"metadata": {{".zarray": {plain}, ".zattrs": {{"a": {deep}}}}}}}'
    group = tmp_path / "g.zarr"
    group.mkdir()
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    (group / ".zmetadata").write_text(inside)
    with pytest.raises(ValueError, match="nested too deeply"):
        ps.open(group)


@pytest.mark.parametrize("kind", ["M8[ns]", "m8[s]", ">M8[us]", "f4", "U3", "S3", "?", "i4", "c8"])
@pytest.mark.parametrize("version", [2, 3])
def test_chunks_that_are_missing_without_a_fill_value(
    tmp_path: Path, kind: str, version: int
) -> None:
    path = tmp_path / "a.zarr"
    options = {"fill_value": None} if version == 2 else {}
    if version == 3 and kind in ("U3", "S3"):
        pytest.skip("not in the specification")
    zarr.create_array(path, shape=(4,), chunks=(2,), dtype=kind, zarr_format=version, **options)
    expected = np.asarray(zarr.open_array(path, mode="r")[...])
    found = np.stack([sample["data"] for sample in ps.open(path)])
    assert found.tolist() == expected.tolist() or np.isnat(found).all() == np.isnat(expected).all()


def test_true_as_the_fill_value_of_a_float(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    zarr.create_array(path, shape=(4,), chunks=(2,), dtype="f4", zarr_format=2)
    changed(path, ".zarray", fill_value=True)
    assert [float(sample["data"]) for sample in ps.open(path)] == [1.0] * 4


def test_extensions_of_zarr_that_must_be_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    zarr.create_array(path, shape=(4,), chunks=(2,), dtype="i4")[...] = np.arange(4)
    changed(path, hint={"must_understand": False, "name": "x"})
    assert [int(sample["data"]) for sample in ps.open(path)] == [0, 1, 2, 3]
    plain = (path / "zarr.json").read_text()
    for other in (
        {"storage_transformers": [{"name": "x"}]},
        {"packed": {"must_understand": True, "name": "x"}},
        {"packed": {"name": "x"}},
    ):
        changed(path, **other)
        with pytest.raises(NotImplementedError, match=next(iter(other))):
            ps.open(path)
        (path / "zarr.json").write_text(plain)


def npy(descr: str, shape: str) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (64 - (len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)


@pytest.mark.parametrize("descr", ["'|S0'", "'<U0'", "'|V0'", "[]"])
@pytest.mark.parametrize("shape", ["(3,)", "(4611686018427387904,)"])
def test_arrays_of_nothing(tmp_path: Path, descr: str, shape: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(descr, shape))
    expected, found = np.load(path), io.load_npy(path)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    with pytest.raises(NotImplementedError, match=r"a\.npy.* have no bytes"):
        ps.open(path)


@pytest.mark.parametrize("shape", ["(4294967296, 4294967296)", "(4611686018427387904, 0)"])
def test_arrays_larger_than_memory_addresses(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy("[('a', '<i4')]", shape))
    with pytest.raises(ValueError, match=r"not a \.npy array.*file .*a\.npy"):
        io.load_npy(path)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("a.tfrecord", {"window": 4, "stride": 2}, "window= is for arrays"),
        ("a.npy", {"checksums": True}, "checksums= is for tar"),
        ("a.zarr", {"checksums": True}, "checksums= is for tar"),
        ("a.zarr", {"mmap": True}, "mmap= is for tar"),
        ("a.zarr", {"dtype": "uint32"}, "dtype= is for"),
        ("a.npy", {"pad": 3}, "pad= is for"),
        ("a.npy", {"filter": [("x", ">", 1)]}, r"filter\(\) of their own"),
        ("a.npy", {"documents": 0}, "documents= is for"),
        ("a.zarr", {"fields": {"data": "int32"}}, "names only"),
        ("a.tfrecord", {"fields": "label"}, r"give a list: \['label'\]"),
    ],
)
def test_arguments_that_would_be_ignored(
    tmp_path: Path, name: str, options: dict[str, Any], words: str
) -> None:
    path = tmp_path / name
    if name == "a.tfrecord":
        with io.TFRecordWriter(path) as writer:
            writer.write_example({"label": 1})
    elif name == "a.npy":
        np.save(path, np.arange(10))
    else:
        zarr.create_array(path, shape=(4,), chunks=(2,), dtype="i4")[...] = 1
    with pytest.raises(ps.PlanError, match=words):
        ps.open(path, **options)


def test_fields_of_npy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(10))
    assert len(ps.open(tmp_path / "a.npy", fields=["data"])) == 10
    with pytest.raises(KeyError, match="no field 'imagee'"):
        ps.open(tmp_path / "a.npy", fields=["imagee"])


def rows(ds: ps.Dataset) -> list[Any]:
    return [next(iter(sample.values())) for sample in ds]


def test_nulls_inside_lists_of_tables(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"l": [[1, None], [2], []], "m": [[1], None, [3]]}), path)
    with pytest.raises(ValueError, match=r'nulls=\{"l": 0\}'):
        rows(ps.open(path, fields=["l"]))
    assert [row.tolist() for row in rows(ps.open(path, fields=["l"], nulls={"l": 7}))] == [
        [1, 7],
        [2],
        [],
    ]
    assert [row.tolist() for row in rows(ps.open(path, fields=["m"], nulls={"m": [9]}))] == [
        [1],
        [9],
        [3],
    ]


def test_tensors_of_tables_have_their_shape(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    values = np.arange(120, dtype="f4").reshape(10, 3, 2, 2)
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(values)
    parquet.write_table(pa.table({"x": column}), path, row_group_size=3)
    assert np.array_equal(np.stack(rows(ps.open(path))), values)
    batches = [batch["x"] for batch in ps.open(path).batch(4).loader()]
    assert np.array_equal(np.concatenate(batches), values)
    kind = pa.fixed_shape_tensor(pa.float32(), [2, 3], permutation=[1, 0])
    storage = pa.array([list(range(6))], pa.list_(pa.float32(), 6))
    turned = pa.ExtensionArray.from_storage(kind, storage)
    parquet.write_table(pa.table({"x": turned}), path)
    with pytest.raises(NotImplementedError, match="permuted"):
        ps.open(path)


def test_names_in_tables(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a.b": [1, 2], "a": [{"b": 5}, {"b": 6}]}), path)
    with pytest.raises(ValueError, match=r"two columns 'a\.b'"):
        ps.open(path)
    parquet.write_table(pa.table({"__row": [5, 6, 7], "__row_": [1, 2, 3]}), path)
    kept = ps.open(path, filter=[("__row", ">", 5)])
    assert [(int(s["__row"]), int(s["__row_"])) for s in kept] == [(6, 2), (7, 3)]
    with pytest.raises(ps.PlanError, match="the filter cannot be used"):
        ps.open(path, filter=[("q", ">", 5)])
