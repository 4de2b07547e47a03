"""Ways of opening files: mapped, compressed."""

import contextlib
import gc
import gzip
import io
import os
import pickle
import tarfile
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from makers import write_tar
from patience import wait_until


def as_bytes(samples):
    return [
        {name: bytes(value) if name != "__key__" else value for name, value in sample.items()}
        for sample in samples
    ]


def shards(folder: Path) -> list[str]:
    rng = np.random.default_rng(0)
    for shard in range(2):
        samples = [
            {
                "__key__": f"{shard}{i:03}".encode(),
                "bin": rng.bytes(int(rng.integers(1, 3000))),
                "cls": b"%d" % i,
            }
            for i in range(50)
        ]
        write_tar(folder / f"s{shard}.tar", samples)
    return sorted(str(path) for path in folder.glob("*.tar"))


def test_mapped_files_give_the_same_samples(tmp_path):
    names = shards(tmp_path)
    read, mapped = ps.open(names), ps.open(names, mmap=True)
    assert as_bytes(read[range(100)]) == as_bytes(mapped[range(100)])
    for ds in (read, mapped):
        assert ds.fields == ["__key__", "bin", "cls"]

    def epoch(ds):
        return [
            (batch["__key__"], [bytes(one) for one in batch["bin"]], batch["cls"].tolist())
            for batch in ds.shuffle(seed=1).decode("cls").batch(16).loader(threads=2)
        ]

    assert epoch(read) == epoch(mapped)


def test_views_of_a_map_outlive_the_dataset_and_are_read_only(tmp_path):
    names = shards(tmp_path)
    ds = ps.open(names, mmap=True)
    expected = bytes(ds[3]["bin"])
    (batch,) = ds.take(8).batch(8).loader()
    view, alone = batch["bin"][3], ds[3]["bin"]
    del ds, batch
    assert bytes(view) == bytes(alone) == expected
    with pytest.raises(TypeError):
        view[0] = 1


def test_mapped_reads_are_verified_where_there_are_hashes(tmp_path):
    names = shards(tmp_path)
    ps.open(names, checksums=True)
    place = ps.open(names[0])[0]["bin"]
    data = bytearray(Path(names[0]).read_bytes())
    at = bytes(data).index(bytes(place))
    data[at] ^= 1
    Path(names[0]).write_bytes(data)  # the same size: the index is kept, its hashes tell
    ds = ps.open(names, mmap=True)
    with pytest.raises(ValueError, match="not those that were there"):
        ds[0]
    assert len(ds[1]) == 3


def test_a_plan_with_mapped_files_pickles(tmp_path):
    ds = ps.open(shards(tmp_path), mmap=True)
    again = pickle.loads(pickle.dumps(ds))
    assert as_bytes([ds[5]]) == as_bytes([again[5]])


