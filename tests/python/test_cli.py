"""The command `penstock`."""

import html
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import penstock
import pytest
from penstock.cli import main


def test_version_prints_the_version_of_the_build_files(capsys: pytest.CaptureFixture[str]) -> None:
    build_file = (Path(__file__).parents[2] / "CMakeLists.txt").read_text()
    match = re.search(r"project\(penstock VERSION ([0-9.]+)", build_file)
    assert match is not None
    assert penstock.__version__ == match[1]
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"penstock {match[1]}\n"


def test_the_version_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"penstock {penstock.__version__}\n"


def test_without_a_command_it_says_how_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert "usage: penstock" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[sys.executable, "-m", "penstock"], ["penstock"]])
def test_demo_runs_as_a_command(command: list[str], tmp_path: Path) -> None:
    command[0] = str(Path(sys.executable).parent / command[0])
    done = subprocess.run(
        [*command, "demo"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert f"Penstock {penstock.__version__}" in done.stdout
    assert "400 samples with" in done.stdout
    assert "a perfect loader" in done.stdout.lower()
    assert done.stderr == ""
    assert "verdict" in (tmp_path / "penstock-report.html").read_text()


def test_demo_takes_a_folder_of_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from penstock import io

    for i in range(70):
        (tmp_path / "data" / "abc"[i % 3]).mkdir(parents=True, exist_ok=True)
        picture = io.encode_image(np.full((50, 60, 3), i, np.uint8), "png")
        (tmp_path / "data" / "abc"[i % 3] / f"{i}.png").write_bytes(picture)
    page = tmp_path / "page.html"
    assert main(["demo", str(tmp_path / "data"), "--report", str(page)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "70 samples with" in said
    # What was said of the loading is on the page, with the flow: it was not that of training.
    flow = page.read_text().split("The flow")[1]
    verdict = re.search(r'id="full-speed">[^<]*at full speed[^<]*</p><p>(.*?)</p>', flow)
    assert verdict is not None
    assert html.unescape(verdict[1]) in said
    assert main(["demo", str(tmp_path / "nothing")]) == 1
    assert "nothing" in capsys.readouterr().err


def test_doctor_says_what_the_machine_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert f"penstock {penstock.__version__}" in text
    assert "cores: " in text
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"]["cores"] >= 1
    assert found["measured"] is None


def test_doctor_measures_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from penstock import io

    picture = io.encode_image(np.zeros((50, 60, 3), np.uint8), "png")
    for i in range(30):
        (tmp_path / f"{i}.png").write_bytes(picture)
    assert main(["doctor", str(tmp_path), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert measured["samples"] == 30
    assert measured["rate"] > 0
    assert main(["doctor", str(tmp_path / "nothing")]) == 1
    assert "nothing" in capsys.readouterr().err


def test_the_help_of_every_command_shows_an_example_and_the_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    names = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert {"version", "demo", "bench", "doctor", "index"} <= set(names)
    for name in names:
        with pytest.raises(SystemExit) as stop:
            main([name, "--help"])
        assert stop.value.code == 0
        *_, example, codes = capsys.readouterr().out.splitlines()  # lines that can be copied
        assert example.startswith(f"example: penstock {name}")
        assert codes.startswith("exit codes: 0 done")


def test_bench_measures_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0.05"]) == 0
    text = capsys.readouterr().out
    for words in ("decode a JPEG", "crop to 224x224", "images/s", "CPU s per 1000"):
        assert words in text
    assert main(["bench", "--seconds", "0.05", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cores"] >= 1
    assert all(one["rate"] > 0 for one in found["figures"])


def test_bench_takes_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.zeros((50, 3)))
    assert main(["bench", str(tmp_path / "x.npy"), "--seconds", "0.05", "--json"]) == 0
    (figure,) = json.loads(capsys.readouterr().out)["figures"]
    assert figure["unit"] == "samples"


def numbers(folder: Path) -> Iterator[str]:
    """Datasets without an encoded image, though their names may say so."""
    import h5py
    import pyarrow
    import pyarrow.parquet

    pixels = np.zeros((70, 32, 32, 3), np.uint8)
    np.save(folder / "rows.npy", np.zeros((70, 100), np.float32))
    np.save(folder / "pixels.npy", pixels)
    np.savez(folder / "image.npz", image=pixels, label=np.arange(70))
    np.savez(folder / "two.npz", image=pixels, jpg=np.arange(70))
    with h5py.File(folder / "image.h5", "w") as file:
        file["image"] = pixels
    for name, values in (("data", np.arange(70.0)), ("image", [f"{i}.jpg" for i in range(70)])):
        pyarrow.parquet.write_table(pyarrow.table({name: values}), folder / f"{name}.parquet")
    with tarfile.open(folder / "data.tar", "w") as tar:
        for i in range(70):
            member = tarfile.TarInfo(f"{i}.data")
            member.size = 4
            tar.addfile(member, BytesIO(b"none"))
    return (str(path) for path in sorted(folder.iterdir()))


def test_what_holds_no_encoded_images_is_measured_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock import doctor

    monkeypatch.setattr(doctor, "_SECONDS", 0.05)
    for source in numbers(tmp_path):
        assert main(["doctor", source, "--json"]) == 0, source
        measured = json.loads(capsys.readouterr().out)["measured"]
        assert measured["work"] == "read in shuffled order"
        assert (measured["errors"], measured["rate"] > 0) == (0, True)
        assert main(["bench", source, "--seconds", "0.02", "--json"]) == 0, source
        (figure,) = json.loads(capsys.readouterr().out)["figures"]
        assert figure["unit"] == "samples"
        assert main(["demo", source, "--report", str(tmp_path.parent / "page.html")]) == 1
        assert "the demo decodes images" in capsys.readouterr().err


def test_records_without_names_are_images_if_they_look_like_some(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock import doctor, io

    monkeypatch.setattr(doctor, "_SECONDS", 0.05)
    picture = bytes(io.encode_image(np.zeros((50, 60, 3), np.uint8), "png"))
    for record, work in ((b"no picture", "read in"), (picture, "read, decoded and cropped")):
        source = tmp_path / f"{len(record)}.tfrecord"
        with io.TFRecordWriter(source) as writer:
            for _ in range(40):
                writer.write(record)
        assert main(["doctor", str(source), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["measured"]["work"].startswith(work)


@pytest.mark.parametrize("command", ["demo", "bench", "doctor", "index"])
def test_what_cannot_be_done_is_exit_code_1_and_said(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path / "nothing.tar")]) == 1
    assert "nothing" in capsys.readouterr().err


def test_wrong_usage_is_exit_code_2() -> None:
    for arguments in (["nonsense"], ["index"], ["bench", "--seconds", "many"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "--seconds", "nan"],
        ["bench", "--seconds", "inf"],
        ["bench", "--seconds", "0"],
        ["inspect", "x.npy", "--samples", "-3"],
        ["index", "x.tar", "--threads", "-4"],
        ["convert", "x.npy", "x.tar", "--shard-size", "foo"],
        ["convert", "x.npy", "x.tar", "--shard-size", "0"],
        ["convert", "x.npy", "x.tar", "--image-size", "abc"],
        ["convert", "x.npy", "x.tar", "--image-size", "0x3"],
        ["convert", "x.npy", "x.tar", "--threads", "-1"],
    ],
    ids=" ".join,
)
def test_an_option_that_cannot_be_is_named(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {arguments[-2]}: {arguments[-1]!r}" in said
    assert "; give " in said


def test_functions_name_the_arguments_that_cannot_be(tmp_path: Path) -> None:
    from penstock.bench import run
    from penstock.convert import convert
    from penstock.inspection import inspect

    np.save(tmp_path / "x.npy", np.zeros(5))
    source, target = str(tmp_path / "x.npy"), str(tmp_path / "x.tfrecord")
    with pytest.raises(ValueError, match="seconds is nan"):
        run(seconds=float("nan"))
    with pytest.raises(ValueError, match="samples is -3"):
        inspect(source, samples=-3)
    with pytest.raises(ValueError, match="threads is -1"):
        convert(source, target, threads=-1)
    for wrong in ("foo", 0, 1.5):
        with pytest.raises(ValueError, match="shard_size is"):
            convert(source, target, shard_size=wrong)  # type: ignore[arg-type]


def test_a_field_that_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((4, 2)))
    arguments = ["convert", str(tmp_path / "x.npz"), str(tmp_path / "x.tar"), "--fields", "nofield"]
    assert main(arguments) == 1
    assert capsys.readouterr().err.startswith("penstock convert: no such field: ")


def test_what_can_only_be_read_in_order_is_measured_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock import demo, doctor, io

    monkeypatch.setattr(doctor, "_SECONDS", 0.1)
    monkeypatch.setattr(demo, "_SECONDS", 0.1)
    path = str(tmp_path / "x.tar.gz")
    picture = io.encode_image(np.zeros((50, 60, 3), np.uint8), "jpeg")
    with tarfile.open(path, "w:gz") as tar:
        for i in range(40):
            member = tarfile.TarInfo(f"{i}.jpg")
            member.size = len(picture)
            tar.addfile(member, BytesIO(picture))
    assert main(["doctor", path]) == 0
    assert "cropped to 224x224 in order" in capsys.readouterr().out
    assert main(["doctor", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["samples"] is None
    assert main(["bench", path, "--seconds", "0.05"]) == 0
    assert "read, in order" in capsys.readouterr().out
    assert main(["demo", path, "--report", str(tmp_path / "page.html")]) == 0
    assert "to be read from front to back" in capsys.readouterr().out


def test_a_name_that_tells_no_format_gets_all_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.bin").write_bytes(b"1234")
    assert main(["inspect", str(tmp_path / "x.bin")]) == 1
    said = capsys.readouterr().err
    for name in ("tar", "tfrecord", "npy", "zarr", "hdf5", "parquet", "tokens", "folder"):
        assert name in said


def test_options_are_named_as_the_command_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.txt").write_text("a text\n")
    assert main(["inspect", str(tmp_path / "t.txt")]) == 1
    assert "give --format, one of tar" in capsys.readouterr().err
    for command in ("demo", "bench", "doctor", "index"):
        assert main([command, str(tmp_path / "t.txt")]) == 1
        said = capsys.readouterr().err
        assert "give it another ending" in said
        assert "--format" not in said


@pytest.mark.parametrize("command", ["demo", "bench", "doctor", "inspect", "index"])
def test_a_folder_of_shards_says_what_to_write(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(3):
        with tarfile.open(tmp_path / f"a-{i}.tar", "w"):
            pass
    assert main([command, str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert f"there is no image in {tmp_path}, but 3 .tar files: open '{tmp_path}/*.tar'" in said


@pytest.fixture
def not_images(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for i in range(30):
        (tmp_path / "data" / f"{i}.jpg").write_bytes(b"not a jpeg")
    return tmp_path / "data"


def test_demo_says_that_images_cannot_be_decoded(
    not_images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", str(not_images), "--report", str(tmp_path / "page.html")]) == 1
    out, said = capsys.readouterr()
    assert "could be decoded" in said
    assert ".jpg" in said
    assert "source" not in out  # no verdict on what was not done
    (tmp_path / "empty.tar").write_bytes(bytes(10_240))
    assert main(["demo", str(tmp_path / "empty.tar")]) == 1
    assert "has no samples" in capsys.readouterr().err


def test_demo_looks_first_whether_the_report_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in (tmp_path / "nowhere" / "page.html", tmp_path):
        assert main(["demo", "--report", str(place)]) == 1
        out, err = capsys.readouterr()
        assert str(place) in err
        assert out == ""


def test_doctor_decodes_images_and_reports_what_failed(
    not_images: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock import io

    assert main(["doctor", str(not_images), "--json"]) == 1
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert measured["errors"] == 30
    picture = io.encode_image(np.zeros((50, 60, 3), np.uint8), "png")
    for i in range(20):
        (not_images / f"{i}.jpg").write_bytes(picture)
    assert main(["doctor", str(not_images)]) == 0
    text = capsys.readouterr().out
    assert "decoded and cropped to 224x224" in text
    assert "10 of the samples failed" in text
    assert "failed: " in text


def test_doctor_lists_libraries_and_limits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock import _core, _machine, doctor

    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    version, _ = _core.ffmpeg()
    assert f"FFmpeg: {version}\n" in text or "FFmpeg: not there (" in text
    assert "http(s): libcurl/" in text
    for words in ("HDF5: ", "libFLAC: ", "Zarr: ", "open files: ", "shared memory: "):
        assert words in text
    monkeypatch.setattr(_core, "ffmpeg", lambda: (None, "apt install libavformat-dev"))
    monkeypatch.setattr(
        _machine,
        "limits",
        lambda: {
            "open_files": 256,
            "shared_memory": 64_000_000,
            "cgroup_memory": 1_000_000_000,
            "cgroup_cpus": 0.5,
        },
    )
    found = doctor.examine()
    assert "FFmpeg: not there (apt install libavformat-dev)" in doctor.words(found)
    for words in ("256 files", "/dev/shm has only 64 MB", "1.0 GB of memory", "0.5 CPUs"):
        assert any(words in problem for problem in found.problems)


@pytest.mark.parametrize("version", [1, 2])
def test_limits_of_a_container(version: int, tmp_path: Path) -> None:
    from penstock._machine import cgroup_limits

    def write(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    mine = tmp_path / "mine"
    if version == 2:
        mine.write_text("0::/pod/job\n")
        write("pod/memory.max", "8000000000\n")
        write("pod/job/memory.max", "max\n")
        write("pod/job/cpu.max", "150000 100000\n")
        write("cpu.max", "max 100000\n")
    else:
        mine.write_text("4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n")
        write("memory/memory.limit_in_bytes", "9223372036854771712\n")
        write("memory/job/memory.limit_in_bytes", "8000000000\n")
        write("cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n")
        write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n")
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
        write("cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    assert cgroup_limits(str(tmp_path), str(mine)) == (8_000_000_000, 1.5)
    assert cgroup_limits(str(tmp_path / "none"), str(mine)) == (None, None)


def test_an_interrupted_command_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock import bench

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "run", interrupted)
    assert main(["bench"]) == 130
