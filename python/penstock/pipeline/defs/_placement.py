"""Where stages run: definitions for ``to()`` regions, which are not built yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ExecutorConfig:
    """Workers that run the stages of a region."""

    max_workers: int | None = None
    initializer: Callable[..., object] | None = None
    initargs: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ProcessPoolExecutorConfig(ExecutorConfig):
    """Worker processes."""

    mp_context: str | None = None


@dataclass(frozen=True)
class InterpreterPoolExecutorConfig(ExecutorConfig):
    """Workers in interpreters of their own (Python 3.14)."""


@dataclass(frozen=True)
class _MainProcess:
    def __repr__(self) -> str:
        return "MAIN_PROCESS"


MAIN_PROCESS = _MainProcess()
"""The process in which the pipeline was built."""


@dataclass(frozen=True)
class PlacementConfig:
    """From here on the stages run in ``target``."""

    target: ProcessPoolExecutorConfig | InterpreterPoolExecutorConfig | _MainProcess
    name: str = "placement"
    buffer_size: int = 1

    def __repr__(self) -> str:
        buffer = f", buffer_size={self.buffer_size}" if self.buffer_size != 1 else ""
        return f"{self.name}({self.target!r}{buffer})"


@dataclass(frozen=True)
class _SubprocessPipelineConfig:
    name: str
    handle: Any
