"""What comes out of a pipeline, for every kind of op and source: on the native engine, and the same
on an event loop, where pipelines with hooks or queues of the user's own run."""

import asyncio
import concurrent.futures
import functools
import gc
import os
import pickle
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from patience import wait_until
from peaks import Peak
from penstock import io, ops
from penstock.pipeline import (
    PipelineBuilder,
    PipelineFailure,
    StatsQueue,
    build_pipeline,
    config,
)
from penstock.pipeline.defs import (
    Aggregate,
    Aggregator,
    Disaggregate,
    Merge,
    Pipe,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)

NATIVE_ONLY = {
    "test_a_generator_does_not_run_ahead_of_its_reader",  # the sink holds one more
    "test_bad_bytes_and_other_types_are_failures",  # the words differ
    "test_memory_stays_flat",  # takes too long
    "test_stats_say_what_happened",  # there is a queue more
}


class QueueOfMyOwn(StatsQueue):
    pass


def pytest_generate_tests(metafunc):
    paths = ["native"] if metafunc.function.__name__ in NATIVE_ONLY else ["native", "loop"]
    metafunc.parametrize("path", paths, indirect=True)


@pytest.fixture(autouse=True)
def path(request):
    if request.param == "loop":
        config.set_default_queue_class(QueueOfMyOwn)
    yield
    config.set_default_queue_class()


def run(builder, **options):
    pipeline = builder.build(**{"num_threads": 4, **options})
    with pipeline.auto_stop():
        return list(pipeline.get_iterator(timeout=30))


def read(pipeline, most, into=None):
    for _ in range(most):
        item = pipeline.get_item(timeout=30)
        if into is not None:
            into.append(item)


def source(n):
    return PipelineBuilder().add_source(range(n))


def test_items_pass_through_functions_in_order():
    assert run(source(1000).pipe(lambda x: x + 1).pipe(str).add_sink()) == [
        str(i + 1) for i in range(1000)
    ]


def test_no_stage_at_all():
    assert run(source(10).add_sink(1)) == list(range(10))


def test_none_drops_the_item_but_a_source_may_yield_it():
    assert run(source(10).pipe(lambda x: x if x % 2 else None).add_sink()) == [1, 3, 5, 7, 9]
    assert run(PipelineBuilder().add_source([None, 1]).add_sink()) == [None, 1]


def test_concurrent_calls_overlap_and_may_finish_in_any_order():
    gate = threading.Barrier(3, timeout=20)

    def meet(x):
        gate.wait()
        return x

    assert sorted(run(source(9).pipe(meet, concurrency=3).add_sink())) == list(range(9))


def test_input_order_is_kept_on_request():
    def uneven(x):
        time.sleep(0.002 if x % 3 == 0 else 0)
        return x

    out = run(source(60).pipe(uneven, concurrency=4, output_order="input").add_sink())
    assert out == list(range(60))


def test_concurrency_above_num_threads_waits():
    inside, most, changed = 0, 0, threading.Condition()

    def watched(x):
        nonlocal inside, most
        with changed:
            inside += 1
            most = max(most, inside)
            changed.notify_all()
            changed.wait_for(lambda: most >= 2, 20)
        time.sleep(0.005)  # more may come
        with changed:
            inside -= 1
        return x

    assert len(run(source(20).pipe(watched, concurrency=8).add_sink(), num_threads=2)) == 20
    assert most == 2


def test_a_waiting_source_does_not_keep_ops_from_running():
    seen = threading.Event()

    def items():
        yield 1
        assert seen.wait(20)
        yield 2

    def op(x):
        seen.set()
        return x

    assert run(PipelineBuilder().add_source(items()).pipe(op).add_sink(), num_threads=1) == [1, 2]


def test_containers_callables_classes_partials_and_methods():
    class Add:
        def __init__(self, n):
            self.n = n

        def __call__(self, x):
            return x + self.n

        def method(self, x):
            return x * self.n

    table = [10, 11, 12]
    assert run(source(3).pipe(table).add_sink()) == table
    assert run(source(3).pipe({0: "a", 1: "b", 2: "c"}).add_sink()) == ["a", "b", "c"]
    assert run(source(3).pipe(Add(5)).pipe(Add(2).method).add_sink()) == [10, 12, 14]
    assert run(source(3).pipe(functools.partial(pow, 2)).add_sink()) == [1, 2, 4]
    assert run(source(3).pipe(float).add_sink()) == [0.0, 1.0, 2.0]
    assert run(source(3).pipe(str).add_sink()) == ["0", "1", "2"]


