"""What the functions that decode images have in common: their options, and how C++ gets them."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from penstock import _core
from penstock._whole import as_flag, as_number, as_whole_or_none, as_wholes

Mode: TypeAlias = Literal["RGB", "RGBA", "L", "BGR", "P", "unchanged"]
Interpolation: TypeAlias = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
Box: TypeAlias = tuple[int, int, int, int]
Crop: TypeAlias = Literal["center", "random_resized"] | Box

MAX_PIXELS = 178_956_970
"""Larger images are refused unless `max_pixels` says otherwise. Pillow stops here, too."""


class ImageOptions(TypedDict, total=False):
    """The options of :func:`penstock.io.decode_image` that all its relatives take."""

    resize_short: int | None
    interpolation: Interpolation
    scale: tuple[float, float]
    ratio: tuple[float, float]
    seed: int
    epoch: int
    orientation: bool
    strict: bool
    min_left: float
    max_pixels: int


def make_request(
    mode: Mode,
    size: tuple[int, int] | None,
    crop: Any,
    exact: bool,
    flip: float,
    *,
    resize_short: int | None = None,
    interpolation: Interpolation = "bilinear",
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    seed: int = 0,
    epoch: int = 0,
    orientation: bool = False,
    strict: bool = True,
    min_left: float = 1.5,
    max_pixels: int = MAX_PIXELS,
) -> _core.ImageRequest:
    if isinstance(crop, str) and crop not in ("center", "random_resized"):
        raise ValueError(
            f'crop must be "center", "random_resized" or a box (left, top, ...), not {crop}'
        )
    return _core.ImageRequest(
        mode=mode,
        strict=as_flag(strict, "strict"),
        orientation=as_flag(orientation, "orientation"),
        max_pixels=as_number(max_pixels, "max_pixels", 1, 2**63 - 1),
        size=None if size is None else as_pair(size),
        box=None if crop is None or isinstance(crop, str) else as_box(crop),
        crop=crop if isinstance(crop, str) else "",
        resize_short=as_whole_or_none(resize_short, "resize_short"),
        interpolation=interpolation,
        flip=float(flip),
        exact=as_flag(exact, "exact"),
        min_left=min_left,
        scale=scale,
        ratio=ratio,
        seed=as_number(seed, "seed", 0, 2**64 - 1),
        epoch=as_number(epoch, "epoch", 0, 2**64 - 1),
    )


def as_pair(size: Any) -> tuple[int, int]:
    height, width = as_wholes(size, "size", "height, width")
    for side in (height, width):
        as_number(side, "size", 1, 2**31 - 1)
    return height, width


def as_position(position: Any) -> int | None:
    return None if position is None else as_number(position, "position", 0, 2**64 - 1)


def as_box(edges: Any, name: str = "crop") -> Box:
    left, top, right, bottom = as_wholes(edges, name, "left, top, right, bottom")
    for edge in (left, top, right, bottom):
        as_number(edge, name, -(2**31), 2**31 - 1)
    return left, top, right, bottom
