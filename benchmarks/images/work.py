"""What is asked of every contender, and what Pillow answers: the reference for their outputs."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from corpus import Picture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
THREADS = 2


@dataclass(frozen=True)
class Work:
    """A job for all pictures of a set. Batches are uint8 NHWC, or float32 NCHW normalised."""

    kind: str  # "random": each picture's own box; "centre": short side 256, then the middle;
    #            "whole": all of it to 224; "decode": all of it as it is; "resize": from memory
    pictures: str  # the set
    batch: int
    float32: bool = False
    size: int = 224
    short: int = 256

    def shape(self, count: int) -> tuple[int, ...]:
        side = self.size
        return (count, 3, side, side) if self.float32 else (count, side, side, 3)

    def dtype(self) -> Any:
        return np.float32 if self.float32 else np.uint8


def batches(pictures: Sequence[Picture], work: Work) -> Iterator[Sequence[Picture]]:
    for start in range(0, len(pictures), work.batch):
        yield pictures[start : start + work.batch]


def short_side(picture: Picture, short: int) -> tuple[int, int]:
    """(width, height) once the short side is `short`, rounded as torchvision does."""
    if picture.width <= picture.height:
        return short, int(short * picture.height / picture.width)
    return int(short * picture.width / picture.height), short


def centre(width: int, height: int, size: int) -> tuple[int, int, int, int]:
    left, top = round((width - size) / 2), round((height - size) / 2)
    return left, top, left + size, top + size


def normalise(pixels: np.ndarray) -> np.ndarray:
    """One picture, HWC bytes to CHW float32."""
    scale = np.float32(1) / (255 * np.array(STD, np.float32))
    bias = -np.array(MEAN, np.float32) / np.array(STD, np.float32)
    return np.ascontiguousarray((pixels * scale + bias).transpose(2, 0, 1))


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def with_pillow(picture: Picture, work: Work, draft: bool = False) -> np.ndarray:
    """What Pillow makes of a picture, antialiased; bytes of one picture."""
    from PIL import Image

    image = Image.open(io.BytesIO(read(picture.path)))
    bilinear = Image.Resampling.BILINEAR
    if draft and work.kind == "whole":
        image.draft("RGB", (work.size, work.size))
    image = image.convert("RGB")
    if work.kind == "random":
        image = image.crop(picture.box).resize((work.size, work.size), bilinear)
        if picture.flip:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    elif work.kind == "centre":
        image = image.resize(short_side(picture, work.short), bilinear)
        image = image.crop(centre(*image.size, work.size))
    elif work.kind == "whole":
        image = image.resize((work.size, work.size), bilinear)
    elif work.kind == "resize":
        image = image.resize((work.size, work.size), Image.Resampling.BICUBIC)
    return np.asarray(image)


def difference(batch: Any, pictures: Sequence[Picture], work: Work) -> float:
    """The mean absolute difference to Pillow's answer, in steps of 1/255."""
    total = 0.0
    for got, picture in zip(np.asarray(batch), pictures, strict=True):
        if work.float32:
            mean, std = (np.array(each).reshape(3, 1, 1) for each in (MEAN, STD))
            got = ((got * std + mean) * 255).transpose(1, 2, 0)
        total += float(np.abs(got.astype(np.float64) - with_pillow(picture, work)).mean())
    return total / len(pictures)
