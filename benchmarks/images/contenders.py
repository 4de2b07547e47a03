"""The same job by Penstock and by its peers, each in the manner its own documentation suggests.

A contender is a generator over (pictures, work). It first gives READY, when what it needs is
imported and set up; then batches in the order of the pictures, as arrays or what NumPy takes for
one. Everybody has two threads (or worker processes) and reads the files itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from corpus import Picture
from work import MEAN, STD, THREADS, Work, batches, centre, normalise, read, short_side, with_pillow

READY = object()
CHUNK = 4  # pictures per call: the fewer, the shorter the wait for the last one of a batch


FLOAT32 = {"layout": "NCHW", "dtype": "float32", "mean": MEAN, "std": STD}


def penstock_loader(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    """What one writes with Penstock: a dataset of the files. It draws its own crops."""
    import penstock as ps

    crops: dict[str, dict[str, Any]] = {
        "random": {"crop": "random_resized", "flip": 0.5},
        "centre": {"crop": "center", "resize_short": work.short},
        "whole": {},
    }
    loader = (
        ps.open([picture.path for picture in pictures])
        .decode_image("image", size=(work.size, work.size), **crops[work.kind])
        .select("image")
        .batch(work.batch, **(FLOAT32 if work.float32 else {}))
        .loader(threads=THREADS)
    )
    yield READY
    for batch in loader:
        yield batch["image"]


def penstock(pictures: Sequence[Picture], work: Work, exact: bool = False) -> Iterator[Any]:
    """Two threads call decode_image_batch, with the crops that everybody makes."""
    from penstock import io

    options: dict[str, Any] = {"exact": exact, "threads": 1}
    if work.kind == "centre":
        options |= {"crop": "center", "resize_short": work.short}
    if work.float32:
        options |= FLOAT32

    def fill(some: Sequence[Picture], slots: np.ndarray) -> None:
        files = [read(picture.path) for picture in some]
        own = {}
        if work.kind == "random":
            own = {
                "crop": [picture.box for picture in some],
                "flip": [picture.flip for picture in some],
            }
        io.decode_image_batch(files, (work.size, work.size), out=slots, **options, **own)

    yield READY
    yield from into_slots(pictures, work, fill)


def penstock_exact(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    yield from penstock(pictures, work, exact=True)


def into_slots(
    pictures: Sequence[Picture],
    work: Work,
    fill: Callable[[Sequence[Picture], np.ndarray], None],
) -> Iterator[np.ndarray]:
    """Two threads fill the slots of a batch, a few at a time."""
    room = np.empty(work.shape(work.batch), work.dtype())
    with ThreadPoolExecutor(THREADS) as pool:
        for some in batches(pictures, work):
            starts = range(0, len(some), CHUNK)
            chunks = [some[start : start + CHUNK] for start in starts]
            slots = [room[start : start + CHUNK][: len(some) - start] for start in starts]
            for _ in pool.map(fill, chunks, slots):
                pass
            yield room[: len(some)]


def thread_pool(pictures: Sequence[Picture], work: Work, fast: bool = False) -> Iterator[Any]:
    """What one writes by hand: simplejpeg and OpenCV in a thread pool. Not antialiased."""
    import cv2
    import simplejpeg

    cv2.setNumThreads(1)

    def one(picture: Picture, slot: np.ndarray) -> None:
        least = work.size if work.kind == "whole" else 0  # lets it decode at a smaller scale
        pixels = simplejpeg.decode_jpeg(
            read(picture.path),
            min_height=least,
            min_width=least,
            min_factor=1,
            fastdct=fast,
            fastupsample=fast,
        )
        resize_cv2(cv2, pixels, picture, work, slot)

    def fill(some: Sequence[Picture], slots: np.ndarray) -> None:
        for picture, slot in zip(some, slots, strict=True):
            one(picture, slot)

    yield READY
    yield from into_slots(pictures, work, fill)


def thread_pool_fast(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    """The same with libjpeg's coarser inverse transform and repeated chroma."""
    yield from thread_pool(pictures, work, fast=True)


def resize_cv2(
    cv2: Any, pixels: np.ndarray, picture: Picture, work: Work, slot: np.ndarray
) -> None:
    """Crop, resize and flip of decoded pixels into a slot, bilinear, as OpenCV does it."""
    target = np.empty((work.size, work.size, 3), np.uint8) if work.float32 else slot
    if work.kind == "random":
        left, top, right, bottom = picture.box
        pixels = pixels[top:bottom, left:right]
        if picture.flip:
            cv2.flip(cv2.resize(pixels, (work.size, work.size)), 1, dst=target)
        else:
            cv2.resize(pixels, (work.size, work.size), dst=target)
    elif work.kind == "centre":
        resized = cv2.resize(pixels, short_side(picture, work.short))
        left, top, right, bottom = centre(resized.shape[1], resized.shape[0], work.size)
        target[:] = resized[top:bottom, left:right]
    else:
        cv2.resize(pixels, (work.size, work.size), dst=target)
    if work.float32:
        slot[:] = normalise(target)


class TorchPictures:
    """A map-style dataset for torch's DataLoader."""

    def __init__(self, pictures: Sequence[Picture], work: Work, opencv: bool) -> None:
        self.pictures, self.work, self.opencv = pictures, work, opencv

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> Any:
        picture, work = self.pictures[index], self.work
        if not self.opencv:
            pixels = with_pillow(picture, work, draft=True)
            return normalise(pixels) if work.float32 else pixels
        import cv2

        cv2.setNumThreads(1)
        flags = cv2.IMREAD_REDUCED_COLOR_4 if work.kind == "whole" else cv2.IMREAD_COLOR
        pixels = cv2.imdecode(np.frombuffer(read(picture.path), np.uint8), flags)
        slot = np.empty(work.shape(1)[1:], work.dtype())
        resize_cv2(cv2, cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), picture, work, slot)
        return slot


def torch_workers(pictures: Sequence[Picture], work: Work, opencv: bool) -> Iterator[Any]:
    import torch.utils.data

    torch.set_num_threads(1)
    dataset = TorchPictures(pictures, work, opencv)
    loader = torch.utils.data.DataLoader(dataset, batch_size=work.batch, num_workers=THREADS)  # type: ignore[arg-type]
    yield READY
    yield from loader


def torch_pillow(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    yield from torch_workers(pictures, work, opencv=False)


def torch_opencv(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    yield from torch_workers(pictures, work, opencv=True)
