"""`penstock inspect` of what begins with samples that cannot be read: the rest is told."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from penstock import io
from penstock.cli import main


def table(x: list[int | None]) -> pa.Table:
    rows = len(x)
    return pa.table(
        {
            "x": pa.array(x),
            "text": ["abc"] * rows,
            "day": pa.array(range(rows), pa.date32()),
            "deep": [[[1]]] * rows,
            "v": [[1, 2]] * rows,
        }
    )


def test_a_null_number_in_the_first_row_is_told_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(table([None, 5, None]), path)
    assert main(["inspect", str(path)]) == 0
    told = capsys.readouterr().out
    assert "parquet, 3 samples" in told
    assert "x     int64 number" in told
    assert "text  text, 3 bytes" in told
    assert "sample 0 cannot be read: invalid argument: column 'x' is null here" in told
    assert main(["inspect", str(path), "--samples", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["sample"] for one in found["unread"]] == [0, 2]
    assert all(one["null"] for one in found["unread"])
    assert [one["text"] for one in found["first"]] == ["'abc'"]
    assert main(["inspect", str(path), "--samples", "3"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("sample 0 cannot") < shown.index("sample 1\n") < shown.index("sample 2 cann")


def test_fields_are_those_declared_if_no_sample_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(table([None] * 2).set_column(0, "x", pa.nulls(2, pa.int64())), path)
    assert main(["inspect", str(path)]) == 0
    told = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["x", "int64 number"] in told
    assert ["text", "text"] in told
    assert ["day", "datetime64[D] number"] in told
    assert ["deep", "list"] in told
    assert ["v", "int64 [any]"] in told


def test_damage_is_told_and_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.parquet"
    what = pa.table({"x": np.arange(1000), "text": ["abcdefg"] * 1000})
    options = {"use_dictionary": False, "write_page_checksum": True}
    pq.write_table(what, path, **options)
    damaged = bytearray(path.read_bytes())
    damaged[100] ^= 0xFF
    path.write_bytes(damaged)
    assert main(["inspect", str(path)]) == 1
    told = capsys.readouterr()
    assert "parquet, 1,000 samples" in told.out
    assert "x     int64 number" in told.out
    assert "sample 0 cannot be read: corrupt: row group 0" in told.out
    assert told.err.startswith("penstock inspect: sample 0 cannot be read: corrupt: row group 0")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_damaged_first_record_is_told(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import gzip

    path = tmp_path / "x.tfrecord"
    with io.TFRecordWriter(path) as writer:
        for _ in range(3):
            writer.write(b"record")
    damaged = bytearray(path.read_bytes())
    damaged[13] ^= 1
    (tmp_path / f"x.tfrecord{ending}").write_bytes(
        gzip.compress(bytes(damaged)) if ending else damaged
    )
    assert main(["inspect", str(tmp_path / f"x.tfrecord{ending}")]) == 1
    told = capsys.readouterr()
    assert "tfrecord, " in told.out
    assert "sample 0 cannot be read" in told.out
    assert "sample 0 cannot be read" in told.err
