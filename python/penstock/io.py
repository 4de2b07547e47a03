"""Decode and load functions, usable alone: thread-safe, and without the GIL while they work.

>>> from penstock import io
>>> pixels = io.load_image("photo.jpg", size=(224, 224))  # doctest: +SKIP
>>> pixels.shape  # doctest: +SKIP
(224, 224, 3)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock import _core

__all__ = [
    "ImageInfo",
    "decode_image",
    "decode_image_batch",
    "encode_image",
    "image_info",
    "load_image",
]

Mode: TypeAlias = Literal["RGB", "RGBA", "L", "BGR", "P", "unchanged"]
Interpolation: TypeAlias = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
Crop: TypeAlias = Literal["center"] | tuple[int, int, int, int]
BytesLike: TypeAlias = Any  # bytes, bytearray, memoryview, a uint8 array, a raw field of a sample
Array = TypeVar("Array")

MAX_PIXELS = 178_956_970
"""Larger images are refused unless `max_pixels` says otherwise. Pillow stops here, too."""


class ImageInfo(NamedTuple):
    """What an image's header says."""

    format: str
    """"jpeg", "png", "webp", "tiff", "bmp", "gif" or "pnm"."""
    width: int
    """As stored, before orientation."""
    height: int
    channels: int
    """Of mode "unchanged"."""
    bits: int
    """Bits per sample in the file: 1, 2, 4, 8 or 16."""
    orientation: int
    """EXIF's 1 to 8; 1 where there is none."""


def image_info(data: BytesLike) -> ImageInfo:
    """Reads an image's header; nothing of the picture is decoded.

    >>> image_info(encode_image(np.zeros((2, 3, 3), np.uint8), "png"))
    ImageInfo(format='png', width=3, height=2, channels=3, bits=8, orientation=1)
    """
    return ImageInfo(**_core.image_info(data))


def decode_image(
    data: BytesLike,
    size: tuple[int, int] | None = None,
    crop: Crop | None = None,
    mode: Mode = "RGB",
    exact: bool = True,
    *,
    resize_short: int | None = None,
    interpolation: Interpolation = "bilinear",
    flip: bool = False,
    orientation: bool = False,
    strict: bool = True,
    min_left: float = 1.5,
    max_pixels: int = MAX_PIXELS,
    out: Array | None = None,
) -> NDArray[Any] | Array:
    """Decodes an image of any known format; the format is found from the bytes.

    The pixels are those of Pillow's `Image.open(...).convert(mode)`, then `crop` and `resize`,
    bit for bit. A JPEG is decoded only where the crop is.

    Args:
        data: The file's bytes: `bytes`, `memoryview`, a uint8 array, ...
        size: (height, width) of the result. Without `crop="center"`: the crop is resized to it.
        crop: A box (left, top, right, bottom) in pixels, cut out first; or "center": `size` is cut
            out of the middle at the end.
        mode: "RGB", "RGBA", "L" (grey), "BGR", "P" (palette indices, for masks) or "unchanged"
            (the file's own channels; 16 bits stay 16 bits).
        exact: False lets a JPEG be decoded at 1/2, 1/4 or 1/8 where at least `min_left` times the
            resolution of the result remains, and with repeated chroma: faster, nearly the same.
        resize_short: Resize so that the short side has this length.
        interpolation: Pillow's filters by name.
        flip: Mirror left to right.
        orientation: Turn upright by EXIF; boxes then refer to the upright picture.
        strict: Refuse files that a decoder would only warn about, such as a JPEG that ends early.
        min_left: See `exact`.
        max_pixels: Refuse larger images before anything is allocated.
        out: A uint8 array of the result's shape to write into; it is also returned.

    Returns:
        A uint8 array, (height, width, channels), or (height, width) for one channel; uint16 for
        16-bit files in mode "unchanged".

    Raises:
        ValueError: The data is damaged, or an argument cannot work.
        NotImplementedError: Not an image format, or a variant, that we can read.
        IndexError: The image is larger than `max_pixels`.

    >>> picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    >>> decode_image(encode_image(picture, "png"), crop=(1, 0, 3, 4)).shape
    (4, 2, 3)
    """
    result = _core.decode_image(
        data,
        mode,
        strict,
        orientation,
        max_pixels,
        _size(size),
        _box(crop),
        crop == "center",
        resize_short,
        interpolation,
        flip,
        exact,
        min_left,
        out,
    )
    return np.asarray(result) if out is None else out


