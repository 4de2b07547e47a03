"""`penstock convert` and `penstock inspect`: what comes out is what was there, after a kill too."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import penstock as ps
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from penstock import io
from penstock.cli import main
from penstock.convert import convert

COUNT = 60


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small pictures in three classes."""
    folder = tmp_path_factory.mktemp("source") / "photos"
    for i in range(COUNT):
        path = folder / "abc"[i % 3] / f"{i:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(io.encode_image(np.full((16, 16, 3), i * 4, np.uint8), "png"))
    return folder


def pictures(ds: ps.Dataset, image: str, label: str) -> list[tuple[bytes, int]]:
    return [(bytes(sample[image]), int(sample[label])) for sample in ds]


@pytest.mark.parametrize("shard_size", [None, 25, "5KB"])
@pytest.mark.parametrize("ending", ["tar", "tfrecord", "parquet"])
def test_a_folder_goes_to_shards_and_back(
    photos: Path, tmp_path: Path, ending: str, shard_size: int | str | None
) -> None:
    done = convert(
        str(photos), tmp_path / f"x.{ending}", shard_size=shard_size, verify=True, threads=2
    )
    assert (done.samples, done.skipped, done.resumed, done.verified) == (COUNT, 0, 0, True)
    assert done.parts == (1 if shard_size is None else 3 if shard_size == 25 else len(done.files))
    names = [os.path.basename(name) for name in done.files]
    assert sorted(os.listdir(tmp_path)) == names
    assert names[0] == (f"x.{ending}" if shard_size is None else f"x-000000.{ending}")
    ds = ps.open(done.files)
    image, label = "image", "label"
    if ending == "tar":
        image, label, ds = "png", "cls", ds.decode("cls")
        assert ds[1]["__key__"] == "a/003"
    expected = pictures(ps.open(str(photos)), "image", "label")
    assert pictures(ds, image, label) == expected

    back = tmp_path / "back"
    fields = [image, label]
    convert(done.files, f"{back}/", fields=fields, shard_size=7, verify=True)
    assert pictures(ps.open(str(back)), "image", "label") == expected


def test_arrays_go_to_zarr_npy_and_parquet(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(101, 4, 3)).astype("f4")
    y = np.arange(101, dtype="i2")
    np.savez(tmp_path / "a.npz", x=x, y=y)
    source = str(tmp_path / "a.npz")
    convert(source, tmp_path / "a.zarr", shard_size=20, verify=True)
    batch = next(iter(ps.open(tmp_path / "a.zarr").batch(101).loader()))
    assert np.array_equal(batch["x"], x)
    assert np.array_equal(batch["y"], y)
    zarr = pytest.importorskip("zarr")
    assert np.array_equal(zarr.open_group(tmp_path / "a.zarr", mode="r")["x"][...], x)
    convert(tmp_path / "a.zarr", tmp_path / "a.parquet", verify=True)
    convert(tmp_path / "a.parquet", tmp_path / "x.npy", fields=["x"], verify=True)
    assert np.array_equal(np.load(tmp_path / "x.npy"), x)
    done = convert(tmp_path / "x.npy", tmp_path / "x.tar", shuffle=3, shard_size=50, verify=True)
    rows = [sample["data.npy"] for sample in ps.open(done.files).decode("npy")]
    order = [int(np.argmin(np.abs(x - row).sum(axis=(1, 2)))) for row in rows]
    assert sorted(order) == list(range(101))
    assert order != sorted(order)


