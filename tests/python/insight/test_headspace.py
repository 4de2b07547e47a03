"""Headspace: conclusions from known times, and runs whose answer is known roughly."""

import threading
import time
import xml.dom.minidom
from dataclasses import replace

import numpy as np
import penstock as ps
import pytest
from penstock import io
from penstock.dataloader import DataLoader
from penstock.insight import Headspace, _measure, headspace
from penstock.insight._headspace import _conclude
from penstock.insight._measure import Endless, Phase
from penstock.pipeline import PipelineBuilder


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
    assert "33% +- 1%" in found.verdict  # no measurement is better than that
    assert "bottleneck" in str(found)
    assert "1.0 hours" in str(found)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (1, "less than 0.1 seconds"),
        (100, "1.0 seconds"),
        (5_999, "1.0 minutes"),
        (12_000, "2.0 minutes"),
    ],
)
def test_what_is_won_is_said_in_a_unit_that_fits(steps, words):
    found = _conclude(phases(real=0.030, cached=0.020, wait=0.010), steps)
    assert f"Over {steps:,} steps that is {words}." in str(found)


def test_a_drift_of_the_machine_cancels_out():
    found = _conclude(phases(real=0.020, cached=0.020, wait=0.0, drift=0.02), None)
    assert abs(found.share) < 0.01
    assert "the model is the bottleneck" in found.verdict
    assert found.hours is None


def test_a_slow_spell_of_the_machine_changes_neither_share_nor_hours():
    done = phases(real=0.020, cached=0.020, wait=0.0)
    done[4].steps = [0.060] * 20
    found = _conclude(done, 100_000)
    assert found.share == pytest.approx(0.0, abs=1e-9)
    assert found.real == pytest.approx(found.cached)
    assert found.hours == pytest.approx(0.0, abs=1e-9)


def test_share_times_and_hours_agree():
    done = phases(real=0.031, cached=0.020, wait=0.010, drift=0.03)
    done[2].waits = [0.5] * 20
    found = _conclude(done, 360_000, start=0.004)
    assert found.share == pytest.approx(1 - found.cached / found.real)
    assert found.hours == pytest.approx(100 * (found.real - found.cached))
    assert found.wait <= found.real


@pytest.mark.parametrize(
    ("share", "uncertainty", "words"),
    [
        (0.6, 0.56, "too noisy to tell"),
        (0.0, 0.3, "too noisy to tell"),
        (0.06, 0.03, "little to win"),
        (0.01, 0.02, "the model is the bottleneck"),
        (0.12, 0.03, "the loader holds training back"),
        (0.6, 0.1, "the loader is the bottleneck"),
    ],
)
def test_the_verdict_says_no_more_than_is_known(share, uncertainty, words):
    found = Headspace(0.05, 0.02, share, uncertainty, 0.03, 0.0, 0.0, 0.0)
    assert found.verdict.split(": ")[1].removeprefix("there is ").startswith(words)


def test_a_step_that_is_slowed_by_the_loader_is_told():
    found = _conclude(phases(real=0.024, cached=0.020, wait=0.0), None)
    assert found.slowdown == pytest.approx(0.2)
    assert found.off_cpu == pytest.approx(4 / 24)
    assert "20% slower while the loader works" in str(found)
    assert "slower while" not in str(replace(found, uncertainty=0.3))  # within the noise


def simulated(rng, share, count, size, between, within=0.05):
    """Phases that differ by `between`, with steps that differ by `within`."""
    done = []
    for i in range(2 * count):
        mean = 0.02 * (1 + between * rng.standard_normal()) / (1.0 if i % 2 else 1 - share)
        steps = mean * (1 + within * rng.standard_normal(size))
        done.append(Phase(bool(i % 2), [0.0] * size, [0.0] * size, list(steps)))
    return done


@pytest.mark.parametrize("between", [0.0, 0.02, 0.05])
@pytest.mark.parametrize(("count", "size"), [(5, 20), (3, 10), (2, 10), (10, 10)])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_share_is_within_the_uncertainty_19_times_of_20(between, count, size, share):
    rng = np.random.default_rng(5)
    runs = [_conclude(simulated(rng, share, count, size, between), None) for _ in range(600)]
    within = sum(abs(found.share - share) <= found.uncertainty for found in runs) / len(runs)
    assert within > 0.93
    if count == 5:
        assert within < 0.985  # and no wider than that takes
        widest = 0.02 + 2 * between  # half of them
        assert sorted(found.uncertainty for found in runs)[300] < widest


