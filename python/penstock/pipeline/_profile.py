"""Each stage of a pipeline alone, over a range of concurrencies: which one is worth more threads.

With PENSTOCK_PIPELINE_DIAGNOSTIC_MODE=1 in the environment every pipeline that is built profiles
itself when it is first read, and the program exits.
"""

from __future__ import annotations

import logging
import os
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from penstock.pipeline._pipeline import Pipeline
from penstock.pipeline._tasks import is_on, setting
from penstock.pipeline.defs import (
    AggregateConfig,
    DisaggregateConfig,
    MergeConfig,
    PipeConfig,
    PipelineConfig,
    SinkConfig,
    SourceConfig,
)

_LOG = logging.getLogger("penstock.pipeline")

_CONCURRENCIES = (32, 16, 8, 4, 1)

_is_profiling = ContextVar("_is_profiling", default=False)


class ProfileHook(ABC):
    """Code of yours around the profile: start and stop a profiler, say. Plain context managers."""

    @abstractmethod
    @contextmanager
    def stage_profile_hook(self, stage: str, concurrency: int) -> Iterator[None]:
        """Around one stage with one concurrency."""
        yield

    @abstractmethod
    @contextmanager
    def pipeline_profile_hook(self) -> Iterator[None]:
        """Around the whole profile."""
        yield


class _NoHook(ProfileHook):
    @contextmanager
    def stage_profile_hook(self, stage: str, concurrency: int) -> Iterator[None]:
        yield

    @contextmanager
    def pipeline_profile_hook(self) -> Iterator[None]:
        yield


@dataclass
class ProfileStats:
    """A stage with one concurrency."""

    concurrency: int
    qps: float
    """Items out per second."""
    occupancy_rate: float
    """The share of time in which an item was waiting for whoever reads."""


@dataclass
class ProfileResult:
    """A stage with each concurrency that was tried."""

    name: str
    stats: Sequence[ProfileStats]


_Callback = Callable[[ProfileResult], None]


def profile_pipeline(
    cfg: PipelineConfig,
    num_inputs: int = 1000,
    *,
    callback: _Callback | None = None,
    hook: ProfileHook | None = None,
) -> Sequence[ProfileResult]:
    """Runs each stage alone on ``num_inputs`` items, with 32, 16, 8, 4 and 1 calls at once.

    The outputs of a stage are the inputs of the next; it ends at a stage that gives nothing.
    ``callback`` gets each result as soon as it is there. In distributed training only local rank 0
    profiles; others get an empty list.

    >>> from penstock.pipeline.defs import Pipe, PipelineConfig, SinkConfig, SourceConfig
    >>> config = PipelineConfig(SourceConfig(range(100)), [Pipe(str), Pipe(len)], SinkConfig(1))
    >>> results = profile_pipeline(config, num_inputs=10)
    >>> [(one.name, [stats.concurrency for stats in one.stats]) for one in results]
    [('str', [32, 16, 8, 4, 1]), ('len', [32, 16, 8, 4, 1])]
    """
    if not isinstance(cfg, PipelineConfig):
        has = " (its get_config() gives one)" if hasattr(cfg, "get_config") else ""
        raise TypeError(
            f"profile_pipeline: give the PipelineConfig of a pipeline, not a {type(cfg).__name__}"
            f"{has}"
        )
    hook = hook or _default_hook or _NoHook()
    callback = callback or _default_callback or (lambda result: None)
    with hook.pipeline_profile_hook():
        if os.environ.get("LOCAL_RANK", "0") != "0":
            _LOG.info("Profiling is only performed on local rank 0.")
            return []
        before = _is_profiling.set(True)
        try:
            return _profile(cfg, num_inputs, hook, callback)[1]
        finally:
            _is_profiling.reset(before)


def _profile(
    config: PipelineConfig, num_inputs: int, hook: ProfileHook, callback: _Callback
) -> tuple[list[Any], list[ProfileResult]]:
    """The outputs of the last stage, and the results of all."""
    items: list[Any] = []
    results: list[ProfileResult] = []
    if isinstance(config.src, MergeConfig):
        for upstream in config.src.pipeline_configs:
            outputs, inner = _profile(upstream, num_inputs, hook, callback)
            items += outputs
            results += inner
        random.shuffle(items)
    else:
        items = _fetch(config.src, num_inputs)
    for stage in config.pipes:
        if not items:
            _LOG.warning("Profiling ends before stage %s: nothing came out in front.", stage.name)
            break
        if not isinstance(stage, PipeConfig | AggregateConfig | DisaggregateConfig):
            _LOG.warning("Skipping %s stage in profiling (not supported).", type(stage).__name__)
            continue
        items, result = _profile_stage(items, stage, hook, callback)
        results.append(result)
    return items, results


