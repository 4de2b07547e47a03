"""Work beside a pipeline, on its event loop: monitors and the like."""

from __future__ import annotations

from collections.abc import Callable


class BackgroundTask:
    """Runs as long as a pipeline does. Override :meth:`run`.

    It is cancelled when the pipeline ends. What it raises is logged, and harms nobody.

    >>> import asyncio
    >>> from penstock.pipeline import build_pipeline
    >>> from penstock.pipeline.defs import PipelineConfig, SinkConfig, SourceConfig
    >>> greetings = []
    >>> class Greeter(BackgroundTask):
    ...     async def run(self):
    ...         greetings.append("hello")
    >>> config = PipelineConfig(SourceConfig([1]), [], SinkConfig(1))
    >>> pipeline = build_pipeline(config, num_threads=1, background_tasks=[Greeter])
    >>> with pipeline.auto_stop():
    ...     list(pipeline)
    [1]
    >>> greetings
    ['hello']
    """

    async def run(self) -> None:
        raise NotImplementedError


BackgroundTaskFactory = Callable[[], BackgroundTask]

_default_tasks: list[BackgroundTaskFactory] | None = None


def get_default_background_tasks() -> list[BackgroundTaskFactory] | None:
    """What :func:`set_default_background_tasks` has set.

    >>> get_default_background_tasks() is None
    True
    """
    return _default_tasks


def set_default_background_tasks(tasks: list[BackgroundTaskFactory] | None) -> None:
    """Tasks that run beside every pipeline that is built from now on; None for none.

    >>> from penstock.pipeline import config
    >>> config.set_default_background_tasks([])
    >>> config.set_default_background_tasks(None)
    """
    global _default_tasks
    _default_tasks = tasks
