"""The rule that names the bottleneck, on pipelines whose bottleneck is known by construction."""

import asyncio
import hashlib
import tarfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from io import BytesIO

import numpy as np
import penstock as ps
import pytest
from penstock import io, ops
from penstock.insight import bottleneck, report
from penstock.pipeline import AsyncQueue, PipelineBuilder, PipelineFailure, StageStats
from penstock.pipeline._usage import stolen


def stage(name, busy, concurrency=1, waiting=0.0, blocked=0.0, python=True):
    return StageStats(
        name=name,
        concurrency=concurrency,
        tasks=100,
        items_in=100,
        items_out=100,
        task_seconds=busy,
        mean=busy / 100,
        waiting=waiting,
        blocked=blocked,
        elapsed=10.0,
        python=python,
    )


def sink(waiting, **times):
    return StageStats(
        name="sink",
        waiting=waiting,
        elapsed=10.0,
        readiness=0.0,
        **times,
    )


def test_a_consumer_that_does_not_wait_is_the_bottleneck():
    found = bottleneck([stage("src", 0.1), stage("op", 5.0, blocked=5.0), sink(0.2)])
    assert (found.kind, found.stage) == ("consumer", None)
    assert "keeps up" in str(found)


def test_the_stage_that_is_never_idle_is_named():
    stages = [
        stage("src", 0.1, blocked=9.8),
        stage("fast", 2.0, blocked=7.5),
        stage("slow", 9.9),
        stage("after", 1.0, waiting=9.0),
    ]
    found = bottleneck([*stages, sink(9.0, python_cpu=0.1, process_cpu=0.2)], cores=4)
    assert (found.kind, found.stage) == ("concurrency", "slow")
    assert "99 ms an item" in found.reason


def test_a_stage_that_hardly_works_is_not_the_bottleneck_although_it_is_never_idle():
    stages = [
        stage("src", 0.1, blocked=9.8),
        stage("spread", 0.01),
        stage("slow", 9.0, waiting=0.5),
    ]
    assert bottleneck([*stages, sink(9.0)], cores=4).stage == "slow"


def test_python_calls_that_share_one_core_are_held_back_by_the_gil():
    stages = [stage("src", 0.1, blocked=9.8), stage("op", 39.0, concurrency=4)]
    found = bottleneck([*stages, sink(9.0, python_cpu=9.9, process_cpu=10.5)], cores=4)
    assert (found.kind, found.stage) == ("gil", "op")
    assert "More threads do not help" in found.advice


def test_all_cores_busy_is_cpu():
    stages = [stage("src", 0.1, blocked=9.8), stage("decode", 39.0, 4, python=False)]
    found = bottleneck([*stages, sink(9.0, process_cpu=38.0)], cores=4)
    assert (found.kind, found.stage) == ("cpu", "decode")
    found = bottleneck([*stages, sink(9.0, process_cpu=30.0)], cores=4)
    assert found.kind == "cpu"  # its own tasks fill the cores


def test_native_work_on_all_cores_is_not_told_to_take_more():
    stages = [stage("src", 0.1, blocked=9.8), stage("decode", 28.0, 4, python=False, waiting=2.0)]
    found = bottleneck([*stages, sink(9.0, process_cpu=25.0)], cores=4)
    assert (found.kind, found.stage) == ("cpu", "decode")
    assert bottleneck([*stages, sink(9.0, process_cpu=25.0)], cores=16).kind == "concurrency"


def test_native_work_without_cpu_time_waits_for_reads():
    stages = [stage("src", 0.1, blocked=9.8), stage("fetch", 39.0, 4, python=False)]
    found = bottleneck([*stages, sink(9.0, process_cpu=2.0)], cores=4)
    assert (found.kind, found.stage) == ("disk", "fetch")
    found = bottleneck([*stages, sink(9.0, process_cpu=9.0, native_delay=29.0)], cores=4)
    assert found.kind == "cpu"
    assert "Other programs" in found.reason


