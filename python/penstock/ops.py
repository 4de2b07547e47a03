"""Native ops: transforms of images and sounds that run without the GIL, alone or in pipelines.

Each function makes an op. Called with an image it gives a NumPy array; given to ``pipe`` it runs on
native workers, never enters Python, and hands on a Tensor, which NumPy, PyTorch and JAX take for an
array. Images are uint8 arrays of shape (height, width) or (height, width, channels): grey, grey
with alpha, RGB or RGBA. Results are equal to Pillow's, bit for bit.

>>> import numpy as np
>>> from penstock import io, ops
>>> from penstock.pipeline import PipelineBuilder
>>> picture = np.zeros((8, 6, 3), np.uint8)
>>> ops.resize((4, 4))(picture).shape
(4, 4, 3)
>>> file = io.encode_image(picture, "png")
>>> pipeline = (
...     PipelineBuilder()
...     .add_source([file, file])
...     .pipe(ops.decode_image(), concurrency=2, output_order="input")
...     .pipe(ops.random_resized_crop((4, 4), seed=1), concurrency=2)
...     .pipe(ops.normalize(0.5, 0.25))
...     .add_sink()
...     .build()
... )
>>> with pipeline.auto_stop():
...     [np.asarray(picture).shape for picture in pipeline]
[(3, 4, 4), (3, 4, 4)]

**Chance.** What a random op draws depends on (`seed`, `epoch`, position) and on nothing else: no
thread, no earlier call. Alone, pass ``position=``, the image's place in your data. In a pipeline
the position is the order in which images come to the op's stage, whatever its concurrency; so a
whole pipeline repeats itself if the stages before have ``concurrency=1`` or
``output_order="input"``. Positions count on over the epochs of a continuous source. Two ops of the
same kind draw the same numbers unless their seeds differ; ops of different kinds do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, Unpack

import numpy as np

from penstock import _core
from penstock._core import NativeOp, as_tensor
from penstock._image_request import (
    Box,
    Crop,
    ImageOptions,
    Interpolation,
    Mode,
    as_box,
    as_pair,
    make_request,
)
from penstock._sound_ops import fix_length, gain, mel_spectrogram, stft

__all__ = [
    "NativeOp",
    "as_tensor",
    "brightness",
    "center_crop",
    "color_jitter",
    "contrast",
    "convert",
    "crop",
    "decode_image",
    "fix_length",
    "flip",
    "gain",
    "grayscale",
    "mel_spectrogram",
    "normalize",
    "pad",
    "random_crop",
    "random_flip",
    "random_resized_crop",
    "resize",
    "rotate90",
    "saturation",
    "stft",
]

Size: TypeAlias = tuple[int, int]
Direction: TypeAlias = Literal["horizontal", "vertical"]


def decode_image(
    size: Size | None = None,
    crop: Crop | None = None,
    mode: Mode = "RGB",
    exact: bool = True,
    *,
    flip: float = False,
    **options: Unpack[ImageOptions],
) -> NativeOp:
    """Decodes images: bytes in, an array out. The arguments are those of `io.decode_image`.

    >>> from penstock import io
    >>> file = io.encode_image(np.zeros((8, 6, 3), np.uint8), "png")
    >>> decode_image((4, 4), crop="random_resized", flip=0.5, seed=1)(file, position=0).shape
    (4, 4, 3)
    """
    return _core.decode_image_op(make_request(mode, size, crop, exact, flip, **options))


def resize(
    size: Size | int,
    interpolation: Interpolation = "bilinear",
    box: tuple[float, float, float, float] | None = None,
) -> NativeOp:
    """Resizes, antialiased, as Pillow's ``Image.resize``.

    Args:
        size: (height, width), or the length of the short side.
        interpolation: Pillow's filters by name.
        box: The part (left, top, right, bottom) of the image to take, in pixels and fractions of
            them; it goes with (height, width) only. The filter sees what lies around the box.

    >>> resize(4)(np.zeros((8, 6, 3), np.uint8)).shape
    (5, 4, 3)
    """
    if isinstance(size, int):
        if box is not None:
            raise ValueError("box goes with a size of (height, width)")
        return _core.resize_op(None, size, interpolation, None)
    return _core.resize_op(as_pair(size), 0, interpolation, box)


def crop(box: Box) -> NativeOp:
    """Cuts out (left, top, right, bottom), in pixels.

    >>> crop((1, 2, 5, 8))(np.zeros((8, 6, 3), np.uint8)).shape
    (6, 4, 3)
    """
    return _core.crop_op(as_box(box, "box"))


def center_crop(size: Size) -> NativeOp:
    """Cuts (height, width) out of the middle, as torchvision's ``CenterCrop``.

    >>> center_crop((4, 4))(np.zeros((8, 6, 3), np.uint8)).shape
    (4, 4, 3)
    """
    return _core.center_crop_op(as_pair(size))


def pad(
    sides: int | Box,
    mode: Literal["constant", "edge", "reflect"] = "constant",
    fill: int | Sequence[int] = 0,
) -> NativeOp:
    """Adds pixels on the sides, as ``numpy.pad``.

    Args:
        sides: How many: one number, or (left, top, right, bottom).
        mode: "constant": `fill`; "edge": the nearest pixel; "reflect": mirrored around the edge.
        fill: One value, or one for each channel.

    >>> pad((1, 2, 3, 4), "edge")(np.zeros((8, 6, 3), np.uint8)).shape
    (14, 10, 3)
    """
    each = (sides, sides, sides, sides) if isinstance(sides, int) else as_box(sides, "sides")
    return _core.pad_op(each, mode, [fill] if isinstance(fill, int) else list(fill))


def flip(direction: Direction = "horizontal") -> NativeOp:
    """Mirrors, left to right ("horizontal") or top to bottom ("vertical").

    >>> flip()(np.array([[1, 2, 3]], np.uint8))
    array([[3, 2, 1]], dtype=uint8)
    """
    return _core.flip_op(direction)


def rotate90(turns: int = 1) -> NativeOp:
    """Turns by a quarter against the clock, as often as `turns` says; as ``numpy.rot90``.

    >>> rotate90()(np.array([[1, 2, 3]], np.uint8)).tolist()
    [[3], [2], [1]]
    """
    return _core.rotate90_op(turns % 4)


def convert(
    mode: Literal["L", "LA", "RGB", "RGBA", "BGR"],
    source: Literal["L", "LA", "RGB", "RGBA", "BGR", "CMYK"] | None = None,
) -> NativeOp:
    """Converts colours as Pillow's ``Image.convert``.

    Args:
        mode: What the channels of the result are.
        source: What the channels of the image are; None: L, LA, RGB or RGBA, by their number.

    >>> convert("L")(np.full((2, 2, 3), 7, np.uint8)).tolist()
    [[7, 7], [7, 7]]
    """
    return _core.convert_op(mode, source)


def grayscale() -> NativeOp:
    """Takes the colour out and leaves the channels: three times the same grey, and alpha as it was.

    >>> grayscale()(np.array([[[255, 0, 0]]], np.uint8)).tolist()
    [[[76, 76, 76]]]
    """
    return _core.grayscale_op()


def brightness(factor: float) -> NativeOp:
    """As Pillow's ``ImageEnhance.Brightness``: 0 is black, 1 the image, 2 twice as bright.

    >>> brightness(0.5)(np.full((1, 1, 3), 100, np.uint8)).tolist()
    [[[50, 50, 50]]]
    """
    return _core.brightness_op(factor)


def contrast(factor: float) -> NativeOp:
    """As Pillow's ``ImageEnhance.Contrast``: 0 is the mean grey, 1 the image.

    >>> contrast(0)(np.array([[10, 20]], np.uint8)).tolist()
    [[15, 15]]
    """
    return _core.contrast_op(factor)


def saturation(factor: float) -> NativeOp:
    """As Pillow's ``ImageEnhance.Color``: 0 is grey, 1 the image.

    >>> saturation(0)(np.array([[[255, 0, 0]]], np.uint8)).tolist()
    [[[76, 76, 76]]]
    """
    return _core.saturation_op(factor)


def normalize(
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    *,
    dtype: Literal["float32", "float16", "uint8"] = "float32",
    layout: Literal["CHW", "HWC"] = "CHW",
) -> NativeOp:
    """Type, layout and (x / 255 - mean) / std in one pass; always three dimensions.

    Args:
        mean, std: One value, or one for each channel; None: values stay 0 to 255.

    >>> normalize(0.5, 0.5)(np.full((2, 2, 3), 255, np.uint8)).shape
    (3, 2, 2)
    """
    if (mean is None) != (std is None):
        raise ValueError("mean and std go together")
    return _core.normalize_op(_values(mean), _values(std), dtype, layout)


def random_resized_crop(
    size: Size,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    interpolation: Interpolation = "bilinear",
    *,
    seed: int = 0,
    epoch: int = 0,
) -> NativeOp:
    """Cuts out a box of random area and shape and resizes it; as torchvision's.

    Two of these with one seed cut out the same box of images of the same size, so a mask follows
    its image. From compressed images `decode_image(crop="random_resized")` is much faster.

    Args:
        size: (height, width) of the result.
        scale: The box's share of the area, from and to.
        ratio: The box's width / height, from and to.
        seed, epoch: What chance depends on; see the module's description.

    >>> random_resized_crop((4, 4))(np.zeros((8, 6, 3), np.uint8), position=3).shape
    (4, 4, 3)
    """
    return _core.random_resized_crop_op(as_pair(size), scale, ratio, interpolation, seed, epoch)


def random_crop(size: Size, *, seed: int = 0, epoch: int = 0) -> NativeOp:
    """Cuts (height, width) out at a random place.

    >>> random_crop((4, 4), seed=1)(np.zeros((8, 6, 3), np.uint8), position=3).shape
    (4, 4, 3)
    """
    return _core.random_crop_op(as_pair(size), seed, epoch)


def random_flip(
    probability: float = 0.5,
    direction: Direction = "horizontal",
    *,
    seed: int = 0,
    epoch: int = 0,
) -> NativeOp:
    """Mirrors some of the images.

    >>> half = random_flip(0.5, seed=2)
    >>> [half(np.array([[1, 2]], np.uint8), position=p).tolist() for p in range(4)]
    [[[2, 1]], [[1, 2]], [[1, 2]], [[2, 1]]]
    """
    return _core.random_flip_op(probability, direction, seed, epoch)


def color_jitter(
    brightness: float = 0.0,
    contrast: float = 0.0,
    saturation: float = 0.0,
    *,
    seed: int = 0,
    epoch: int = 0,
) -> NativeOp:
    """Changes brightness, contrast and saturation, each by a random factor, in random order.

    Args:
        brightness, contrast, saturation: Strength s gives a factor from max(0, 1 - s) to 1 + s.
        seed, epoch: What chance depends on; see the module's description.

    >>> color_jitter(0.4, 0.4, 0.4)(np.zeros((8, 6, 3), np.uint8), position=3).shape
    (8, 6, 3)
    """
    return _core.color_jitter_op(brightness, contrast, saturation, seed, epoch)


def _values(values: float | Sequence[float] | None) -> list[float]:
    return [] if values is None else [float(value) for value in np.atleast_1d(values)]