def load_image(path: str | os.PathLike[str], *args: Any, **options: Any) -> NDArray[Any]:
    """Reads an image file and decodes it; further arguments are those of `decode_image`.

    An error names the file.

    >>> load_image("photo.jpg", crop="center", resize_short=256, size=(224, 224))  # doctest: +SKIP
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        result: NDArray[Any] = decode_image(data, *args, **options)
    except (ValueError, NotImplementedError, IndexError) as error:
        raise type(error)(f"{error} (file {os.fspath(path)})") from None
    return result


def decode_image_batch(
    data: Sequence[BytesLike],
    size: tuple[int, int],
    crop: Crop | Sequence[tuple[int, int, int, int]] | NDArray[Any] | None = None,
    mode: Mode = "RGB",
    exact: bool = True,
    *,
    on_error: Literal["raise", "skip", "replace"] = "raise",
    errors: list[tuple[int, str]] | None = None,
    layout: Literal["NHWC", "NCHW"] = "NHWC",
    dtype: Literal["uint8", "float32", "float16"] = "uint8",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    threads: int | None = None,
    resize_short: int | None = None,
    interpolation: Interpolation = "bilinear",
    flip: bool | Sequence[bool] | NDArray[Any] = False,
    orientation: bool = False,
    strict: bool = True,
    min_left: float = 1.5,
    max_pixels: int = MAX_PIXELS,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Decodes many images, on several threads, into one array.

    One bad image costs the others nothing. What became of it is up to `on_error`: "raise" raises
    for the first of them, "skip" leaves it out, "replace" leaves its slot black (zeros). `errors`,
    if given, receives (index, reason) for each.

    Args:
        data: The files' bytes.
        size: (height, width) of each slot.
        crop: One for all images, or a list of boxes, one per image.
        flip: One for all images, or a list, one per image.
        layout: "NHWC" or "NCHW"; always four dimensions.
        dtype: Of the result. Floating point values are 0 to 255, or normalised if `mean` and `std`
            are given: (x / 255 - mean) / std.
        threads: How many work; None: one per core.
        out: A contiguous array of the result's shape and type to write into; it is also returned.
            It does not go with on_error="skip".

    The other arguments are those of `decode_image`.

    >>> file = encode_image(np.zeros((4, 6, 3), np.uint8), "png")
    >>> decode_image_batch([file, file], size=(2, 2)).shape
    (2, 2, 2, 3)
    >>> failed = []
    >>> decode_image_batch([file, b""], (2, 2), on_error="skip", errors=failed).shape
    (1, 2, 2, 3)
    >>> failed
    [(1, 'corrupt: the image has no bytes')]
    """
    if on_error not in ("raise", "skip", "replace"):
        raise ValueError(f"on_error must be raise, skip or replace, not {on_error}")
    if (mean is None) != (std is None):
        raise ValueError("mean and std go together")
    if on_error == "skip" and out is not None:
        raise ValueError('on_error="skip" makes a smaller array, so it cannot go with out')
    files = list(data)
    boxes = _per_image(crop, len(files), one=_is_one_crop(crop))
    flips = _per_image(flip, len(files), one=not isinstance(flip, (Sequence, np.ndarray)))
    slots, outcomes = _core.decode_image_batch(
        files,
        mode,
        strict,
        orientation,
        max_pixels,
        (size[0], size[1]),
        [_box(each) for each in boxes],
        isinstance(crop, str),
        resize_short,
        interpolation,
        [bool(each) for each in flips],
        exact,
        min_left,
        layout,
        dtype,
        [] if mean is None else list(mean),
        [] if std is None else list(std),
        threads or os.cpu_count() or 1,
        out,
    )
    failed = [(i, reason) for i, reason in enumerate(outcomes) if reason is not None]
    if errors is not None:
        errors.extend(failed)
    if failed and on_error == "raise":
        index, reason = failed[0]
        raise ValueError(f"image {index} of {len(outcomes)}: {reason}")
    batch: NDArray[Any] = np.asarray(slots)
    if failed and on_error == "skip":
        return np.delete(batch, [index for index, _ in failed], axis=0)
    return batch


def encode_image(
    array: Any,
    format: Literal["jpeg", "png", "webp"] = "jpeg",
    quality: int = 75,
    *,
    subsampling: Literal["4:4:4", "4:2:2", "4:2:0"] = "4:2:0",
    progressive: bool = False,
    level: int = 6,
    lossless: bool = False,
) -> bytes:
    """Writes an image file.

    Args:
        array: uint8, (height, width) or (height, width, channels): grey, RGB or, not for JPEG,
            RGBA; for PNG also grey with alpha.
        format: "jpeg", "png" or "webp".
        quality: 1 to 100, for JPEG and WebP.
        subsampling: Of a JPEG's colours.
        progressive: A progressive JPEG.
        level: 0 (stored) to 12 (slowest), for PNG.
        lossless: A lossless WebP.

    >>> encode_image(np.zeros((2, 3), np.uint8), "png")[:4]
    b'\\x89PNG'
    """
    pixels = np.ascontiguousarray(array)
    return _core.encode_image(pixels, format, quality, subsampling, progressive, level, lossless)


def _size(size: tuple[int, int] | None) -> tuple[int, int] | None:
    if size is None:
        return None
    height, width = size
    return int(height), int(width)


def _box(crop: Crop | None) -> tuple[int, int, int, int] | None:
    if crop is None or isinstance(crop, str):
        if crop not in (None, "center"):
            raise ValueError(f'crop must be "center" or a box (left, top, ...), not {crop}')
        return None
    left, top, right, bottom = (int(edge) for edge in crop)
    return left, top, right, bottom


def _is_one_crop(crop: Any) -> bool:
    return crop is None or isinstance(crop, str) or np.ndim(crop) == 1


def _per_image(value: Any, count: int, one: bool) -> Sequence[Any]:
    if one:
        return [value] * count
    if len(value) != count:
        raise ValueError(f"there are {count} images, but {len(value)} crops or flips")
    return list(value)
