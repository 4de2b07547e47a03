"""Names of files that are not UTF-8, and what else the command `penstock` refuses in words."""

import builtins
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from penstock import inspection, io
from penstock.cli import main

LONG = "d" * 110  # such a name has a header of its own in a tar


@pytest.fixture
def weird(tmp_path: Path) -> Path:
    """Two pictures, in folders and under names that are no text."""
    picture = io.encode_image(np.full((16, 16, 3), 90, np.uint8), "png")
    for name in (b"\xff/\xfe.png", LONG.encode() + b"/\xe9.png"):
        path = os.path.join(os.fsencode(tmp_path / "weird"), name)
        os.makedirs(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(picture)
    return tmp_path / "weird"


def test_inspect_shows_names_that_are_no_text(
    weird: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = len(os.fsencode(weird)) + len(LONG) + len("/?.png") + 1
    assert main(["inspect", str(weird), "--samples", "2"]) == 0
    out = capsys.readouterr().out
    assert f"text, {size} bytes in the first sample" in out
    assert main(["inspect", str(weird), "--samples", "2", "--json"]) == 0
    out = capsys.readouterr().out
    assert "udc" not in out
    found = json.loads(out)
    assert found["first"][1]["path"] == rf"'{weird}/\xff/\xfe.png'"


@pytest.mark.parametrize("ending", ["tar", "tfrecord"])
def test_names_that_are_no_text_keep_their_bytes(weird: Path, ending: str) -> None:
    target = weird.parent / f"x.{ending}"
    assert main(["convert", str(weird), str(target), "--verify"]) == 0
    if ending == "tar":
        with tarfile.open(target) as tar:
            names = [os.fsencode(name) for name in tar.getnames() if name.endswith(".png")]
        assert names == [LONG.encode() + b"/\xe9.png", b"\xff/\xfe.png"]
        assert [sample["__key__"] for sample in ps.open(str(target))] == [
            f"{LONG}/\udce9",
            "\udcff/\udcfe",
        ]
    else:
        paths = [bytes(sample["path"]) for sample in ps.open(str(target))]
        assert paths[1] == os.fsencode(weird) + b"/\xff/\xfe.png"


def test_parquet_says_which_name_is_no_text(
    weird: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = weird.parent / "x.parquet"
    assert main(["convert", str(weird), str(target)]) == 1
    said = capsys.readouterr().err
    assert rf"'path' is '{weird}/{LONG}/\xe9.png', which is not UTF-8" in said
    assert "--fields" in said
    assert main(["convert", str(weird), str(target), "--fields", "image,label"]) == 0


def test_a_source_whose_own_name_is_no_text_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("inspect", "index", "doctor", "bench", "demo"):
        assert main([command, "f\udcff"]) == 1
        assert r"the name 'f\xff' is not UTF-8" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.arange(3))
    target = f"{tmp_path}/f\udcff.tar"
    assert main(["convert", str(tmp_path / "x.npy"), target]) == 0
    assert rf"3 samples in {tmp_path}/f\xff.tar" in capsys.readouterr().out
    assert main(["convert", str(tmp_path / "x.npy"), target, "--json", "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [rf"{tmp_path}/f\xff.tar"]


def test_what_is_too_large_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "big").mkdir()
    with open(tmp_path / "big" / "a.jpg", "wb") as file:
        file.truncate(1100 << 20)  # a hole
    for arguments in (["inspect"], ["inspect", "--json"], ["convert", str(tmp_path / "x.tar")]):
        command, *more = arguments
        assert main([command, str(tmp_path / "big"), *more]) == 1
        out, said = capsys.readouterr()
        assert out == ""
        assert said.startswith(f"penstock {command}: out of range: the file has 1153433600 bytes")
        assert said.count("\n") == 1
        assert "in Python give a larger max_member" in said


def test_what_is_not_installed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.split(".")[0] == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["convert", str(tmp_path / "x.npy"), str(tmp_path / "x.parquet")]) == 1
    assert capsys.readouterr().err.endswith("not installed: pip install pyarrow\n")


@pytest.mark.parametrize(
    "error",
    [
        IndexError("list index out of range"),
        ImportError("cannot import name 'x'", name="penstock.data"),
        AttributeError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_slips_in_the_program_itself_are_not_hidden(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(inspection, "inspect", fails)
    with pytest.raises(type(error)):
        main(["inspect", "x.npy"])


def test_demo_wants_a_name_for_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--report", ""]) == 1
    out, said = capsys.readouterr()
    assert out == ""
    assert "the report has no name" in said


def test_checksums_of_what_has_no_index_are_refused(
    weird: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", str(weird)]) == 0
    assert "folder needs no index" in capsys.readouterr().out
    assert main(["index", str(weird), "--checksums"]) == 1
    assert "there is nothing to index" in capsys.readouterr().err
