"""explain(): the plan as it will run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.data import _describe
from penstock.data._plan import (
    Batch,
    DecodeImage,
    DecodeVideo,
    Items,
    Stream,
    is_python,
    leaves,
    sees_arrays,
)
from penstock.data._ranks import Rank, from_environment
from penstock.data._rows import name_of

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset


def explain(dataset: Dataset) -> str:
    lines = [*_order(dataset), _ranks(dataset), *_arrays(dataset), *_rows(dataset)]
    if dataset._batch is not None:
        lines += _batch(dataset._batch)
    return "\n".join(lines)


def _order(dataset: Dataset) -> list[str]:
    if dataset.sequential:
        return [
            "sequential: read from front to back by every rank; no len(), no global shuffle",
            f"order   {_describe.order(dataset._node)}",
        ]
    order = dataset._order()
    length = "endless" if order.length is None else f"{order.length} samples"
    again = "another order in each epoch" if order.shuffled else "the same order in each epoch"
    return [f"indexed: {length}, {again}", f"order   {_describe.order(dataset._node)}"]


def _ranks(dataset: Dataset) -> str:
    found = Rank(*dataset._shard, "given") if dataset._shard else from_environment()
    return f"ranks   rank {found.rank} of {found.world} ({found.origin})"


def _arrays(dataset: Dataset) -> list[str]:
    """How arrays in chunks are read."""
    if dataset.sequential:
        return []
    return [
        f"array   {name}: {note or f'codecs: {codecs}'}"
        for leaf in dataset._leaves()
        for name, codecs, note in leaf.notes
    ]


def _rows(dataset: Dataset) -> list[str]:
    lines = []
    chain = ["read"]
    if any(isinstance(leaf.source, Items | Stream) for leaf in leaves(dataset._node)):
        lines.append("python  fetch items")
        chain = []
    last_call = max((i for i, one in enumerate(dataset._steps) if sees_arrays(one)), default=-1)
    for i, step in enumerate(dataset._steps):
        words = _describe.step(step)
        if (
            isinstance(step, DecodeImage | DecodeVideo)
            and step.size
            and i > last_call
            and dataset._batch
        ):
            words += " -> slot"
        if not is_python(step):
            chain.append(words)
            continue
        if chain:
            lines.append(f"native  {', '.join(chain)}")
        lines.append(f"python  {words}")
        chain = []
    if chain:
        lines.append(f"native  {', '.join(chain)}")
    return lines


def _batch(batch: Batch) -> list[str]:
    ends = "drop_last" if batch.drop_last else f"ends={batch.ends}"
    lines = [f"batch   {batch.size} rows, {ends}, layout={batch.layout}, dtype={batch.dtype}"]
    return lines + [f"python  {name_of(fn)} on batches" for fn in batch.maps]
