"""Who is measured on files that the system's cache does not hold, and on the index of a large tar.
Each gives (0, 0) when it is ready, then how many things it has read; values are compared in the
cases with warm files."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import files

Parts = Iterator[tuple[int, int]]


def drop(path: Path) -> None:
    """The file, or all files below, out of the system's cache."""
    for one in [path] if path.is_file() else path.rglob("*"):
        if one.is_file():
            descriptor = os.open(one, os.O_RDONLY)
            os.fsync(descriptor)  # pages that are not on the disk yet would stay
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def plain_reads(path: Path, things: int) -> Parts:
    """What the disk gives to one thread that reads 1 MB after the other."""
    buffer = bytearray(1 << 20)
    drop(path)
    yield 0, 0
    for one in [path] if path.is_file() else sorted(path.rglob("*")):
        if one.is_file():
            with open(one, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass
    yield things, 0


# ---- TFRecord of images: nothing is decoded


def images(folder: Path, cold: bool, shuffled: bool = False) -> Parts:
    import penstock as ps

    path = folder / "images.tfrecord"
    ds = ps.open(path, fields={"image": "bytes", "label": "int64"})
    ds = ds.shuffle(seed=1) if shuffled else ds
    loader = ds.batch(100).loader(threads=2)
    if cold:
        drop(path)
    yield 0, 0
    for batch in loader:
        yield len(batch["image"]), 0


def penstock_images_cold(folder: Path) -> Parts:
    yield from images(folder, True)


def penstock_images_shuffled_cold(folder: Path) -> Parts:
    yield from images(folder, True, shuffled=True)


def penstock_images_shuffled_warm(folder: Path) -> Parts:
    yield from images(folder, False, shuffled=True)


def penstock_images_warm(folder: Path) -> Parts:
    yield from images(folder, False)


def plain_images(folder: Path) -> Parts:
    yield from plain_reads(folder / "images.tfrecord", files.IMAGES)


def plain_images_shuffled(folder: Path) -> Parts:
    """What the disk gives to one thread that reads one image after the other, in any order."""
    path = folder / "images.tfrecord"
    starts = list(range(0, path.stat().st_size - files.IMAGE_BYTES, files.IMAGE_BYTES))
    random.Random(0).shuffle(starts)
    buffer = bytearray(files.IMAGE_BYTES)
    drop(path)
    file = os.open(path, os.O_RDONLY)
    yield 0, 0
    for start in starts:
        os.preadv(file, [buffer], start)
    yield len(starts), 0


def tf_images_cold(folder: Path) -> Parts:
    import tensorflow as tf

    path = folder / "images.tfrecord"
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    data = tf.data.TFRecordDataset(str(path)).batch(100)
    data = data.map(lambda some: tf.io.parse_example(some, features), num_parallel_calls=2)
    data = data.prefetch(2)
    drop(path)
    yield 0, 0
    for batch in data.as_numpy_iterator():
        yield len(batch["image"]), 0


# ---- arrays: every chunk is unpacked


def rows(path: Path, cold: bool) -> Parts:
    import penstock as ps

    loader = ps.open(path).batch(256).loader(threads=2)
    if cold:
        drop(path)
    yield 0, 0
    for batch in loader:
        yield len(next(iter(batch.values()))), 0


def penstock_zarr_cold(folder: Path) -> Parts:
    yield from rows(files.make_zarr(folder), True)


def penstock_zarr_warm(folder: Path) -> Parts:
    yield from rows(files.make_zarr(folder), False)


def plain_zarr(folder: Path) -> Parts:
    yield from plain_reads(files.make_zarr(folder), files.ROWS)


def penstock_hdf5_cold(folder: Path) -> Parts:
    yield from rows(files.make_hdf5(folder), True)


def penstock_hdf5_warm(folder: Path) -> Parts:
    yield from rows(files.make_hdf5(folder), False)


def plain_hdf5(folder: Path) -> Parts:
    yield from plain_reads(files.make_hdf5(folder), files.ROWS)


# ---- the index of a tar of 10 GB: its headers


def penstock_index(folder: Path, cold: bool = False) -> Parts:
    from penstock import _core

    path = files.make_large_tar(folder)
    if cold:
        drop(path)
    yield 0, 0
    yield len(_core.open_records([str(path)], write_index=False)), 0


def penstock_index_cold(folder: Path) -> Parts:
    yield from penstock_index(folder, cold=True)


def known_headers(folder: Path) -> Parts:
    """Only reads: where the headers are is known."""
    file = os.open(files.make_large_tar(folder), os.O_RDONLY)
    step = files.MEMBER_BYTES + 512
    yield 0, 0
    for i in range(files.MEMBERS):
        os.pread(file, 512, i * step)
    yield files.MEMBERS, 0


def python_headers(folder: Path, cold: bool = False) -> Parts:
    """One after the other: each says where the next one is."""
    path = files.make_large_tar(folder)
    if cold:
        drop(path)
    file, at, count = os.open(path, os.O_RDONLY), 0, 0
    yield 0, 0
    while (header := os.pread(file, 512, at))[:1] != b"\0":
        at += 512 + (int(header[124:135], 8) + 511) // 512 * 512
        count += 1
    yield count, 0


def python_headers_cold(folder: Path) -> Parts:
    yield from python_headers(folder, cold=True)