def test_reads_ahead_that_nobody_works_on_are_reads():
    stages = [stage("admit", 0.01, python=False), stage("read", 0.01, 2, waiting=9.9, python=False)]
    remote = [stages[0], replace(stages[1], bytes=1000)]
    found = bottleneck([*remote, sink(9.9, process_cpu=0.2)], cores=2)
    assert (found.kind, found.stage) == ("disk", "read")
    found = bottleneck([*stages, sink(9.9, process_cpu=0.2)], cores=2)  # nothing was read
    assert found.kind == "unknown"
    assert "Read more batches" in str(found)


def test_a_source_that_is_asked_all_the_time():
    stages = [stage("src", 9.9), stage("op", 2.0, waiting=7.9)]
    found = bottleneck([*stages, sink(9.0, process_cpu=1.0)], cores=4)
    assert (found.kind, found.stage) == ("source", "src")


def test_python_calls_that_wait_for_cores_are_not_held_back_by_the_gil():
    stages = [stage("src", 0.1, blocked=9.8), stage("op", 39.0, concurrency=4)]
    times = {"python_cpu": 9.9, "process_cpu": 10.0, "python_delay": 28.0}
    found = bottleneck([*stages, sink(9.0, **times)], cores=4)
    assert (found.kind, found.stage) == ("cpu", "op")
    others = sink(9.0, python_cpu=4.0, python_delay=9.0, gil_wait=12.0)
    found = bottleneck([*stages, others], cores=4)
    assert found.kind == "gil"  # also where others take half of the core it could have


def test_calls_that_sleep_on_a_busy_machine_are_not_held_back_by_the_gil():
    stages = [stage("src", 0.1, blocked=9.8), stage("op", 39.0, concurrency=4)]
    for gil_wait in (0.0, 1.3):  # of 10 s; the holder of the GIL may lack a core, too
        times = {"python_cpu": 0.6, "process_cpu": 0.9, "python_delay": 14.0, "gil_wait": gil_wait}
        assert bottleneck([*stages, sink(0.7, **times)], cores=4).kind == "concurrency"
        found = bottleneck([*stages, sink(0.7, **times)], cores=1)
        assert found.kind == "cpu"
        assert "Other programs" in found.reason


def test_two_calls_that_wait_for_one_another_want_one_core():
    stages = [stage("src", 0.1, blocked=9.8), stage("op", 12.0, concurrency=2)]
    times = {"python_cpu": 5.3, "process_cpu": 5.4, "python_delay": 10.3, "gil_wait": 12.7}
    assert bottleneck([*stages, sink(9.0, **times)], cores=2).kind == "gil"


def test_one_call_at_a_time_that_keeps_the_gil():
    # As measured: pure Python of 6 ms; two such stages; hashing, which lets go of it.
    src = replace(stage("src", 0.1, blocked=9.8), gil_wait=5.0)
    times = {"python_cpu": 9.9, "process_cpu": 10.0}
    found = bottleneck([src, stage("op", 9.9), sink(9.0, gil_wait=6.4, **times)], cores=4)
    assert (found.kind, found.stage) == ("gil", "op")
    assert "others waited for it" in found.reason
    assert "More threads do not help" in found.advice
    both = [src, stage("one", 5.7, waiting=4.0), stage("two", 7.1, waiting=2.5)]
    found = bottleneck([*both, sink(9.0, gil_wait=2.7, **times)], cores=4)
    assert (found.kind, found.stage) == ("gil", "two")
    hashing = [stage("src", 0.1, blocked=9.8), stage("hash", 9.9)]
    found = bottleneck([*hashing, sink(9.0, **times)], cores=4)
    assert (found.kind, found.stage) == ("concurrency", "hash")
    assert "if it lets go of the GIL" in found.advice