def test_images_are_decoded_for_arrays(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--image-size"):
        convert(photos, tmp_path / "x.zarr", fields=["image", "label"])
    convert(photos, tmp_path / "x.zarr", fields=["image", "label"], image_size=(8, 8), verify=True)
    assert ps.open(tmp_path / "x.zarr")[3]["image"].shape == (8, 8, 3)


def test_texts_nulls_and_lists_keep_their_values(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {"t": ["a", None, "é"], "n": [1, 2, 3], "l": [[1], [], [2, 3]], "f": [0.5, 1.5, 2.5]}
    )
    pq.write_table(table, tmp_path / "x.parquet")
    convert(tmp_path / "x.parquet", tmp_path / "x.tar", verify=True)
    got = list(ps.open(tmp_path / "x.tar").decode("cls", "npy"))
    assert [int(sample["n.cls"]) for sample in got] == [1, 2, 3]
    assert "t.txt" not in got[1]
    assert bytes(got[2]["t.txt"]) == "é".encode()
    with pytest.raises(TypeError, match="'f' is float64"):
        convert(tmp_path / "x.parquet", tmp_path / "x.tfrecord")
    convert(tmp_path / "x.parquet", tmp_path / "y.tfrecord", fields=["t", "n", "l"], verify=True)


def test_maps_stay_maps_also_where_they_are_empty(tmp_path: Path) -> None:
    kind = pa.map_(pa.string(), pa.int64())
    maps = [[("a", 1), ("b", 2)], None, [("c", 3)], *([[]] * 5000)]
    pq.write_table(pa.table({"m": pa.array(maps, kind)}), tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.parquet")
    written = pq.read_table(tmp_path / "b.parquet")
    assert written.schema.field("m").type == kind
    assert written["m"].to_pylist() == maps


def test_what_parquet_cannot_hold_is_said_before_anything_is_written(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((3, 2), np.complex64))
    with pytest.raises(TypeError, match="'data' has numbers of type complex64"):
        convert(tmp_path / "a.npy", tmp_path / "b.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_lists_of_one_length_in_some_shards_stay_lists(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    lists = [[1, 2]] * 10 + [[3]] * 10 + [[], [4, 5, 6]] * 5
    pq.write_table(pa.table({"l": lists}), tmp_path / "x.parquet")
    done = convert(tmp_path / "x.parquet", tmp_path / "y.parquet", shard_size=10, verify=True)
    assert [sample["l"].tolist() for sample in ps.open(done.files)] == lists
    done = convert(done.files, tmp_path / "z.tfrecord", shard_size=15, verify=True)
    back = convert(done.files, tmp_path / "w.parquet", shard_size=6, verify=True)
    assert [sample["l"].tolist() for sample in ps.open(back.files)] == lists


def test_a_killed_conversion_goes_on_where_it_was(photos: Path, tmp_path: Path) -> None:
    for ending in ("tar", "parquet", "zarr", "npy"):
        target = tmp_path / f"x.{ending}"
        more = ["--image-size", "64x64", "--fields", "image"] if ending in ("zarr", "npy") else []
        size = [] if ending == "npy" else ["--shard-size", "2"]
        command = [sys.executable, "-m", "penstock", "convert", str(photos), str(target), *size]
        command += ["--threads", "1", *more]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        journal = Path(f"{target}.converting")
        while running.poll() is None:  # until a few parts are done
            with contextlib.suppress(FileNotFoundError):  # not yet, or no more
                if journal.read_text().count("\n") > 3:
                    running.kill()
                    running.wait()
                    break
            time.sleep(0.001)
        if running.returncode == 0:
            continue  # it was faster than this loop, or it is one part
        if ending in ("zarr", "npy"):
            with pytest.raises((ValueError, OSError)):
                ps.open(target)  # not taken for whole
        else:
            for name in tmp_path.glob(f"x-*.{ending}"):
                assert len(ps.open(name)) == 2
        done = json.loads(
            subprocess.run(
                [*command, "--verify", "--json"], capture_output=True, check=True, text=True
            ).stdout
        )
        assert done["samples"] == COUNT
        assert done["resumed"] >= 3
        assert not journal.exists()
        assert not list(tmp_path.glob("*partial*"))


def test_an_interrupted_run_is_continued_only_with_the_same_plan(
    photos: Path, tmp_path: Path
) -> None:
    target = tmp_path / "x.tar"
    bad = tmp_path / "photos"
    bad.mkdir()
    for i, path in enumerate(sorted(photos.rglob("*.png"))):
        (bad / f"{i:03}.png").write_bytes(path.read_bytes())
    (bad / "030.png").write_bytes((bad / "031.png").read_bytes()[:50])
    arguments = {"image_size": (8, 8), "shard_size": 10, "threads": 1}
    with pytest.raises(ValueError, match=r"030\.png"):
        convert(bad, target, **arguments)
    assert (tmp_path / "x-000000.tar").exists()
    assert not (tmp_path / "x-000003.tar").exists()
    with pytest.raises(ValueError, match="another part"):
        convert(bad, target, **{**arguments, "shard_size": 5})
    with pytest.raises(ValueError, match="another on_error"):
        convert(bad, target, **arguments, on_error="skip")
    done = convert(bad, target, **arguments, on_error="skip", overwrite=True, verify=True)
    assert (done.samples, done.skipped) == (COUNT - 1, 1)
    with pytest.raises(FileExistsError, match="--overwrite"):
        convert(bad, target, **arguments)


def test_verification_finds_what_is_not_the_same(photos: Path, tmp_path: Path) -> None:
    from penstock.convert import _writers
    from penstock.convert._source import open_source

    for ending in ("tar", "tfrecord", "parquet"):
        done = convert(photos, tmp_path / f"x.{ending}")
        other = convert(photos, tmp_path / f"y.{ending}", shuffle=1)
        os.replace(other.files[0], done.files[0])
        source = open_source(photos, ending, None, None, None, {})
        writer = _writers.writer_for(done.files[0], ending, source, None)
        writer.learn(source)
        samples = ((i, source.ds[i]) for i in range(COUNT))
        with pytest.raises(ValueError, match="verification failed"):
            writer.check(0, samples, lambda: iter(()))


def test_the_command_says_what_it_did(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "x.tar"
    assert main(["convert", str(photos), str(target), "--verify"]) == 0
    told = capsys.readouterr()
    assert told.out == f"{COUNT} samples in {target}, verified\n"
    assert told.err == ""
    assert main(["convert", str(photos), str(target)]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["convert", str(photos), str(tmp_path / "x.what")]) == 1
    assert "cannot tell what to write" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "nowhere"), str(target)]) == 1
    with pytest.raises(SystemExit) as stop:
        main(["convert", str(photos)])
    assert stop.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    assert "example: penstock convert" in capsys.readouterr().out


def test_inspect_tells_fields_and_shows_pictures(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(photos), "--samples", "20"]) == 0
    told = capsys.readouterr().out
    assert f"folder, {COUNT} samples" in told
    assert "png 16x16" in told
    assert "%%%%" in told.split("sample 19")[1]  # it is bright
    assert main(["inspect", str(photos), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["samples"] == COUNT
    assert [field["name"] for field in found["fields"]] == ["image", "label", "path"]
    np.savez(tmp_path / "a.npz", x=np.zeros((5, 2, 2), "f4"), y=np.arange(5))
    assert main(["inspect", str(tmp_path / "a.npz")]) == 0
    told = capsys.readouterr().out
    assert "x  float32 [2, 2]" in told
    assert "y  int64 number" in told
    for ending in ("tar", "tfrecord", "parquet"):
        name = convert(photos, tmp_path / f"x.{ending}").files[0]
        assert main(["inspect", name, "--samples", "1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["samples"] == COUNT
    assert main(["inspect", str(tmp_path / "nothing.parquet")]) == 1
    assert "nothing.parquet" in capsys.readouterr().err


def test_index_tells_which_formats_need_none(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in ("parquet", "tar", "tfrecord"):
        name = convert(photos, tmp_path / f"x.{ending}").files[0]
        assert main(["index", name]) == 0
        told = capsys.readouterr().out
        assert f"{COUNT} samples" in told
        assert ("needs no index" in told) == (ending == "parquet")
        assert Path(f"{name}.psidx").exists() == (ending != "parquet")


def test_pictures_have_colours_where_a_terminal_shows_them(photos: Path) -> None:
    from penstock import inspection

    found = inspection.inspect(str(photos), samples=1)
    assert "\x1b[38;2;0;0;0m" in inspection.words(found, colours=True)
    assert "\x1b" not in inspection.words(found, colours=False)


def test_a_zarr_folder_without_metadata_is_told_to_be_that(tmp_path: Path) -> None:
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(FileNotFoundError, match="no Zarr array or group here"):
        ps.open(tmp_path / "x.zarr")


def test_pictures_of_one_name_stay_two_samples(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for i, name in enumerate(["a.b.png", "a_b.png", "c.bmp.png", "c.png"]):
        (folder / name).write_bytes(io.encode_image(np.full((4, 4, 3), i, np.uint8), "png"))
    (folder / "c.jpg").write_bytes(io.encode_image(np.zeros((4, 4, 3), np.uint8), "jpeg"))
    done = convert(str(folder), tmp_path / "x.tar", verify=True)
    assert done.samples == len(ps.open(done.files)) == 5


def test_a_label_never_leads_out_of_the_folder(photos: Path, tmp_path: Path) -> None:
    (png,) = list(photos.glob("a/000.png"))
    for i, label in enumerate(["..", "../away", "/away", ""]):
        table = pa.table({"image": [png.read_bytes()], "label": [label]})
        pq.write_table(table, tmp_path / f"{i}.parquet")
        with pytest.raises(ValueError, match="cannot be the name of a folder"):
            convert(tmp_path / f"{i}.parquet", f"{tmp_path}/out{i}/")
    assert not list(tmp_path.glob("**/away"))


def test_only_its_own_leftovers_are_removed(photos: Path, tmp_path: Path) -> None:
    for name in ("x.partial-notes", "x-plan.partial", "x-000000.tar.partial"):
        (tmp_path / name).write_text("mine")
    convert(str(photos), tmp_path / "x.tar", shard_size=25)
    assert not (tmp_path / "x-000000.tar.partial").exists()
    assert (tmp_path / "x.partial-notes").read_text() == "mine"
    assert (tmp_path / "x-plan.partial").read_text() == "mine"


def test_shards_of_an_earlier_conversion_are_not_mixed_in(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "x-000007.tar").write_bytes(bytes(1024))
    with pytest.raises(FileExistsError, match=r"x-000007\.tar exists"):
        convert(str(photos), tmp_path / "x.tar", shard_size=25)
    convert(str(photos), tmp_path / "x.tar", shard_size=25, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"x-00000{i}.tar" for i in range(3)]


def test_a_field_never_leads_out_of_the_store(tmp_path: Path) -> None:
    for i, name in enumerate(["../away", "/away", "a/../../away"]):
        pq.write_table(pa.table({name: [1, 2]}), tmp_path / f"{i}.parquet")
        with pytest.raises(ValueError, match="cannot be the name of an array"):
            convert(tmp_path / f"{i}.parquet", tmp_path / "x.zarr")
    assert not list(tmp_path.glob("**/away"))
