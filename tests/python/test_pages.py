"""The examples in README.md and docs/ are true."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The blocks of a language, each with the line it begins at."""
    text = page.read_text()
    return [
        (text.count("\n", 0, match.start(2)), match[2])
        for match in BLOCK.finditer(text)
        if match[1] == language
    ]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "import torch" in page.read_text():
        pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page, "python")
    assert len(found) == page.read_text().count("```python")  # none is passed over
    for line, code in found:
        exec(compile("\n" * line + code, page, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_cpp_blocks_are_parts_of_programs_that_the_tests_compile(page: Path) -> None:
    programs = [*ROOT.glob("examples/cpp/*.cc"), *ROOT.glob("tests/cmake_package/program/*.cc")]
    sources = [program.read_text() for program in programs]
    for line, code in blocks(page, "cpp"):
        assert any(code in source for source in sources), f"{page}:{line} is in no program"


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=name_of)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    prose = BLOCK.sub("", page.read_text())
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
        assert os.path.exists(page.parent / target), f"{page} links to {target}"


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("examples/**/*.md")], ids=name_of)
def test_values_of_ends_are_such_that_batch_takes(page: Path) -> None:
    import penstock as ps

    for value in re.findall(r'ends="(\w+)"', page.read_text()):
        assert ps.from_list([1]).batch(1, ends=value) is not None
