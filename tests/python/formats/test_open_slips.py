"""What is wrong with the arguments of open() is said alike for all formats, when it is called."""

import io as pyio
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import zarr
from penstock import io


def tar(path: Path) -> None:
    with tarfile.open(path, "w") as file:
        member = tarfile.TarInfo("0.x")
        member.size = 1
        file.addfile(member, pyio.BytesIO(b"1"))


def tfrecord(path: Path) -> None:
    with io.TFRecordWriter(path) as writer:
        writer.write_example({"x": 1})


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(9)


def zarr_group(path: Path) -> None:
    group = zarr.create_group(path)
    group.create_array("x", shape=(9,), chunks=(3,), dtype="i4")[...] = np.arange(9)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "a.tar": tar,
    "a.tfrecord": tfrecord,
    "a.h5": hdf5,
    "a.zarr": zarr_group,
    "a.npz": lambda path: np.savez(path, x=np.arange(9)),
    "a.parquet": lambda path: parquet.write_table(pa.table({"x": [1, 2]}), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_field_that_is_named_twice(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    assert "x" in ps.open(tmp_path / name, fields=["x"]).fields
    with pytest.raises(ps.PlanError, match="fields names 'x' 2 times"):
        ps.open(tmp_path / name, fields=["x", "x"])
    with pytest.raises(ps.PlanError, match="fields has 3 in it"):
        ps.open(tmp_path / name, fields=["x", 3])  # type: ignore[list-item]
    if name in ("a.tfrecord", "a.parquet"):
        assert ps.open(tmp_path / name, fields={"x": "int64"})[0]["x"] == 1


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.h5", "a.zarr", "a.bin"])
def test_windows_of_no_whole_number_of_rows(tmp_path: Path, name: str) -> None:
    made = WRITERS | {"a.npy": lambda path: np.save(path, np.arange(9))}
    made["a.bin"] = lambda path: np.arange(9, dtype="u2").tofile(path)
    made[name](tmp_path / name)
    format = "tokens" if name == "a.bin" else None
    for wrong in (2.5, "3", True, 0, -1, 2**70):
        with pytest.raises(ps.PlanError, match="open: window is"):
            ps.open(tmp_path / name, format, window=wrong)  # type: ignore[arg-type]
        with pytest.raises(ps.PlanError, match="open: stride is"):
            ps.open(tmp_path / name, format, window=3, stride=wrong)  # type: ignore[arg-type]
    assert len(ps.open(tmp_path / name, format, window=np.int64(3))) == 3  # type: ignore[arg-type]
    if format is not None:
        with pytest.raises(ps.PlanError, match="open: pad is"):
            ps.open(tmp_path / name, format, window=3, pad=1.5)  # type: ignore[arg-type]
