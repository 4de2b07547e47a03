"""What becomes of values as files of images, and what several formats ask of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import io
from penstock.data._fields import IMAGES


def is_bytes(value: Any) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def is_integer(value: Any) -> bool:
    return isinstance(value, int) or (
        is_numpy(value) and value.ndim == 0 and value.dtype.kind in "iu"
    )


def is_numpy(value: Any) -> bool:
    """An array, or a single value: loaders give some numbers as these."""
    return isinstance(value, np.ndarray | np.generic)


def size_of(value: Any) -> int:
    return (
        value.nbytes if hasattr(value, "nbytes") else len(value) if hasattr(value, "__len__") else 8
    )


def stays_below(name: str) -> bool:
    """May a name out of the data be a path below the destination?"""
    return "\0" not in name and not any(part in ("", ".", "..") for part in name.split("/"))


def image_ending(data: Any) -> str | None:
    """By its content; None: it is no image that is known."""
    try:
        kind = io.image_info(data).format
    except (ValueError, NotImplementedError):
        return None
    return {"jpeg": "jpg", "tiff": "tif", "pnm": "ppm"}.get(kind, kind)


def label_of(sample: Mapping[str, Any]) -> int | str | None:
    """The class of a sample, by number or name; None: it has none."""
    name = next((name for name in ("label", "cls") if name in sample), None)
    value = None if name is None else sample[name]
    if value is None or isinstance(value, str):
        return value
    if is_integer(value):
        return int(value)
    kind = "bytes" if is_bytes(value) else getattr(value, "dtype", type(value).__name__)
    advice = ": read it as text (--fields image=bytes,label=text)" if kind == "bytes" else ""
    raise TypeError(f"the label is {kind}, and a folder's name is a whole number or text{advice}")


def image_file(position: int, sample: Mapping[str, Any], digits: int) -> tuple[str, Any]:
    """(name below the folder, bytes) of the one image of a sample. Numbers that are labels have so
    many digits."""
    images = [
        name
        for name, value in sample.items()
        if name.removesuffix(".bytes").rsplit(".", 1)[-1] in IMAGES and is_bytes(value)
    ]
    if len(images) != 1:
        raise ValueError(
            f"a folder holds one image for each sample, and there are {len(images)} "
            f"({', '.join(sample)}): choose fields (--fields)"
        )
    data = sample[images[0]]
    base = f"{position:09}.{image_ending(data) or 'image'}"
    label = label_of(sample)
    if label is None:
        return base, data
    folder = label if isinstance(label, str) else f"{label:0{digits}}"
    if "/" in folder or not stays_below(folder):
        raise ValueError(f"sample {position}: the label {folder!r} cannot be the name of a folder")
    return f"{folder}/{base}", data
