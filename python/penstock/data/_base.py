"""A plan and what was opened for it: what the words of :class:`Dataset` are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from penstock import _core
from penstock.data import _fields, _stream
from penstock.data._build import RowPlan, make_order, make_rows, open_leaf
from penstock.data._join import shard_of
from penstock.data._plan import (
    Batch,
    Items,
    Leaf,
    Node,
    PlanError,
    Step,
    Stream,
    is_row_work,
    leaves,
    over_leaves,
)
from penstock.data._sizes import parse_bytes


class Plan:
    """Immutable, but for what is opened and made when it is first asked for. Copies share it."""

    def __init__(
        self,
        node: Node,
        steps: tuple[Step, ...] = (),
        shard: tuple[int, int] | None = None,
        batch: Batch | None = None,
    ) -> None:
        self._node = node
        self._steps = steps
        self._shard = shard
        self._batch = batch
        self._opened: list[_core.Leaf] | None = None
        self._made: _core.Order | None = None
        self._alone: RowPlan | None = None

    @property
    def sequential(self) -> bool:
        """Is it read from front to back only? Else any sample can be asked for."""
        return any(isinstance(leaf.source, Stream) for leaf in leaves(self._node))

    def _sample(self, position: int) -> dict[str, Any] | None:
        """None: a filter, or a map, has removed it."""
        if self._batch is not None:
            raise TypeError(
                "a dataset of batches has no single samples: index it before batch(); .loader() is "
                "for loops over its batches"
            )
        if self._alone is None:
            self._alone = make_rows(self._node, self._leaves(), self._steps, 0, None, None)
        return self._alone.native.sample(self._order(), self._leaves(), 0, 0, position)

    def _leaves(self) -> list[_core.Leaf]:
        if self._opened is None:
            self._opened = [open_leaf(leaf) for leaf in leaves(self._node)]
        return self._opened

    def _order(self) -> _core.Order:
        if self._made is None:
            self._made = make_order(self._node, self._leaves())
        return self._made

    def _known_fields(self, *, look: bool = False) -> list[str] | None:
        """The fields of samples; None: not known. `look`: at the first item of a list."""
        if self.sequential:
            return None
        there = _fields.of_leaves(leaves(self._node), self._leaves(), look=look)
        return _fields.after(there, self._steps)

    def _pictures(self) -> set[str]:
        """Fields that decode_image or decode_video have made, as they are called now."""
        of_leaves = [_fields.pictures(leaf.steps) for leaf in leaves(self._node)]
        return _fields.pictures(self._steps, set().union(*of_leaves))

    def _samples_in(self, window: str, name: str = "window") -> int:
        if self.sequential:
            raise PlanError("shuffle: a window of a sequential plan is a number of samples")
        if any(isinstance(leaf.source, Items) for leaf in leaves(self._node)):
            raise PlanError(
                f"shuffle: {name}={window!r} needs the size of records, and that of Python's "
                "objects is not known: give a number of samples"
            )
        known = [(len(leaf), leaf.mean_bytes) for leaf in self._leaves()]
        total = sum(n for n, _ in known)
        mean = sum(n * mean for n, mean in known) / max(total, 1)
        return max(1, int(parse_bytes(window, name) / max(mean, 1)))

    def _before_batch(self, step: str) -> None:
        if self._batch is not None:
            size = self._batch.size
            if step == "batch":
                raise PlanError(
                    f"batch() comes once: what comes before batch() are samples, and there are "
                    f"batches of {size} already"
                )
            before = type(self)(self._node, self._steps)
            raise PlanError(
                f"{step}() comes before batch(): {before!r}.{step}(...).batch({size}); after "
                "batch() only map() and to() may follow"
            )

    def _reordered(
        self,
        node: Node,
        steps: tuple[Step, ...] | None = None,
        parts: Sequence[Self] | None = None,
    ) -> Self:
        """Another order over the samples of `parts`; by default over those of this dataset."""
        self._before_batch(type(node).__name__.lower())
        shard = shard_of(parts or [self], type(node).__name__.lower())
        made = type(self)(node, self._steps if steps is None else steps, shard)
        if made.sequential:
            _stream.source_of(node)
            return made
        made._opened = [leaf for part in parts or [self] for leaf in part._leaves()]
        made._order()  # what cannot work is said here
        return made

    def _worked(self, step: Step) -> Self:
        self._before_batch(type(step).__name__.lower())
        made = self._like(steps=(*self._steps, step))
        made._known_fields()  # as above
        return made

    def _like(
        self,
        steps: tuple[Step, ...] | None = None,
        shard: tuple[int, int] | None = None,
        batch: Batch | None = None,
    ) -> Self:
        """The same order over the same leaves, which stay open, with something else changed."""
        made = type(self)(
            self._node,
            self._steps if steps is None else steps,
            shard or self._shard,
            batch or self._batch,
        )
        made._opened, made._made = self._opened, self._made
        return made

    def _own_steps(self) -> Self:
        """The same with its row work given to its leaves, so that it can be joined to another."""
        if any(isinstance(leaf.source, Items) for leaf in leaves(self._node)) and any(
            is_row_work(step) for step in self._steps
        ):
            raise PlanError(
                "samples of a list take only select() and rename() before they are joined to "
                "others; put decode() and map() after that"
            )
        steps = self._steps
        return type(self)(
            over_leaves(self._node, lambda leaf: Leaf(leaf.source, (*leaf.steps, *steps))),
            (),
            self._shard,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"plan": (self._node, self._steps, self._shard, self._batch)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["plan"])  # type: ignore[misc]
