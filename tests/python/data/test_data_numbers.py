"""Numbers of a batch, wherever they come from: Python's own, NumPy's, rows of arrays, lists."""

import numpy as np
import penstock as ps
import pytest


def one_batch(items, **options):
    (batch,) = ps.from_list(items).batch(len(items), **options).loader()
    return batch


@pytest.mark.parametrize(
    ("mine", "theirs", "dtype"),
    [
        (1, np.int64(2), np.int64),
        (1.5, np.float32(2.5), np.float32),
        (True, np.bool_(False), np.bool_),
        (3, np.array(4), np.int64),
    ],
)
def test_numbers_of_python_and_numpy_are_of_one_type_in_a_batch(mine, theirs, dtype):
    # 14: "int to int64, float to float32, bool to bool, NumPy scalars keep their dtype"
    for pair in ([mine, theirs], [theirs, mine]):
        batch = one_batch([{"x": value} for value in pair])
        assert batch["x"].dtype == dtype
        assert batch["x"].tolist() == [
            value.item() if hasattr(value, "item") else value for value in pair
        ]


def test_a_list_and_arrays_can_be_joined():
    numbers = ps.from_list([{"x": i} for i in range(3)])
    (batch,) = numbers.concat(ps.from_arrays(x=np.arange(3, 6))).batch(6).loader()
    assert batch["x"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (1, 2.0, r"'x' is float32 of shape \(\), but item\[0\] has int64 of shape \(\)"),
        (1, np.int32(2), r"'x' is int32 of shape \(\), but item\[0\] has int64 of shape \(\)"),
        (True, 2, r"'x' is int64 of shape \(\), but item\[0\] has bool of shape \(\)"),
        (1, "two", r"'x' is text, but item\[0\] has int64 of shape \(\)"),
        (None, 1, r"'x' is int64 of shape \(\), but item\[0\] has an object"),
        (np.zeros(2), 1, r"'x' is int64 of shape \(\), but item\[0\] has float64 of shape \(2,\)"),
    ],
)
def test_both_types_of_a_mismatch_are_named(first, second, words):
    # 14: "a mismatch is an error that names both samples, both shapes and collate="
    with pytest.raises(ValueError, match=words + r"; collate=.*sample item\[1\]"):
        one_batch([{"x": first}, {"x": second}])


def test_dates_and_times_are_not_bytes():
    when, long = np.datetime64("2026-01-01"), np.timedelta64(3, "s")
    batch = one_batch([{"when": when, "long": long}] * 2)
    assert batch == {"when": [when] * 2, "long": [long] * 2}
    assert isinstance(batch["when"][0], np.datetime64)


def test_lists_of_numbers_are_padded_and_joined_as_arrays_are():
    # 14: 'Ragged: collate={"tokens": "pad" | "list" | "ragged"}'
    items = [{"tokens": [1, 2]}, {"tokens": []}, {"tokens": (3, 4, 5)}]
    padded = one_batch(items, collate={"tokens": "pad"})["tokens"]
    assert padded.dtype == np.int64
    assert padded.tolist() == [[1, 2, 0], [0, 0, 0], [3, 4, 5]]
    joined = one_batch(items, collate={"tokens": "ragged"})["tokens"]
    assert joined.values.tolist() == [1, 2, 3, 4, 5]
    assert joined.offsets.tolist() == [0, 2, 2, 5]
    assert one_batch(items, collate={"tokens": "list"})["tokens"] == [[1, 2], [], (3, 4, 5)]


def test_lists_are_arrays_after_the_last_function_only():
    def more(sample):
        return {"words": sample["data"] + [7]}

    rows = [[1], [2, 3]]
    for ds in (ps.from_list(rows), ps.from_iterable(rows)):
        ds = ds.map(more).filter(lambda sample: isinstance(sample["words"], list))
        (batch,) = ds.rename(words="tokens").batch(2, collate={"tokens": "pad"}).loader()
        assert batch["tokens"].tolist() == [[1, 7, 0], [2, 3, 7]]


@pytest.mark.parametrize("begin", [ps.from_list, ps.from_iterable])
def test_lists_as_a_source_gives_them(begin):
    ds = begin([{"x": [0.5], "y": ["a"]}, {"x": [1, 2.5], "y": ["b", "c"]}]).rename(x="z")
    (batch,) = ds.batch(2, collate="pad").loader()
    assert batch["z"].dtype == np.float32
    assert batch["z"].tolist() == [[0.5, 0.0], [1.0, 2.5]]
    assert batch["y"] == [["a"], ["b", "c"]]


def test_single_values_are_not_ragged():
    items = [{"x": 1, "t": np.arange(2)}, {"x": 2, "t": np.arange(3)}]
    batch = one_batch(items, collate="ragged")
    assert batch["x"].tolist() == [1, 2]
    assert batch["t"].offsets.tolist() == [0, 2, 5]
    with pytest.raises(ValueError, match="'x' holds single values, which cannot be ragged"):
        one_batch(items, collate={"x": "ragged", "t": "list"})


def test_a_field_that_has_the_name_of_the_mask_is_not_lost():
    items = [{"_valid": 3}] * 4
    with pytest.raises(ValueError, match="mask=True adds a field '_valid', but the samples have"):
        one_batch(items, mask=True)
    assert one_batch(items)["_valid"].tolist() == [3] * 4


def test_the_type_of_images_may_be_numpys():
    ds = ps.from_list([{"x": 1}])
    assert ds.batch(1, dtype=np.float32)._batch.dtype == "float32"
    with pytest.raises(ps.PlanError, match="dtype is"):
        ds.batch(1, dtype=object())
