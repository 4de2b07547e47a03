"""Tars from Python: every way of writing one, beside tarfile and webdataset; damage; threads."""

import gzip
import io as pyio
import os
import random
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock import io
from penstock._core import open_records
from penstock.cli import main

FORMATS = {
    "ustar": tarfile.USTAR_FORMAT,
    "gnu": tarfile.GNU_FORMAT,
    "pax": tarfile.PAX_FORMAT,
}
Sample = dict[str, Any]


def write_tar(
    files: list[tuple[str, bytes]], format: int = tarfile.PAX_FORMAT, **options: Any
) -> bytes:
    memory = pyio.BytesIO()
    with tarfile.open(fileobj=memory, mode="w", format=format, **options) as tar:
        for name, data in files:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, pyio.BytesIO(data))
    return memory.getvalue()


def shard(samples: int, size: int = 700) -> list[tuple[str, bytes]]:
    files = []
    for i in range(samples):
        files.append((f"{i:06d}.jpg", bytes([i % 251]) * size))
        files.append((f"{i:06d}.cls", str(i).encode()))
    return files


def grouped(files: list[tuple[str, bytes]]) -> list[Sample]:
    """What WebDataset's rules make of them."""
    samples: list[Sample] = []
    for name, data in files:
        folder, _, base = name.rpartition("/")
        key, _, field = base.partition(".")
        key = f"{folder}/{key}" if folder else key
        if not samples or samples[-1]["__key__"] != key:
            samples.append({"__key__": key})
        samples[-1][field.lower()] = data
    return samples


def as_bytes(sample: Sample) -> Sample:
    return {k: bytes(v) if isinstance(v, memoryview) else v for k, v in sample.items()}


def indexed(path: Path, **options: Any) -> list[Sample]:
    records = open_records([str(path)], **options)
    return [as_bytes(records.read(i)) for i in range(len(records))]


def test_members_of_all_sizes_come_out_as_they_are(tmp_path: Path) -> None:
    rng = random.Random(0)
    sizes = [0, 1, 511, 512, 32767, 32768, 40000, 262144, 300000, 3 << 20, 5, 100000]
    files = [(f"{i:03}.bin", rng.randbytes(size)) for i, size in enumerate(sizes)]
    files += [(f"{i:03}.cls", b"%d" % i) for i in range(len(sizes))]
    files.sort()
    data = write_tar(files)
    (tmp_path / "a.tar").write_bytes(data)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data, 1))
    for source in (tmp_path / "a.tar", tmp_path / "a.tar.gz", data):
        held = list(io.iter_tar(source))
        assert held == grouped(files)
        assert all(type(sample["bin"]) is bytes for sample in held)


@pytest.mark.parametrize("format", FORMATS)
def test_what_tarfile_writes_is_read(format: str, tmp_path: Path) -> None:
    long = "d" * 80 + "/" + "k" * 90
    files = [
        *shard(5),
        ("a/b.c/0001.seg.PNG", b"mask"),
        (long + ".jpg", b"long"),
        (long + ".txt", b"name"),
        ("empty.bin", b""),
        ("large.bin", os.urandom(3_000_000)),
        ("\u00e9t\u00e9/\u4f60.txt", b"unicode"),
    ]
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(files, FORMATS[format]))
    expected = grouped(files)
    assert list(io.iter_tar(path)) == expected
    assert list(io.iter_tar(path.read_bytes())) == expected
    assert indexed(path) == expected


def test_sizes_and_names_that_need_pax_records(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "g"}) as tar:
        member = tarfile.TarInfo("x.bin")
        member.size = 5
        member.pax_headers = {"size": "5", "mtime": "1.25", "path": "folder/y.bin"}
        tar.addfile(member, pyio.BytesIO(b"12345"))
    assert list(io.iter_tar(path)) == [{"__key__": "folder/y", "bin": b"12345"}]


