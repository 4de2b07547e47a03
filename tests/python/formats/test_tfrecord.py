"""TFRecord files beside TensorFlow's own: every packing, Examples, damage, datasets, writing."""

import gzip
import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_goldens import samples, sequences
from penstock import io

GOLDEN = Path(__file__).parent / "golden"
FIELDS = {
    "image": "bytes",
    "label": "int64",
    "score": "float",
    "box": "float[4]",
    "tokens": "int64[]",
    "name": "text",
    "parts": "bytes[]",
}
STEPS = {"video": "text", "frames": "bytes[]", "pose": "float[][3]", "action": "int64[]"}


def plain(value: Any) -> Any:
    """As make_goldens has it."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, memoryview):
        return bytes(value)
    return value


def assert_samples(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert sorted(one) == sorted(other)
        for name, value in one.items():
            if isinstance(value, np.ndarray):
                expected = np.array(other[name], value.dtype).reshape(value.shape)
                assert np.array_equal(value, expected), name
            else:
                assert plain(value) == other[name], name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """100 records."""
    with io.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for i in range(100):
            writer.write_example({"label": i, "text": f"number {i:02}"})
    return tmp_path / "a.tfrecord"


@pytest.mark.parametrize("name", ["examples", "examplesgzip", "exampleszlib"])
def test_examples_of_tensorflow_are_read_in_every_packing(name: str) -> None:
    got = list(io.iter_tfrecord(GOLDEN / f"{name}.tfrecord", FIELDS))
    assert_samples(got, samples())
    assert got[0]["box"].dtype == np.float32
    assert got[0]["box"].shape == (4,)


def test_sequence_examples_of_tensorflow_are_read() -> None:
    got = list(io.iter_tfrecord(GOLDEN / "sequences.tfrecord", STEPS))
    assert_samples(got, sequences())
    assert got[2]["pose"].shape == (3, 3)


def test_fields_are_inferred_from_the_first_record(tmp_path: Path) -> None:
    path = tmp_path / "examples.tfrecord"  # the index is written beside it
    path.write_bytes((GOLDEN / "examples.tfrecord").read_bytes())
    ds = ps.open(path)
    assert sorted(ds.fields) == sorted(FIELDS)
    wanted = [dict(sample, name=sample["name"].encode()) for sample in samples()]
    assert_samples([ds[i] for i in range(len(ds))], wanted)
    assert ps.open(path, fields=["label"])[1] == {"label": 2 * 10**12}
    with pytest.raises(ps.PlanError, match="no feature 'lable'; it has: box, image"):
        ps.open(path, fields=["lable"])


def test_a_dataset_shuffles_batches_and_resumes(path: Path) -> None:
    ds = ps.open(path, fields={"label": "int64", "text": "text"}).shuffle(seed=3).batch(7)
    loader = ds.loader(threads=2)
    batches = [batch["label"].tolist() for batch in loader]
    assert sorted([label for batch in batches for label in batch]) == list(range(100))
    first = iter(ds.loader(threads=1))
    start = [next(first)["label"].tolist() for _ in range(5)]
    resumed = pickle.loads(pickle.dumps(ds)).loader(threads=2)
    half = ds.loader()
    walker = iter(half)
    for _ in range(5):
        next(walker)
    resumed.load_state_dict(half.state_dict())
    assert start + [batch["label"].tolist() for batch in resumed] == batches


def test_a_compressed_file_is_a_sequential_dataset() -> None:
    ds = ps.open(GOLDEN / "examplesgzip.tfrecord", fields={"label": "int64", "box": "float[4]"})
    assert ds.sequential
    for _ in range(2):  # each time from the beginning
        batches = list(ds.batch(2).loader())
        labels = np.concatenate([batch["label"] for batch in batches]).tolist()
        assert labels == [sample["label"] for sample in samples()]
        assert batches[0]["box"].shape == (2, 4)


@pytest.mark.parametrize("mmap", [False, True])
def test_records_by_number(path: Path, mmap: bool) -> None:
    records = io.TFRecords(path, mmap=mmap)
    everything = list(io.iter_tfrecord(path))
    assert len(records) == 100
    assert records[-1] == everything[-1]
    assert records[[5, 99, 5]] == [everything[5], everything[99], everything[5]]
    order = [i * 37 % 100 for i in range(100)]
    assert records[order] == [everything[i] for i in order]
    assert records[[]] == []
    with pytest.raises(IndexError, match="there is no record 100"):
        records[[3, 100, 4]]
    assert io.parse_example(records[7], {"label": "int64"}) == {"label": 7}
    with pytest.raises(IndexError, match="record 100 of 100"):
        records[100]
    assert ps.open(path, fields={"all": "raw"})[3]["all"] == everything[3]


def test_a_flipped_bit_costs_one_record(path: Path) -> None:
    data = bytearray(path.read_bytes())
    size = len(data) // 100
    data[10 * size + 20] ^= 1
    data[20 * size + 3] ^= 64  # in a length
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"checksum of this record is wrong.*sample 10"):
        list(io.iter_tfrecord(path))
    errors: list[str] = []
    reader = io.iter_tfrecord(path, {"label": "int64"}, on_error="skip", errors=errors)
    labels = [sample["label"] for sample in reader]
    assert labels == [i for i in range(100) if i not in (10, 20)]
    assert len(errors) == 2
    assert "damaged" in errors[1]
    assert reader.findings() == {"damaged": 1, "checksums": 1, "cut": 0}

    ds = ps.open(path, fields={"label": "int64"})
    assert len(ds) == 100
    loader = ds.batch(25).loader(on_error="skip")
    assert [label for batch in loader for label in batch["label"].tolist()] == labels
    assert [error.position for error in loader.errors()] == [10, 20]
    assert "a.tfrecord:20" in str(loader.errors()[1])
    with pytest.raises(ValueError, match=r"checksum of this record.*sample 10"):
        list(ds.batch(25).loader())
    assert ps.open(path, verify=False, fields={"all": "raw"})[10]["all"]
    for mmap in (False, True):
        records = io.TFRecords(path, mmap=mmap)
        assert len(records[[9, 11, 19]]) == 3
        for bad, why in ((10, "checksum"), (20, "damaged")):
            with pytest.raises(ValueError, match=rf"{why}.*sample {bad}"):
                records[[9, bad, 11]]


@pytest.mark.parametrize("keep", [1, 11, 12, 13, 30])
def test_a_cut_file_says_so(path: Path, keep: int) -> None:
    data = path.read_bytes()
    size = len(data) // 100
    path.write_bytes(data[: 50 * size + keep])
    errors: list[str] = []
    reader = io.iter_tfrecord(path, on_error="skip", errors=errors)
    assert len(list(reader)) == 50
    assert "cut off" in errors[0]
    assert reader.findings()["cut"] == 1
    assert len(io.TFRecords(path)) == 51
    with pytest.raises(ValueError, match="cut off"):
        io.TFRecords(path)[50]


def test_a_record_that_is_no_example_is_an_error_of_its_own(tmp_path: Path) -> None:
    with io.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write_example({"label": 1})
        writer.write(b"\xff\xff rubbish")
        writer.write_example({"label": 3.5})
        writer.write_example({"label": 4})
    loader = ps.open(tmp_path / "a.tfrecord").batch(4).loader(on_error="skip")
    assert [batch["label"].tolist() for batch in loader] == [[1, 4]]
    reasons = [str(error) for error in loader.errors()]
    assert "no tf.train.Example" in reasons[0]
    assert "'label' holds float" in reasons[1]


def test_records_that_are_no_examples_are_bytes(tmp_path: Path) -> None:
    with io.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        writer.write(b"\x01just bytes")
    assert ps.open(tmp_path / "a.tfrecord")[0] == {"data": b"\x01just bytes"}


def test_bytes_of_a_file_are_read_too() -> None:
    data = (GOLDEN / "examples.tfrecord").read_bytes()
    assert len(list(io.iter_tfrecord(data))) == 5
    assert list(io.iter_tfrecord(gzip.compress(data))) == list(io.iter_tfrecord(data))
    assert list(io.iter_tfrecord(zlib.compress(data))) == list(io.iter_tfrecord(data))
    assert list(io.iter_tfrecord(b"")) == []
    with pytest.raises(ValueError, match="not a TFRecord file"):
        list(io.iter_tfrecord(b"x" * 1000))


def field(number: int, payload: bytes) -> bytes:
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload


def named(features: dict[str, bytes]) -> bytes:
    """A map of them, as Features and FeatureLists have it."""
    return b"".join(
        field(1, field(1, name.encode()) + field(2, one)) for name, one in features.items()
    )


def whole(*numbers: int) -> bytes:
    """A Feature of small numbers."""
    return field(3, field(1, bytes(numbers)) if numbers else b"")


def example(**features: bytes) -> bytes:
    return field(1, named(features))


def sequence(context: dict[str, bytes], **lists: list[bytes]) -> bytes:
    steps = {name: b"".join(field(1, one) for one in each) for name, each in lists.items()}
    return field(1, named(context)) + field(2, named(steps))


def write_records(path: Path, *records: bytes) -> Path:
    with io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def test_a_feature_that_is_empty_at_first_keeps_its_type(tmp_path: Path) -> None:
    with io.TFRecordWriter(tmp_path / "box.tfrecord") as writer:
        writer.write_example({"id": 0, "bbox": np.zeros(0, "f4")})
        writer.write_example({"id": 1, "bbox": [1.0, 2.0, 3.0, 4.0]})
    for fields in (None, ["bbox", "id"]):
        ds = ps.open(tmp_path / "box.tfrecord", fields=fields)
        assert ds.fields == ["bbox", "id"]
        assert [sample["bbox"].tolist() for sample in ds] == [[], [1, 2, 3, 4]]
        assert ds[0]["bbox"].dtype == np.float32
    got = list(io.iter_tfrecord(tmp_path / "box.tfrecord", "infer"))
    assert [sample["id"] for sample in got] == [0, 1]
    assert got[1]["bbox"].shape == (4,)


def test_a_feature_without_a_type_is_told_of(tmp_path: Path) -> None:
    path = write_records(
        tmp_path / "a.tfrecord",
        sequence({"id": whole(1), "none": b""}, tok=[]),
        sequence({"id": whole(2), "none": whole(3)}, tok=[whole(1), whole(2)]),
    )
    for fields in ([], ["id", "tok"], ["none"]):
        if fields:
            with pytest.raises(ps.PlanError, match=rf"no value of '{fields[-1]}'.*fields=\{{"):
                ps.open(path, fields=fields)
            continue
        with pytest.warns(UserWarning, match=r"the first record has 'none', 'tok' without a value"):
            assert ps.open(path).fields == ["id"]
    assert ps.open(path, fields=["id"])[1] == {"id": 2}
    ds = ps.open(path, fields={"tok": "int64[]", "none": "int64[]"})
    assert [sample["tok"].tolist() for sample in ds] == [[], [1, 2]]
    with pytest.warns(UserWarning, match=r"this record has 'none', 'tok'"):
        assert list(io.parse_example(sequence({"id": whole(1), "none": b""}, tok=[]))) == ["id"]


def test_steps_of_different_lengths_are_a_list_of_arrays(tmp_path: Path) -> None:
    words = [field(1, field(1, b"a") + field(1, b"bc")), field(1, b""), field(1, field(1, b"d"))]
    steps = [whole(0, 1), whole(0, 1, 2), whole()]
    path = write_records(
        tmp_path / "a.tfrecord",
        sequence({"id": whole(0)}, tok=steps, words=words, even=[whole(1, 2), whole(3, 4)]),
        sequence({"id": whole(1)}, tok=steps[1:], words=[], even=[whole(5, 6)]),
        sequence({"id": whole(2)}, even=[whole(5), whole(6, 7)]),
    )
    ds = ps.open(path)
    assert ds.fields == ["even", "id", "tok", "words"]
    first, second = ds[0], ds[1]
    assert [one.tolist() for one in first["tok"]] == [[0, 1], [0, 1, 2], []]
    assert {one.dtype for one in first["tok"]} == {np.dtype("i8")}
    assert plain(first["words"][0]) == [b"a", b"bc"]
    assert [len(one) for one in first["words"]] == [2, 0, 1]
    assert first["even"].tolist() == [[1, 2], [3, 4]]
    assert [one.tolist() for one in second["tok"]] == [[0, 1, 2], []]
    assert second["words"] == []
    with pytest.raises(
        ValueError, match=r"steps of feature 'even' have from 1 to 2.*int64\[\]\[\]"
    ):
        ds[2]
    with pytest.raises(ValueError, match="'id' is no list of steps"):
        _ = ps.open(path, fields={"id": "int64[][]"})[0]

    ds = ps.open(path, fields={"tok": "int64[][]", "even": "int64[][]", "id": "int64"})
    assert [[step.tolist() for step in sample["even"]] for sample in ds][1:] == [
        [[5, 6]],
        [[5], [6, 7]],
    ]
    wanted = [sum(one.size for one in sample["tok"]) for sample in ds]
    assert wanted == [5, 3, 0]
    for cached in (ds, ds.cache("10MB")):
        batches = [batch for _ in range(2) for batch in cached.batch(3).loader()]
        for batch in batches:
            assert isinstance(batch["tok"], list)
            assert [sum(one.size for one in each) for each in batch["tok"]] == wanted
            assert batch["id"].tolist() == [0, 1, 2]


values = st.one_of(
    st.binary(max_size=30),
    st.text(max_size=10),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=5),
    st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=5),
    st.lists(st.binary(max_size=5), min_size=2, max_size=3),
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), values, min_size=1, max_size=6))
@settings(deadline=None)
def test_what_is_encoded_is_parsed(sample: dict[str, Any]) -> None:
    got = io.parse_example(io.encode_example(sample))
    raw = {name: one.encode() if isinstance(one, str) else one for name, one in sample.items()}
    assert_samples([got], [raw])


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    wanted = {"a": "int64[]", "b": "bytes[]", "c": "float[][2]"}
    for fields in (wanted, None):
        try:
            got = io.parse_example(data, fields)
        except ValueError:
            continue
        assert set(got) == set(wanted) if fields else isinstance(got, dict)


def test_texts_of_numpy_are_encoded() -> None:
    record = io.encode_example({"u": np.array(["a", "é"]), "s": np.array([b"x"])[0]})
    assert plain(io.parse_example(record, {"u": "bytes[]"})["u"]) == [b"a", "é".encode()]
    assert bytes(io.parse_example(record, {"s": "bytes"})["s"]) == b"x"


def test_what_cannot_be_encoded_is_said() -> None:
    for number in (2**63, np.uint64(2**64 - 1)):
        with pytest.raises(ValueError, match=f"'id' has {number}, which is more than an int64"):
            io.encode_example({"id": number})
    with pytest.raises(TypeError, match="'x' is neither"):
        io.encode_example({"x": object()})
    with pytest.raises(ValueError, match="'x' is an empty list"):
        io.encode_example({"x": []})
    with pytest.raises(ValueError, match="fields: 'int32' of 'x'"):
        io.parse_example(io.encode_example({"x": 1}), {"x": "int32"})


@pytest.mark.parametrize("compression", [None, "gzip", "zlib"])
def test_what_is_written_has_the_bytes_that_tensorflow_writes(
    tmp_path: Path, compression: Any
) -> None:
    path, theirs = tmp_path / "a.tfrecord", GOLDEN / "examples.tfrecord"
    with io.TFRecordWriter(path, compression) as writer:
        for record in io.iter_tfrecord(theirs):
            writer.write(record)
        assert not path.exists()
    unpack = {"gzip": gzip.decompress, "zlib": zlib.decompress}.get(compression, bytes)
    assert unpack(path.read_bytes()) == theirs.read_bytes()
    with pytest.raises(RuntimeError, match="closed"):
        writer.write(b"more")


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with io.TFRecordWriter(tmp_path / "a.tfrecord") as writer:
            writer.write(b"one")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_penstock_index_makes_sidecars_of_tfrecords(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "index", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "100 samples" in done.stdout
    assert (path.parent / "a.tfrecord.psidx").exists()


def test_a_file_that_shrinks_under_scattered_reads_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "shrinking.tfrecord"
    with io.TFRecordWriter(path) as writer:
        for i in range(20_000):
            writer.write(b"%06d" % i * 10)
    wanted = np.random.default_rng(1).permutation(20_000)[:500].tolist()
    records = io.TFRecords(path)
    assert [int(one[:6]) for one in records[wanted]] == wanted
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OSError, match=r"become shorter.*shrinking\.tfrecord"):
        records[wanted]
    first = [i for i in wanted if i < 9000]
    assert [int(one[:6]) for one in records[first]] == first
