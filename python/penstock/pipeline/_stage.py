"""Which stage this is, and the marks that travel between items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StageInfo:
    """Which stage of which pipeline this is.

    >>> str(StageInfo(0, "1", "decode", 4))
    '0:1:decode[4]'
    """

    pipeline_id: int
    stage_id: str
    stage_name: str
    concurrency: int | None = None

    def __str__(self) -> str:
        many = f"[{self.concurrency}]" if self.concurrency and self.concurrency > 1 else ""
        return f"{self.pipeline_id}:{self.stage_id}:{self.stage_name}{many}"


class _Mark:
    """There is one object of each name, also after pickling."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


EOF = _Mark("EOF")
EPOCH_END = _Mark("EPOCH_END")


def is_eof(item: Any) -> bool:
    """True for the mark that ends a queue: no item comes after it. For a ``Merge`` op.

    >>> is_eof(0)
    False
    """
    return item is EOF


def is_epoch_end(item: Any) -> bool:
    """True for the mark between two epochs of a continuous source. For a ``Merge`` op.

    >>> is_epoch_end(None)
    False
    """
    return item is EPOCH_END


def is_mark(item: Any) -> bool:
    return isinstance(item, _Mark)
