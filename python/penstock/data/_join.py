"""What datasets need to have in common to be joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.data._plan import Node, PlanError, Step, is_python

if TYPE_CHECKING:
    from penstock.data._base import Plan


def joined(parts: Sequence[Plan], name: str) -> tuple[tuple[Node, ...], tuple[Step, ...]]:
    """The orders of the parts, and the row work that is the same for all."""
    for part in parts:
        if not hasattr(part, "_before_batch"):
            raise PlanError(
                f"{name}: {part!r:.80} is not a dataset; from_list() and from_iterable() make one"
            )
        part._before_batch(name)
        if part.sequential:
            raise PlanError(f"{name}: sequential plans cannot be joined; make lists of them")
    if all(part._steps == parts[0]._steps for part in parts):
        return tuple(part._node for part in parts), parts[0]._steps
    for part in parts:
        if any(is_python(step) for step in part._steps):
            raise PlanError(f"{name}: put map() and filter() after {name}(), or in all parts alike")
    return tuple(part._own_steps()._node for part in parts), ()


def shard_of(parts: Sequence[Plan], name: str) -> tuple[int, int] | None:
    """The rank that one of the parts was given: it is that of the whole."""
    given = {part._shard for part in parts if part._shard is not None}
    if len(given) > 1:
        raise PlanError(f"{name}: the parts have different ranks: {sorted(given)}; shard() once")
    return next(iter(given), None)
