"""cache(): records kept in memory, with the work that was done on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock import _core
from penstock.data._plan import (
    Apply,
    Cached,
    DecodeAudio,
    DecodeImage,
    DecodeVideo,
    Items,
    Leaf,
    Node,
    PlanError,
    Step,
    Zip,
    is_python,
    leaves,
    over_leaves,
)

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

ALL = 2**63 - 1


def cached(dataset: Dataset, limit: int) -> Node:
    """The order with each leaf cached, and the row work so far done once. Leaves share the limit by
    what they hold."""
    steps = dataset._steps
    all_leaves = leaves(dataset._node)
    for leaf in all_leaves:
        _check(leaf, (*leaf.steps, *steps))
    if steps and _holds_zip(dataset._node):
        raise PlanError("cache: put it before zip(), in each part; work on rows may follow zip()")
    opened = dataset._leaves()
    total = sum(_bytes(leaf) for leaf in opened)
    shares = iter([max(1, int(limit * (_bytes(leaf) / max(total, 1)))) for leaf in opened])

    def keep(leaf: Leaf) -> Leaf:
        return Leaf(Cached(leaf.source, (*leaf.steps, *steps), next(shares)))

    return over_leaves(dataset._node, keep)


def _bytes(leaf: _core.Leaf) -> int:
    return max(1, len(leaf) * leaf.mean_bytes)


def _check(leaf: Leaf, steps: Sequence[Step]) -> None:
    if isinstance(leaf.source, Items):
        raise PlanError("cache: the items of a list are in memory already")
    for step in steps:
        if is_python(step):
            raise PlanError("cache: put map() and filter() after cache()")
        if isinstance(step, DecodeImage | DecodeVideo | DecodeAudio | Apply) and step.random:
            raise PlanError(
                "cache: a random crop, flip or choice would be the same in each epoch; put it "
                "after cache(), which then keeps the files' bytes"
            )


def _holds_zip(node: Node) -> bool:
    if isinstance(node, Leaf):
        return False
    if isinstance(node, Zip):
        return True
    parts = getattr(node, "parts", None) or (node.child,)  # type: ignore[union-attr]
    return any(_holds_zip(part) for part in parts)
