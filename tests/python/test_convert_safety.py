"""`penstock convert` loses nothing: not the source, not what others have put there, not a part."""

import contextlib
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from penstock import io
from penstock.cli import main
from penstock.convert import _array_writers, _tree_writers, _writers, convert
from penstock.convert._parquet_writer import ParquetWriter

WRITERS = {
    ".tar": _writers.TarWriter,
    ".parquet": ParquetWriter,
    ".npy": _array_writers.NpyWriter,
    ".zarr": _array_writers.ZarrWriter,
    "/": _tree_writers.FolderWriter,
}


def picture(i: int, format: str = "png") -> bytes:
    return bytes(io.encode_image(np.full((8, 8, 3), i, np.uint8), format))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    for i in range(6):
        path = folder / "ab"[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(i))
    return folder


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.arange(200, dtype="i4").reshape(100, 2))
    return tmp_path / "x.npy"


@contextlib.contextmanager
def interrupted_at(part: int, kind: type = ParquetWriter) -> Iterator[None]:
    """Ctrl-C when it comes to this part."""
    with pytest.MonkeyPatch.context() as patch:
        write = kind.write  # type: ignore[attr-defined]

        def stopped(self: object, number: int, *more: object) -> object:
            if number == part:
                raise KeyboardInterrupt
            return write(self, number, *more)

        patch.setattr(kind, "write", stopped)
        with pytest.raises(KeyboardInterrupt):
            yield


def values(pattern: Path) -> list[int]:
    return [int(sample["data"][0]) for sample in ps.open(str(pattern))]


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("photos", "photos/"),
        ("photos/a", "photos/"),
        ("photos", "photos/a/"),
        ("photos", "photos/x.tar"),
        ("photos", "linked/"),
        ("p.tar", "p.tar"),
        ("p.tar", "linked.tar"),
        ("x.npy", "x.npy"),
        ("s.tar.partial", "s.tar"),
        ("./photos/../p.tar", "p.tar"),
    ],
)
def test_a_source_is_never_overwritten(
    photos: Path, rows: Path, tmp_path: Path, source: str, target: str
) -> None:
    convert(photos, tmp_path / "p.tar")
    (tmp_path / "s.tar.partial").write_bytes((tmp_path / "p.tar").read_bytes())
    (tmp_path / "linked").symlink_to("photos")
    (tmp_path / "linked.tar").symlink_to("p.tar")
    before = everything(tmp_path)
    format = "tar" if source.endswith("partial") else None
    with pytest.raises(ValueError, match="is read"):
        convert(f"{tmp_path}/{source}", f"{tmp_path}/{target}", format=format, overwrite=True)
    assert {name: data for name, data in everything(tmp_path).items() if "psidx" not in name} == {
        name: data for name, data in before.items() if "psidx" not in name
    }


def test_shards_are_never_overwritten_by_themselves(photos: Path, tmp_path: Path) -> None:
    done = convert(photos, tmp_path / "p.tar", shard_size=2)
    for source in (done.files, done.files[1], str(tmp_path / "p-*.tar")):
        with pytest.raises(ValueError, match="is read, and would be written"):
            convert(source, tmp_path / "p.tar", shard_size=3, overwrite=True)
    assert len(ps.open(done.files)) == 6


def test_what_no_conversion_has_written_is_not_removed(
    photos: Path, rows: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("mine")
    (precious / "000000000.png").write_bytes(picture(0))
    for target, to in ((f"{precious}/", None), (precious, "zarr"), (precious, "npy")):
        with pytest.raises(FileExistsError, match=r"precious.* is in the way"):
            convert(photos if to is None else rows, target, to=to, overwrite=True)
    for to in ("tar", "tfrecord", "parquet"):
        with pytest.raises(FileExistsError, match="precious is in the way: it is a folder"):
            convert(rows, precious, to=to, overwrite=True)
    assert sorted(os.listdir(precious)) == ["000000000.png", "thesis.tex"]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="it is a file"):
        convert(photos, f"{tmp_path}/file/", overwrite=True)
    (tmp_path / "new.partial").mkdir()
    with pytest.raises(FileExistsError, match=r"new\.partial is in the way"):
        convert(photos, f"{tmp_path}/new/")
    assert not list(tmp_path.glob("*.converting"))