def test_an_executor_that_makes_fewer_calls_than_the_stage_may():
    stages = [stage("src", 0.1, blocked=9.8), replace(stage("op", 78.0, 8), workers=2)]
    found = bottleneck([*stages, sink(9.0)], cores=16)
    assert (found.kind, found.stage) == ("concurrency", "op")
    assert "8 calls may run at a time, but its executor makes 2" in found.reason
    assert "more workers than 2 (max_workers)" in found.advice
    same = [stages[0], replace(stages[1], task_seconds=19.0, concurrency=2)]
    found = bottleneck([*same, sink(9.0)], cores=16)
    assert found.advice == (
        "Give it more concurrency than 2, and its executor as many workers (max_workers)."
    )


def test_what_a_loader_is_told_can_be_done():
    of_loader = sink(9.0, samples=100)
    for label, words in (
        ("batch", "do the work on samples (map before batch)"),
        ("fetch", "more threads than 1 (threads=)"),
        ("fetch, map f", "more concurrency than 1"),
    ):
        stages = [stage("admit", 0.1, blocked=9.8, python=False), stage(label, 9.9)]
        found = bottleneck([*stages, of_loader], cores=16)
        assert (found.kind, found.stage) == ("concurrency", label)
        assert words in found.advice


def test_processes_of_executors_count():
    with ProcessPoolExecutor(2) as pool:
        builder = PipelineBuilder().add_source(range(12)).pipe(spin, executor=pool, concurrency=2)
        pipeline = builder.add_sink(1).build(num_threads=1)
        with pipeline.auto_stop():
            assert len(list(pipeline)) == 12
        _, op, last = pipeline.stats()
        assert op.workers == 2
        assert last.process_cpu > 12 * 0.03  # seconds of theirs
        loader = ps.from_list(range(12)).map(spin, executor=pool, concurrency=4).batch(4).loader()
        assert len(list(loader)) == 3
        stages = loader.stats()["stages"]
        assert [one.workers for one in stages if "spin" in one.name] == [2]
        assert stages[-1].process_cpu > 12 * 0.03


def spin(x):
    end = time.process_time() + 0.04
    while time.process_time() < end:
        pass
    return x


def test_tasks_of_a_loader_are_samples():
    plan = ps.from_list(range(100)).map(lambda x: time.sleep(0.002) or x).batch(8)
    loader = plan.loader(threads=1)
    assert len(list(loader)) == 13
    (op,) = [one for one in loader.stats()["stages"] if "lambda" in one.name]
    assert op.tasks == 100
    assert op.mean == pytest.approx(op.task_seconds / 100)
    assert op.mean >= 0.002
    assert op.p50 < 0.9 * op.task_seconds / op.items_in  # samples travel several together


def test_what_the_host_took_from_the_cores_does_not_change_the_answer():
    # As measured: hashing without the GIL, four at a time on two cores, with half of each stolen.
    hashing = [stage("src", 0.1, blocked=9.8), stage("hash", 39.0, concurrency=4)]
    for cpu, delay, gil_wait, taken in [
        (13.7, 14.1, 0.8, 2.6),
        (12.3, 13.7, 1.1, 4.6),
        (9.7, 13.4, 4.9, 4.6),
    ]:
        times = {"python_cpu": cpu, "process_cpu": cpu, "python_delay": delay, "gil_wait": gil_wait}
        assert bottleneck([*hashing, sink(9.0, stolen=taken, **times)], cores=2).kind == "cpu"
    # And pure Python, four calls at a time.
    python = [stage("src", 0.1, blocked=9.8), replace(hashing[1], task_seconds=9.0, gil_wait=16.8)]
    times = {"python_cpu": 5.5, "process_cpu": 5.6, "python_delay": 2.2}
    assert bottleneck([*python, sink(9.0, stolen=4.6, **times)], cores=2).kind == "gil"


def test_a_machine_that_stood_still_lost_nothing():
    python = replace(stage("op", 39.0, concurrency=4), gil_wait=13.0)
    times = {"python_cpu": 9.9, "process_cpu": 10.0, "python_delay": 2.0}
    naps = stage("op", 9.5)
    for stolen_then in (0.0, 6.0, 8.5, 3600.0):  # of 10 s
        found = bottleneck([stage("src", 0.1), python, sink(9.0, stolen=stolen_then, **times)])
        assert found.kind == "gil"
        asleep = sink(9.0, stolen=stolen_then, process_cpu=2.0)
        assert bottleneck([stage("src", 0.1, blocked=9.8), naps, asleep]).kind == "concurrency"