@pytest.mark.parametrize("format", ["v7", "oldgnu", "gnu", "ustar", "posix"])
def test_what_gnu_tar_writes_is_read(format: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    for name, data in shard(3):
        (folder / "sub" / name).write_bytes(data)
    (folder / "sub" / "link.jpg").symlink_to("000000.jpg")
    path = tmp_path / "a.tar"
    command = ["tar", f"--format={format}", "--sort=name", "-C", folder, "-cf", path, "."]
    subprocess.run(command, check=True)
    reader = io.iter_tar(path)
    samples = list(reader)
    assert [s["__key__"] for s in samples] == [f"./sub/{i:06d}" for i in range(3)]
    assert samples[2]["cls"] == b"2"
    assert samples == indexed(path)
    assert reader.findings()["not_files"] == 3  # two folders and the link


@pytest.mark.parametrize("format", ["oldgnu", "gnu", "posix"])
def test_sparse_members_are_passed_over_and_counted(format: str, tmp_path: Path) -> None:
    holes = tmp_path / "holes.bin"
    with holes.open("wb") as file:
        for i in range(40):
            file.seek(i * 100_000)
            file.write(b"data")
        file.truncate(5_000_000)
    (tmp_path / "z.txt").write_bytes(b"behind")
    path = tmp_path / "a.tar"
    command = ["tar", f"--format={format}", "--sparse", "-C", tmp_path, "-cf", path]
    subprocess.run([*command, "holes.bin", "z.txt"], check=True)
    records = open_records([str(path)])
    assert [as_bytes(records.read(i)) for i in range(len(records))] == [
        {"__key__": "z", "txt": b"behind"}
    ]
    assert records.findings()["sparse"] == 1
    assert records.findings()["damaged"] == 0


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # webdataset leaves its files open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_webdataset_gives_the_same_samples(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    paths = []
    for s in range(3):
        path = tmp_path / f"train-{s:03d}.tar"
        with webdataset.TarWriter(str(path)) as sink:
            for i in range(20):
                sink.write(
                    {
                        "__key__": f"part{s}/{i:05d}",
                        "jpg": os.urandom(100 * i),
                        "cls": i,
                        "Txt": "t",
                    }
                )
        paths.append(str(path))
    pattern = str(tmp_path / "train-{000..002}.tar")
    theirs = [
        {k: v for k, v in sample.items() if k not in ("__url__", "__local_path__")}
        for sample in webdataset.WebDataset(pattern, shardshuffle=False)
    ]
    assert list(io.iter_tar(pattern)) == theirs
    assert list(io.iter_tar(paths)) == theirs
    records = open_records([pattern])
    assert [as_bytes(r) for r in records.read_many(list(range(60)))] == theirs


# Hidden files in folders are left out: webdataset makes samples of them whose key is the folder.
names = st.text("ab./", min_size=1, max_size=8).filter(
    lambda name: "//" not in name and "/." not in name and not name.startswith("/")
)


@settings(max_examples=150, deadline=None)
@given(
    files=st.lists(st.tuples(names, st.binary(max_size=1500)), max_size=8),
    format=st.sampled_from(list(FORMATS.values())),
)
def test_any_members_are_grouped_as_tarfile_lists_them(
    files: list[tuple[str, bytes]], format: int
) -> None:
    webdataset = pytest.importorskip("webdataset")
    data = write_tar(files, format)
    theirs: list[Sample] = []
    with tarfile.open(fileobj=pyio.BytesIO(data)) as tar:
        for member in tar:
            key, field = webdataset.tariterators.base_plus_ext(member.name)
            content = tar.extractfile(member)
            if key is None or content is None:
                continue
            if not theirs or theirs[-1]["__key__"] != key or field in theirs[-1]:
                theirs.append({"__key__": key})
            theirs[-1][field] = content.read()
    keys = [s["__key__"] for s in theirs]
    repeated = [i for i in range(1, len(theirs)) if keys[i] == keys[i - 1]]
    errors: list[str] = []
    ours = list(io.iter_tar(data, on_error="skip", errors=errors))
    assert ours == [s for i, s in enumerate(theirs) if i not in repeated]
    assert len(errors) == len(repeated)


# ---- compressed


def test_compressed_tars_are_streamed_and_not_indexed(tmp_path: Path) -> None:
    files = shard(50)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(write_tar(files)))
    assert list(io.iter_tar(path)) == grouped(files)
    assert list(io.iter_tar(path.read_bytes())) == grouped(files)
    with pytest.raises(NotImplementedError, match="front to back"):
        open_records([str(path)])


