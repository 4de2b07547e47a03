"""The command `penstock`."""

import re
import subprocess
import sys
from pathlib import Path

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
def test_demo_runs_as_a_command(command: list[str]) -> None:
    command[0] = str(Path(sys.executable).parent / command[0])
    done = subprocess.run([*command, "demo"], capture_output=True, text=True, check=True)
    assert f"Penstock {penstock.__version__}" in done.stdout
    assert done.stderr == ""