def test_what_cannot_be_mapped_says_so(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.png").write_bytes(b"x")
    with pytest.raises(NotImplementedError, match="files of many records"):
        ps.open(tmp_path / "folder", mmap=True)
    with pytest.raises(ps.PlanError, match="compressed"):
        ps.open("x.tar.gz", mmap=True)


def test_compressed_tars_are_sequential_datasets(tmp_path):
    names = shards(tmp_path)
    packed = []
    for name in names:
        packed.append(name + ".gz")
        Path(packed[-1]).write_bytes(gzip.compress(Path(name).read_bytes()))
    ds = ps.open(packed)
    assert ds.sequential
    assert "sequential" in ds.explain()
    assert as_bytes(ds) == as_bytes(ps.open(names)[range(100)])
    with pytest.raises(TypeError, match=r"sequential.*unpack"):
        len(ds)
    with pytest.raises(ps.PlanError, match=r"sequential.*unpack"):
        ds.shuffle()
    keys = [key for batch in ds.shuffle(window=10).batch(7).loader() for key in batch["__key__"]]
    assert sorted(keys) == sorted(sample["__key__"] for sample in ds)
    assert keys != sorted(keys)
    with pytest.raises(NotImplementedError, match=r"front to back|compressed"):
        ps.open(packed + names)


def test_a_compressed_tar_resumes_by_reading_again(tmp_path):
    names = shards(tmp_path)
    packed = tmp_path / "all.tar.gz"
    packed.write_bytes(gzip.compress(Path(names[0]).read_bytes()))
    ds = ps.open(packed).batch(8)
    loader = ds.loader()
    batches = iter(loader)
    seen = [key for _ in range(3) for key in next(batches)["__key__"]]
    token = loader.state_dict()
    other = ds.loader()
    other.load_state_dict(token)
    seen += [key for batch in other for key in batch["__key__"]]
    assert seen == [f"0{i:03}" for i in range(50)]


def test_damage_in_a_compressed_tar_is_an_error_of_the_loader(tmp_path):
    names = shards(tmp_path)
    packed = tmp_path / "cut.tar.gz"
    packed.write_bytes(gzip.compress(Path(names[0]).read_bytes())[:-2000])
    with pytest.raises((ValueError, OSError)):
        list(ps.open(packed).batch(8).loader())


def test_damage_in_a_compressed_tar_may_be_skipped(tmp_path):
    names = shards(tmp_path)
    tars = [Path(name).read_bytes() for name in names]
    header = tars[0].index(b"0007.bin")  # of the eighth sample
    broken = bytearray(tars[0])
    broken[header : header + 100] = bytes(100)
    packed = [gzip.compress(bytes(broken)), gzip.compress(tars[1])[:-2000], gzip.compress(tars[1])]
    for i, data in enumerate(packed):
        (tmp_path / f"{i}.tar.gz").write_bytes(data)
    loader = ps.open(tmp_path / "?.tar.gz").batch(8).loader(on_error="skip")
    keys = [key for batch in loader for key in batch["__key__"]]
    first, last = [f"0{i:03}" for i in range(50)], [f"1{i:03}" for i in range(50)]
    assert keys[:49] == [key for key in first if key != "0007"]
    assert keys[-50:] == last  # the file behind the one that is cut
    assert keys[49:-50] == last[: len(keys) - 99]
    reasons = [error.error for error in loader.errors()]
    assert len(reasons) >= 2
    assert "0.tar.gz" in reasons[0]
    assert all("1.tar.gz" in reason for reason in reasons[1:])
    with pytest.raises(ps.TooManyErrors):
        list(ps.open(tmp_path / "?.tar.gz").batch(8).loader(on_error="skip", max_errors=1))


def test_npy_fields_of_mapped_files(tmp_path):
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(2, 3))
    write_tar(
        tmp_path / "a.tar", [{"__key__": b"%d" % i, "npy": file.getvalue()} for i in range(4)]
    )
    (batch,) = ps.open(tmp_path / "a.tar", mmap=True).decode("npy").batch(4).loader()
    assert batch["npy"].shape == (4, 2, 3)


def open_at(folder: Path) -> int:
    """How many files of a folder this process has open or mapped."""
    names = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()]
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(name.startswith(str(folder)) for name in names)


@pytest.mark.parametrize("name", ["s0.tar", "x.npy", "x.h5", "x.bin"])
def test_files_are_closed_when_the_dataset_is_gone(name, tmp_path):
    h5py = pytest.importorskip("h5py")
    shards(tmp_path)
    np.save(tmp_path / "x.npy", np.arange(20).reshape(10, 2))
    np.arange(20, dtype="u2").tofile(tmp_path / "x.bin")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.arange(20), chunks=(5,), compression="gzip")
    tokens = {"format": "tokens", "window": 2} if name == "x.bin" else {}
    gc.disable()  # nothing may wait for it
    try:
        ds = ps.open(tmp_path / name, **tokens).shuffle(seed=1, window=8)
        assert len(ds[0]) > 0
        assert len(list(ds.batch(3).loader())) > 2
        assert open_at(tmp_path) > 0
        del ds
        assert wait_until(lambda: open_at(tmp_path) == 0)
    finally:
        gc.enable()