def test_few_of_many_phases_may_be_far_off():
    rng = np.random.default_rng(5)
    runs = []
    for _ in range(300):
        done = simulated(rng, 0.3, 20, 10, 0.01)
        for spoilt in rng.choice(40, 4, replace=False):
            done[spoilt].steps = [2 * seconds for seconds in done[spoilt].steps]
        runs.append(_conclude(done, None))
    assert sum(abs(found.share - 0.3) <= found.uncertainty for found in runs) > 0.93 * len(runs)
    assert sorted(found.uncertainty for found in runs)[150] < 0.015


@pytest.mark.parametrize("between", [0.02, 0.05])
def test_it_goes_on_until_the_share_is_known(between, monkeypatch):
    """Phases come out of a simulation: all of headspace() but the clock is real."""
    counts, right = [], 0
    for run in range(100):
        rng = np.random.default_rng(run)
        ready = iter(simulated(rng, 0.3, 50, 10, between))
        monkeypatch.setattr(_measure, "_run", lambda *_, ready=ready, **__: next(ready))
        monkeypatch.setattr(_measure, "_rest", lambda usual: None)
        found = headspace(range(10), lambda batch: None, 20, 0, phases=5, within=0.025)
        counts.append(len(found.phases) // 2)
        right += abs(found.share - 0.3) <= 0.025
        assert found.uncertainty <= 0.0251 or counts[-1] == 50
    assert right > 90
    assert min(counts) >= 5
    assert 5 < sorted(counts)[50] <= 50
    for within in (0, 1, -0.1):
        with pytest.raises(ValueError, match="within is"):
            headspace(range(10), lambda batch: None, within=within)


@pytest.mark.parametrize("between", [0.0, 0.02, 0.04])
def test_one_phase_says_little(between):
    rng = np.random.default_rng(5)
    runs = [_conclude(simulated(rng, 0.2, 1, 50, between), None) for _ in range(600)]
    assert sum(abs(found.share - 0.2) <= found.uncertainty for found in runs) > 0.95 * len(runs)


def test_what_is_clear_gets_clear_words():
    rng = np.random.default_rng(5)
    for share, words in ((0.5, "the loader is the bottleneck"), (0.0, "the model is")):
        runs = [_conclude(simulated(rng, share, 5, 20, 0.005, 0.02), None) for _ in range(50)]
        assert all(words in found.verdict for found in runs)
    assert "the loader is" in _conclude(simulated(rng, 0.5, 1, 50, 0.02), None).verdict


def test_where_nothing_can_be_told_there_are_no_hours():
    noisy = Headspace(0.05, 0.02, 0.1, 0.3, 0.03, 0.0, 0.0, 0.0, total_steps=1_000_000)
    assert "too noisy" in str(noisy)
    assert "1,000,000" not in str(noisy)
    assert noisy.hours is not None
    for share, uncertainty in ((0.6, 0.1), (0.12, 0.03), (0.01, 0.02), (0.06, 0.03)):
        told = replace(noisy, share=share, uncertainty=uncertainty)
        assert "Over 1,000,000 steps that is" in str(told)


def test_the_remedy_for_starts_is_one_that_the_loader_has():
    def said(loader):
        found = headspace(loader, lambda batch: None, batches=4, phases=2, warmup=0)
        return str(replace(found, starts=found.real))

    assert "longer epochs (repeat()) save it" in said(ps.from_list(range(8)).batch(2).loader())
    assert "repeat" not in said(list(range(8)))
    workers = Epochs(0.0, 8)
    workers.num_workers, workers.persistent_workers = 2, False
    assert "persistent_workers=True saves" in said(workers)
    workers.persistent_workers = True
    assert "steps: longer epochs save it" in said(workers)


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
    before = set(threading.enumerate())
    shares = []
    while not shares or (max(shares) < 0.4 and len(shares) < 5):  # others may want the cores
        step = lambda batch: time.sleep(0.004)  # noqa: E731
        shares.append(headspace(Loads(0.012, depth=8), step, batches=30, phases=3).share)
    assert max(shares) > 0.4  # 2/3 on a machine with nothing else to do
    assert set(threading.enumerate()) <= before


def test_a_fast_loader_leaves_little_to_win():
    shares = []
    while not shares or (min(shares) >= 0.25 and len(shares) < 5):  # others may want the cores
        step = lambda batch: time.sleep(0.01)  # noqa: E731
        shares.append(headspace(Loads(0.0001, depth=2), step, batches=30, phases=3).share)
    assert min(shares) < 0.25


def test_short_epochs_begin_again():
    loader = Loads(0.0, depth=2, length=7)
    headspace(loader, lambda batch: None, batches=20, phases=2)
    assert loader.iterations > 3


class Epochs:
    """Batches that are made when they are asked for, `length` of them an epoch."""

    def __init__(self, seconds, length):
        self.seconds, self.length, self.taken = seconds, length, 0

    def __iter__(self):
        for i in range(self.length):
            time.sleep(self.seconds)
            self.taken += 1
            yield i


@pytest.mark.parametrize("length", [1, 2])
def test_the_start_of_an_epoch_is_waited_for_too(length):
    loader, step = Epochs(0.01, length), lambda batch: time.sleep(0.01)
    shares = []
    while not shares or (max(shares) <= 0.4 and len(shares) < 5):  # others may want the cores
        found = headspace(loader, step, batches=12, phases=2, warmup=0, caches=1)
        shares.append(found.share)
    assert max(shares) > 0.4  # 0.5 on a machine with nothing else to do
    # A start that is waited for shows that nothing is in stock.
    assert loader.taken < len(shares) * 40


def test_starts_of_epochs_are_told_apart():
    known = phases(real=0.021, cached=0.020, wait=0.001)
    found = _conclude(known, None, start=0.010)
    assert found.starts == 0.010
    assert found.wait == pytest.approx(0.011)
    assert "10 ms of that are the starts of epochs" in str(found)
    assert "starts of epochs" not in str(_conclude(known, None, start=0.0001))


def test_a_long_epoch_pays_for_its_start_bit_by_bit():
    source = Endless([7] * 4)
    assert source.next() == (7, 0.0)
    source._starts, source._taken = [0.9, 0.1, 0.3], 4
    assert source.start(1.0)[0] == pytest.approx(0.2 / 4)  # no epoch has ended: its length is known
    assert Endless(iter([7])).start(1.0) == (0.0, 0.0)


class Warmed:
    """Batches at once, but the very first one: there is something to import."""

    def __init__(self):
        self.iterations = 0

    def __len__(self):
        return 1000

    def __iter__(self):
        self.iterations += 1
        if self.iterations == 1:
            time.sleep(0.5)
        yield from range(1000)


def test_what_is_done_once_in_a_program_is_no_start_of_an_epoch():
    loader = Warmed()
    source = Endless(loader)
    begun = time.perf_counter()
    source.next()
    took = time.perf_counter() - begun
    assert 0.5 / 1000 <= source.start(1.0)[0] <= took / 1000
    assert loader.iterations == 1  # it would not show
    assert source.start(0.001)[0] < 0.5 / 1000
    assert loader.iterations == 2
    source.end()


def test_statistics_are_those_of_the_loops_before():
    step = lambda batch: time.sleep(0.001)  # noqa: E731
    for loader in (
        ps.from_list(range(30)).batch(2).loader(),
        DataLoader(range(30), batch_size=2, num_threads=1),
    ):
        for _ in loader:
            pass
        before = str(loader)
        headspace(loader, step, batches=8, phases=2)
        assert str(loader) == before
    fresh = ps.from_list(range(30)).batch(2).loader()
    headspace(fresh, step, batches=8, phases=2)
    assert fresh.stats()["stages"]  # there are no others


def with_a_bad_sample(count):
    """One of so many divides by zero."""
    items = ps.from_list([0, *range(1, count)])
    return items.map(lambda sample: {"x": 8 // sample["data"]}).batch(2)


def test_the_ledger_and_the_errors_are_those_of_the_loops_before():
    plan = with_a_bad_sample(20)
    loader = plan.loader(on_error="skip")
    headspace(loader, lambda batch: None, batches=10)
    assert loader.ledger().epochs == []
    assert loader.errors() == []
    for _ in loader:
        pass
    assert loader.ledger().complete(0, 20)
    before, errors = loader.ledger().to_dict(), loader.errors()
    headspace(loader, lambda batch: None, batches=10)
    assert loader.ledger().to_dict() == before
    assert loader.errors() == errors
    assert loader.stats()["errors"] == len(errors) == 1

    stream = ps.from_iterable(Epochs(0.0, 12)).batch(2).loader()  # cannot be put back
    next(iter(stream))
    headspace(stream, lambda batch: None, batches=10)
    assert stream.ledger().to_dict() == {"0": [[0, 1, 2]]}


def test_epochs_of_headspace_together_may_have_more_errors_than_training():
    loader = with_a_bad_sample(20).loader(on_error="skip", max_errors=1)
    headspace(loader, lambda batch: None, batches=40)  # several epochs
    assert len(list(loader)) == 10
    with pytest.raises(ps.TooManyErrors):
        list(loader)


def test_errors_that_training_would_not_allow_end_headspace_too():
    loader = with_a_bad_sample(20).loader(on_error="skip", max_errors=0)
    with pytest.raises(ps.TooManyErrors):
        headspace(loader, lambda batch: None, batches=10)
    assert loader.state_dict()["errors"] == 0


def test_a_fast_loader_is_not_emptied_before_every_phase():
    loader = Epochs(0.0, 1_000_000)
    headspace(loader, lambda batch: time.sleep(0.02), batches=10, phases=5)
    assert loader.taken <= 256 + 4 + 5 * (2 + 2) + 5


def test_what_ends_and_cannot_begin_again_is_told():
    with pytest.raises(ValueError, match="ended after 5 batches and does not begin again"):
        headspace((i for i in range(5)), lambda batch: None, batches=10)
    pipeline = PipelineBuilder().add_source(range(10)).add_sink(3).build(num_threads=1)
    with pytest.raises(ValueError, match="ended after 10 batches"):
        headspace(pipeline, lambda batch: None, batches=20)


def test_a_loader_is_put_back_to_where_it_was():
    loader = ps.from_list(range(12)).batch(2).loader()
    for i, _ in enumerate(loader):
        if i == 2:
            break
    before = loader.state_dict()
    headspace(loader, lambda batch: None, batches=10)
    assert loader.state_dict() == before
    assert len(list(loader)) == 3

    stream = ps.from_iterable(Epochs(0.0, 12)).batch(2).loader()
    next(iter(stream))
    headspace(stream, lambda batch: None, batches=10)  # cannot be put back: that is no error


def test_the_plot_is_a_picture_with_all_steps(tmp_path):
    found = _conclude(phases(real=0.030, cached=0.020, wait=0.010), None)
    found.plot(str(tmp_path / "steps.svg"))
    drawn = xml.dom.minidom.parse(str(tmp_path / "steps.svg"))
    assert len(drawn.getElementsByTagName("circle")) == 200
    texts = [node.firstChild.data for node in drawn.getElementsByTagName("text")]
    assert max(map(len, texts)) < 70  # what is longer would be cut off
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
        ({"total_steps": -5}, "total_steps is -5"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        headspace([1, 2], lambda batch: None, **arguments)


def test_how_exactly_is_a_number():
    for wrong in ("2%", [0.02]):
        with pytest.raises(TypeError, match=r"within is .*; give a share between 0 and 1"):
            headspace([1, 2], lambda batch: pytest.fail("too late"), within=wrong)


@pytest.mark.parametrize("arguments", [{"total_steps": "many"}, {"batches": 10.5}])
def test_arguments_that_are_no_numbers_are_named(arguments):
    with pytest.raises(TypeError, match=f"{next(iter(arguments))} is .*; give a whole number"):
        headspace([1, 2], lambda batch: pytest.fail("too late"), **arguments)
    headspace([1, 2], lambda batch: None, batches=np.int64(4), phases=2)


def test_a_loader_without_batches_is_an_error():
    with pytest.raises(ValueError, match="no batches"):
        headspace([], lambda batch: None)
    with pytest.raises(TypeError, match="step must be a function"):
        headspace([1], None)