def test_generator_functions_stream():
    def repeat(x):
        for _ in range(x):
            yield x
        yield None  # passed over

    assert run(source(4).pipe(repeat).add_sink()) == [1, 2, 2, 3, 3, 3]
    ordered = run(source(30).pipe(repeat, concurrency=4, output_order="input").add_sink(1))
    assert ordered == [x for x in range(30) for _ in range(x)]


def test_a_generator_does_not_run_ahead_of_its_reader():
    made = 0

    def endless(_):
        nonlocal made
        while True:
            made += 1
            time.sleep(0.001)
            yield made

    pipeline = source(1).pipe(endless).add_sink(2).build(num_threads=1)
    with pipeline.auto_stop():
        assert pipeline.get_item(timeout=20) == 1
        time.sleep(0.1)
        assert made <= 6


def test_async_functions_and_generators():
    async def double(x):
        await asyncio.sleep(0.001)
        return 2 * x if x % 2 else None

    async def spread(x):
        for i in range(3):
            await asyncio.sleep(0)
            yield x * 10 + i

    assert sorted(run(source(100).pipe(double, concurrency=16).add_sink())) == [
        2 * x for x in range(1, 100, 2)
    ]
    ordered = run(source(100).pipe(double, concurrency=16, output_order="input").add_sink())
    assert ordered == [2 * x for x in range(1, 100, 2)]
    assert run(source(3).pipe(spread).add_sink()) == [0, 1, 2, 10, 11, 12, 20, 21, 22]


def test_async_tasks_run_at_once_up_to_their_concurrency():
    inside, most = 0, 0

    async def watched(x):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        async with asyncio.timeout(20):
            while most < 8:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)  # more may come
        inside -= 1
        return x

    assert len(run(source(64).pipe(watched, concurrency=8).add_sink())) == 64
    assert most == 8


def test_async_sources():
    async def numbers():
        for i in range(20):
            await asyncio.sleep(0)
            yield i

    assert run(PipelineBuilder().add_source(numbers()).pipe(str).add_sink()) == [
        str(i) for i in range(20)
    ]


def test_aggregate_and_disaggregate():
    assert run(source(7).aggregate(3).add_sink()) == [[0, 1, 2], [3, 4, 5], [6]]
    assert run(source(7).aggregate(3, drop_last=True).add_sink()) == [[0, 1, 2], [3, 4, 5]]
    assert run(source(7).aggregate(3).disaggregate().add_sink()) == list(range(7))
    assert run(PipelineBuilder().add_source(["ab", "", "c"]).disaggregate().add_sink()) == [
        "a",
        "b",
        "c",
    ]


def test_an_aggregator_of_ones_own():
    class UpTo(Aggregator):
        def __init__(self, most):
            self.most, self.items = most, []

        def accumulate(self, item):
            self.items.append(item)
            return self.flush() if sum(self.items) >= self.most else None

        def flush(self):
            items, self.items = self.items, []
            return items or None

    assert run(source(6).aggregate(UpTo(4)).add_sink()) == [[0, 1, 2, 3], [4], [5]]


def test_paths_and_merges():
    builder = source(9).path_variants(
        lambda x: x % 2, [[Pipe(lambda x: -x)], [Pipe(lambda x: x), Aggregate(2), Disaggregate()]]
    )
    assert sorted(run(builder.add_sink())) == [-8, -6, -4, -2, 0, 1, 3, 5, 7]

    def config(items):
        return PipelineConfig(SourceConfig(items), (Pipe(lambda x: x + 1),), SinkConfig(1))

    merged = PipelineConfig(Merge([config([0, 1]), config([10])]), (Pipe(str),), SinkConfig(3))
    pipeline = build_pipeline(merged, num_threads=2)
    with pipeline.auto_stop():
        assert sorted(pipeline) == ["1", "11", "2"]


