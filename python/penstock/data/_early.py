"""Early filters: one look at each record, one bit for each."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.data import _kept
from penstock.data._plan import Node, PlanError, Repeat, Sample, Shuffle, Subset
from penstock.data._rows import EventLoop, default_concurrency, is_async, wants_rng

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.data.dataset import Dataset

_LOG = logging.getLogger("penstock.data")
_CHUNK = 1024


def evaluate(dataset: Dataset, fn: Callable[..., Any], sidecar: str | None) -> Node:
    """The order of what is left. A shuffle or a repeat commutes with a filter: the filter goes
    below it, so that there is one bit per record and not one per position."""
    return _filtered(dataset, dataset._node, fn, sidecar)


def _filtered(dataset: Dataset, node: Node, fn: Callable[..., Any], sidecar: str | None) -> Node:
    if isinstance(node, Shuffle | Repeat):
        return replace(node, child=_filtered(dataset, node.child, fn, sidecar))
    if isinstance(node, Sample):
        raise PlanError("filter: sample() draws anew in each epoch; filter before it")
    from penstock.data.dataset import Dataset

    below = Dataset(node, dataset._steps)
    below._opened = dataset._leaves()
    size = below._order().length
    if size is None:
        raise PlanError("filter: the dataset is endless; filter before repeat()")
    bits = None if sidecar is None else _kept.load(sidecar, below)
    if bits is None:
        bits = _look(below, fn, size)
        if sidecar is not None:
            _kept.save(sidecar, below, bits)
    return Subset(node, bits, size)


def _look(dataset: Dataset, fn: Callable[..., Any], size: int) -> bytes:
    if wants_rng(fn):
        raise PlanError("filter: an early filter is the same in each epoch and has no rng")
    from concurrent.futures import ThreadPoolExecutor

    keep = np.zeros(size, bool)
    loop = EventLoop()

    def look(start: int) -> None:
        for position in range(start, min(start + _CHUNK, size)):
            try:
                sample = dataset[position]
            except Exception:
                keep[position] = True  # a bad record is the loader's business: on_error decides
                continue
            kept = fn(sample)
            keep[position] = bool(loop.run(kept) if is_async(fn) else kept)

    done = 0
    with ThreadPoolExecutor(default_concurrency(None)) as pool:
        for _ in pool.map(look, range(0, size, _CHUNK)):
            done += _CHUNK
            if done % (_CHUNK * 256) == 0:
                _LOG.info("filter: %d of %d records", done, size)
    return np.packbits(keep, bitorder="little").tobytes()
