"""Mistakes get an exception of the fitting type that says what to do."""

from fractions import Fraction
from math import nan

import pytest
from penstock.pipeline import PipelineBuilder, PipelineFailure
from penstock.pipeline.defs import Aggregate, Pipe


def builder():
    return PipelineBuilder().add_source([1])


def built(sink=3, **options):
    return builder().pipe(str).add_sink(sink).build(**options)


@pytest.mark.parametrize(
    ("mistake", "kind", "text"),
    [
        (lambda: builder().pipe(5), TypeError, "neither be called nor indexed"),
        (lambda: builder().pipe(str, concurrency=0), ValueError, "must be >= 1. Found: 0"),
        (lambda: builder().pipe(str, concurrency=-1, name="x"), ValueError, "stage 'x'"),
        (lambda: builder().pipe(str, concurrency=1.5), TypeError, "must be an int"),
        (lambda: builder().pipe(str, output_order="best"), ValueError, "Found: best"),
        (lambda: builder().pipe(str, executor=7), TypeError, "has no submit"),
        (lambda: builder().pipe(str, max_failures=0.5), TypeError, "int or a Fraction"),
        (
            lambda: builder().pipe(str, max_failures=Fraction(3, 2), name="x"),
            ValueError,
            "stage 'x': max_failures is 3/2",
        ),
        (lambda: builder().pipe(str, concurrency=2**70), ValueError, "concurrency is 1180"),
        (lambda: built(sink=2**40), ValueError, "add_sink: buffer_size is 1099"),
        (lambda: built(num_threads=1.5), TypeError, "num_threads is 1.5; give a whole number"),
        (lambda: built(max_failures=Fraction(3, 2)), ValueError, "build: max_failures is 3/2"),
        (lambda: built(report_stats_interval="a"), TypeError, "report_stats_interval is 'a'"),
        (lambda: built(report_stats_interval=nan), ValueError, "report_stats_interval is nan"),
        (lambda: built().get_item(timeout="a"), TypeError, "get_item: timeout is 'a'"),
        (lambda: built().get_item(timeout=nan), ValueError, "get_item: timeout is nan"),
        (lambda: built().get_iterator(timeout="a"), TypeError, "get_iterator: timeout is 'a'"),
        (lambda: built().get_iterator(timeout=nan), ValueError, "get_iterator: timeout is nan"),
        (lambda: built().stop(timeout="a"), TypeError, "stop: timeout is 'a'"),
        (lambda: built().auto_stop(timeout=nan).__enter__(), ValueError, "auto_stop: timeout is"),
        (lambda: builder().aggregate(1.5), TypeError, "int or Aggregator"),
        (lambda: builder().add_source([2]), ValueError, "Source already set"),
        (lambda: builder().add_sink().add_sink(), ValueError, "Sink is already set"),
        (lambda: builder().add_sink(0), ValueError, "must be greater than 0. Found: 0"),
        (lambda: builder().add_sink(None), ValueError, "must be int"),
        (lambda: PipelineBuilder().add_source(5), ValueError, "int is neither iterable"),
        (lambda: builder().build(), RuntimeError, "Did you call `add_sink`"),
        (lambda: PipelineBuilder().add_sink().build(), RuntimeError, "Did you call `add_source`"),
        (lambda: builder().add_sink().build(num_threads=0), ValueError, "num_threads is 0"),
        (lambda: builder().add_sink().build(max_failures=0.1), TypeError, "max_failures is 0.1"),
        (lambda: builder().path_variants(3, [[Pipe(str)]]), ValueError, "router must be callable"),
        (lambda: builder().path_variants(str, []), ValueError, "at least 1 path"),
        (lambda: builder().path_variants(str, [[]]), ValueError, "Path 0 is empty"),
    ],
)
def test_mistakes_at_build_time(mistake, kind, text):
    with pytest.raises(kind, match=text):
        mistake()


def test_async_ops_take_no_executor_and_async_generators_no_order():
    async def op(x):
        return x

    async def stream(x):
        yield x

    with pytest.raises(ValueError, match="cannot be specified when op is async"):
        builder().pipe(op, executor=__import__("concurrent.futures").futures.ThreadPoolExecutor(1))
    with pytest.raises(ValueError, match="does not support async generator"):
        builder().pipe(stream, output_order="input")


def test_a_wrong_signature_fails_the_pipeline_at_once():
    def two(a, b):
        return a

    async def none():
        return 1

    for op in (two, none):
        pipeline = builder().pipe(op).add_sink().build()
        with pytest.raises(PipelineFailure) as info, pipeline.auto_stop():
            list(pipeline)
        (error,) = info.value.exceptions
        assert isinstance(error, TypeError)
        assert "cannot be called with one argument" in str(error)


def test_aggregates_of_less_than_one_item_give_single_ones():
    pipeline = builder().aggregate(0).add_sink().build()
    with pipeline.auto_stop():
        assert list(pipeline) == [[1]]
    assert Aggregate(2).name == "aggregate(op=collate(2), drop_last=False)"
