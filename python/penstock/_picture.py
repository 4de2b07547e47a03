"""Images in characters, for terminals."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import io

_SHADES = " .:-=+*#%@"
_ROWS, _COLUMNS = 12, 36


def picture(value: Any, colours: bool) -> list[str]:
    """An image in characters: two pixels in one where there are colours."""
    pixels = _pixels(value)
    if pixels is None:
        return []
    if not colours:
        grey = pixels[::2].mean(axis=2)
        shades = (grey * (len(_SHADES) - 1) / 255).round().astype(int)
        return ["".join(_SHADES[shade] for shade in row).rstrip() for row in shades]
    rows = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        row = "".join(
            f"\x1b[38;2;{a[0]};{a[1]};{a[2]}m\x1b[48;2;{b[0]};{b[1]};{b[2]}m\u2580"
            for a, b in zip(upper.tolist(), lower.tolist(), strict=True)
        )
        rows.append(row + "\x1b[0m")
    return rows


def _pixels(value: Any) -> Any:
    """Height x width x 3, of the size in which it is shown; None: it is no image."""
    size = (2 * _ROWS, _COLUMNS)
    if isinstance(value, bytes | bytearray | memoryview):
        try:
            return np.asarray(io.decode_image(value, size=size))
        except (ValueError, NotImplementedError):
            return None
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.size == 0:
        return None
    if value.ndim == 2:
        value = value[..., None]
    if value.ndim != 3 or value.shape[2] not in (1, 3) or min(value.shape[:2]) < 8:
        return None
    rows = np.arange(size[0]) * value.shape[0] // size[0]
    columns = np.arange(size[1]) * value.shape[1] // size[1]
    return np.broadcast_to(value[rows][:, columns], (*size, 3))