def _fetch(source: SourceConfig, number: int) -> list[Any]:
    _LOG.info("Fetching %d inputs.", number)
    pipeline = _build(PipelineConfig(source, (), SinkConfig(1)), 1)
    with pipeline.auto_stop():
        items = list(islice(pipeline, number))
    if not items:
        raise RuntimeError("No input samples are fetched.")
    return items


def _profile_stage(
    items: list[Any],
    stage: PipeConfig | AggregateConfig | DisaggregateConfig,
    hook: ProfileHook,
    callback: _Callback,
) -> tuple[list[Any], ProfileResult]:
    _LOG.info("Profiling Stage: %s", stage.name)
    stats = []
    outputs: list[Any] = []
    for concurrency in _CONCURRENCIES if isinstance(stage, PipeConfig) else (1,):
        if isinstance(stage, PipeConfig):
            args = replace(stage._args, executor=None, concurrency=concurrency)
            stage = replace(stage, _args=args, _max_failures=None)
        config = PipelineConfig(SourceConfig(items), [stage], SinkConfig(2))
        pipeline = _build(config, concurrency)
        with hook.stage_profile_hook(stage.name, concurrency):
            start = time.monotonic()
            with pipeline.auto_stop():
                outputs = list(pipeline)
                took = time.monotonic() - start
        qps = len(outputs) / took if took > 0 else float("nan")
        waited = pipeline.stats()[-1].waiting
        occupancy = min(1.0, max(0.0, 1 - waited / took)) if took > 0 else 0.0
        _LOG.info(" - Concurrency: %d", concurrency)
        _LOG.info(" - QPS: %.2f", qps)
        _LOG.info(" - Occupancy Rate: %.2f", occupancy)
        stats.append(ProfileStats(concurrency, qps, occupancy))
    result = ProfileResult(stage.name, stats)
    callback(result)
    return outputs, result


def _build(config: PipelineConfig, num_threads: int) -> Pipeline:
    from penstock.pipeline._build import build_pipeline  # which makes profiling pipelines, too

    return build_pipeline(config, num_threads=num_threads)


def is_diagnostic_mode_enabled() -> bool:
    """Whether pipelines profile themselves: PENSTOCK_PIPELINE_DIAGNOSTIC_MODE.

    >>> is_diagnostic_mode_enabled()
    False
    """
    return is_on(setting("DIAGNOSTIC_MODE"))


def is_wanted() -> bool:
    """Whether a pipeline that is built now shall profile itself."""
    return is_diagnostic_mode_enabled() and not _is_profiling.get()


def diagnostic_mode_num_sources() -> int:
    """On how many items: PENSTOCK_PIPELINE_DIAGNOSTIC_MODE_NUM_ITEMS, or 1000.

    >>> diagnostic_mode_num_sources()
    1000
    """
    return int(setting("DIAGNOSTIC_MODE_NUM_ITEMS") or 1000)


class ProfilingPipeline(Pipeline):
    """Stands for a pipeline in diagnostic mode: reading it profiles, and ends the program."""

    def __init__(self, config: PipelineConfig) -> None:
        self._config = config
        self._state = "built"

    def start(self, *, timeout: float | None = None, **kwargs: Any) -> None:
        pass

    def stop(self, *, timeout: float | None = None) -> None:
        pass

    def get_item(self, *, timeout: float | None = None) -> Any:
        profile_pipeline(self._config, diagnostic_mode_num_sources())
        _LOG.info("Profiling completed. Exiting.")
        raise SystemExit(0)

    def get_iterator(self, *, timeout: float | None = None) -> Iterator[Any]:
        yield self.get_item()

    def __str__(self) -> str:
        return repr(self._config)


_default_hook: ProfileHook | None = None
_default_callback: _Callback | None = None


def set_default_profile_hook(hook: ProfileHook | None = None) -> None:
    """The hook of profiles that are given none; None for no hook.

    >>> from penstock.pipeline import config
    >>> config.set_default_profile_hook(None)
    """
    global _default_hook
    _default_hook = hook


def get_default_profile_hook() -> ProfileHook | None:
    """What :func:`set_default_profile_hook` has set.

    >>> get_default_profile_hook() is None
    True
    """
    return _default_hook


def set_default_profile_callback(callback: _Callback | None = None) -> None:
    """The callback of profiles that are given none; None for no callback.

    >>> from penstock.pipeline import config
    >>> config.set_default_profile_callback(print)
    >>> config.set_default_profile_callback(None)
    """
    global _default_callback
    _default_callback = callback


def get_default_profile_callback() -> _Callback | None:
    """What :func:`set_default_profile_callback` has set.

    >>> get_default_profile_callback() is None
    True
    """
    return _default_callback