@pytest.mark.parametrize("ending", [".tar", ".parquet", ".npy", ".zarr", "/"])
def test_what_is_there_stays_until_the_new_is_complete(
    photos: Path, tmp_path: Path, ending: str
) -> None:
    size = (4, 4) if ending in (".npy", ".zarr") else None
    fields = ["image"] if ending == ".npy" else None
    target = f"{tmp_path}/x{ending}"
    convert(photos, target, fields=fields, image_size=size)
    before = everything(tmp_path)
    for i in range(6, 9):
        (photos / f"a/{i}.png").write_bytes(picture(i))
    with interrupted_at(0, WRITERS[ending]):
        convert(photos, target, fields=fields, image_size=size, overwrite=True, threads=1)
    assert before.items() <= everything(tmp_path).items()
    assert sorted(os.listdir(tmp_path)) == sorted(["photos", f"x{ending}".rstrip("/")])
    convert(photos, target, fields=fields, image_size=size, overwrite=True, verify=True)
    assert sorted(os.listdir(tmp_path)) == sorted(["photos", f"x{ending}".rstrip("/")])
    assert len(ps.open(target)) == 9


def test_a_shard_that_was_removed_meanwhile_is_written_again(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.parquet"
    with interrupted_at(3):
        convert(rows, target, shard_size=25, threads=1)
    os.unlink(tmp_path / "y-000000.parquet")
    (tmp_path / "y-000001.parquet").write_bytes(b"cut")
    done = convert(rows, target, shard_size=25, verify=True)
    assert done.resumed == 1
    assert values(tmp_path / "y-*.parquet") == list(range(0, 200, 2))


@pytest.mark.parametrize("ending", [".zarr", "/", ".npy"])
def test_a_piece_that_was_removed_meanwhile_is_written_again(
    photos: Path, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_array_writers.NpyWriter, "bytes_of_part", 2 * 8 * 8 * 3)
    kind = {".zarr": "zarr", "/": "folder", ".npy": "npy"}[ending]
    arguments = {"to": kind, "threads": 1, "shard_size": None if kind == "npy" else 2}
    if kind != "folder":
        arguments |= {"image_size": (8, 8), "fields": ["image"]}
    target = tmp_path / "out"
    with interrupted_at(2, WRITERS[ending]):
        convert(photos, target, **arguments)
    assert not target.exists()
    partial = tmp_path / "out.partial"
    lost = {"zarr": "image/c/0/0/0/0", "folder": "00000/000000001.png", "npy": "."}[kind]
    (partial / lost).unlink()
    done = convert(photos, target, verify=True, **arguments)
    assert done.resumed == (0 if kind == "npy" else 1)
    assert len(ps.open(str(target), format=kind)) == 6
    assert sorted(os.listdir(tmp_path)) == ["out", "photos"]


def test_a_source_that_has_changed_is_not_gone_on_with(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.parquet"
    with interrupted_at(2):
        convert(rows, target, shard_size=25, threads=1)
    np.save(rows, np.ones((100, 2), "i4"))  # as long as before
    with pytest.raises(ValueError, match=r"the source has changed .* start anew \(--overwrite\)"):
        convert(rows, target, shard_size=25)
    convert(rows, target, shard_size=25, overwrite=True)
    assert values(tmp_path / "y-*.parquet") == [1] * 100


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4096, 1024), "u1"))
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        command = [sys.executable, "-m", "penstock", "convert", str(tmp_path / "x.npy")]
        done = subprocess.run([*command, str(small / "y.npy")], capture_output=True, text=True)
        assert os.listdir(small) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert done.returncode == 1
    assert os.strerror(errno.ENOSPC) in done.stderr


def test_room_for_an_array_is_taken_first(rows: Path, tmp_path: Path) -> None:
    np.save(rows, np.zeros((1000, 1000), "u1"))
    found = []

    def look(self: object, *more: object) -> None:
        found.append(os.stat(tmp_path / "y.npy.partial"))
        raise ValueError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_array_writers.NpyWriter, "write", look)
        with pytest.raises(ValueError, match="enough"):
            convert(rows, tmp_path / "y.npy")
    assert found[0].st_blocks * 512 >= found[0].st_size > 1_000_000


def test_ctrl_c_does_not_wait_for_a_part(rows: Path, tmp_path: Path) -> None:
    np.save(rows, np.zeros((3000, 2), "i4"))
    named = _writers.TarWriter._named

    def slow(self: _writers.TarWriter, samples: _writers.Samples) -> Iterator[object]:
        for one in named(self, samples):
            time.sleep(0.01)
            yield one

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    begun = time.monotonic()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_writers.TarWriter, "_named", slow)
            signal.setitimer(signal.ITIMER_REAL, 1)
            assert main(["convert", str(rows), str(tmp_path / "y.tar")]) == 130
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun < 15  # all of it takes 30
    assert sorted(os.listdir(tmp_path)) == ["x.npy"]
    assert main(["convert", str(rows), str(tmp_path / "y.tar"), "--verify"]) == 0


