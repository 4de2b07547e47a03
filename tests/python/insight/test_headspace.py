"""Headspace: conclusions from known times, and runs whose answer is known roughly."""

import threading
import time
import xml.dom.minidom

import pytest
from penstock import io
from penstock.insight import headspace
from penstock.insight._headspace import _conclude
from penstock.insight._measure import Phase


def phases(real, cached, wait, count=5, size=20, drift=0.0):
    """Alternating phases of steps that take as long as given; each is slower by `drift`."""
    done = []
    for i in range(2 * count):
        slower = 1 + drift * i
        step = (cached if i % 2 else real - wait) * slower
        phase = Phase(cached=bool(i % 2))
        phase.waits = [0.0 if i % 2 else wait * slower] * size
        phase.steps = [step] * size
        phase.began = [float(j) for j in range(size)]
        phase.own_cpu = cached * slower * size
        done.append(phase)
    return done


def test_the_share_is_what_a_loader_that_costs_nothing_would_save():
    found = _conclude(phases(real=0.030, cached=0.020, wait=0.010), 360_000)
    assert found.share == pytest.approx(1 / 3)
    assert found.uncertainty < 0.001
    assert found.wait == pytest.approx(0.010)
    assert found.hours == pytest.approx(1.0)
    assert "33% +- 0%" in found.verdict or "33% +- 1%" in found.verdict
    assert "bottleneck" in str(found)
    assert "1.0 hours" in str(found)


def test_a_drift_of_the_machine_cancels_out():
    found = _conclude(phases(real=0.020, cached=0.020, wait=0.0, drift=0.02), None)
    assert abs(found.share) < 0.01
    assert "the model is the bottleneck" in found.verdict
    assert found.hours is None


def test_a_step_that_is_slowed_by_the_loader_is_told():
    found = _conclude(phases(real=0.024, cached=0.020, wait=0.0), None)
    assert found.slowdown == pytest.approx(0.2)
    assert found.off_cpu == pytest.approx(4 / 24)
    assert "20% slower while the loader works" in str(found)


class Loads:
    """A thread that makes a batch in so many seconds and keeps `depth` of them in stock."""

    def __init__(self, seconds, depth, length=1_000_000):
        self.seconds, self.depth, self.length = seconds, depth, length
        self.iterations = 0

    def __iter__(self):
        self.iterations += 1
        stock, room = threading.Semaphore(0), threading.Semaphore(self.depth)
        stop = threading.Event()

        def work():
            while not stop.is_set():
                room.acquire()
                time.sleep(self.seconds)
                stock.release()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for i in range(self.length):
                stock.acquire()
                room.release()
                yield i
        finally:
            stop.set()
            room.release()
            thread.join()


def test_stock_does_not_hide_a_slow_loader():
    before = threading.active_count()
    shares = []
    while not shares or (max(shares) < 0.4 and len(shares) < 5):  # others may want the cores
        step = lambda batch: time.sleep(0.004)  # noqa: E731
        shares.append(headspace(Loads(0.012, depth=8), step, batches=30, phases=3).share)
    assert max(shares) > 0.4  # 2/3 on a machine with nothing else to do
    assert threading.active_count() == before


def test_a_fast_loader_leaves_little_to_win():
    found = headspace(Loads(0.0001, depth=2), lambda batch: time.sleep(0.01), batches=30, phases=3)
    assert found.share < 0.25


def test_short_epochs_begin_again():
    loader = Loads(0.0, depth=2, length=7)
    headspace(loader, lambda batch: None, batches=20, phases=2)
    assert loader.iterations > 3


def test_the_plot_is_a_picture_with_all_steps(tmp_path):
    found = _conclude(phases(real=0.030, cached=0.020, wait=0.010), None)
    found.plot(str(tmp_path / "steps.svg"))
    drawn = xml.dom.minidom.parse(str(tmp_path / "steps.svg"))
    assert len(drawn.getElementsByTagName("circle")) == 200
    found.plot(str(tmp_path / "steps.png"))
    assert io.load_image(str(tmp_path / "steps.png"), mode="L").std() > 5  # not blank
    with pytest.raises(ValueError, match=r"\.svg or \.png"):
        found.plot(str(tmp_path / "steps.gif"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"batches": 1}, "batches is 1"),
        ({"warmup": -1}, "warmup is -1"),
        ({"phases": 0}, "phases is 0"),
        ({"caches": 0}, "caches is 0"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        headspace([1, 2], lambda batch: None, **arguments)


def test_a_loader_without_batches_is_an_error():
    with pytest.raises(ValueError, match="no batches"):
        headspace([], lambda batch: None)
    with pytest.raises(TypeError, match="step must be a function"):
        headspace([1], None)