def test_continuous_sources_give_one_epoch_per_iteration():
    epochs = 0

    class Source:
        def __iter__(self):
            nonlocal epochs
            epochs += 1
            return iter([epochs * 10 + i for i in range(3)])

    pipeline = (
        PipelineBuilder().add_source(Source(), continuous=True).aggregate(2).add_sink().build()
    )
    with pipeline.auto_stop():
        assert list(pipeline) == [[10, 11], [12]]
        assert list(pipeline) == [[20, 21], [22]]
        assert pipeline.get_item(timeout=20) == [30, 31]
        assert list(pipeline) == [[32]]  # what was left of the epoch
        with pytest.raises(EOFError):
            read(pipeline, 10)


def test_thread_locals_survive_from_call_to_call():
    local = threading.local()

    def count(_):
        local.calls = getattr(local, "calls", 0) + 1
        return threading.get_ident(), local.calls

    calls = run(source(50).pipe(count).add_sink())
    for thread in {thread for thread, _ in calls}:
        numbers = [n for t, n in calls if t == thread]
        assert numbers == list(range(1, len(numbers) + 1))


def square(x):
    if x == 3:
        raise ValueError("three")
    return x * x


def twice(x):
    yield x
    yield x


@pytest.mark.filterwarnings("ignore:os.fork")  # JAX warns once it was imported
def test_thread_and_process_executors():
    with concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="mine") as pool:
        names = run(
            source(4).pipe(lambda x: threading.current_thread().name, executor=pool).add_sink()
        )
        assert all(name.startswith("mine") for name in names)
        assert run(source(3).pipe(twice, executor=pool).add_sink()) == [0, 0, 1, 1, 2, 2]
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        assert run(source(5).pipe(square, executor=pool).add_sink()) == [0, 1, 4, 16]
        assert run(source(3).pipe(twice, executor=pool).add_sink()) == [0, 0, 1, 1, 2, 2]
        assert run(source(1).pipe(_pid, executor=pool).add_sink()) != [os.getpid()]


def _pid(_):
    return os.getpid()


def test_items_are_freed_when_they_leave():
    class Item:
        alive = 0

        def __init__(self):
            Item.alive += 1

        def __del__(self):
            Item.alive -= 1

    assert len(run(source(100).pipe(lambda _: Item()).pipe(lambda i: id(i)).add_sink())) == 100
    pipeline = source(100).pipe(lambda _: Item()).add_sink(5).build()
    with pipeline.auto_stop():
        pipeline.get_item(timeout=20)
    del pipeline
    gc.collect()
    assert Item.alive == 0


def test_memory_stays_flat():
    def through(n):
        for _ in source(n).pipe(lambda x: x).add_sink(64).build():
            pass

    through(100_000)
    with Peak() as peak:
        through(500_000)
    assert peak.grown < 20_000_000


def test_stats_say_what_happened():
    def op(x):
        if x == 5:
            raise ValueError
        return x if x % 2 else None

    pipeline = source(100).pipe(op, name="odd", concurrency=2).add_sink(7).build(num_threads=2)
    with pipeline.auto_stop():
        assert len(list(pipeline)) == 49
        stats = pipeline.stats()
    src, odd, sink = stats
    assert src.name.endswith(":0:src")
    assert odd.name.endswith(":1:odd[2]")
    assert (src.items_out, odd.items_in, odd.items_out, odd.failures, odd.dropped) == (
        100,
        100,
        49,
        1,
        50,
    )
    assert sink.items_out == 49
    assert 0 <= sink.readiness <= 1
    assert odd.p99 >= odd.p50 > 0
    assert odd.queue_capacity == 7
    text = str(pipeline)
    assert "odd[2]" in text
    assert "GIL wait" in text
    assert "at a time" in text
    assert "MB/s" not in text  # no stage knows of bytes
    assert "ready" in text


def test_configs_pickle():
    config = PipelineConfig(SourceConfig([1, 2]), (Pipe(square), Aggregate(2)), SinkConfig(3))
    copy = pickle.loads(pickle.dumps(config))
    pipeline = build_pipeline(copy, num_threads=1)
    with pipeline.auto_stop():
        assert list(pipeline) == [[1, 4]]
    assert "square" in repr(config)


