"""The command `penstock`."""

import json
import re
import subprocess
import sys
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
    assert "70 samples with" in capsys.readouterr().out
    assert page.exists()
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
        text = " ".join(capsys.readouterr().out.split())
        assert f"example: penstock {name}" in text
        assert "exit codes: 0 done" in text


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


def test_an_interrupted_command_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock import bench

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "run", interrupted)
    assert main(["bench"]) == 130
