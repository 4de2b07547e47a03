"""Traces: lanes, slices and arrows, as a viewer would read them."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict

import numpy as np
import penstock as ps
import pytest
from penstock import _core, io, ops
from penstock.insight import trace
from penstock.pipeline import PipelineBuilder


class Trace:
    """The file, checked for what every trace has to hold."""

    def __init__(self, path):
        self.events = json.loads(path.read_text())["traceEvents"]
        self.lanes = {
            one["tid"]: one["args"]["name"]
            for one in self.events
            if one["ph"] == "M" and one["name"] == "thread_name"
        }
        self.slices = [one for one in self.events if one["ph"] == "X"]
        self.by_lane = defaultdict(list)
        for one in self.slices:
            assert one["tid"] in self.lanes
            assert one["ts"] >= 0
            assert one["dur"] >= 0
            self.by_lane[one["tid"]].append(one)
        self.check_nesting()
        self.flows = self.check_flows()

    def check_nesting(self):
        """In a lane a slice begins after the one before has ended, or lies within it."""
        for lane in self.by_lane.values():
            open_until = []
            for one in sorted(lane, key=lambda one: (one["ts"], -one["dur"])):
                begin, end = one["ts"], one["ts"] + one["dur"]
                while open_until and open_until[-1] <= begin + 1e-6:
                    open_until.pop()
                assert not open_until or end <= open_until[-1] + 1e-6
                open_until.append(end)

    def check_flows(self):
        """Each begins, may go on, and ends; each of its points lies in a slice of its lane."""
        flows = defaultdict(list)
        for one in self.events:
            if one["ph"] in "stf":
                flows[one["id"]].append(one)
        joined = []
        for points in flows.values():
            assert [one["ph"] for one in points] == ["s", *"t" * (len(points) - 2), "f"]
            times = [one["ts"] for one in points]
            assert times == sorted(times)  # viewers drop arrows that go back in time
            joined.append([self.slice_at(one) for one in points])
        return joined

    def slice_at(self, point):
        within = [
            one
            for one in self.by_lane[point["tid"]]
            if one["ts"] <= point["ts"] <= one["ts"] + one["dur"]
        ]
        assert within, point
        return min(within, key=lambda one: one["dur"])

    def named(self, name):
        return [one for one in self.slices if one["name"].split(":")[-1] == name]


def run(pipeline):
    with pipeline.auto_stop():
        return list(pipeline)


def test_a_slice_for_each_task_and_an_arrow_for_each_hop(tmp_path):
    together = threading.Barrier(2, timeout=20)

    def slow(x):
        if x < 2:
            together.wait()
        time.sleep(0.001)
        return x

    pipeline = (
        PipelineBuilder()
        .add_source(range(30))
        .pipe(slow, concurrency=2)
        .pipe(lambda x: time.sleep(0.0005) or x, name="then")
        .add_sink(2)
        .build(num_threads=3)
    )
    with trace(tmp_path / "trace.json"):
        run(pipeline)
    seen = Trace(tmp_path / "trace.json")
    slow = seen.named("slow[2]")
    assert sorted(one["args"]["position"] for one in slow) == list(range(30))
    assert all(one["dur"] >= 1000 for one in slow)
    assert len(seen.named("then")) == 30
    assert "main thread" in seen.lanes.values()
    workers = {seen.lanes[one["tid"]] for one in slow}
    assert len(workers) >= 2
    assert all(name.startswith("penstock-py") for name in workers)
    hops = Counter((flow[0]["name"].split(":")[-1], flow[-1]["name"]) for flow in seen.flows)
    assert sum(hops.values()) >= 90  # source to slow, slow to then, then to the consumer
    ends = Counter(flow[-1]["name"].split(":")[-1] for flow in seen.flows)
    assert ends == {"slow[2]": 30, "then": 30, "get_item": 30}
    for flow in seen.flows:
        assert flow[0]["ts"] <= flow[-1]["ts"] + flow[-1]["dur"]


def test_a_batch_can_be_followed_through_a_loader(tmp_path):
    picture = bytes(io.encode_image(np.zeros((90, 120, 3), np.uint8), "jpeg"))
    np.save(tmp_path / "x.npy", np.arange(64))
    plan = ps.from_list([{"image": picture}] * 64).decode_image("image", size=(64, 64)).batch(8)
    with trace(tmp_path / "trace.json"):
        for batch in plan.loader(threads=2):
            assert batch["image"].shape == (8, 64, 64, 3)
    seen = Trace(tmp_path / "trace.json")
    assert sum(one["args"]["items"] for one in seen.named("collate")) == 8
    taken = [flow for flow in seen.flows if flow[-1]["name"] == "get_item"]
    assert len(taken) == 8
    assert {flow[0]["name"] for flow in taken} == {"collate"}
    names = {one["name"] for one in seen.slices}
    assert {"admit", "fetch", "decode_image image", "collate", "get_item"} <= names


def test_rows_of_a_batch_are_slices_of_their_own(tmp_path):
    for i in range(24):
        picture = io.encode_image(np.full((200, 300, 3), i, np.uint8), "jpeg")
        (tmp_path / f"{i}.jpg").write_bytes(bytes(picture))
    plan = ps.open(str(tmp_path / "*.jpg")).decode_image(size=(64, 64)).batch(8)
    with trace(tmp_path / "trace.json"):
        assert sum(len(batch["image"]) for batch in plan.loader(threads=2)) == 24
    seen = Trace(tmp_path / "trace.json")
    rows = Counter()
    for one in seen.named("read, decode_image image"):
        for row in range(one["args"]["rows"]):
            rows[one["args"]["batch"], one["args"]["row"] + row] += 1
    assert rows == {(batch, row): 1 for batch in range(3) for row in range(8)}
    admitted = [flow for flow in seen.flows if flow[0]["name"] == "admit"]
    assert len(admitted) == 3
    for flow in admitted:  # over all slices that worked on the batch
        batch = flow[1]["args"]["batch"]
        assert {one["args"]["batch"] for one in flow[1:]} == {batch}
        assert sum(one["args"]["rows"] for one in flow[1:]) == 8


def test_tasks_on_an_event_loop_overlap_in_lanes_of_their_own(tmp_path):
    together = asyncio.Barrier(5)

    async def nap(x):
        if x < 5:
            await together.wait()
        await asyncio.sleep(0.005)
        return x

    pipeline = (
        PipelineBuilder()
        .add_source(range(20))
        .pipe(nap, concurrency=5)
        .add_sink(2)
        .build(num_threads=1)
    )
    with trace(tmp_path / "trace.json"):
        assert sorted(run(pipeline)) == list(range(20))
    seen = Trace(tmp_path / "trace.json")
    naps = seen.named("nap[5]")
    assert sorted(one["args"]["position"] for one in naps) == list(range(20))
    assert len({one["tid"] for one in naps}) == 5


def test_quick_tasks_are_taken_together_and_none_is_missing(tmp_path):
    pipeline = PipelineBuilder().add_source(range(2_000)).pipe(abs).add_sink(8).build(num_threads=1)
    with trace(tmp_path / "trace.json"):
        assert len(run(pipeline)) == 2_000
    seen = Trace(tmp_path / "trace.json")
    assert sum(one["args"]["items"] for one in seen.named("abs")) == 2_000
    assert sum(one["args"]["items"] for one in seen.named("get_item")) == 2_000


def test_native_stages_routers_and_failures_are_there(tmp_path):
    def fail(x):
        if x % 5 == 0:
            raise ValueError(x)
        return x

    pipeline = PipelineBuilder().add_source(range(10)).pipe(fail).add_sink(2).build(num_threads=1)
    pictures = [bytes(io.encode_image(np.zeros((60, 80, 3), np.uint8), "jpeg"))] * 12
    native = (
        PipelineBuilder()
        .add_source(pictures)
        .pipe(ops.decode_image(), concurrency=2)
        .add_sink(2)
        .build(num_threads=1)
    )
    with trace(tmp_path / "trace.json"):
        assert len(run(pipeline)) == 8
        assert len(run(native)) == 12
    seen = Trace(tmp_path / "trace.json")
    assert sum(one["args"].get("failed", 0) for one in seen.named("fail")) == 2
    decoded = seen.named("decode_image[2]")
    assert sum(one["args"]["items"] for one in decoded) == 12
    assert {seen.lanes[one["tid"]] for one in decoded} <= {"penstock-0", "penstock-1"}


def test_the_oldest_slices_go_when_there_are_too_many(tmp_path):
    pipeline = (
        PipelineBuilder()
        .add_source(range(40))
        .pipe(lambda x: time.sleep(0.0002) or x, name="op")
        .add_sink(2)
        .build(num_threads=1)
    )
    with trace(tmp_path / "trace.json", slices=10):
        run(pipeline)
    seen = Trace(tmp_path / "trace.json")
    assert all(len(lane) <= 10 for lane in seen.by_lane.values())
    assert max(one["args"]["position"] for one in seen.named("op")) == 39
    assert json.loads((tmp_path / "trace.json").read_text())["otherData"]["lost"] > 0


@pytest.mark.parametrize("sink", [8, 700])
@pytest.mark.parametrize("count", [2048, 2049])
def test_every_item_of_a_quick_pipeline_arrives_in_the_trace(tmp_path, count, sink):
    pipeline = PipelineBuilder().add_source(range(count)).pipe(abs, name="op").add_sink(sink)
    with trace(tmp_path / "trace.json"):
        run(pipeline.build(num_threads=1))
    seen = Trace(tmp_path / "trace.json")
    positions = [one["args"]["position"] for one in seen.named("op")]
    assert sorted(positions) == sorted(set(positions))
    assert sum(one["args"]["items"] for one in seen.named("op")) == count
    taken = sum(one["args"]["items"] for one in seen.named("get_item"))
    assert taken in (count, count + 1)  # the mark of the end is taken, too


def test_start_and_stop_while_it_runs(tmp_path):
    ends = threading.Event()

    def numbers():
        while not ends.is_set():
            yield 1

    pipeline = PipelineBuilder().add_source(numbers()).pipe(abs).add_sink(2).build(num_threads=2)
    with pipeline.auto_stop():
        for i in range(5):
            recorder = trace(tmp_path / f"{i}.json").start()
            for _ in range(200):
                pipeline.get_item(timeout=20)
            recorder.stop()
            assert Trace(tmp_path / f"{i}.json").named("abs")
        ends.set()


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(ValueError, match="slices is 0"):
        trace(tmp_path / "trace.json", slices=0)
    with pytest.raises(ValueError, match="slices is 1152921504606846976; give 1 to"):
        trace(tmp_path / "trace.json", slices=2**60).start()
    with pytest.raises(RuntimeError, match="not started"):
        trace(tmp_path / "trace.json").stop()
    with pytest.raises(TypeError, match="slices"):
        trace(tmp_path / "trace.json", slices=0.5)
    with trace(tmp_path / "a.json"), pytest.raises(ValueError, match=r"trace: .*already.*a\.json"):
        trace(tmp_path / "b.json").start()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        trace(tmp_path / "nowhere" / "trace.json").start()
    with trace(os.fsencode(tmp_path / "after.json")):
        pass  # the one that failed does not stand in the way
    assert Trace(tmp_path / "after.json").slices == []


def test_a_file_that_cannot_be_written_at_the_end(tmp_path):
    def run(error):
        (tmp_path / "folder").mkdir()
        with trace(tmp_path / "folder" / "trace.json"):
            shutil.rmtree(tmp_path / "folder")
            if error is not None:
                raise error

    with pytest.raises(OSError, match="cannot be written"):
        run(None)
    with pytest.raises(KeyError) as caught:  # the user's own comes first
        run(KeyError("mine"))
    assert "cannot be written" in caught.value.__notes__[0]
    with trace(tmp_path / "after.json") as recorder:
        recorder.stop()  # in the block: once is enough
    assert Trace(tmp_path / "after.json").slices == []


def test_one_that_nobody_stops_is_written_when_the_program_ends(tmp_path):
    program = (
        "import sys, penstock as ps\n"
        "from penstock.insight import trace\n"
        "trace(sys.argv[1]).start()\n"
        "for _ in ps.from_list(range(20)).batch(2).loader(): pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "trace.json")],
        stderr=subprocess.PIPE,
        check=True,
    )
    assert done.stderr == b""
    assert Trace(tmp_path / "trace.json").named("get_item")


def test_an_exception_in_the_block_does_not_lose_the_trace(tmp_path):
    def run():
        with trace(tmp_path / "trace.json"):
            for _ in ps.from_list(range(20)).batch(2).loader():
                raise KeyError

    with pytest.raises(KeyError):
        run()
    assert Trace(tmp_path / "trace.json").named("get_item")


def test_a_forked_child_leaves_the_trace_alone(tmp_path):
    with trace(tmp_path / "trace.json"):
        child = os.fork()
        if child == 0:
            try:
                _core.write_trace(str(tmp_path / "child.json"))
            except ValueError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
    assert not (tmp_path / "child.json").exists()


def test_a_forked_child_may_record_a_trace_of_its_own(tmp_path):
    with trace(tmp_path / "trace.json"):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with trace(tmp_path / "child.json"):
                    for _ in ps.from_list(range(20)).batch(2).loader(threads=1):
                        pass
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        run(PipelineBuilder().add_source(range(3)).pipe(str, name="own").add_sink(2).build())
    assert len(Trace(tmp_path / "child.json").named("get_item")) >= 10
    assert len(Trace(tmp_path / "trace.json").named("own")) == 3


def test_the_file_goes_where_the_path_meant_when_the_trace_began(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with trace("trace.json"):
        monkeypatch.chdir(tmp_path / "elsewhere")
        run(PipelineBuilder().add_source(range(3)).pipe(str, name="own").add_sink(2).build())
    assert len(Trace(tmp_path / "trace.json").named("own")) == 3
    assert not (tmp_path / "elsewhere" / "trace.json").exists()


def test_too_many_slices_leave_no_file(tmp_path):
    with pytest.raises(ValueError, match="slices"):
        trace(tmp_path / "trace.json", slices=1 << 40).start()
    assert not (tmp_path / "trace.json").exists()