def test_zstd_too(tmp_path: Path) -> None:
    plain = tmp_path / "a.tar"
    plain.write_bytes(write_tar(shard(50)))
    if subprocess.run(["zstd", "-q", plain], check=False).returncode != 0:
        pytest.skip("no zstd command here")
    assert list(io.iter_tar(tmp_path / "a.tar.zst")) == grouped(shard(50))


def test_a_cut_gzip_raises_after_what_was_sound(tmp_path: Path) -> None:
    data = gzip.compress(write_tar([(f"{i}.bin", os.urandom(2000)) for i in range(500)]))
    reader = io.iter_tar(data[: len(data) // 2])
    taken: list[Sample] = []
    with pytest.raises(ValueError, match="cut off"):
        taken.extend(reader)
    assert 200 < len(taken) < 300
    assert list(reader) == []


# ---- damage


def test_one_damaged_header_costs_one_sample() -> None:
    files = shard(300)
    sound = write_tar(files, tarfile.USTAR_FORMAT)
    damaged = bytearray(sound)
    damaged[100 * 2560 + 1536 + 130] ^= 1  # the size of 000100.cls
    errors: list[str] = []
    reader = io.iter_tar(damaged, on_error="skip", errors=errors)
    assert list(reader) == [s for s in grouped(files) if s["__key__"] != "000100"]
    assert len(errors) == 1
    assert "sample 000100" in errors[0]
    assert f"offset {100 * 2560 + 1536}" in errors[0]
    assert reader.findings()["damaged"] == 1


def test_iteration_goes_on_after_an_exception() -> None:
    damaged = bytearray(write_tar(shard(10), tarfile.USTAR_FORMAT))
    damaged[3 * 2560] ^= 1
    reader = io.iter_tar(damaged)
    before: list[Sample] = []
    with pytest.raises(ValueError, match="damaged"):
        before.extend(reader)
    taken = [*before, *reader]
    assert [s["__key__"] for s in taken] == [f"{i:06d}" for i in range(10) if i != 3]


def test_a_flipped_payload_byte_is_noticed_with_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(10), tarfile.USTAR_FORMAT))
    open_records([str(path)], checksums=True)
    with path.open("r+b") as file:
        file.seek(4 * 2560 + 512 + 5)
        file.write(b"!")
    records = open_records([str(path)])  # same size, another time: kept, for it has hashes
    for i in range(10):
        if i == 4:
            with pytest.raises(ValueError, match=r"jpg.*sample 000004"):
                records.read(i)
        else:
            assert bytes(records.read(i)["jpg"]) == bytes([i]) * 700


def test_a_sidecar_that_does_not_fit_is_refused_and_refreshed_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(3)))
    assert len(open_records([str(path)])) == 3
    path.write_bytes(write_tar(shard(30)))
    with pytest.raises(ValueError, match="penstock index --refresh"):
        open_records([str(path)])
    assert len(open_records([str(path)], refresh=True)) == 30
    assert len(open_records([str(path)])) == 30


def test_the_index_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for s in range(2):
        (tmp_path / f"t-{s}.tar").write_bytes(write_tar([*shard(3), ("README", b"no sample")]))
    pattern = str(tmp_path / "t-{0..1}.tar")
    assert main(["index", pattern, "--checksums"]) == 0
    assert capsys.readouterr().out == "6 samples with __key__, jpg, cls\nunnamed: 2\n"
    assert (tmp_path / "t-1.tar.psidx").exists()
    (tmp_path / "t-0.tar").write_bytes(write_tar(shard(40)))
    assert main(["index", pattern]) == 1
    assert "--refresh" in capsys.readouterr().err
    assert main(["index", pattern, "--refresh"]) == 0
    assert capsys.readouterr().out.startswith("43 samples")


