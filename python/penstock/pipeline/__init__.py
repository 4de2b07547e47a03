"""Any Python function, stage by stage, at native speed.

Items move between stages in C++; Python is entered only to call your functions.

>>> from penstock.pipeline import PipelineBuilder
>>> pipeline = PipelineBuilder().add_source(range(4)).pipe(str).add_sink().build()
>>> with pipeline.auto_stop():
...     "".join(pipeline)
'0123'
"""

from penstock.pipeline._background import BackgroundTask, BackgroundTaskFactory
from penstock.pipeline._build import build_pipeline
from penstock.pipeline._builder import PipelineBuilder
from penstock.pipeline._cache import cache_iterator
from penstock.pipeline._elsewhere.arenas import SharedMemoryRingBuffer, SharedMemorySegmentPool
from penstock.pipeline._elsewhere.iterate import iterate_in_subprocess
from penstock.pipeline._elsewhere.pipeline import (
    iterate_in_subinterpreter,
    run_pipeline_in_subinterpreter,
    run_pipeline_in_subprocess,
)
from penstock.pipeline._failure import PipelineFailure
from penstock.pipeline._hooks import TaskHook, TaskPerfStats, TaskStatsHook
from penstock.pipeline._pipeline import Pipeline
from penstock.pipeline._priority import (
    PriorityExecutorEntrypoint,
    PriorityInterpreterPoolExecutor,
    PriorityProcessPoolExecutor,
    PriorityThreadPoolExecutor,
)
from penstock.pipeline._process_group import ProcessGroupResourceUsage, ProcessGroupStatsMonitor
from penstock.pipeline._profile import ProfileHook, ProfileResult, profile_pipeline
from penstock.pipeline._queues import AsyncQueue, QueuePerfStats, StatsQueue
from penstock.pipeline._stage import StageInfo, is_eof, is_epoch_end
from penstock.pipeline._stats import StageStats
from penstock.pipeline._tasks import create_task

__all__ = [
    "AsyncQueue",
    "BackgroundTask",
    "BackgroundTaskFactory",
    "Pipeline",
    "PipelineBuilder",
    "PipelineFailure",
    "PriorityExecutorEntrypoint",
    "PriorityInterpreterPoolExecutor",
    "PriorityProcessPoolExecutor",
    "PriorityThreadPoolExecutor",
    "ProcessGroupResourceUsage",
    "ProcessGroupStatsMonitor",
    "ProfileHook",
    "ProfileResult",
    "QueuePerfStats",
    "SharedMemoryRingBuffer",
    "SharedMemorySegmentPool",
    "StageInfo",
    "StageStats",
    "StatsQueue",
    "TaskHook",
    "TaskPerfStats",
    "TaskStatsHook",
    "build_pipeline",
    "cache_iterator",
    "create_task",
    "is_eof",
    "is_epoch_end",
    "iterate_in_subinterpreter",
    "iterate_in_subprocess",
    "profile_pipeline",
    "run_pipeline_in_subinterpreter",
    "run_pipeline_in_subprocess",
]
