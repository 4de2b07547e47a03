"""Each stage alone, over a range of concurrencies."""

import time
from contextlib import contextmanager

import pytest
from penstock.pipeline import ProfileHook, ProfileResult, config, profile_pipeline
from penstock.pipeline.defs import (
    Aggregate,
    Disaggregate,
    Merge,
    PathVariants,
    Pipe,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)
from test_life import script


def nap(x):
    time.sleep(0.02)
    return x


def definition(*stages, source=range(1000)):
    return PipelineConfig(SourceConfig(source), stages, SinkConfig(1))


def test_stages_that_wait_gain_from_concurrency():
    seen = []
    config = definition(Pipe(nap), Aggregate(4), Disaggregate())
    results = profile_pipeline(config, 64, callback=seen.append)
    assert results == seen
    naps, lists, singles = results
    assert isinstance(naps, ProfileResult)
    assert naps.name == "nap"
    assert [one.concurrency for one in naps.stats] == [32, 16, 8, 4, 1]
    many, one = naps.stats[0], naps.stats[-1]
    assert many.qps > one.qps  # 40 ms of naps, and 1.3 s
    assert all(0 <= stats.occupancy_rate <= 1 for stats in naps.stats)
    assert [stats.concurrency for stats in lists.stats] == [1]
    assert [stats.concurrency for stats in singles.stats] == [1]


def test_a_fast_stage_keeps_its_readers_waiting_less_than_a_slow_one():
    gaps = []
    while not gaps or (max(gaps) <= 0 and len(gaps) < 5):  # others may want the cores
        fast, slow = profile_pipeline(definition(Pipe(abs), Pipe(nap)), 40)
        assert fast.stats[-1].qps > slow.stats[-1].qps  # 0.8 s of naps
        assert slow.stats[-1].occupancy_rate < 0.5
        gaps.append(fast.stats[-1].occupancy_rate - slow.stats[-1].occupancy_rate)
    assert max(gaps) > 0


def test_merged_pipelines_are_profiled_one_after_the_other():
    parts = [definition(Pipe(abs, name="a")), definition(Pipe(abs, name="b"))]
    whole = PipelineConfig(Merge(parts), [Pipe(repr)], SinkConfig(1))
    assert [one.name for one in profile_pipeline(whole, 10)] == ["a", "b", "repr"]


def test_paths_are_passed_over_with_a_warning(caplog):
    paths = PathVariants(lambda x: 0, [[Pipe(abs)]])
    assert [one.name for one in profile_pipeline(definition(paths, Pipe(abs)), 5)] == ["abs"]
    assert "Skipping PathVariantsConfig stage in profiling" in caplog.text


def test_an_endless_source_is_read_as_far_as_needed():
    read = 0

    def items():
        nonlocal read
        while True:
            read += 1
            yield read

    profile_pipeline(definition(Pipe(abs), source=items()), 10)
    assert read < 200


def test_hooks_surround_stages_and_the_whole():
    log = []

    class Hook(ProfileHook):
        @contextmanager
        def stage_profile_hook(self, stage, concurrency):
            log.append((stage, concurrency))
            yield

        @contextmanager
        def pipeline_profile_hook(self):
            log.append("begins")
            yield
            log.append("ends")

    expected = ["begins", *(("abs", c) for c in (32, 16, 8, 4, 1)), "ends"]
    profile_pipeline(definition(Pipe(abs)), 3, hook=Hook())
    assert log == expected
    log.clear()
    config.set_default_profile_hook(Hook())
    results = []
    config.set_default_profile_callback(results.append)
    try:
        profile_pipeline(definition(Pipe(abs)), 3)
    finally:
        config.set_default_profile_hook()
        config.set_default_profile_callback()
    assert log == expected
    assert [one.name for one in results] == ["abs"]
    assert config.get_default_profile_hook() is config.get_default_profile_callback() is None


def test_without_items_there_is_nothing_to_profile():
    with pytest.raises(RuntimeError, match="No input samples are fetched"):
        profile_pipeline(definition(Pipe(abs), source=[]))


@pytest.mark.parametrize("nothing", [lambda x: 1 // 0, lambda x: None], ids=["fails", "drops"])
def test_a_profile_ends_at_a_stage_that_gives_nothing(nothing, caplog):
    seen = []
    stages = definition(Pipe(abs), Pipe(nothing, name="bad"), Pipe(str), Pipe(len))
    results = profile_pipeline(stages, 5, callback=seen.append)
    assert [one.name for one in results] == ["abs", "bad"]
    assert results == seen
    assert all(stats.qps == 0 for stats in results[1].stats)
    assert "Profiling ends before stage str" in caplog.text


def test_a_profile_goes_on_if_one_of_the_merged_gives_something():
    bad = definition(Pipe(lambda x: None, name="bad"), Pipe(abs))
    whole = PipelineConfig(Merge([bad, definition(Pipe(abs))]), [Pipe(repr)], SinkConfig(1))
    assert [one.name for one in profile_pipeline(whole, 5)] == ["bad", "abs", "repr"]


def test_only_local_rank_0_profiles(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert profile_pipeline(definition(Pipe(abs))) == []


@pytest.mark.parametrize("prefix", ["PENSTOCK", "SPDL"])
def test_in_diagnostic_mode_a_program_profiles_itself_and_exits(prefix):
    result, _ = script(f"""
        import os
        os.environ["{prefix}_PIPELINE_DIAGNOSTIC_MODE"] = "1"
        os.environ["{prefix}_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS"] = "7"
        from penstock.pipeline import PipelineBuilder, config
        assert config.is_diagnostic_mode_enabled()
        assert config.diagnostic_mode_num_sources() == 7
        config.set_default_profile_callback(lambda result: print("profiled", result.name))
        pipeline = PipelineBuilder().add_source(range(99)).pipe(abs).add_sink().build()
        with pipeline.auto_stop():
            for item in pipeline:
                print("not reached")
        print("not reached")
    """)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "profiled abs\n"