def test_missing_shards_and_patterns_without_match_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.tar"):
        open_records([str(tmp_path / "none.tar")])
    with pytest.raises(FileNotFoundError, match=r"\*\.tar"):
        io.iter_tar(tmp_path / "*.tar")
    with pytest.raises(FileNotFoundError, match=r"none\.tar"):
        next(io.iter_tar(tmp_path / "none.tar"))
    with pytest.raises(ValueError, match="on_error"):
        io.iter_tar(b"", on_error="ignore")  # type: ignore[arg-type]


def test_members_beyond_the_limit() -> None:
    data = write_tar([("a.bin", b"x" * 100), ("b.bin", b"x" * 101)])
    reader = io.iter_tar(data, max_member=100)
    assert next(reader)["__key__"] == "a"
    with pytest.raises(IndexError, match="max_member"):
        next(reader)


# ---- memory and threads


def test_records_share_memory_and_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(100)))
    records = open_records([str(path)])
    held = [records.read(i) for i in range(100)]
    del records
    for i, sample in enumerate(held):
        assert isinstance(sample["jpg"], memoryview)
        assert sample["jpg"] == bytes([i]) * 700
        assert sample["cls"] == str(i).encode()


def test_fields_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(5)))
    assert next(io.iter_tar(path, fields=["cls"])) == {"__key__": "000000", "cls": b"0"}
    records = open_records([str(path)], fields=["cls"])
    assert records.fields == ["__key__", "cls"]
    assert as_bytes(records.read(4)) == {"__key__": "000004", "cls": b"4"}
    with pytest.raises(KeyError, match="there are: __key__, jpg, cls"):
        open_records([str(path)], fields=["png"])


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(200)))
    records = open_records([str(path)])
    wrong: list[int] = []

    def work(seed: int) -> None:
        for k in range(400):
            i = (k * 37 + seed * 11) % 200
            if records.read(i)["cls"] != str(i).encode():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_gil_is_free_while_a_pipe_has_nothing() -> None:
    read_end, write_end = os.pipe()
    data = write_tar(shard(3))
    seen: list[Sample] = []
    reader = threading.Thread(target=lambda: seen.extend(io.iter_tar(f"/dev/fd/{read_end}")))
    reader.start()
    with os.fdopen(write_end, "wb") as file:  # would hang here if the reader held the GIL
        file.write(data)
    reader.join(30)
    os.close(read_end)
    assert seen == grouped(shard(3))


def memory_in_use() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError


def test_a_long_stream_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(2000, 20_000), tarfile.USTAR_FORMAT))

    def drain() -> Iterator[int]:
        for sample in io.iter_tar([path] * 5):
            yield len(sample["jpg"])

    assert sum(drain()) == 5 * 2000 * 20_000
    before = memory_in_use()
    assert sum(drain()) == 5 * 2000 * 20_000
    assert memory_in_use() - before < 16 << 20


def test_a_folder_of_images(tmp_path: Path) -> None:
    for name in ("dogs/b.jpg", "cats/a.png", "cats/c/d.JPEG", "cats/readme.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    records = open_records([str(tmp_path)])
    samples = [as_bytes(records.read(i)) for i in range(len(records))]
    assert [(s["image"], s["label"]) for s in samples] == [
        (b"cats/a.png", 0),
        (b"cats/c/d.JPEG", 0),
        (b"dogs/b.jpg", 1),
    ]
    assert samples[2]["path"] == str(tmp_path / "dogs/b.jpg")
    assert records.findings()["unnamed"] == 1


def test_an_interrupted_index_leaves_no_half_sidecar(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(write_tar(shard(2000)))
    script = f"from penstock._core import open_records\nopen_records([{str(path)!r}])"
    for delay in (0.05, 0.15, 0.25, 0.35):
        process = subprocess.Popen([sys.executable, "-c", script])
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert len(open_records([str(path)])) == 2000
        (tmp_path / "a.tar.psidx").unlink()
