"""libcurl is loaded when a URL is first read; without it all else works."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from servers import NGINX, nginx

LOCAL = """
import sys
import numpy as np
import penstock as ps
from penstock import io

def mapped():
    with open("/proc/self/maps") as file:
        return "libcurl" in file.read()

folder = sys.argv[1]
assert io.decode_image(io.encode_image(np.zeros((4, 4), np.uint8), "png")).shape == (4, 4, 3)
assert len(io.read_range(f"{folder}/x.npy", 0, 6)) == 6
assert sum(len(batch["data"]) for batch in ps.open(f"{folder}/x.npy").batch(2).loader()) == 8
print("local:", mapped())
"""
ABSENT = """
try:
    io.read_range("http://127.0.0.1:1/x", 0, 1)
except NotImplementedError as error:
    print(error)
from penstock import _machine
print(_machine.libraries()["http(s)"])
"""
REMOTE = """
assert io.read_range(sys.argv[2], 0, 6) == b"\\x93NUMPY"
print("remote:", mapped())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.arange(8))
    return tmp_path


def run(program: str, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_local_files_do_without_libcurl(folder: Path) -> None:
    assert run(LOCAL, str(folder)) == "local: False\n"


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")
def test_a_url_loads_libcurl(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with nginx(folder, tmp_path_factory.mktemp("nginx")) as port:
        said = run(LOCAL + REMOTE, str(folder), f"http://127.0.0.1:{port}/x.npy")
    assert said == "local: False\nremote: True\n"


@pytest.mark.parametrize("library", ["none.so", "x.npy", "old.so"])
def test_a_missing_libcurl_is_told_when_a_url_is_read(library: str, folder: Path) -> None:
    if library == "old.so":  # a library that has none of its functions
        import penstock._core

        (folder / library).symlink_to(penstock._core.__file__)
    local, said, doctor = run(
        LOCAL + ABSENT, str(folder), PENSTOCK_CURL_LIBRARY=str(folder / library)
    ).splitlines()
    assert local == "local: False"
    assert "URLs need libcurl, 7.85 or newer" in said
    assert "apt install libcurl4" in said
    assert "'there': False" in doctor
    assert "apt install libcurl4" in doctor
