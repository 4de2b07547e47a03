"""Tar shards to batches of random-resized crops with flips, 224x224, and their labels.

Contenders are as in raw.py; a pass gives pairs (images, labels). All draw their own crops.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from raw import BATCH, THREADS

SIZE = 224
Pass = Callable[[], Iterable[tuple[Any, Any]]]


def penstock(shards: list[str], exact: bool = False) -> Pass:
    import penstock as ps

    ds = (
        ps.open(shards)
        .decode("cls")
        .decode_image("jpg", size=(SIZE, SIZE), crop="random_resized", flip=0.5, exact=exact)
        .select("jpg", "cls")
        .batch(BATCH)
    )
    loader = ds.loader(threads=THREADS)
    return lambda: ((batch["jpg"], batch["cls"]) for batch in loader)


def penstock_exact(shards: list[str]) -> Pass:
    return penstock(shards, exact=True)


def box_of(width: int, height: int, rng: random.Random) -> tuple[int, int, int, int]:
    """RandomResizedCrop as torchvision draws it: 8 to 100% of the area, ratio 3/4 to 4/3."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1.0)
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            x, y = rng.randint(0, width - w), rng.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


def with_pillow(sample: dict[str, Any]) -> tuple[np.ndarray, int]:
    from PIL import Image

    image = Image.open(io.BytesIO(sample["jpg"])).convert("RGB")
    box = box_of(*image.size, random.Random())
    image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box)
    if random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(image), int(sample["cls"])


def with_opencv(sample: dict[str, Any]) -> tuple[np.ndarray, int]:
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)
    pixels = simplejpeg.decode_jpeg(sample["jpg"])
    left, top, right, bottom = box_of(pixels.shape[1], pixels.shape[0], random.Random())
    pixels = cv2.resize(pixels[top:bottom, left:right], (SIZE, SIZE))
    if random.random() < 0.5:
        pixels = cv2.flip(pixels, 1)
    return pixels, int(sample["cls"])


def webdataset(shards: list[str], work: Callable[[dict[str, Any]], Any] = with_pillow) -> Pass:
    """In torch's workers, batches made there."""
    import torch.utils.data
    import webdataset as wds

    torch.set_num_threads(1)

    def begin() -> Iterable[tuple[Any, Any]]:
        ds = wds.WebDataset(shards, shardshuffle=False).map(work).batched(BATCH)
        return torch.utils.data.DataLoader(ds, batch_size=None, num_workers=THREADS)

    return begin


def webdataset_opencv(shards: list[str]) -> Pass:
    return webdataset(shards, with_opencv)


def dali(shards: list[str], antialias: bool = False) -> Pass:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None)
    def graph() -> Any:
        files, labels = fn.readers.webdataset(paths=shards, ext=["jpg", "cls"], name="reader")
        pixels = fn.decoders.image_random_crop(
            files, random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3)
        )
        pixels = fn.resize(pixels, size=(SIZE, SIZE), antialias=antialias)
        return fn.flip(pixels, horizontal=fn.random.coin_flip()), labels

    pipe = graph()
    pipe.build()
    size = pipe.epoch_size("reader")
    done = 0

    def begin() -> Iterator[tuple[Any, Any]]:
        nonlocal done
        end = done + size
        while done < end:
            images, labels = pipe.run()
            rows = min(BATCH, end - done)
            done += rows
            yield images.as_array()[:rows], [int(labels.at(i).tobytes()) for i in range(rows)]
        done = end

    return begin


def dali_antialias(shards: list[str]) -> Pass:
    return dali(shards, antialias=True)
