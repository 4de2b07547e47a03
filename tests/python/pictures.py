"""Real photographs for the tests, and what Pillow makes of arrays."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[Any]
FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


@cache
def photographs() -> dict[str, Pixels]:
    """By name, as RGB arrays. They come with scikit-image and scikit-learn."""
    from skimage import data
    from sklearn.datasets import load_sample_images

    china, flower = load_sample_images().images
    pictures: dict[str, Pixels] = {"china": china, "flower": flower}
    for name in ("astronaut", "chelsea", "coffee", "rocket"):
        pictures[name] = getattr(data, name)()
    return pictures


def channels_of(photograph: Pixels, channels: int) -> Pixels:
    """The photograph with 1 to 4 channels; alpha is a ramp with clear and opaque parts."""
    height, width, _ = photograph.shape
    ramp = np.linspace(-40, 295, width).clip(0, 255).astype(np.uint8)
    alpha = np.broadcast_to(ramp, (height, width))
    if channels == 1:
        return np.ascontiguousarray(photograph[:, :, 1])
    if channels == 2:
        return np.dstack([photograph[:, :, 1], alpha])
    return photograph if channels == 3 else np.dstack([photograph, alpha])


def as_image(pixels: Pixels) -> Image.Image:
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    size = (pixels.shape[1], pixels.shape[0])
    return Image.frombytes(MODES[channels], size, np.ascontiguousarray(pixels).tobytes())
