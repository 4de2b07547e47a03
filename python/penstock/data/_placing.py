"""Numbers that go straight from the file into the batch: no row holds them, so steps that only
choose and rename fields are done here, when the plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock import _core
from penstock.data import _fields
from penstock.data._plan import (
    Batch,
    Leaf,
    Node,
    OpenTables,
    Rename,
    Select,
    Step,
    TableRows,
    WidenTokens,
    leaves,
    sees_arrays,
)


class Placing:
    """Which fields are placed, step by step."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.only = False  # there are no other fields: rows are empty

    def begin(
        self,
        native: _core.RowPlan,
        node: Node,
        opened: Sequence[_core.Leaf],
        steps: Sequence[Step],
        batch: Batch | None,
    ) -> None:
        """If there is one source, and nobody looks at its numbers: places what can be."""
        if batch is None or len(opened) != 1 or any(sees_arrays(step) for step in steps):
            return
        (leaf,) = leaves(node)
        placeable = opened[0].placeable
        if not placeable or leaf != Leaf(leaf.source):
            return
        rest = [step for step in steps if not isinstance(step, TableRows | WidenTokens)]
        plain = all(isinstance(step, Select | Rename) for step in rest)
        if not plain and not isinstance(leaf.source, OpenTables):
            return
        names = opened[0].fields
        columns = _fields.after(list(names), rest) or []
        found = []
        for number, dtype, shape in placeable:
            final = _name_after(names[number], rest)
            if final is not None and batch.gather(final) == "stack":
                found.append((columns.index(final), names[number], number, dtype, shape, final))
        for at, name, number, dtype, shape, final in sorted(found):
            native.place(name, number, dtype, shape, final, at)
            self._names.add(name)
        self.only = plain and len(found) == len(columns)
        native.only_placed = self.only

    def left(self, step: Step) -> Step | None:
        """What is left of a step for rows without the placed fields."""
        if self.only:
            return None
        if not self._names:
            return step
        if isinstance(step, TableRows):
            return replace(step, fields=tuple(f for f in step.fields if f[0] not in self._names))
        if isinstance(step, WidenTokens):
            return None if "tokens" in self._names else step
        if isinstance(step, Select):
            names = self._names
            self._names = names & set(step.names)
            return Select(tuple(name for name in step.names if name not in names))
        if isinstance(step, Rename):
            others = tuple(pair for pair in step.names if pair[0] not in self._names)
            new = dict(step.names)
            self._names = {new.get(name, name) for name in self._names}
            return Rename(others) if others else None
        return step


def _name_after(name: str, steps: Sequence[Step]) -> str | None:
    """What a field is called after all steps; None: it is gone."""
    for step in steps:
        if isinstance(step, Select) and name not in step.names:
            return None
        if isinstance(step, Rename):
            name = dict(step.names).get(name, name)
    return name
