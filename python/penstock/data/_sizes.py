"""Numbers of bytes, as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parse_bytes(size: int | str, argument: str) -> int:
    """64, "64MB" (millions) or "64MiB" (2^20).

    >>> parse_bytes("1.5KB", "memory"), parse_bytes("2KiB", "memory")
    (1500, 2048)
    """
    if isinstance(size, int) and not isinstance(size, bool):
        number = float(size)
        unit, binary = "", False
    else:
        match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?)(i?)B?\s*", str(size), re.IGNORECASE)
        if match is None:
            raise ValueError(f'{argument} is {size!r}; give a number of bytes, or "64MB"')
        number, unit, binary = float(match[1]), match[2].upper(), bool(match[3])
    total = int(number * (_BINARY if binary else _UNITS)[unit])
    if total < 1:
        raise ValueError(f"{argument} is {size!r}; it must be positive")
    return total
