"""Slips of users: what is no loader, no path, no result is refused in words, before anything."""

import io
import re

import penstock as ps
import pytest
from penstock.dataloader import CacheDataLoader
from penstock.insight import headspace, plot_profile, report, scaling
from penstock.pipeline import PipelineBuilder, cache_iterator, profile_pipeline
from rich.console import Console


@pytest.fixture
def loader():
    loader = ps.from_list(range(20)).batch(4).loader()
    assert len(list(loader)) == 5
    return loader


def test_a_profile_is_of_a_config(loader):
    builder = PipelineBuilder().add_source(range(5)).add_sink(2)
    with pytest.raises(TypeError, match=r"not a PipelineBuilder \(its get_config\(\) gives one\)"):
        profile_pipeline(builder)
    with pytest.raises(TypeError, match="give the PipelineConfig of a pipeline, not a Loader"):
        profile_pipeline(loader)
    assert profile_pipeline(builder.get_config()) == []


def test_a_report_is_of_a_loader_or_a_pipeline(loader, tmp_path):
    page = str(tmp_path / "x.html")
    for wrong in ([1, 2], 5, None):
        with pytest.raises(TypeError, match="report: give a pipeline or a loader, not"):
            report(page, wrong)
    with pytest.raises(TypeError, match=r"report: headspace is 0.5; give what headspace\(\)"):
        report(page, loader, headspace=0.5)
    with pytest.raises(TypeError, match=r"is no path; give report\(path, loader\)"):
        report(loader, page)
    assert not list(tmp_path.iterdir())


def test_a_plot_of_profiles_has_a_path_first(tmp_path):
    with pytest.raises(TypeError, match=r"give plot_profile\(path, results\)"):
        plot_profile([], str(tmp_path / "p.svg"))
    for wrong in (5, [5], "p.svg"):
        with pytest.raises(TypeError, match=r"give what profile_pipeline\(\) returns"):
            plot_profile(str(tmp_path / "p.svg"), wrong)
        with pytest.raises(TypeError, match=r"give what profile_pipeline\(\) returns"):
            scaling(wrong)


def test_what_cannot_be_iterated_over_is_no_loader():
    with pytest.raises(TypeError, match="headspace: loader is 5"):
        headspace(5, lambda batch: None)
    shown = io.StringIO()
    with pytest.raises(TypeError, match="progress: loader is 5"):
        ps.progress(5, console=Console(file=shown, force_terminal=True))
    assert shown.getvalue() == ""
    with pytest.raises(TypeError, match="progress: total is 'many'"):
        ps.progress([1], total="many")
    with pytest.raises(TypeError, match="CacheDataLoader: loader is 5"):
        CacheDataLoader(5, 2, 3)


def test_the_loader_of_a_cache_has_two_names():
    given = {"num_caches": 1, "return_caches_after": 1, "stop_after": 3}
    for name in ("loader", "dl"):
        assert list(CacheDataLoader(**{name: [1, 2]}, **given)) == [1, 1, 1]
    with pytest.raises(TypeError, match="the same; give one"):
        CacheDataLoader([1, 2], dl=[1, 2], **given)
    with pytest.raises(TypeError, match="loader is None"):
        CacheDataLoader(**given)
    with pytest.raises(TypeError, match="num_caches is None"):
        CacheDataLoader([1, 2])


def test_what_has_items_by_number_can_be_iterated_over():
    class Items:
        def __getitem__(self, index):
            if index > 4:
                raise IndexError
            return index

    assert list(ps.progress(Items())) == list(CacheDataLoader(Items(), 2, 5, 5)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("given", [(0, 2), (3, 2), (3, 3, 2), (2, 4, 3)])
def test_a_cache_that_cannot_be_is_refused_when_it_is_made(given):
    kept, after, *stop = given
    with pytest.raises(ValueError, match="must be greater than") as said:
        CacheDataLoader([1, 2, 3], *given)
    batches = cache_iterator(
        [1, 2, 3], kept, return_caches_after=after, stop_after=stop[0] if stop else None
    )
    with pytest.raises(ValueError, match=f"^{re.escape(str(said.value))}$"):
        next(batches)


@pytest.mark.parametrize("given", [("2", 3), (2, 3.0), (2, 3, "4")])
def test_the_numbers_of_a_cache_are_checked_when_they_are_given(given):
    with pytest.raises(TypeError, match="give a whole number"):
        CacheDataLoader([1, 2, 3], *given)
