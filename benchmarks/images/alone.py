"""One step alone, in one thread: decoding a whole picture, or resizing one that is decoded."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from contenders import READY
from corpus import Picture
from work import Work, read


def pixels_of(pictures: Sequence[Picture]) -> dict[str, Any]:
    from PIL import Image

    paths = {picture.path for picture in pictures}
    return {path: Image.open(path).convert("RGB") for path in paths}


def penstock(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    from penstock import io as images

    if work.kind == "decode":
        files = {picture.path: read(picture.path) for picture in pictures}
        yield READY
        for picture in pictures:
            yield images.decode_image(files[picture.path])[None]
        return
    from penstock import ops

    arrays = {path: np.asarray(image) for path, image in pixels_of(pictures).items()}
    resize = ops.resize((work.size, work.size), "bicubic")
    yield READY
    for picture in pictures:
        yield resize(arrays[picture.path])[None]


def pillow(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    from PIL import Image

    if work.kind == "decode":
        files = {picture.path: read(picture.path) for picture in pictures}
        yield READY
        for picture in pictures:
            yield np.asarray(Image.open(io.BytesIO(files[picture.path])).convert("RGB"))[None]
        return
    images = pixels_of(pictures)
    side = (work.size, work.size)
    yield READY
    for picture in pictures:
        yield [images[picture.path].resize(side, Image.Resampling.BICUBIC)]


def opencv(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    import cv2

    cv2.setNumThreads(1)
    files = {picture.path: np.frombuffer(read(picture.path), np.uint8) for picture in pictures}
    yield READY
    for picture in pictures:
        yield cv2.imdecode(files[picture.path], cv2.IMREAD_COLOR_RGB)[None]
