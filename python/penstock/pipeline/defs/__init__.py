"""Definitions of pipelines: plain, picklable data that :func:`build_pipeline` turns into one.

The builder makes these for you. Write them by hand for what it cannot express: merging several
pipelines.

>>> from penstock.pipeline import build_pipeline
>>> from penstock.pipeline.defs import Merge, Pipe, PipelineConfig, SinkConfig, SourceConfig
>>> def part(items):
...     return PipelineConfig(SourceConfig(items), [Pipe(abs)], SinkConfig(1))
>>> both = PipelineConfig(Merge([part([1, -2]), part([3])]), [Pipe(str)], SinkConfig(3))
>>> pipeline = build_pipeline(both, num_threads=1)
>>> with pipeline.auto_stop():
...     sorted(pipeline)
['1', '2', '3']
"""

from penstock.pipeline.defs._graph import (
    Merge,
    MergeConfig,
    PathVariants,
    PathVariantsConfig,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)
from penstock.pipeline.defs._pipes import (
    Aggregate,
    AggregateConfig,
    Aggregator,
    Collate,
    Disaggregate,
    DisaggregateConfig,
    Pipe,
    PipeConfig,
    _PipeArgs,
    _PipeType,
    _TAsyncCallables,
    _TCallables,
    _TPipeInputs,
)
from penstock.pipeline.defs._placement import (
    MAIN_PROCESS,
    ExecutorConfig,
    InterpreterPoolExecutorConfig,
    PlacementConfig,
    ProcessPoolExecutorConfig,
    _MainProcess,
    _SubprocessPipelineConfig,
)

__all__ = [
    "MAIN_PROCESS",
    "Aggregate",
    "AggregateConfig",
    "Aggregator",
    "Collate",
    "Disaggregate",
    "DisaggregateConfig",
    "ExecutorConfig",
    "InterpreterPoolExecutorConfig",
    "Merge",
    "MergeConfig",
    "PathVariants",
    "PathVariantsConfig",
    "Pipe",
    "PipeConfig",
    "PipelineConfig",
    "PlacementConfig",
    "ProcessPoolExecutorConfig",
    "SinkConfig",
    "SourceConfig",
    "_MainProcess",
    "_PipeArgs",
    "_PipeType",
    "_SubprocessPipelineConfig",
    "_TAsyncCallables",
    "_TCallables",
    "_TPipeInputs",
]
