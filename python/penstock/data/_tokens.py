"""Token files: what the user says of them, made into a leaf and the step that widens tokens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._npy import load_npy
from penstock.data._checks import checked_whole
from penstock.data._plan import Leaf, PlanError, Tokens, WidenTokens
from penstock.data._remote_file import is_url

_DTYPES = ("uint16", "uint32", "int32")
_CHUNK = 1 << 24  # tokens looked at together


def open_tokens(
    names: tuple[str, ...],
    dtype: str,
    window: int | None,
    stride: int | None,
    documents: Any,
    pad: int,
) -> tuple[Leaf, tuple[WidenTokens]]:
    given = np.dtype(dtype)
    if not given.isnative:
        raise PlanError(
            f"open: token files are read in this machine's byte order, not as {given.str!r}: write "
            f"them anew with tokens.astype({given.name!r}).tofile(...)"
        )
    dtype = given.name
    if dtype not in _DTYPES:
        raise PlanError(f"open: tokens are {', '.join(_DTYPES)}, not {dtype}")
    if window is None:
        raise PlanError("open: window is the number of tokens in a sample: give 1 or more")
    window = checked_whole(window, "open: window", 1, 2**64 - 1)
    if stride is not None:
        stride = checked_whole(stride, "open: stride", 1, 2**64 - 1)
    pad = checked_whole(pad, "open: pad", -(2**63), 2**63 - 1)
    names = tuple(_core.expand(list(names)))
    starts: tuple[NDArray[np.uint64], ...] = ()
    if documents is not None:
        starts = tuple(_starts(names, dtype, documents))
    leaf = Leaf(Tokens(names, dtype, window, stride or window, starts, pad))
    return leaf, (WidenTokens(dtype, window, pad),)


def _starts(names: Sequence[str], dtype: str, documents: Any) -> list[NDArray[np.uint64]]:
    """For each file the tokens at which documents begin."""
    if isinstance(documents, int | np.integer):
        return [_after(name, dtype, int(documents)) for name in names]
    if isinstance(documents, str | os.PathLike) or (
        not isinstance(documents, list | tuple) and np.ndim(documents) == 1
    ):
        documents = [documents]
    if len(documents) != len(names):
        raise PlanError(
            f"open: there are {len(names)} files, but documents for {len(documents)}: give a list "
            "with an array for each file"
        )
    loaded = (load_npy(one) if isinstance(one, str | os.PathLike) else one for one in documents)
    return [_index(np.asarray(one), name) for one, name in zip(loaded, names, strict=True)]


def _index(starts: NDArray[Any], name: str) -> NDArray[np.uint64]:
    """What a user gives as the tokens at which documents of a file begin."""
    if starts.ndim != 1 or (starts.size > 0 and starts.dtype.kind not in "iu"):
        raise PlanError(
            f"open: documents of {name}: the tokens at which they begin are whole numbers in one "
            f"dimension, not {starts.dtype} in {starts.ndim}"
        )
    if starts.size == 0 and _size(name) > 0:
        raise PlanError(
            f"open: documents of {name}: there are tokens in the file, but no document; the first "
            "one begins at 0"
        )
    if starts.size > 0 and starts.min() < 0:
        raise PlanError(f"open: documents of {name}: one begins at token {starts.min()}")
    return starts.astype(np.uint64)


def _size(name: str) -> int:
    """In bytes; 1 where it is not known yet."""
    return 1 if is_url(name) else os.path.getsize(name)


def _after(name: str, dtype: str, end: int) -> NDArray[np.uint64]:
    """Documents begin at 0 and behind each token `end`, but for the last."""
    lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not lowest <= end <= highest:
        raise PlanError(f"open: documents is {end}, which no token of {dtype} is")
    if is_url(name):
        raise PlanError(
            f"open: {name} would have to be read as a whole to find the documents in it: give the "
            "tokens at which they begin, documents=[...]"
        )
    if os.path.getsize(name) < np.dtype(dtype).itemsize:
        return np.zeros(0, np.uint64)
    tokens = np.memmap(name, dtype, "r")
    found = [np.zeros(1, np.uint64)]
    for first in range(0, len(tokens), _CHUNK):
        ends = np.flatnonzero(tokens[first : first + _CHUNK] == end)
        found.append(ends.astype(np.uint64) + np.uint64(first + 1))
    starts = np.concatenate(found)
    return starts[starts < len(tokens)]
