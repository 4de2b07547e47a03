"""decode("json") beside json.loads: the same objects, without calling Python for each."""

import json
import math
from pathlib import Path
from typing import Any

import makers
import penstock as ps
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

READ = [
    "null", "true", "false", "0", "-0", "-0.0", "17", "-9223372036854775808",
    "9223372036854775807", "18446744073709551615", "18446744073709551616", "1" * 400,
    "1.5", "1e3", "1e-400", "1e999", "-1E+999", "0.1", "123456789.123456789e-7",
    "NaN", "Infinity", "-Infinity", '"''"', '"=text"',
    '["#1", "=", NaN]', '{"#k": 1e999, "=": "#2"}',
    '"\\u00e9\\n\\ud83d\\ude00\\\\"', '"\\u0000"', "[]", "{}",
    '{"a": 1, "a": 2, "b": {"c": [1, [2, []]]}}',
    ' \t\r\n{"key" : [ 1 , 2.5 , "x" ] } \n',
    '{"score": NaN, "text": "a \\"NaN\\" in it", "n": -12}',
    "[" * 200 + "]" * 200,
]  # fmt: skip
REFUSED = [
    "", " ", "{", "[1,]", "{\"a\" 1}", "nul", "01", "1.", ".5", "-", "+1", "'a'", '"\\x"', '"a\nb"',
    "[1] 2", "[NaN", "NaNs", "[1e]", '{"a": 1e999', '"open', '"open\\', "1e999 1e999", "- 1", "Inf",
    "{1: 2}", '{"a": 1e999, "b": {NaN: 2}}',
]  # fmt: skip


def loaded(tmp_path: Path, text: bytes) -> Any:
    makers.write_tar(tmp_path / "a.tar", [{"__key__": b"k", "json": text}])
    (batch,) = ps.open(tmp_path / "a.tar").decode("json").batch(1).loader()
    return batch["json"][0]


def same(a: Any, b: Any) -> bool:
    """Equal in type, order and sign as well."""
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize("text", READ, ids=lambda text: text[:30])
def test_what_python_reads_is_read_alike(tmp_path: Path, text: str) -> None:
    assert same(loaded(tmp_path, text.encode()), json.loads(text))


@pytest.mark.parametrize("text", REFUSED)
def test_what_python_refuses_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    with pytest.raises(ValueError, match="field 'json': not JSON"):
        loaded(tmp_path, text.encode())


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    assert loaded(tmp_path, b"\xef\xbb\xbf[1]") == [1]


@pytest.mark.parametrize("text", [b'"\xff"', b'"\\ud800"'])
def test_text_that_is_not_unicode_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        loaded(tmp_path, text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(st.lists(values, min_size=1, max_size=20))
@settings(deadline=None, max_examples=150)
def test_any_value_comes_back(all_values: list[Any]) -> None:
    samples = [{"json": json.dumps(value).encode()} for value in all_values]
    batches = ps.from_list(samples).decode("json").batch(64).loader(threads=2)
    got = [value for batch in batches for value in batch["json"]]
    assert same(got, all_values)


def test_one_bad_text_costs_its_sample_only(tmp_path: Path) -> None:
    samples = [
        {"__key__": b"%03d" % i, "json": b"{" if i == 7 else json.dumps({"i": i}).encode()}
        for i in range(20)
    ]
    makers.write_tar(tmp_path / "a.tar", samples)
    loader = ps.open(tmp_path / "a.tar").decode("json").batch(8).loader(on_error="skip")
    got = [value["i"] for batch in loader for value in batch["json"]]
    assert got == [i for i in range(20) if i != 7]
    (error,) = loader.errors()
    assert "007" in str(error)


def test_it_is_native_and_cached(tmp_path: Path) -> None:
    samples = [{"__key__": b"%d" % i, "json": b"[%d]" % i} for i in range(8)]
    makers.write_tar(tmp_path / "a.tar", samples)
    ds = ps.open(tmp_path / "a.tar").decode("json").cache().batch(4)
    assert "Python" not in ds.explain()
    for _ in range(2):
        got = [value for batch in ds.loader() for value in batch["json"]]
        assert got == [[i] for i in range(8)]


def test_functions_after_it_see_python_objects() -> None:
    ds = ps.from_list([{"json": b'{"label": 3}'}]).decode("json")
    ds = ds.map(lambda sample: {"label": sample["json"]["label"]})
    (batch,) = ds.batch(1).loader()
    assert batch["label"].tolist() == [3]
