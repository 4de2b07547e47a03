"""Native ops: give one to ``pipe`` and it runs on native workers, without the GIL.

>>> import numpy as np
>>> from penstock import io, ops
>>> from penstock.pipeline import PipelineBuilder
>>> file = io.encode_image(np.zeros((8, 6, 3), np.uint8), "png")
>>> pipeline = (
...     PipelineBuilder()
...     .add_source([file, file])
...     .pipe(ops.decode_image(size=(4, 4)), concurrency=2)
...     .add_sink()
...     .build()
... )
>>> with pipeline.auto_stop():
...     [np.asarray(picture).shape for picture in pipeline]
[(4, 4, 3), (4, 4, 3)]
"""

from __future__ import annotations

from penstock import _core
from penstock.io import MAX_PIXELS, Crop, Interpolation, Mode, _box, _size

__all__ = ["decode_image"]


def decode_image(
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
) -> _core.NativeOp:
    """Decodes images: bytes in, a tensor out (an array to NumPy, PyTorch and JAX).

    The arguments are those of :func:`penstock.io.decode_image`.
    """
    return _core.decode_image_op(
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
    )
