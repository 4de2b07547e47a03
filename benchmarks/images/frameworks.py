"""Contenders that are frameworks of their own: mlx-data, tf.data, DALI, SPDL and FFCV."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from contenders import READY
from corpus import Picture
from work import MEAN, STD, THREADS, Work, batches, centre, normalise, read, short_side


def mlx_data(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    """A whole batch per thread. Not antialiased; draws its own crops."""
    import mlx.data as dx

    rows = [{"image": picture.path.encode()} for picture in pictures]
    flow = dx.buffer_from_vector(rows).load_image("image")
    if work.kind == "random":
        flow = flow.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
    if work.kind == "centre":
        flow = flow.image_resize_smallest_side("image", work.short)
        flow = flow.image_center_crop("image", work.size, work.size)
    else:
        flow = flow.image_resize("image", work.size, work.size)
    if work.kind == "random":
        flow = flow.image_random_h_flip("image", 0.5)
    if work.float32:
        flow = flow.key_transform("image", normalise)
    yield READY
    for batch in flow.batch(work.batch).ordered_prefetch(THREADS, THREADS):
        yield batch["image"]


def tf_data(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    """decode_and_crop_jpeg, or decode_jpeg at a quarter for large pictures. Not antialiased."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    side = (work.size, work.size)

    def one(path: Any, box: Any, flip: Any) -> Any:
        data = tf.io.read_file(path)
        if work.kind == "random":
            pixels = tf.image.decode_and_crop_jpeg(data, box, channels=3)
            pixels = tf.image.resize(pixels, side)
            pixels = tf.cond(flip, lambda: tf.reverse(pixels, [1]), lambda: pixels)
        elif work.kind == "centre":
            # Only the part that the middle is made of, at the scale of the whole.
            pixels = tf.image.decode_and_crop_jpeg(data, box, channels=3)
            pixels = tf.image.resize(pixels, side)
        else:
            pixels = tf.image.resize(tf.image.decode_jpeg(data, channels=3, ratio=4), side)
        pixels.set_shape((*side, 3))
        if work.float32:
            pixels = (pixels / 255 - tf.constant(MEAN)) / tf.constant(STD)
            return tf.transpose(pixels, (2, 0, 1))
        return tf.cast(tf.round(pixels), tf.uint8)

    boxes = [yxhw(box_of(picture, work)) for picture in pictures]
    flow = tf.data.Dataset.from_tensor_slices(
        ([p.path for p in pictures], np.array(boxes, np.int32), [p.flip for p in pictures])
    )
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    flow = flow.map(one, num_parallel_calls=THREADS).batch(work.batch).with_options(options)
    for _ in flow.take(1):  # traces the graph
        pass
    yield READY
    yield from flow.as_numpy_iterator()


def box_of(picture: Picture, work: Work) -> tuple[int, int, int, int]:
    """The box of the original that the result is made of."""
    if work.kind == "random":
        return picture.box
    if work.kind == "centre":
        width, height = short_side(picture, work.short)
        scale = picture.width / width
        return tuple(round(edge * scale) for edge in centre(width, height, work.size))  # type: ignore[return-value]
    return 0, 0, picture.width, picture.height


