"""The progress bar: what it shows, and that it never stands in the way."""

import io
import os
import pty
import subprocess
import sys

import numpy as np
import penstock as ps
import pytest
from penstock.dataloader import CacheDataLoader
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


def test_a_loader_that_was_resumed_goes_on_with_its_count():
    console, first = terminal(), loader()
    for number, _ in enumerate(first):
        if number == 2:
            break
    second = loader()
    second.load_state_dict(first.state_dict())
    assert len(list(progress(second, console=console))) == 2
    assert "4/5" in text(console)
    last = text(console).splitlines()[-2]
    assert "5/5" in last
    assert "0:00:00" in last


def test_after_a_break_it_shows_what_was_received():
    console = terminal()
    for number, _ in enumerate(progress(loader(), console=console)):
        if number == 3:
            break
    assert "4/5" in text(console)


def on_a_terminal(program):
    """What it wrote to standard output, which is a file, and to standard error, a terminal."""
    try:
        mine, its = pty.openpty()
    except OSError as error:
        pytest.skip(f"there are no terminals here: {error}")
    program = "import penstock as ps\nl = ps.from_list(range(20)).batch(4).loader()\n" + program
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=its,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(its)
    seen = b""
    while True:
        try:
            seen += os.read(mine, 4096)
        except OSError:  # the other side is closed
            break
    os.close(mine)
    out, _ = process.communicate()
    assert process.returncode == 0
    return out.decode(), seen.decode()


def test_what_the_loop_prints_goes_to_standard_output():
    out, seen = on_a_terminal("for i, _ in enumerate(l.progress()): print('loss', i)")
    assert out.split() == [word for i in range(5) for word in ("loss", str(i))]
    assert "loss" not in seen
    assert "5/5" in seen


def test_an_iterator_that_is_kept_after_a_break_ends_with_the_program():
    program = "b = l.progress()\nfor i, _ in enumerate(b):\n  if i == 2: break\nprint('on')"
    out, seen = on_a_terminal(program)
    assert out == "on\n"
    assert "3/5" in seen
    assert "Traceback" not in seen
    assert seen.rfind("\x1b[?25h") > seen.rfind("\x1b[?25l")  # the cursor is there


@pytest.mark.parametrize(
    ("batch", "batch_size", "size"),
    [
        ({"a": np.zeros((3, 2)), "b": 1}, 4, 3),
        ({"b": 1, "a": np.zeros((3, 2))}, 4, 3),
        ([np.zeros(5), np.zeros(5)], 5, 5),
        ((np.zeros(6), 1), 6, 6),
        ([1, 2, 3], 3, 3),
        ([{"a": 1}, {"a": 2}], 4, 2),
        ([np.zeros((5, 5, 3)), np.zeros((7, 7, 3))], 2, 2),
        ({"image": [np.zeros((5, 5, 3)), np.zeros((7, 7, 3))]}, 4, 2),
        ({"text": ["a", "b"]}, 2, 2),
        (np.zeros((8, 3, 9)), 8, 8),
        (np.float32(1), 1, 1),
        ({}, 1, 1),
        # Without a batch size: an item is one, and a list many.
        (np.zeros((48, 64, 3)), None, 1),
        ({"image": np.zeros((48, 64, 3))}, None, 1),
        ([{"a": 1}, {"a": 2}], None, 2),
        ("text", None, 1),
        (7, None, 1),
    ],
)
def test_samples_of_a_batch(batch, batch_size, size):
    assert _size(batch, batch_size) == size


def test_what_comes_from_memory_without_end_has_no_total():
    loader = ps.from_list(range(8)).batch(2).loader()
    console = terminal()
    batches = progress(CacheDataLoader(loader, 2, 3), console=console)
    for _ in range(9):
        next(batches)
    batches.close()
    assert "9/?" in text(console)
    console = terminal()
    list(progress(CacheDataLoader(loader, 2, 3, stop_after=5), console=console))
    assert "5/5" in text(console)
