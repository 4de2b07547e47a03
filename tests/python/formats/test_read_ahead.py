"""The disk is told what a loader reads next: of every format, before it is read."""

import ctypes
import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from penstock import io

BATCH, ROWS, ROW = 4, 256, 65_536  # 16 MB in all: the disk may be told of all of it


def in_memory(path: Path) -> float:
    """Which part of a file the system has in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    with open(path, "rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as view:
        pages = (ctypes.c_ubyte * ((size + 4095) // 4096))()
        start = ctypes.addressof(ctypes.c_char.from_buffer(view))
        assert libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), pages) == 0
        return sum(page & 1 for page in pages) / len(pages)


def drop(path: Path) -> None:
    """Out of memory; where files are not on a disk there is nothing to see here."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    if in_memory(path) > 0:
        pytest.skip("files do not leave memory here")


def noise(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def tfrecord(folder: Path) -> tuple[list[Path], ps.Dataset]:
    with io.TFRecordWriter(folder / "a.tfrecord") as writer:
        for row in noise((ROWS, ROW)):
            writer.write_example({"data": row.tobytes()})
    return [folder / "a.tfrecord"], ps.open(folder / "a.tfrecord", fields={"data": "bytes"})


def image_folder(folder: Path) -> tuple[list[Path], ps.Dataset]:
    paths = [folder / f"{i:03}.png" for i in range(ROWS)]
    for path, row in zip(paths, noise((ROWS, ROW)), strict=True):
        path.write_bytes(row.tobytes())
    return paths, ps.open(folder)


def tokens(folder: Path) -> tuple[list[Path], ps.Dataset]:
    noise((ROWS * ROW,)).tofile(folder / "a.bin")
    return [folder / "a.bin"], ps.open(folder / "a.bin", format="tokens", window=ROW // 2)


def npy(folder: Path) -> tuple[list[Path], ps.Dataset]:
    np.save(folder / "a.npy", noise((ROWS, ROW)))
    return [folder / "a.npy"], ps.open(folder / "a.npy")


def hdf5(folder: Path) -> tuple[list[Path], ps.Dataset]:
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("x", data=noise((ROWS, ROW)), chunks=(1, ROW), compression="lzf")
    return [folder / "a.h5"], ps.open(folder / "a.h5")


def zarr(folder: Path) -> tuple[list[Path], ps.Dataset]:
    library = pytest.importorskip("zarr")
    array = library.create_array(
        folder / "a.zarr", shape=(ROWS, ROW), chunks=(1, ROW), dtype="uint8"
    )
    array[:] = noise((ROWS, ROW))
    return [p for p in (folder / "a.zarr").rglob("*") if p.stat().st_size > ROW // 2], ps.open(
        folder / "a.zarr"
    )


def zarr_shards(folder: Path) -> tuple[list[Path], ps.Dataset]:
    library = pytest.importorskip("zarr")
    array = library.create_array(
        folder / "a.zarr",
        shape=(ROWS, ROW),
        chunks=(1, ROW),
        shards=(ROWS // 2, ROW),
        dtype="uint8",
    )
    array[:] = noise((ROWS, ROW))
    return [p for p in (folder / "a.zarr").rglob("*") if p.is_file() and p.stat().st_size > ROW], (
        ps.open(folder / "a.zarr")
    )


@pytest.mark.parametrize("make", [tfrecord, image_folder, tokens, npy, hdf5, zarr, zarr_shards])
def test_what_comes_next_is_in_memory_before_it_is_read(
    tmp_path: Path, make: Callable[[Path], tuple[list[Path], ps.Dataset]]
) -> None:
    paths, ds = make(tmp_path)
    paths = [path for path in paths if path.is_file()]
    loader = ds.shuffle(seed=3).batch(BATCH).loader(threads=1, prefetch=1)
    for path in paths:
        drop(path)
    batches = iter(loader)
    next(batches)
    # One batch was handed out and a few are under way.
    while sum(map(in_memory, paths)) / len(paths) < 0.6:
        time.sleep(0.01)
    assert sum(1 for _ in batches) == ROWS // BATCH - 1
