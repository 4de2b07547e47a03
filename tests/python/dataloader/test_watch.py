"""What loaders tell of their loops: statistics, tables, bars, pages."""

import contextlib
import io
import os
import pickle

import penstock as ps
import pytest
from penstock.dataloader import CacheDataLoader, DataLoader, PyTorchDataLoader
from penstock.insight import report
from penstock.insight._progress import progress
from penstock.pipeline import PipelineBuilder
from rich.console import Console

pytest.importorskip("torch", reason="PyTorch is not installed")


def plain():
    return DataLoader(range(16), batch_size=4, num_threads=1)


def threads():
    return PyTorchDataLoader(list(range(16)), batch_size=4, num_workers=2)


@pytest.mark.parametrize("make", [plain, threads])
def test_statistics_of_the_loop_under_way_and_of_the_last_one(make, tmp_path):
    loader = make()
    assert loader.stats() == []
    assert "\n" not in str(loader)
    batches = iter(loader)
    next(batches)
    assert loader.stats()[-1].items_out == 1
    for _ in batches:
        pass
    del batches
    assert loader.stats()[-1].items_out >= 4
    assert "items/s" in str(loader)
    report(str(tmp_path / "a.html"), loader)
    loader.report(str(tmp_path / "b.html"))
    assert "verdict" in (tmp_path / "a.html").read_text()
    assert "verdict" in (tmp_path / "b.html").read_text()
    assert len(list(loader.progress())) == 4
    assert pickle.loads(pickle.dumps(loader)).stats() == []


def test_a_loop_that_is_left_keeps_its_statistics():
    for loader in (plain(), threads()):
        for _ in loader:
            break
        assert loader.stats()[-1].items_out == 1


def test_without_workers_nothing_is_measured(tmp_path):
    loader = PyTorchDataLoader(range(4))
    assert len(list(loader)) == 4
    assert loader.stats() == []
    with pytest.raises(TypeError, match="num_workers"):
        loader.report(str(tmp_path / "page.html"))


def test_the_bar_of_a_resumed_loader_begins_where_it_goes_on():
    first = threads()
    batches = iter(first)
    for _ in range(3):
        next(batches)
    second = threads()
    second.load_state_dict(first.state_dict())
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    assert len(list(progress(second, console=console))) == 1
    assert "4/4" in console.file.getvalue()
    assert "% ready" in console.file.getvalue()


def test_the_bar_of_a_cache_does_not_go_round_it():
    loader = CacheDataLoader(ps.from_list(range(40)).batch(4).loader(), 1, 2, 5)
    seen = [batch["data"][0] for batch in loader.progress()]
    assert seen == [batch["data"][0] for batch in loader] == [0, 4, 0, 0, 0]


def test_statistics_in_a_forked_child_are_none_and_no_crash():
    pipeline = PipelineBuilder().add_source(range(9)).pipe(abs).add_sink(1).build(num_threads=1)
    pipeline.start()
    pipeline.get_item()
    dataset = ps.from_list(range(16)).batch(4).loader()
    loaders = (plain(), threads(), dataset)
    loops = [iter(loader) for loader in loaders]
    for loop in loops:
        next(loop)
    child = os.fork()
    if child == 0:
        try:
            with contextlib.suppress(RuntimeError):  # it belongs to the parent
                pipeline.stats()
            with contextlib.suppress(RuntimeError):
                loaders[0].stats()
            loops[1].stop()
            os._exit(len(loaders[1].stats()) + len(dataset.stats()["stages"]))
        finally:
            os._exit(99)
    assert os.waitpid(child, 0)[1] == 0
    pipeline.stop()