def test_a_key_that_is_no_text_can_be_skipped(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.GNU_FORMAT) as tar:
        for name in ("a\udcff.cls", "b.cls"):
            member = tarfile.TarInfo(name)
            member.size = 1
            tar.addfile(member, io.BytesIO(b"7" if name[0] == "b" else b"x"))
    ds = ps.open(tmp_path / "a.tar").decode("cls")
    with pytest.raises(ValueError, match=r"not an integer.*a\\xff"):
        ds[0]
    loader = ds.batch(2).loader(on_error="skip")
    assert [batch["cls"].tolist() for batch in loader] == [[7]]
    assert loader.errors()[0].sample.endswith("a.tar:a\udcff")


def test_a_sidecar_of_another_tar_of_the_same_size_and_time_is_noticed(tmp_path):
    sizes = {"a": (700, 10), "b": (10, 700)}
    for name, (first, second) in sizes.items():
        samples = [
            {"__key__": b"0", "bin": b"x" * first},
            {"__key__": b"1", "bin": b"y" * second},
        ]
        write_tar(tmp_path / f"{name}.tar", samples)
    write_tar(tmp_path / "c.tar", [{"__key__": b"2", "bin": b"x" * 700, "cls": b"y" * 10}])
    for name in "abc":
        os.utime(tmp_path / f"{name}.tar", ns=(10**18, 10**18))
        ps.open(tmp_path / f"{name}.tar")
    good = (tmp_path / "a.tar.psidx").read_bytes()
    for name in "bc":
        (tmp_path / f"{name}.tar.psidx").write_bytes(good)
        with pytest.raises(ValueError, match=rf"belongs to another file.*--refresh.*{name}\.tar"):
            ps.open(tmp_path / f"{name}.tar")
    assert len(ps.open(tmp_path / "a.tar")) == 2


def test_large_records_in_one_block_are_read_and_lost_one_by_one(tmp_path):
    rng = np.random.default_rng(0)
    images = [rng.bytes(60_000 + i) for i in range(40)]
    labelled = [
        {"__key__": b"%03d" % i, "bin": image, "cls": b"%d" % i} for i, image in enumerate(images)
    ]
    write_tar(tmp_path / "a.tar", labelled[:20])
    write_tar(tmp_path / "b.tar", labelled[20:])
    names = [str(tmp_path / "a.tar"), str(tmp_path / "b.tar")]
    ps.open(names, checksums=True)
    (batch,) = ps.open(names).batch(40).loader(threads=2)
    assert [bytes(one) for one in batch["bin"]] == images
    assert batch["bin"][2].obj is batch["bin"][3].obj  # they were read together
    damaged = bytearray((tmp_path / "a.tar").read_bytes())
    damaged[bytes(damaged).index(images[3]) + 50_000] ^= 1
    (tmp_path / "a.tar").write_bytes(damaged)
    loader = ps.open(names).shuffle(seed=3).batch(7).loader(threads=2, on_error="skip")
    rows = [row for b in loader for row in zip(b["cls"], b["bin"], strict=True)]
    got = {int(bytes(label)): bytes(image) for label, image in rows}
    assert got == {i: image for i, image in enumerate(images) if i != 3}
    (error,) = loader.errors()
    assert "a.tar" in error.sample
    assert "003" in error.sample


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a.tar", "b.tar", "a.tar.psidx"], "2 .tar files: open '{}/*.tar'"),
        (["x/a.tfrecord", "x/b.tfrecord"], "2 .tfrecord files: open '{}/*/*.tfrecord'"),
        (["a.parquet"], "a .parquet file: open '{}/a.parquet'"),
        (["b.h5", "a.h5"], "2 .h5 files: open '{}/a.h5'"),
    ],
)
def test_a_folder_of_something_else_than_images_says_what_to_open(names, words, tmp_path):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileNotFoundError) as caught:
        ps.open(str(tmp_path))
    assert words.format(tmp_path) in str(caught.value)


def test_a_folder_of_nothing_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no image in this folder"):
        ps.open(tmp_path)
