"""The progress bar: what it shows, and that it never stands in the way."""

import io

import numpy as np
import penstock as ps
import pytest
from penstock.insight import progress
from penstock.insight._progress import _size
from penstock.pipeline import PipelineBuilder
from rich.console import Console


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def text(console):
    return console.file.getvalue()


def loader(**kwargs):
    return ps.from_list(range(20)).batch(4).loader(**kwargs)


def test_a_terminal_sees_rate_readiness_and_time_left():
    console = terminal()
    seen = [batch["data"].tolist() for batch in progress(loader(), console=console)]
    assert seen == [list(range(i, i + 4)) for i in range(0, 20, 4)]
    for words in ("5/5", "samples/s", "% ready", "0:00:00"):
        assert words in text(console)


def test_elsewhere_nothing_is_shown(capsys):
    assert len(list(ps.progress(loader()))) == 5
    assert len(list(loader().progress())) == 5
    out, err = capsys.readouterr()
    assert (out, err) == ("", "")


def test_a_break_ends_the_bar_and_the_iteration():
    console = terminal()
    data = loader()
    for number, _ in enumerate(progress(data, console=console)):
        if number == 1:
            break
    assert console._live_stack == []  # the cursor is back
    assert "\x1b[?25h" in text(console)
    assert data.state_dict()["position"] == 8  # what the loop has received
    assert len(list(progress(data, console=console))) == 5


def test_an_exception_in_the_loop_ends_the_bar():
    console = terminal()

    def run():
        for _ in progress(loader(), console=console):
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert "\x1b[?25h" in text(console)


def test_an_exception_of_the_loader_comes_through():
    def fail(sample):
        raise ValueError("bad")

    console = terminal()
    with pytest.raises(ValueError, match="bad"):
        list(progress(ps.from_list(range(4)).map(fail).batch(2).loader(), console=console))
    assert "\x1b[?25h" in text(console)


def test_pipelines_endless_data_and_plain_iterables_have_a_bar_too():
    console = terminal()
    pipeline = PipelineBuilder().add_source(range(7)).pipe(abs).add_sink(2).build(num_threads=1)
    with pipeline.auto_stop():
        assert list(progress(pipeline, console=console)) == list(range(7))
    assert "% ready" in text(console)
    endless = ps.from_list(range(4)).repeat().batch(2).loader()
    for number, _ in enumerate(progress(endless, console=console)):
        if number == 9:
            break
    assert list(progress(iter([1, 2]), console=console)) == [1, 2]


@pytest.mark.parametrize(
    ("batch", "size"),
    [
        ({"a": np.zeros((3, 2)), "b": 1}, 3),
        ([np.zeros(5), np.zeros(5)], 5),
        ((np.zeros(6), 1), 6),
        ([1, 2, 3], 3),
        ({"text": ["a", "b"]}, 2),
        (np.float32(1), 1),
        ({}, 1),
        (7, 1),
    ],
)
def test_samples_of_a_batch(batch, size):
    assert _size(batch) == size
