"""Records in Zarr 3 as "struct", as newer releases of zarr-python write it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from arrays import assert_rows


def struct_store(path: Path, endian: str, data: bytes, fields: list[Any], fill: Any) -> Path:
    """One chunk of two records, and one that is missing."""
    metadata = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": {"name": "struct", "configuration": {"fields": fields}},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": endian}}],
        "attributes": {},
    }
    (path / "c").mkdir(parents=True)
    (path / "zarr.json").write_text(json.dumps(metadata))
    (path / "c" / "0").write_bytes(data)
    return path


@pytest.mark.parametrize(("endian", "order"), [("little", "<"), ("big", ">")])
def test_structs_have_named_fields_and_a_fill_value_for_each(
    endian: str, order: str, tmp_path: Path
) -> None:
    text = {"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}
    fields = [
        {"name": "a", "data_type": "float32"},
        {"name": "b", "data_type": "int16"},
        {"name": "s", "data_type": text},
    ]
    dtype = np.dtype([("a", f"{order}f4"), ("b", f"{order}i2"), ("s", "S3")])
    rows = np.array([(1.5, -2, b"ab"), (2.5, 300, b"c")] + [(0.5, 7, b"xyz")] * 2, dtype)
    fill = {"a": 0.5, "b": 7, "s": "eHl6"}
    path = struct_store(tmp_path / "x.zarr", endian, rows[:2].tobytes(), fields, fill)
    assert_rows(ps.open(path), data=rows)
    for i, wrong in enumerate([{**fill, "a": "x"}, {**fill, "s": "eHl6eHl6"}]):
        bad = struct_store(tmp_path / f"bad{i}.zarr", endian, b"", fields, wrong)
        with pytest.raises(ValueError, match="fill value is wrong"):
            ps.open(bad)


def test_structs_in_structs_are_read_as_they_are_written(tmp_path: Path) -> None:
    inner = [{"name": "x", "data_type": "uint16"}, {"name": "y", "data_type": "float64"}]
    fields = [
        {"name": "a", "data_type": "int32"},
        {"name": "n", "data_type": {"name": "struct", "configuration": {"fields": inner}}},
    ]
    rows = np.array(
        [(1, (2, 3.5)), (4, (5, 6.5))] + [(7, (8, 9.5))] * 2,
        [("a", "<i4"), ("n", [("x", "<u2"), ("y", "<f8")])],
    )
    fill = {"a": 7, "n": {"x": 8, "y": 9.5}}
    path = struct_store(tmp_path / "x.zarr", "little", rows[:2].tobytes(), fields, fill)
    assert_rows(ps.open(path), data=rows)
    other = struct_store(tmp_path / "y.zarr", "big", rows[:2].tobytes(), fields, fill)
    with pytest.raises(NotImplementedError, match="struct"):
        ps.open(other)


def test_records_of_version_2_may_be_big_endian(tmp_path: Path) -> None:
    rows = np.array([(1.5, -2), (2.5, 300)], [("a", ">f4"), ("b", ">i2")])
    metadata = {
        "zarr_format": 2,
        "shape": [2],
        "chunks": [2],
        "dtype": [["a", ">f4"], ["b", ">i2"]],
        "compressor": None,
        "fill_value": None,
        "order": "C",
        "filters": None,
    }
    (tmp_path / ".zarray").write_text(json.dumps(metadata))
    (tmp_path / "0").write_bytes(rows.tobytes())
    assert_rows(ps.open(tmp_path, format="zarr"), data=rows)