class TestFailures:
    def test_failed_items_are_dropped_logged_and_counted(self, caplog):
        out = run(source(5).pipe(square, name="sq").add_sink())
        assert out == [0, 1, 4, 16]
        (record,) = [r for r in caplog.records if "failed" in r.message]
        assert ":1:sq:4] failed. Item: 3" in record.message
        assert record.exc_info[0] is ValueError

    @pytest.mark.parametrize("order", ["completion", "input"])
    def test_too_many_failures_raise_at_the_reader(self, order):
        def bad(x):
            if x % 2:
                raise ValueError(f"bad {x}")
            return x

        pipeline = source(100).pipe(bad, output_order=order).add_sink().build(max_failures=1)
        got = []
        with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
            read(pipeline, 100, into=got)
        assert got == [0, 2]
        (error,) = info.value.exceptions
        assert "failed 2 times, which exceeds the threshold (1)." in str(error)
        assert isinstance(error.__cause__, ValueError)
        assert str(error.__cause__) == "bad 3"
        assert any(note.endswith(":1:bad") for note in error.__notes__)
        assert "Item: 3" in error.__notes__
        again = pickle.loads(pickle.dumps(info.value))
        assert isinstance(again, PipelineFailure)

    def test_it_is_raised_at_stop_if_nobody_has_read_it(self):
        pipeline = source(10).pipe(square).add_sink(20).build(max_failures=0)
        pipeline.start()
        assert pipeline.get_item(timeout=20) == 0
        assert wait_until(lambda: pipeline.stats()[1].failures == 1)
        time.sleep(0.3)  # until it is noticed
        with pytest.raises(PipelineFailure):
            pipeline.stop()
        with pytest.raises(PipelineFailure):
            read(pipeline, 20)
        pipeline.stop()  # only once

    def test_a_rate_is_judged_after_a_hundred_calls(self):
        def half(x):
            if x % 2:
                raise ValueError
            return x

        assert len(run(source(99).pipe(half).add_sink(), max_failures=Fraction(1, 10))) == 50
        with pytest.raises(PipelineFailure) as info:
            run(source(300).pipe(half).add_sink(), max_failures=Fraction(1, 10))
        assert "(50.0%), which exceeds the threshold (10.0%)" in str(info.value.exceptions[0])
        assert len(run(source(300).pipe(half).add_sink(), max_failures=Fraction(1, 2))) == 150

    def test_a_stage_has_its_own_limit(self):
        def bad(x):
            raise ValueError

        builder = source(10).pipe(bad, max_failures=-1).add_sink()
        assert run(builder, max_failures=3) == []
        with pytest.raises(PipelineFailure):
            run(source(10).pipe(bad, max_failures=2).add_sink())

    def test_a_failing_source_ends_the_pipeline_after_its_items(self):
        def items():
            yield 1
            raise OSError("disk")

        async def async_items():
            yield 1
            raise OSError("disk")

        for iterable in (items(), async_items()):
            pipeline = PipelineBuilder().add_source(iterable).pipe(str).add_sink().build()
            got = []
            with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
                got.extend(iter(pipeline.get_item, None))
            assert got == ["1"] or got == []
            assert isinstance(info.value.exceptions[0], OSError)

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_what_is_not_an_exception_stops_the_pipeline(self, kind):
        def op(x):
            raise kind

        async def async_op(x):
            raise kind

        for one in (op, async_op):
            with pytest.raises(PipelineFailure) as info:
                run(source(5).pipe(one).add_sink())
            assert isinstance(info.value.exceptions[0].__cause__, kind)

    def test_stop_iteration_from_an_op_is_an_ordinary_failure(self):
        def op(x):
            if x == 1:
                raise StopIteration
            return x

        assert run(source(3).pipe(op).add_sink()) == [0, 2]

    def test_a_failing_aggregator_or_router_is_fatal(self):
        class Bad(Aggregator):
            def accumulate(self, item):
                raise ValueError("no")

            def flush(self):
                return None

        with pytest.raises(PipelineFailure) as info:
            run(source(3).aggregate(Bad()).add_sink())
        assert str(info.value.exceptions[0]) == "no"
        with pytest.raises(PipelineFailure) as info:
            run(source(3).path_variants(lambda x: 5, [[Pipe(str)], [Pipe(str)]]).add_sink())
        assert isinstance(info.value.exceptions[0], IndexError)

    def test_async_failures_count_too(self):
        async def bad(x):
            raise ValueError(x)

        with pytest.raises(PipelineFailure):
            run(source(10).pipe(bad, concurrency=4).add_sink(), max_failures=2)


