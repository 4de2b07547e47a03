"""The programs in examples/ run, on little data, and say what their pages say."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

COURSE = Path(__file__).resolve().parents[2] / "examples" / "data-pipelines"


def run(name: str, file: str = "run.py") -> str:
    program = COURSE / name / file
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(program), "--small"],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_images() -> None:
    output = run("01-image-pipeline")
    for name in ("a plain loop", "native stages, 2 threads", "loader, 2 threads", "float32 NCHW"):
        assert f"| {name}" in output


def test_formats() -> None:
    output = run("02-efficient-formats")
    for name in ("folder of JPEGs", "tar shards", "TFRecord", "npy, pixels"):
        assert f"| {name}; shuffled" in output


def test_distributed() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert "60 of 60 samples received" in run("03-distributed-loading")


def test_what_ranks_and_tokens_buy() -> None:
    output = run("03-distributed-loading", "measure.py")
    assert "| 2 ranks, 1 thread each |" in output
    assert "| 64 images |" in output


def test_streams() -> None:
    output = run("04-streaming-data")
    assert "| mixed 3 to 1" in output
    assert "those of a run that was not stopped" in output


def test_what_requests_in_flight_buy() -> None:
    output = run("04-streaming-data", "measure.py")
    for name in ("a request at a time", "loader, 8 threads", "uneven steps, `prefetch=8`"):
        assert f"| {name} |" in output


def test_training() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    assert "the same: True" in run("05-training-that-resumes")


def test_what_the_loader_of_a_training_buys() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    output = run("05-training-that-resumes", "measure.py")
    for name in ("torch `DataLoader`, 2 processes", "native, 2 threads"):
        assert f"| {name} |" in output


def test_what_the_choices_of_the_cloud_flow_buy() -> None:
    output = run("../python", "measure.py")
    assert "| 4 downloads at a time, groups of 8 |" in output


def test_text() -> None:
    output = run("06-text")
    assert "| split, 2 threads" in output
    assert "| split, long texts, 2 processes" in output
    assert "| windows of a token file" in output


def test_every_program_in_cpp_is_on_the_page() -> None:
    folder = COURSE.parent / "cpp"
    listed = (folder / "README.md").read_text()
    assert all(f"({program.name})" in listed for program in folder.glob("*.cc"))


def test_every_example_has_a_page() -> None:
    listed = (COURSE / "README.md").read_text()
    for folder in sorted(COURSE.iterdir()):
        if folder.is_dir() and folder.name[0].isdigit():
            assert (folder / "README.md").is_file()
            assert folder.name in listed


MEASURED = sorted(page for page in COURSE.parent.rglob("README.md") if page.parent.name[0] in "0cp")


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.parent.name)
def test_every_page_has_a_measured_table_and_says_how_it_was_made(page: Path) -> None:
    text = page.read_text()
    assert "/s" in text
    assert "Ratios matter more" in " ".join(text.split())


def imported(program: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_the_course_says_what_it_needs_beside_penstock() -> None:
    listed = (COURSE / "README.md").read_text()
    programs = list(COURSE.rglob("*.py"))
    ours = {"penstock", "numpy", *(program.stem for program in programs)}
    for program in programs:
        for name in imported(program) - ours - sys.stdlib_module_names:
            assert f"`{name}`" in listed, f"{program} needs {name}"