def yxhw(box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    left, top, right, bottom = box
    return top, left, bottom - top, right - left


def dali(pictures: Sequence[Picture], work: Work, antialias: bool = False) -> Iterator[Any]:
    """decoders.image_slice, then resize, on the CPU."""
    from nvidia.dali import fn, pipeline_def, types

    def rows() -> Iterator[Any]:
        for some in batches(pictures, work):
            boxes = [yxhw(box_of(picture, work)) for picture in some]
            yield (
                [np.array(box[:2], np.float32) for box in boxes],
                [np.array(box[2:], np.float32) for box in boxes],
                [np.array(picture.flip and work.kind == "random", np.int32) for picture in some],
            )

    @pipeline_def(batch_size=work.batch, num_threads=THREADS, device_id=None)
    def graph() -> Any:
        files, _ = fn.readers.file(files=[picture.path for picture in pictures])
        anchor, shape, flip = fn.external_source(source=rows(), num_outputs=3, cycle=False)
        if work.kind == "whole":
            pixels = fn.decoders.image(files)
        else:
            pixels = fn.decoders.image_slice(
                files,
                anchor,
                shape,
                normalized_anchor=False,
                normalized_shape=False,
                axis_names="HW",
            )
        pixels = fn.resize(pixels, size=(work.size, work.size), antialias=antialias)
        if work.float32:
            return fn.crop_mirror_normalize(
                pixels,
                mirror=flip,
                dtype=types.FLOAT,
                output_layout="CHW",
                mean=[255 * each for each in MEAN],
                std=[255 * each for each in STD],
            )
        return fn.flip(pixels, horizontal=flip) if work.kind == "random" else pixels

    pipe = graph()
    pipe.build()
    yield READY
    for _ in batches(pictures, work):
        (batch,) = pipe.run()
        yield batch.as_array()


def dali_antialias(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    yield from dali(pictures, work, antialias=True)


def spdl(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    """A whole batch per task; FFmpeg's filters crop, scale and flip."""
    import spdl.io

    side = f"scale={work.size}:{work.size}:flags=bilinear"

    def filters(picture: Picture) -> str:
        if work.kind == "random":
            top, left, height, width = yxhw(picture.box)
            steps = [f"crop={width}:{height}:{left}:{top}:exact=1", side]
            steps += ["hflip"] if picture.flip else []
        elif work.kind == "centre":
            width, height = short_side(picture, work.short)
            left, top, _, _ = centre(width, height, work.size)
            steps = [
                f"scale={width}:{height}:flags=bilinear",
                f"crop={work.size}:{work.size}:{left}:{top}:exact=1",
            ]
        else:
            steps = [side]
        return ",".join([*steps, "format=pix_fmts=rgb24"])

    def load(some: Sequence[Picture]) -> np.ndarray:
        frames = [
            spdl.io.decode_packets(
                spdl.io.demux_image(read(picture.path)), filter_desc=filters(picture)
            )
            for picture in some
        ]
        batch = spdl.io.to_numpy(spdl.io.convert_frames(frames))
        if not work.float32:
            return batch
        return np.stack([normalise(pixels) for pixels in batch])

    yield READY
    with ThreadPoolExecutor(THREADS) as pool:
        waiting: list[Any] = []
        for some in batches(pictures, work):
            waiting.append(pool.submit(load, some))
            if len(waiting) > THREADS:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()


def ffcv(pictures: Sequence[Picture], work: Work) -> Iterator[Any]:
    """From a file of its own, with the pictures as JPEGs again. Draws its own crops."""
    from ffcv.fields import RGBImageField
    from ffcv.fields.decoders import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
    from ffcv.writer import DatasetWriter
    from PIL import Image

    names = sorted({picture.path for picture in pictures})
    file = Path(names[0]).parent.with_suffix(f".{len(names)}.beton")
    if not file.exists():

        class Pixels:
            def __len__(self) -> int:
                return len(names)

            def __getitem__(self, index: int) -> tuple[Any]:
                return (Image.open(names[index]).convert("RGB"),)

        fields = {"image": RGBImageField("jpg", jpeg_quality=93)}
        DatasetWriter(str(file), fields, num_workers=THREADS).from_indexed_dataset(Pixels())
    steps: list[Any] = [RandomResizedCropRGBImageDecoder((work.size, work.size))]
    steps.append(RandomHorizontalFlip())
    if work.float32:
        steps.append(NormalizeImage(255 * np.array(MEAN), 255 * np.array(STD), np.float32))
        steps += [ToTensor(), ToTorchImage(channels_last=False)]
    where = {name: index for index, name in enumerate(names)}
    flow = Loader(
        str(file),
        work.batch,
        THREADS,
        os_cache=True,
        order=OrderOption.SEQUENTIAL,
        indices=[where[picture.path] for picture in pictures],
        pipelines={"image": steps},
        drop_last=False,
    )
    for _ in flow:  # compiles
        pass
    yield READY
    for (batch,) in flow:
        yield batch
