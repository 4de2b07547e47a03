"""What an early filter has kept, in a file: one bit for each record, and of which data."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from penstock.data._plan import PlanError

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

_VERSION = 1


def _head(dataset: Dataset, bits: bytes) -> dict[str, Any]:
    import hashlib  # not before it is asked for: it is large

    order = dataset._order()
    return {
        "format": "penstock filter",
        "version": _VERSION,
        "data": [f"{leaf.digest:016x}" for leaf in dataset._leaves()],
        "order": f"{order.digest:016x}",
        "records": order.length,
        "bits": hashlib.blake2b(bits, digest_size=16).hexdigest(),
    }


def save(path: str, dataset: Dataset, bits: bytes) -> None:
    """Writes the file, or leaves what was there."""
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with open(partial, "wb") as file:
            file.write(json.dumps(_head(dataset, bits)).encode() + b"\n" + bits)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise


def load(path: str, dataset: Dataset) -> bytes | None:
    """The bits for these data; None if there is no such file."""
    try:
        with open(path, "rb") as file:
            line = file.readline(1 << 20)
            bits = file.read()
    except FileNotFoundError:
        return None
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != "penstock filter":
        raise PlanError(f"filter: {path} is not what sidecar= writes; give another name")
    if head.get("version") != _VERSION:
        raise PlanError(f"filter: {path} is of version {head.get('version')}; remove it")
    mine = _head(dataset, bits)
    if head["bits"] != mine["bits"]:
        raise PlanError(f"filter: {path} is damaged; remove it, and it is made again")
    if head != mine:
        raise PlanError(
            f"filter: {path} was made for other data or another order: it had "
            f"{head['records']} records, there are {mine['records']} now. Remove it, or give "
            "another name"
        )
    return bits
