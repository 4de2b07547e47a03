"""Profiles of stages: what is said of curves that are known, and the picture."""

import math
import sys
import time
import xml.dom.minidom

import pytest
from penstock import io
from penstock.insight import plot_profile, scaling
from penstock.pipeline import ProfileResult, profile_pipeline
from penstock.pipeline._profile import ProfileStats
from penstock.pipeline.defs import Pipe, PipelineConfig, SinkConfig, SourceConfig


def profile(name, rates):
    return ProfileResult(name, [ProfileStats(n, rate, 0.5) for n, rate in rates.items()])


@pytest.mark.parametrize(
    ("rates", "best", "words"),
    [
        ({32: 3200, 16: 1600, 8: 800, 4: 400, 1: 100}, 32, "still gains"),
        ({8: 395, 4: 390, 1: 100}, 4, "uses the CPU"),
        ({4: 390, 1: 100}, 4, "still gains from more at a time: 3.9 times so far, on 4 cores"),
        ({32: 101, 16: 99, 8: 103, 4: 100, 1: 100}, 1, "the GIL"),
        ({32: 50, 16: 70, 8: 80, 4: 90, 1: 100}, 1, "in each other's way"),
        ({32: 395, 16: 400, 8: 398, 4: 390, 1: 100}, 4, "uses the CPU"),
        ({32: 200, 16: 202, 8: 201, 4: 198, 1: 100}, 4, "for a part of its time"),
        ({32: 1600, 16: 1590, 8: 800, 4: 400, 1: 100}, 16, "waits for reads"),
        ({1: 70}, 1, "one at a time"),
        ({1: math.nan}, 1, "gave nothing"),
        ({32: 0, 4: 0, 1: 0}, 1, "gave nothing"),
    ],
)
def test_where_a_stage_stops_scaling_and_why(rates, best, words):
    (found,) = scaling([profile("op", rates)], cores=4)
    assert found.best == best
    assert words in found.reason
    if words != "gave nothing":
        assert found.rate == rates[best]
        assert str(found).startswith(f"op: {rates[best]:,} items/s with {best} at a time.")


def test_a_real_profile_of_a_stage_that_sleeps():
    def nap(x):
        time.sleep(0.02)
        return x

    def found():
        config = PipelineConfig(SourceConfig(range(60)), [Pipe(nap), Pipe(abs)], SinkConfig(1))
        naps, _ = scaling(profile_pipeline(config, 60))
        return naps.best >= 4 and naps.rate > 2 * naps.alone

    assert any(found() for _ in range(5))  # others may want the cores


def test_the_picture_has_every_point_and_marks_where_it_stops(tmp_path):
    results = [profile("<a>", {4: 400, 1: 100}), profile("b", {32: 50, 8: 100, 1: 100})]
    plot_profile(str(tmp_path / "profile.png"), results, cores=4)
    assert io.load_image(str(tmp_path / "profile.png"), mode="L").std() > 5  # not blank
    found = plot_profile(str(tmp_path / "profile.svg"), results, cores=4)
    assert [one.stage for one in found] == ["<a>", "b"]
    drawn = xml.dom.minidom.parse(str(tmp_path / "profile.svg"))
    dots = [one.getAttribute("class") for one in drawn.getElementsByTagName("circle")]
    assert sorted(dots) == ["point", "point", "point", "stop", "stop"]
    text = (tmp_path / "profile.svg").read_text()
    assert "&lt;a&gt;" in text
    with pytest.raises(ValueError, match=r"\.svg or \.png"):
        plot_profile(str(tmp_path / "profile.gif"), results)


def test_without_matplotlib_a_png_is_refused_with_advice(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\.svg needs nothing"):
        plot_profile(str(tmp_path / "profile.png"), [profile("op", {1: 1})])
