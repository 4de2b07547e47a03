"""The consumer's wait in PyTorch's profiler."""

import subprocess
import sys
import time

import penstock as ps
import pytest
from penstock import _torch_range
from penstock.pipeline import AsyncQueue, PipelineBuilder

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def waits(run):
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profiler:
        run()
    return [one for one in profiler.events() if one.name == _torch_range.NAME]


def slow_loader():
    return ps.from_list(range(12)).map(lambda s: time.sleep(0.02) or s, concurrency=1).batch(4)


def test_waiting_for_a_loader_is_a_range():
    def run():
        for _ in slow_loader().loader():
            with torch.profiler.record_function("step"):
                time.sleep(0.001)

    found = waits(run)
    assert 1 <= len(found) <= 4  # three batches and the end; one that is ready is not waited for
    assert sum(one.cpu_time_total for one in found) > 5_000  # of 240 ms of work


class QueueOfMyOwn(AsyncQueue):
    """Moves a pipeline to an event loop."""


@pytest.mark.parametrize("options", [{}, {"queue_class": QueueOfMyOwn}], ids=["native", "loop"])
def test_waiting_for_a_pipeline_is_a_range(options):
    def run():
        pipeline = (
            PipelineBuilder()
            .add_source(range(5))
            .pipe(lambda x: time.sleep(0.03) or x)
            .add_sink(1)
            .build(num_threads=1, **options)
        )
        with pipeline.auto_stop():
            assert len(list(pipeline)) == 5

    assert 1 <= len(waits(run)) <= 6  # five items and the end; one that is ready is not waited for


def test_without_a_profiler_nothing_is_recorded():
    assert _torch_range.begin() is None
    assert len(list(slow_loader().loader())) == 3


def test_torch_is_not_loaded_for_it():
    program = (
        "import sys, penstock as ps\n"
        "list(ps.from_list(range(9)).map(lambda s: s).batch(2).loader())\n"
        "assert 'torch' not in sys.modules and 'penstock._torch_range' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