@pytest.mark.parametrize("queue_class", [None, AsyncQueue])  # in C++, and on an event loop
def test_the_statistics_say_what_the_host_took(queue_class):
    before = stolen()
    builder = PipelineBuilder().add_source(range(5)).pipe(str).add_sink(1)
    pipeline = builder.build(num_threads=1, queue_class=queue_class)
    with pipeline.auto_stop():
        assert len(list(pipeline)) == 5
    assert 0 <= pipeline.stats()[-1].stolen <= stolen() - before + 1e-6


def test_calls_that_wait_for_a_loop_that_has_the_gil():
    op = replace(stage("op", 2.5, blocked=3.9), gil_wait=6.7)
    stages = [stage("src", 0.1, blocked=9.8), op]
    times = {"python_cpu": 2.5, "process_cpu": 9.9}
    for concurrency in (1, 2):
        slow = [stages[0], replace(op, concurrency=concurrency)]
        found = bottleneck([*slow, sink(0.6, **times)], cores=2)
        assert (found.kind, found.stage) == ("gil", "op")
        assert "your loop has it" in found.reason
    busy = sink(0.6, python_delay=20.0, **times)  # there is no core, for the GIL neither
    assert bottleneck([*stages, busy], cores=2).kind != "gil"


def test_memory_that_is_spent():
    stages = [stage("admit", 0.1, blocked=9.0), stage("read", 5.0, waiting=4.0, python=False)]
    assert bottleneck([*stages, sink(9.0)], memory_waits=6.0).kind == "memory"
    assert bottleneck([*stages, sink(9.0, memory_wait=6.0)]).kind == "memory"
    busy = [stages[0], stage("read", 19.0, 2, waiting=0.2, python=False)]
    found = bottleneck([*busy, sink(9.0, memory_wait=6.0, process_cpu=19.0)], cores=2)
    assert found.kind == "cpu"  # more batches at a time would change nothing


def test_a_loader_counts_its_waits_for_memory():
    def slow(sample):
        time.sleep(0.002)
        return sample

    data = np.zeros((128, 100_000), np.uint8)
    plan = ps.from_arrays(x=data).map(slow, concurrency=4).batch(2)
    # Room for one batch: when their size is known, each waits for the rows of the one before.
    for memory, waits in (("210KB", True), ("1GB", False)):
        loader = plan.loader(threads=2, memory=memory)
        for _ in loader:
            pass
        assert (loader.stats()["stages"][-1].memory_wait > 0.02) is waits


