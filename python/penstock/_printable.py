"""Names of files need not be UTF-8: Python keeps their bytes as surrogates, which no file takes."""

from __future__ import annotations

import re
from typing import Any

_BYTES = re.compile(r"[\udc80-\udcff]")


def printable(text: str) -> str:
    r"""The text with such bytes escaped.

    >>> print(printable("caf\udce9.jpg"))
    caf\xe9.jpg
    """
    text = _BYTES.sub(lambda byte: rf"\x{ord(byte[0]) - 0xDC00:02x}", text)
    return text.encode("utf-8", "backslashreplace").decode()


def all_printable(value: Any) -> Any:
    """The same for all texts in what is to become JSON."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {all_printable(key): all_printable(one) for key, one in value.items()}
    return [all_printable(one) for one in value] if isinstance(value, list | tuple) else value
