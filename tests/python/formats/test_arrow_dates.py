"""Dates, times and durations in tables: NumPy's values, row by row, or the integers they are."""

import datetime
from pathlib import Path

import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from penstock.data import PlanError

KINDS = {
    **{f"at_{unit}": (pa.timestamp(unit), f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "utc": (pa.timestamp("us", "Europe/Berlin"), "M8[us]"),
    "day": (pa.date32(), "M8[D]"),
    "midnight": (pa.date64(), "M8[ms]"),
    "time_s": (pa.time32("s"), "m8[s]"),
    "time_ns": (pa.time64("ns"), "m8[ns]"),
    **{f"for_{unit}": (pa.duration(unit), f"m8[{unit}]") for unit in ("s", "ms", "us", "ns")},
}
DAY = 86_400_000


def values(name: str) -> list[int | None]:
    return [0, DAY if name == "midnight" else 3, None, 5 * DAY if name == "midnight" else 77]


def array(name: str) -> pa.Array:
    kind = KINDS[name][0]
    return pa.array(values(name), pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def stored(folder: Path, what: pa.Table, format: str) -> Path:
    path = folder / f"x.{format}"
    if format == "parquet":
        pq.write_table(what, path, row_group_size=3)
    else:
        with pa.ipc.new_file(path, what.schema) as writer:
            writer.write_table(what, max_chunksize=3)
    return path


def expected(numbers: list[int | None], dtype: str) -> np.ndarray:
    missing = np.iinfo("i8").min
    return np.array([missing if one is None else one for one in numbers], "i8").view(dtype)


def test_dates_are_numpys_values_and_nulls_not_a_time(tmp_path: Path) -> None:
    what = pa.table({"i": range(4), **{name: array(name) for name in KINDS}})
    ds = ps.open(stored(tmp_path, what, "arrow"))
    (batch,) = ds.batch(4).loader()
    for name, (_, dtype) in KINDS.items():
        want = expected(values(name), dtype)
        got = [sample[name] for sample in ds]
        assert all(one.dtype == np.dtype(dtype) for one in got)
        assert np.array_equal(got, want, equal_nan=True)
        assert np.array_equal(batch[name], want, equal_nan=True)
    assert batch["i"].tolist() == [0, 1, 2, 3]


def test_parquet_and_dictionaries_have_dates_too(tmp_path: Path) -> None:
    days = pa.array([1, 2, 1, None], pa.date32())
    what = pa.table(
        {
            "when": array("at_us"),
            "in": pa.StructArray.from_arrays([days], ["day"]),
            "coded": days.dictionary_encode(),
        }
    )
    ds = ps.open(stored(tmp_path, what, "parquet"))
    assert ds.fields == ["when", "in.day", "coded"]
    assert ds[3]["when"] == np.datetime64(77, "us")
    assert ds[1]["in.day"] == ds[1]["coded"] == np.datetime64("1970-01-03")
    assert np.isnat(ds[3]["coded"])


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_lists_of_dates_are_arrays(format: str, tmp_path: Path) -> None:
    days = [[1, 2, None], [], None, [4]]
    boxes = [[[1, 2], [3, None]], [[5, 6], [7, 8]], None, [[0, 0], [0, 0]]]
    what = pa.table(
        {
            "days": pa.array(days, pa.list_(pa.date32())),
            "large": pa.array(days, pa.large_list(pa.timestamp("ms"))),
            "box": pa.array(boxes, pa.list_(pa.list_(pa.duration("s"), 2), 2)),
            "pairs": pa.array(
                [[[1, 2]], [], None, [[3, 4], [5, 6]]], pa.list_(pa.list_(pa.date32(), 2))
            ),
        }
    )
    ds = ps.open(stored(tmp_path, what.slice(0, 4), format))
    for name, dtype in (("days", "M8[D]"), ("large", "M8[ms]")):
        assert np.array_equal(ds[0][name], expected(days[0], dtype), equal_nan=True)
        assert ds[1][name].shape == (0,)
        assert ds[2][name] is None
        assert ds[3][name].tolist() == expected([4], dtype).tolist()
    assert ds[0]["box"].shape == (2, 2)
    assert np.isnat(ds[0]["box"][1, 1])
    assert ds[1]["box"].tolist() == expected([5, 6, 7, 8], "m8[s]").reshape(2, 2).tolist()
    assert ds[2]["box"] is None
    assert ds[0]["pairs"].shape == (1, 2)
    assert ds[1]["pairs"].shape == (0, 2)
    assert ds[3]["pairs"][1, 1] == np.datetime64(6, "D")
    filled = ps.open(tmp_path / f"x.{format}", nulls={"days": np.datetime64(9, "D"), "large": []})
    assert filled[0]["days"][2] == np.datetime64(9, "D")
    assert filled[2]["large"].shape == (0,)


def test_dates_asked_for_as_numbers_go_into_batches(tmp_path: Path) -> None:
    sound = {name: pa.array([0, DAY], pa.int64()) for name in KINDS}
    for name, (kind, _) in KINDS.items():
        sound[name] = (
            sound[name].cast(pa.int32()).view(kind)
            if kind.bit_width == 32
            else (sound[name].view(kind))
        )
    path = stored(tmp_path, pa.table(sound), "arrow")
    for word in ("int64", "int32", "float64"):
        ds = ps.open(path, fields=dict.fromkeys(KINDS, word))
        (batch,) = ds.batch(2).loader()
        for name in KINDS:
            assert batch[name].dtype == word
            assert batch[name].tolist() == [0, DAY]
        assert "python" not in ds.explain()
    assert len(ps.open(path, filter=[("time_s", ">", datetime.time(0))])) == 1  # 24 hours and more
    other = ps.open(path, fields={"at_s": "timestamp[ms]", "day": "string"})
    assert other[0]["at_s"].dtype == "M8[ms]"
    assert other[0]["day"] == "1970-01-01"


@pytest.mark.parametrize(
    "given",
    [
        np.datetime64("2026-01-02"),
        datetime.date(2026, 1, 2),
        datetime.datetime(2026, 1, 2),
        datetime.datetime(2026, 1, 2, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        "2026-01-02",
    ],
)
def test_a_date_stands_for_nulls(given: object, tmp_path: Path) -> None:
    what = pa.table({"at_us": array("at_us"), "day": array("day"), "for_s": array("for_s")})
    path = stored(tmp_path, what, "parquet")
    ds = ps.open(path, nulls={"at_us": given, "day": given, "for_s": np.timedelta64(1, "m")})
    assert ds[2]["at_us"] == ds[2]["day"] == np.datetime64("2026-01-02")
    assert ds[2]["for_s"] == np.timedelta64(60, "s")
    assert ds[1]["at_us"] == np.datetime64(3, "us")
    for wrong in ("soon", np.datetime64("2026-01-02T03"), 1.5):
        with pytest.raises(PlanError, match="column 'day' is date32"):
            ps.open(path, nulls={"day": wrong})