def test_a_loader_knows_its_bytes(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i in range(32):
            member = tarfile.TarInfo(f"{i:02}.bin")
            member.size = 1000
            tar.addfile(member, BytesIO(bytes(1000)))
    loader = ps.open(str(tmp_path / "a.tar")).batch(4).loader(threads=2)
    assert sum(len(one) for batch in loader for one in batch["bin"]) == 32_000
    stages = {one.name: one for one in loader.stats()["stages"]}
    assert stages["read"].bytes == 32 * 1002  # keys, too
    assert stages["collate"].bytes == 32 * 1002
    assert stages["admit"].bytes == stages["sink"].bytes == 0
    assert "MB/s" in str(loader)
    assert str(loader).splitlines()[-1] == str(bottleneck(loader.stats()["stages"]))


def test_the_stages_of_a_loader_say_what_they_do():
    def augment(sample):
        return sample

    picture = bytes(io.encode_image(np.zeros((8, 8, 3), np.uint8), "png"))
    data = ps.from_list([{"png": picture, "cls": b"3"}] * 4)
    loader = data.decode_image("png", size=(4, 4)).decode("cls").map(augment).batch(2).loader()
    assert len(list(loader)) == 2
    names = [one.name for one in loader.stats()["stages"]]
    assert "decode_image png, decode cls" in names
    assert any(name.startswith("map ") and name.endswith("augment") for name in names)


def test_nothing_to_say_before_anything_has_run():
    idle = replace(stage("src", 0.0), tasks=0)
    assert bottleneck([idle, sink(0.0)]).kind == "unknown"
    with pytest.raises(ValueError, match="sink"):
        bottleneck([idle])
    loader = ps.from_list(range(4)).batch(2).loader()
    assert str(bottleneck(loader.stats())).startswith("Nothing has run yet")
    assert bottleneck([]).kind == "unknown"


def test_the_statistics_of_a_loader_are_taken_as_they_are():
    loader = ps.from_list(range(8)).batch(2).loader()
    assert len(list(loader)) == 4
    assert bottleneck(loader.stats()) == bottleneck(loader.stats()["stages"])
    for wrong in ([1, 2], {"a": 1}, loader, 5):
        with pytest.raises(TypeError, match=r"stats\(\) of a pipeline or a loader"):
            bottleneck(wrong)


def test_a_run_that_failed_has_no_other_bottleneck(tmp_path):
    def fails(x):
        raise ValueError("no such thing")

    builder = PipelineBuilder().add_source(range(10)).pipe(fails, name="fails").add_sink(3)
    pipeline = builder.build(num_threads=1, max_failures=2)
    with pytest.raises(PipelineFailure), pipeline.auto_stop():
        list(pipeline)
    found = bottleneck(pipeline.stats())
    assert (found.kind, name(found)) == ("failures", "fails")
    assert "3 of 3 tasks" in found.reason
    report(str(tmp_path / "a.html"), pipeline)
    assert "keeps up" not in (tmp_path / "a.html").read_text()

    loader = ps.from_list(range(40)).map(fails).batch(4).loader()
    with pytest.raises(ValueError, match="no such thing"):
        list(loader)
    found = bottleneck(loader.stats())
    assert found.kind == "failures"
    assert "ValueError: no such thing; sample item[0]" in found.reason
    assert loader.stats()["stages"][-1].failures == 1
    loader.report(str(tmp_path / "b.html"))
    errors = (tmp_path / "b.html").read_text().split("<h2>Errors</h2>")[1]
    assert "no such thing" in errors
    assert "None." not in errors


def test_a_few_failures_do_not_hide_the_bottleneck():
    def some(sample):
        if int(sample["data"]) % 4 == 0:
            raise ValueError("no such thing")
        return sample

    loader = ps.from_list(range(40)).map(some).batch(4).loader(on_error="skip")
    for _ in range(2):
        assert len(list(loader)) == 10
        sink = loader.stats()["stages"][-1]
        assert (sink.failures, sink.failure) == (10, "")  # of this epoch
        assert str(loader).splitlines()[-2].split()[-1] == "10"
    assert bottleneck(loader.stats()).kind != "failures"

    busy = [stage("src", 0.1), stage("op", 9.9)]
    failed = replace(sink, items_out=5000, waiting=9.0, elapsed=10.0, failure="ValueError: at last")
    assert bottleneck([*busy, failed], cores=4).kind == "concurrency"  # it ran for long


@pytest.mark.parametrize("every", [1, 2])
def test_samples_that_fail_are_the_verdict_of_a_loader(every, tmp_path):
    def bad(sample):
        if int(sample["data"]) % every == 0:
            raise ValueError("no such thing")
        return sample

    def slow(batch):
        time.sleep(0.002)
        return batch

    loader = ps.from_list(range(100)).map(bad).batch(4).map(slow).loader(on_error="skip")
    got = len(list(loader))
    assert got == (0 if every == 1 else 25)
    sink = loader.stats()["stages"][-1]
    assert (sink.items_out, sink.samples, sink.failures) == (got, 100, 100 // every)
    found = bottleneck(loader.stats())
    assert found.kind == "failures"
    assert f"{100 // every} of 100 samples failed" in str(found)
    loader.report(str(tmp_path / "a.html"))
    text = (tmp_path / "a.html").read_text()
    assert f">{got} items in" in text
    rows = text.split('id="stages"')[1].split("</table>")[0].split("<tr>")
    assert f"<td>{100 // every}</td>" in rows[-1]  # the sink's


def test_samples_that_failed_come_before_any_other_verdict():
    stages = [stage("src", 0.1), stage("op", 5.0, blocked=5.0)]
    for failures, kind in ((33, "consumer"), (34, "failures"), (100, "failures")):
        found = bottleneck([*stages, sink(0.2, failures=failures, samples=100)])
        assert found.kind == kind
    for failures, kind in ((33, "consumer"), (34, "failures")):
        found = bottleneck([stages[0], replace(stages[1], failures=failures), sink(0.2)])
        assert found.kind == kind


def test_too_few_threads_are_told_from_too_little_concurrency():
    src = stage("src", 0.1, blocked=9.8)
    found = bottleneck([src, stage("op", 20.0, concurrency=8), sink(9.0)], cores=16)
    assert found.kind == "concurrency"
    assert "too few threads" in found.reason
    assert "2.0 of 8 allowed" in found.reason
    assert "num_threads" in found.advice
    assert "more concurrency than" not in found.advice
    found = bottleneck([src, stage("op", 78.0, concurrency=8), sink(9.0)], cores=16)
    assert "more concurrency than 8" in found.advice
    assert "num_threads" in found.advice
    of_loader = sink(9.0, samples=100)  # which has a thread for every call
    advice = bottleneck([src, stage("op", 78.0, 8), of_loader], cores=16).advice
    assert advice == "Give it more concurrency than 8."
    native = stage("read", 28.0, 4, python=False)
    advice = bottleneck([src, native, sink(9.0, samples=9, process_cpu=25.0)], cores=16).advice
    assert "more threads than 4 (threads=)" in advice


def test_a_stage_that_does_little_is_not_told_to_do_more_at_a_time():
    src = stage("src", 0.1, blocked=9.8)
    for busy, python in ((1.0, True), (1.0, False), (12.0, False)):
        idle = stage("op", busy, 2, waiting=7.0, python=python)
        found = bottleneck([src, idle, sink(9.0, process_cpu=busy)], cores=16)
        assert (found.kind, found.stage) == ("unknown", "op"), busy
        assert "Nothing clear holds it back" in found.reason
        assert "Give it more" not in found.advice
    rare = stage("op", 5.0, 8)  # no thread is busy all the time: threads are not what it lacks
    assert bottleneck([src, rare, sink(9.0)], cores=16).kind == "unknown"


def test_a_run_that_was_over_at_once_says_nothing():
    stages = [stage("src", 0.001), stage("read", 0.02, 2, python=False)]
    short = [replace(one, elapsed=0.03) for one in [*stages, sink(0.03)]]
    found = bottleneck(short)
    assert found.kind == "unknown"
    assert "30 ms: too little to tell" in str(found)
    loader = ps.from_list(range(8)).batch(2).loader()
    assert len(list(loader)) == 4
    assert str(loader).endswith(str(bottleneck(loader.stats())))


def test_before_any_request_nothing_was_ready():
    pipeline = PipelineBuilder().add_source(range(4)).add_sink(3).build(num_threads=1)
    assert str(pipeline).splitlines()[-1].endswith("ready -")


def run(source, *stages, step=0.0):
    """What is found. Of the machine's cores there are enough: others may want those there are."""
    builder = PipelineBuilder().add_source(source)
    for seconds, label, concurrency in stages:
        builder.pipe(nap(seconds), name=label, concurrency=concurrency)
    pipeline = builder.add_sink(2).build(num_threads=4)
    with pipeline.auto_stop():
        for _ in pipeline:
            time.sleep(step)
    found = bottleneck(pipeline.stats(), cores=64)
    return found.kind, found.stage and name(found)


def often(expected, *args, **kwargs):
    """Whether it is found in one of several runs: in some of them the machine may stand still."""
    return any(run(*args, **kwargs) == expected for _ in range(5))


def name(found):
    return found.stage.split(":")[-1]  # without the numbers of pipeline and stage


def nap(seconds):
    def op(x):
        time.sleep(seconds)
        return x

    return op


class SlowNumbers:
    def __iter__(self):
        for i in range(60):
            time.sleep(0.01)
            yield i


def test_real_pipelines_by_construction():
    quick, slow = (0.001, "quick", 1), (0.01, "slow", 1)
    assert often(("concurrency", "slow"), range(60), quick, slow)
    assert often(("source", "src"), SlowNumbers(), quick)
    assert often(("consumer", None), range(40), quick, step=0.02)
    assert often(("concurrency", "many[3]"), range(60), (0.02, "many", 3))
    assert often(("concurrency", "wide[32]"), range(120), (0.02, "wide", 32))  # of four threads


def test_python_stages_on_an_event_loop_are_known_as_such():
    def python(x):
        return sum(i ^ x for i in range(2_000))

    class Queue(AsyncQueue):
        pass

    builder = PipelineBuilder().add_source(range(40)).pipe(nap(0.02), name="slow").pipe(python)
    pipeline = builder.add_sink(2).build(num_threads=2, queue_class=Queue)
    assert pipeline.stats()[-1].process_cpu == 0
    with pipeline.auto_stop():
        for i, _ in enumerate(pipeline):
            if i == 20:
                assert pipeline.stats()[-1].python_cpu > 0
        ended = pipeline.stats()
    time.sleep(0.01)
    assert pipeline.stats()[-1].process_cpu == ended[-1].process_cpu
    assert [one.python for one in ended] == [True, True, True, False]
    assert 0 < ended[-1].python_cpu <= 1.1 * ended[-1].process_cpu + 0.01
    found = bottleneck(ended, cores=64)
    assert (found.kind, name(found)) == ("concurrency", "slow")  # and does not wait for a disk


def test_coroutines_that_wait_do_not_wait_for_a_disk():
    async def fetch(x):
        await asyncio.sleep(0.004)
        return x

    pipeline = PipelineBuilder().add_source(range(40)).pipe(fetch).add_sink(2).build(num_threads=1)
    with pipeline.auto_stop():
        list(pipeline)
    assert [one.python for one in pipeline.stats()] == [True, True, False]
    assert bottleneck(pipeline.stats(), cores=64).kind == "concurrency"


def test_a_native_stage_is_not_called_python():
    data = [bytes(8)] * 4
    pipeline = (
        PipelineBuilder()
        .add_source(data)
        .pipe(lambda b: hashlib.sha256(b).digest(), name="hash")
        .pipe(lambda b: None, name="end")
        .add_sink(2)
        .build(num_threads=1)
    )
    with pipeline.auto_stop():
        list(pipeline)
    assert [one.python for one in pipeline.stats()[:-1]] == [True, True, True]
    pipeline = (
        PipelineBuilder().add_source([]).pipe(ops.decode_image()).add_sink(2).build(num_threads=1)
    )
    with pipeline.auto_stop():
        list(pipeline)
    assert [one.python for one in pipeline.stats()[:-1]] == [True, False]


@pytest.mark.parametrize("queue_class", [None, AsyncQueue])
def test_no_queue_holds_more_than_it_may(queue_class):
    builder = PipelineBuilder().add_source(range(60)).pipe(str, concurrency=4)
    builder = builder.pipe(len, concurrency=4).add_sink(2)
    pipeline = builder.build(num_threads=4, queue_class=queue_class)
    with pipeline.auto_stop():
        for _ in pipeline:
            time.sleep(0.01)  # all of them are full, and finished items wait for room
    stages = pipeline.stats()[:-1]
    assert all(one.queue_mean <= one.queue_capacity for one in stages)
    assert stages[-1].queue_mean > 1
