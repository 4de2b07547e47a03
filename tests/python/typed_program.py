"""A user's program over the public surface, with the types that it counts on.

``mypy --strict`` looks at it, as part of scripts/lint; it is not run.
"""

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, assert_type

import numpy as np
import penstock as ps
from penstock import io, ops
from penstock.dataloader import CacheDataLoader, DataLoader, PyTorchDataLoader
from penstock.insight import (
    Headspace,
    Scaling,
    bottleneck,
    headspace,
    plot_profile,
    progress,
    report,
    trace,
)
from penstock.pipeline import (
    Pipeline,
    PipelineBuilder,
    PipelineFailure,
    ProfileResult,
    StageStats,
    build_pipeline,
    profile_pipeline,
)
from penstock.pipeline.defs import (
    Aggregate,
    Disaggregate,
    Pipe,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)
from penstock.source import DistributedDeterministicSampler, DistributedRandomSampler
from penstock.source.utils import MergeIterator, embed_shuffle, repeat_source


def double(x: int) -> int:
    return 2 * x


async def later(x: int) -> int:
    await asyncio.sleep(0)
    return x


def pipelines() -> None:
    pipeline = (
        PipelineBuilder()
        .add_source(range(10), continuous=False)
        .pipe(double, concurrency=2, name="double", max_failures=Fraction(1, 2))
        .pipe(later, concurrency=4, executor=None, output_order="input")
        .pipe(ops.resize((8, 8)))
        .aggregate(32, drop_last=False)
        .disaggregate()
        .path_variants(lambda x: x % 2, [[Pipe(double)], []])
        .add_sink(buffer_size=3)
        .build(num_threads=4, max_failures=-1, report_stats_interval=None)
    )
    assert_type(pipeline, Pipeline)
    with pipeline.auto_stop():
        for _ in pipeline.get_iterator(timeout=10):
            pass
    stages = pipeline.stats()
    assert_type(stages, list[StageStats])
    assert_type(stages[-1].readiness, float | None)
    config = PipelineConfig(
        SourceConfig(range(3)), [Pipe(double), Aggregate(3), Disaggregate()], SinkConfig(1)
    )
    results = profile_pipeline(config, 10)
    assert_type(results, Sequence[ProfileResult])
    assert_type(plot_profile("profile.svg", results), list[Scaling])
    try:
        build_pipeline(config, num_threads=1).start()
    except PipelineFailure as failure:
        print(failure.exceptions)


def datasets() -> None:
    files = ps.open("train-*.tar", format=None, fields=["jpg"], checksums=False, mmap=False)
    rows = ps.from_arrays(image=np.zeros((3, 4)), label=np.arange(3))
    mixed = ps.mix([ps.from_list([1, 2]), rows], weights=[3, 1], seed=0)
    assert_type(mixed[7], dict[str, Any])
    assert_type(mixed[[5, 1]], list[dict[str, Any]])
    assert_type(mixed.fields, list[str])
    plan = (
        files.shuffle(seed=0, window="64MB")
        .shard(0, 1)
        .take(5)
        .skip(1)
        .repeat()
        .select("jpg", "cls")
        .rename(jpg="image")
        .filter(lambda sample: bool(sample["cls"]))
        .decode("cls", "json")
        .map(lambda sample: sample, concurrency=2)
        .decode_image(["image", "mask"], size=(224, 224), crop="random_resized", scale=(0.1, 1))
        .batch(256, layout="NCHW", dtype="float32", mean=[0.5], std=[0.25], collate={"x": "pad"})
        .map(lambda batch: batch)
    )
    assert_type(plan, ps.Dataset)
    assert_type(plan.explain(), str)
    loader = plan.loader(threads=None, memory="1GB", on_error="skip", output="torch")
    assert_type(loader, ps.Loader)
    assert_type(loader.batch_size, int | None)
    assert_type(loader.errors(), list[ps.SampleError])
    loader.load_state_dict(loader.state_dict())
    for batch in loader.progress():
        print(batch["image"].shape)


def media() -> None:
    for sample in io.iter_tar("train.tar"):
        assert_type(io.decode_image(sample["jpg"], size=(8, 8)), np.ndarray)
    assert_type(io.encode_image(np.zeros((3, 3), np.uint8), "png", 90), bytes)
    assert_type(io.image_info(b"").width, int)
    assert_type(io.load_audio("a.wav", start=1, duration=2.5), io.Samples)
    assert_type(io.Video("a.mp4")[[1, 2]], io.Frames)
    assert_type(io.read_range("https://host/x", 0, 3), bytes)


def loaders() -> None:
    plain = DataLoader([1, 2], preprocessor=double, batch_size=2, aggregator=sum)
    assert_type(plain, DataLoader[int, Any])
    loader = PyTorchDataLoader([1, 2], batch_size=2, shuffle=True, num_workers=2)
    assert_type(loader, PyTorchDataLoader[Any])
    some: PyTorchDataLoader[list[int]] = PyTorchDataLoader([1, 2])
    for batch in progress(CacheDataLoader(some, 2, 3, stop_after=5)):
        assert_type(batch, list[int])
    found = headspace(loader, lambda batch: None, batches=10, warmup=2, total_steps=5)
    assert_type(found, Headspace)
    assert_type(found.hours, float | None)
    report("report.html", loader, headspace=found)
    with trace("trace.json"):
        print(bottleneck(loader.stats()).kind)
    sampler = DistributedRandomSampler(10, rank=0, world_size=1, num_draws=3, seed=0)
    sampler.shuffle(3)
    DistributedDeterministicSampler(10, rank=0, world_size=1).set_epoch(1)
    for index in embed_shuffle(sampler):
        assert_type(index, int)
    assert_type(MergeIterator([[1], [2]]), MergeIterator[int])
    assert_type(next(iter(repeat_source([1]))), int)
