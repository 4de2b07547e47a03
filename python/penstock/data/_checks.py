"""Arguments that several methods of a dataset take, checked."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.data._plan import ALL_FIELDS, PlanError


def checked_count(n: int, step: str) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__") or n < 0:
        raise PlanError(f"{step}: n is {n!r}; give a number of samples")
    return int(n)


def checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise PlanError(f"seed is {seed!r}; give an int")
    return int(seed) & (2**64 - 1)


def checked_collate(collate: str | Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """How rows become one value: one word for all fields, or a dict by field."""
    by_field = {ALL_FIELDS: collate} if isinstance(collate, str) else dict(collate or {})
    for how in by_field.values():
        if how not in ("list", "pad", "ragged", "stack"):
            raise PlanError(f'batch: collate is {how!r}; give "list", "pad", "ragged" or "stack"')
    return tuple(by_field.items())
