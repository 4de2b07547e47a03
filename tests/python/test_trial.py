"""A few seconds of loading, and what `penstock doctor` and `penstock demo` say of them."""

import json
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from penstock import _trial, demo, doctor, io
from penstock._trial import in_words, trial
from penstock.cli import main
from penstock.data.dataset import Dataset
from penstock.pipeline import StageStats


def batches(data: Dataset) -> Dataset:
    return data.batch(64)


def texts(path: Path, count: int) -> str:
    with tarfile.open(path, "w") as tar:
        for i in range(count):
            member = tarfile.TarInfo(f"{i:03}.txt")
            member.size = 8
            tar.addfile(member, BytesIO(b"12345678"))
    return str(path)


def test_too_little_data_is_one_verdict_whatever_the_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_SECONDS", 0.1)
    monkeypatch.setattr(_trial, "_LONG", 60.0)  # the machine may stand still
    source = texts(tmp_path / "a.tar", 20)
    for _ in range(5):
        assert main(["doctor", source, "--json"]) == 0
        words = json.loads(capsys.readouterr().out)["measured"]["verdict"]
        assert words.startswith("Too little data to tell")
        assert "an epoch is 20 samples, and took " in words


def test_short_epochs_are_measured_as_one_run() -> None:
    data = ps.from_list(range(100)).shuffle(seed=0)
    done = trial(data, batches, 0.2)
    sink = done.loader.stats()["stages"][-1]
    assert sink.samples == done.samples > done.epoch == 100
    assert sink.elapsed > 0.05
    nap = lambda sample: time.sleep(0.002) or sample  # noqa: E731
    slow = ps.from_list(range(100)).map(nap, concurrency=1)
    done = trial(slow, batches, 0.01)  # what takes long is not read to its end, nor again
    assert done.epoch == done.samples == 64


def test_little_data_that_takes_its_time_can_be_judged() -> None:
    def slow(sample: dict[str, int]) -> dict[str, int]:
        time.sleep(0.01)
        return sample

    done = trial(ps.from_list(range(128)).map(slow, concurrency=1), batches, 0.8)
    assert done.epoch_seconds > 0.5
    assert "Too little" not in done.verdict


def test_data_that_fails_says_so_whatever_else_was_measured() -> None:
    def bad(sample: dict[str, int]) -> dict[str, int]:
        if int(sample["data"]) % 2:
            raise ValueError("no such thing")
        return sample

    done = trial(ps.from_list(range(100)).map(bad), batches, 0.2)
    assert done.verdict.startswith("50 of 100 samples failed.")
    assert len(done.failed) == 50
    done = trial(ps.from_list(range(1, 100, 2)).map(bad), batches, 60)  # all of them: it ends
    assert (done.samples, len(done.failed)) == (0, 50)


@pytest.mark.parametrize("command", ["doctor", "demo"])
def test_a_folder_with_broken_images_is_not_judged_by_its_times(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "_SECONDS", 0.1)
    monkeypatch.setattr(demo, "_SECONDS", 0.1)
    picture = bytes(io.encode_image(np.zeros((50, 60, 3), np.uint8), "png"))
    (tmp_path / "data").mkdir()
    for i in range(40):
        (tmp_path / "data" / f"{i}.png").write_bytes(picture if i % 2 else b"none")
    page = tmp_path / "page.html"
    options = ["--report", str(page)] if command == "demo" else []
    assert main([command, str(tmp_path / "data"), *options]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "20 of the samples failed" in said
    assert "20 of 40 samples failed. Fix that first" in said
    if command == "demo":
        assert "samples failed." in page.read_text().split('id="verdict"')[1][:100]


def stats(first: str) -> list[StageStats]:
    source = StageStats(first, tasks=100, task_seconds=9.0, elapsed=10.0, items_out=100)
    work = StageStats("read", tasks=100, task_seconds=1.0, waiting=9.0, elapsed=10.0)
    return [source, work, StageStats("sink", waiting=9.0, elapsed=10.0, readiness=0.1)]


def test_no_advice_about_a_stage_of_our_own() -> None:
    *stages, sink = stats("admit")
    words = in_words([*stages, sink])
    assert "Nothing holds it back" in words
    assert "source" not in words
    words = in_words([*stages, replace(sink, waiting=0.1)])
    assert "Nothing holds it back" in words  # the loop only counts: it is no training


def test_the_reader_of_what_is_read_in_order_is_a_stage_as_any_other() -> None:
    words = in_words(stats("stream"), sequential=True)
    assert "Nothing holds it back" not in words
    assert "from front to back by one thread" in words

    class Slow:
        def __iter__(self) -> Iterator[int]:
            for i in range(320):
                time.sleep(0.002)
                yield i

    said = []
    while not said or ("Reading is the slowest" not in said[-1] and len(said) < 5):
        said.append(trial(ps.from_iterable(Slow()), batches, 1.0).verdict)
    assert "Reading is the slowest part" in said[-1]  # unless others have the cores all the time


def test_the_demo_says_which_data_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = texts(tmp_path / "a.tar", 20)
    assert main(["demo", source, "--report", str(tmp_path / "page.html")]) == 1
    said = capsys.readouterr().err
    assert "the demo decodes images" in said
    assert "__key__, txt" in said
    assert "penstock doctor" in said
