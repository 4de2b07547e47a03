"""The wheel that `make wheel` builds, in a virtual environment of its own."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

DIST = Path(__file__).resolve().parents[2] / "dist"


@pytest.fixture(scope="module")
def wheel() -> Path:
    wheels = sorted(DIST.glob("penstock-*.whl"))
    if not wheels:
        pytest.skip("no wheel in dist/; make wheel builds it")
    return wheels[-1]


def test_wheel_holds_module_stub_and_licence_and_nothing_foreign(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert sum(name.startswith("penstock/_core.") for name in names) == 2  # module and stub
    assert "penstock/py.typed" in names
    assert any(name.endswith("/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"penstock"}


def test_wheel_installs_and_its_command_runs(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path)
    python = tmp_path / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    # The dependencies come from the environment of the tests; .pth files do not count there, so
    # that penstock itself can only come from the wheel.
    environment = {"PYTHONPATH": sysconfig.get_path("purelib")}

    def output(*command: str) -> str:
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    where = output(str(python), "-c", "import penstock; print(penstock.__file__)")
    assert Path(where.strip()).is_relative_to(tmp_path)
    version = wheel.name.split("-")[1]
    assert output(str(tmp_path / "bin" / "penstock"), "version") == f"penstock {version}\n"


def test_the_module_needs_no_static_memory_of_threads() -> None:
    """A process has little of it, and what comes after torch and others may find none."""
    from penstock import _core

    flags = subprocess.run(
        ["readelf", "--dynamic", str(_core.__file__)], capture_output=True, text=True, check=True
    ).stdout
    assert "NEEDED" in flags
    assert "STATIC_TLS" not in flags
