"""run_pipeline_in_subprocess: a whole pipeline in another process."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from penstock.pipeline import _build
from penstock.pipeline._background import BackgroundTaskFactory
from penstock.pipeline._elsewhere.executors import with_lazy_executors
from penstock.pipeline._elsewhere.iterate import iterate_in_subprocess
from penstock.pipeline._hooks import HookFactory
from penstock.pipeline._queues import AsyncQueue
from penstock.pipeline.defs import MergeConfig, PipelineConfig


class _Epochs(Iterable[Any]):
    """Builds and runs the pipeline for each iteration; one that is continuous only once."""

    def __init__(self, config: PipelineConfig, options: dict[str, Any]) -> None:
        self._build = partial(_build.build_pipeline, config, **options)
        self._kept = None
        if _is_continuous(config):
            self._kept = self._build()
            self._kept.start()

    def __iter__(self) -> Iterator[Any]:
        if self._kept is not None:
            yield from self._kept
            return
        pipeline = self._build()
        with pipeline.auto_stop():
            yield from pipeline


def _is_continuous(config: PipelineConfig) -> bool:
    if isinstance(config.src, MergeConfig):
        return any(_is_continuous(one) for one in config.src.pipeline_configs)
    return config.src.continuous


def _random_states() -> Callable[[], None]:
    """Gives the generators of another process the state of those of this one."""
    states: dict[str, Any] = {"random": random.getstate()}
    if (numpy := sys.modules.get("numpy")) is not None:
        states["numpy"] = numpy.random.get_state()
    if (torch := sys.modules.get("torch")) is not None:
        states["torch"] = bytes(torch.get_rng_state().numpy())
    return partial(_set_random_states, states)


def _set_random_states(states: dict[str, Any]) -> None:
    """Imports nothing: a process whose functions do without torch is not to wait for it."""
    random.setstate(states["random"])
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and "numpy" in states:
        numpy.random.set_state(states["numpy"])
    if torch is not None and "torch" in states:
        torch.set_rng_state(torch.frombuffer(bytearray(states["torch"]), dtype=torch.uint8))


def run_pipeline_in_subprocess(
    config_or_builder: PipelineConfig,
    /,
    *,
    num_threads: int | None = 4,
    max_failures: int | Fraction = -1,
    report_stats_interval: float | None = None,
    queue_class: type[AsyncQueue] | None = None,
    task_hook_factory: HookFactory | None = None,
    background_tasks: Sequence[BackgroundTaskFactory] | None = None,
    use_thread_output_queue: bool = False,
    **kwargs: Any,
) -> Iterable[Any]:
    """Builds and runs a pipeline in another process; iterate over what is returned.

    The process stays for further iterations, and with it the executors in the definition. A
    pipeline whose source is not continuous is built anew for each. Further arguments are those of
    :func:`iterate_in_subprocess`. Random generators (``random``, NumPy, torch) begin there with
    the state that they have here.

    >>> from penstock.pipeline.defs import Pipe, PipelineConfig, SinkConfig, SourceConfig
    >>> config = PipelineConfig(SourceConfig(range(3)), [Pipe(str)], SinkConfig(3))
    >>> items = run_pipeline_in_subprocess(config, num_threads=1, mp_context="fork")
    >>> list(items), list(items)
    (['0', '1', '2'], ['0', '1', '2'])
    """
    if not isinstance(config_or_builder, PipelineConfig):
        warnings.warn(
            "Passing a `PipelineBuilder` object directly to `run_pipeline_in_subprocess` is "
            "deprecated. Please call `get_config()` method and pass the config object.",
            stacklevel=2,
        )
        config_or_builder = config_or_builder.get_config()
    options = {
        "num_threads": num_threads,
        "max_failures": max_failures,
        "report_stats_interval": report_stats_interval,
        "queue_class": queue_class,
        "task_hook_factory": task_hook_factory,
        "background_tasks": background_tasks,
    }
    initializer: Any = kwargs.pop("initializer", None) or []
    if not isinstance(initializer, Sequence):
        initializer = [initializer]
    return iterate_in_subprocess(
        partial(_Epochs, with_lazy_executors(config_or_builder), options),
        initializer=[_build.continue_numbering(), _random_states(), *initializer],
        **kwargs,
    )


def iterate_in_subinterpreter(*args: Any, **kwargs: Any) -> Any:
    """Not there yet: see the message."""
    raise NotImplementedError(
        "interpreters of their own need Python 3.14, and extension modules that support them, "
        "which NumPy and penstock do not; use iterate_in_subprocess()"
    )


def run_pipeline_in_subinterpreter(*args: Any, **kwargs: Any) -> Any:
    """Not there yet: see the message."""
    raise NotImplementedError(
        "interpreters of their own need Python 3.14, and extension modules that support them, "
        "which NumPy and penstock do not; use run_pipeline_in_subprocess()"
    )