def test_a_source_without_samples_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(tmp_path / "e.tar", "w"):
        pass
    np.save(tmp_path / "e.npy", np.zeros((0, 3)))
    for source in ("e.tar", "e.npy"):
        for ending in (".tar", ".tfrecord", ".parquet", ".npy", ".zarr", "/"):
            target = f"{tmp_path}/out{ending}"
            assert main(["convert", str(tmp_path / source), target]) == 1
            assert f"there is no sample in {tmp_path / source}" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


def test_two_conversions_to_one_destination_do_not_mix(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.tar"
    with open(f"{target}.converting", "a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for overwrite in (False, True):
            with pytest.raises(BlockingIOError, match="another conversion to this destination"):
                convert(rows, target, overwrite=overwrite)
    assert not target.exists()
    assert convert(rows, target).samples == 100  # an empty journal is none


def test_the_lock_is_held_while_it_runs(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.parquet"
    write = ParquetWriter.write

    def again(self: ParquetWriter, *more: object) -> int:
        with pytest.raises(BlockingIOError):
            convert(rows, target, overwrite=True)
        return write(self, *more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParquetWriter, "write", again)
        assert convert(rows, target).samples == 100


def test_nothing_is_left_of_what_can_never_work(rows: Path, tmp_path: Path) -> None:
    np.save(rows, np.zeros((4, 2)))  # no float64 in Examples
    with pytest.raises(TypeError, match="float64"):
        convert(rows, tmp_path / "y.tfrecord", shard_size=2)
    assert os.listdir(tmp_path) == ["x.npy"]


def test_leftovers_of_a_killed_run_are_removed(rows: Path, tmp_path: Path) -> None:
    with interrupted_at(2, _writers.TFRecordWriter):
        convert(rows, tmp_path / "y.tfrecord", shard_size=25, threads=1)
    left = tmp_path / "y-000002.tfrecord.partial.1234.5.tmp"
    left.write_bytes(b"half")
    (tmp_path / "y-notes.tfrecord.partial.1.2.tmp").write_bytes(b"mine")
    done = convert(rows, tmp_path / "y.tfrecord", shard_size=25)
    assert done.resumed == 2
    assert not left.exists()
    assert (tmp_path / "y-notes.tfrecord.partial.1.2.tmp").exists()
    assert not (tmp_path / "y.tfrecord.converting").exists()


def test_a_journal_that_was_cut_is_gone_on_with(rows: Path, tmp_path: Path) -> None:
    target = tmp_path / "y.parquet"
    with interrupted_at(3):
        convert(rows, target, shard_size=25, threads=1)
    journal = Path(f"{target}.converting")
    journal.write_bytes(journal.read_bytes()[:-5])
    assert json.loads(journal.read_text().splitlines()[0])["samples"] == 100
    assert convert(rows, target, shard_size=25, verify=True).resumed == 2
    assert values(tmp_path / "y-*.parquet") == list(range(0, 200, 2))


@pytest.mark.parametrize("lose", [False, True])
@pytest.mark.parametrize("ending", WRITERS)
def test_an_interrupted_verification_is_taken_up_again(
    photos: Path, tmp_path: Path, ending: str, lose: bool
) -> None:
    arrays = ending in (".npy", ".zarr")
    fields, size = (["image"], (4, 4)) if arrays else (None, None)
    target = f"{tmp_path}/x{ending}"

    def stopped(*more: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WRITERS[ending], "check", stopped)
        with pytest.raises(KeyboardInterrupt):
            convert(photos, target, fields=fields, image_size=size, verify=True)
    place = Path(target)
    if lose:
        (place if place.is_file() else next(place.rglob("0*"))).rename(tmp_path / "lost")
    done = convert(photos, target, fields=fields, image_size=size, verify=True)
    assert done.resumed == (0 if lose else 1) == done.parts - lose
    assert len(ps.open(target)) == 6
    there = {path.name for path in tmp_path.iterdir()}
    assert there - {"lost", "x.tar.psidx"} == {"photos", f"x{ending}".rstrip("/")}
