"""Output of the command `penstock` that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def data(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.zeros((50, 3)))
    return tmp_path / "x.npy"


COMMANDS = [
    ["version"],
    ["version", "--json"],
    ["--version"],
    ["--help"],
    ["inspect", "--help"],
    ["inspect", "x.npy"],
    ["index", "x.npy"],
    ["convert", "x.npy", "x.tar"],
    ["bench", "x.npy", "--seconds", "0.01"],
    ["doctor"],
    ["demo"],
]


def penstock(
    arguments: list[str], folder: Path, unbuffered: bool, **streams: int
) -> tuple[int, str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    command = [sys.executable, "-m", "penstock", *arguments]
    done = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment, **streams
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_closed_pipe_is_quiet(arguments: list[str], data: Path) -> None:
    for unbuffered in (False, True) if arguments[0] in ("version", "--help") else (False,):
        read, write = os.pipe()
        os.close(read)
        try:
            assert penstock(arguments, data.parent, unbuffered, stdout=write) == (141, "")
        finally:
            os.close(write)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line(arguments: list[str], data: Path) -> None:
    with open("/dev/full", "w") as full:
        code, said = penstock(arguments, data.parent, False, stdout=full.fileno())
    assert code == 1
    assert said.count("\n") == 1
    assert "No space left on device" in said


def test_a_closed_standard_output_is_one_line(data: Path) -> None:
    for arguments in (["version"], ["inspect", "x.npy"]):
        shell = f'exec "{sys.executable}" -m penstock {" ".join(arguments)} >&-'
        done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, cwd=data.parent)
        assert done.returncode == 1
        assert done.stderr == "penstock: standard output is closed\n"
