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


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text())


def headings(page: Path) -> set[str]:
    """As links name them: small letters, hyphens for spaces, no other marks."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", sorted({*PAGES, *ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md")}), ids=name_of
)
def test_links_lead_somewhere(page: Path) -> None:
    for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", prose(page)):
        found = page.parent / target if target else page
        assert os.path.exists(found), f"{page} links to {target}"
        if place:
            assert place in headings(found), f"{page} links to {target}#{place}"


def test_every_page_is_in_the_index() -> None:
    listed = set(re.findall(r"\]\(([^)#:]+)\)", (ROOT / "docs" / "index.md").read_text()))
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.parent.name == "docs"}
    assert pages - {"index.md"} <= listed


def test_the_files_that_the_architecture_names_are_there() -> None:
    folder = None
    for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines():
        cells = line.split("|")
        if heading := re.match(r"\| in `([^`]+)`", line):
            folder = ROOT / heading[1]
        elif line.startswith("| `") and folder is not None:
            inside = folder  # short names follow one with its folder
            for name in re.findall(r"`([^`]+)`", cells[1]):
                found = [*folder.glob(name), *inside.glob(name)]
                assert found, f"ARCHITECTURE.md names {folder.relative_to(ROOT)}/{name}"
                inside = (folder / name).parent if "/" in name.rstrip("/") else inside
        elif not line.startswith("|"):
            folder = None


def test_the_architecture_describes_every_folder() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    unsaid = ("build", "dist", "cmake", "requirements", "scripts")  # the first two are made
    for parent in ("src", "python/penstock", "."):
        for folder in sorted((ROOT / parent).iterdir()):
            tracked = folder.is_dir() and folder.name[0] not in "._"
            if tracked and folder.name not in unsaid:
                assert f"{folder.name}/" in text, f"ARCHITECTURE.md does not name {folder}"


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("examples/**/*.md")], ids=name_of)
def test_values_of_ends_are_such_that_batch_takes(page: Path) -> None:
    import penstock as ps

    for value in re.findall(r'ends="(\w+)"', page.read_text()):
        assert ps.from_list([1]).batch(1, ends=value) is not None