class TestNativeOps:
    def file(self, value, size=(8, 6)):
        return io.encode_image(np.full((*size, 3), value, np.uint8), "png")

    def test_they_run_on_native_workers_and_give_arrays(self):
        files = [self.file(i) for i in range(50)]
        op = ops.decode_image(size=(4, 4))
        builder = PipelineBuilder().add_source(files)
        builder.pipe(op, concurrency=2, output_order="input", name="decode")
        out = run(builder.pipe(np.asarray).add_sink())
        assert [a.shape for a in out] == [(4, 4, 3)] * 50
        assert [int(a[0, 0, 0]) for a in out] == list(range(50))

    def test_the_consumer_gets_tensors_that_keep_their_memory(self):
        out = run(PipelineBuilder().add_source([self.file(7)]).pipe(ops.decode_image()).add_sink())
        array = np.asarray(out.pop())
        gc.collect()
        assert array.shape == (8, 6, 3)
        assert (array == 7).all()

    def test_bad_bytes_and_other_types_are_failures(self, caplog):
        source = [self.file(1), b"not an image", "text", self.file(2)]
        out = run(PipelineBuilder().add_source(source).pipe(ops.decode_image()).add_sink())
        assert len(out) == 2
        texts = [str(r.exc_info[1]) for r in caplog.records if r.exc_info]
        assert any("takes bytes objects" in text for text in texts)
        assert len(texts) == 2

    def test_inputs_are_freed(self):
        import sys

        file = self.file(3)
        before = sys.getrefcount(file)
        out = run(PipelineBuilder().add_source([file] * 20).pipe(ops.decode_image()).add_sink())
        assert len(out) == 20
        gc.collect()
        assert sys.getrefcount(file) == before


def test_a_cancelled_error_of_the_users_own_is_an_ordinary_failure():
    async def op(x):
        if x == 1:
            raise asyncio.CancelledError
        return x

    async def stream(x):
        if x == 1:
            raise asyncio.CancelledError
        yield x

    async def items():
        yield 0
        raise asyncio.CancelledError

    assert run(source(4).pipe(op).add_sink()) == [0, 2, 3]
    assert run(source(4).pipe(stream).add_sink()) == [0, 2, 3]
    with pytest.raises(PipelineFailure):
        run(PipelineBuilder().add_source(items()).add_sink())


def test_stop_iteration_from_an_executor_is_an_ordinary_failure():
    def op(x):
        if x == 1:
            raise StopIteration
        return x

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert run(source(3).pipe(op, executor=pool).add_sink()) == [0, 2]


def test_sources_that_do_and_do_not_end_are_not_merged():
    def config(continuous):
        return PipelineConfig(SourceConfig([0], continuous), (), SinkConfig(1))

    merged = PipelineConfig(Merge([config(True), config(False)]), (), SinkConfig(1))
    with pytest.raises(ValueError, match="Mixed continuous mode"):
        build_pipeline(merged)


def test_items_are_not_claimed_ahead_of_a_call():
    # semantics 22: "never claiming ahead: take one item, call, publish, go on"
    others, all_others = [], threading.Event()

    def wait_for_the_rest(item):
        if item == 0:
            assert all_others.wait(30), "items were waiting behind a call that waited for them"
        return item

    pipeline = (
        PipelineBuilder()
        .add_source(range(64))
        .pipe(wait_for_the_rest, concurrency=2)
        .add_sink(3)
        .build(num_threads=2)
    )
    with pipeline.auto_stop():
        for item in pipeline.get_iterator(timeout=40):
            others.append(item)
            if len(others) == 63:
                all_others.set()
    assert others == [*range(1, 64), 0]
