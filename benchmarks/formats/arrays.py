"""Who is measured on arrays in chunks: rows of 12 KB in batches of 256, as float32. All get a cache
of the same size for what they unpack. Each gives (0, 0) when it is ready, then for each batch how
many rows and the sum of their numbers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import files
import numpy as np

Parts = Iterator[tuple[int, int]]
BATCH, CACHE = 256, 32_000_000
PASSES = 4  # from front to back: one takes less than a tenth of a second
RANDOM = 6144  # rows, of those there are


def batches(random: bool) -> list[Any]:
    """What is read: slices, or numbers of rows in the order of our shuffle, sorted inside a batch
    since most readers want that."""
    if not random:
        return [slice(i, i + BATCH) for i in range(0, files.ROWS, BATCH)] * PASSES
    from penstock import _core

    order = _core.Order.leaf(0, files.ROWS).shuffle(1)
    rows = np.array([order.locate(0, i)[0][1] for i in range(RANDOM)])
    return [np.sort(rows[i : i + BATCH]) for i in range(0, RANDOM, BATCH)]


def checked(batch: Any) -> tuple[int, int]:
    assert batch.shape[1:] == files.ROW_SHAPE
    assert batch.dtype == np.float32
    return len(batch), int(batch[:, 0, 0, 0].sum())


def penstock_rows(path: Path, field: str, random: bool) -> Parts:
    import penstock as ps

    ds = ps.open(path, chunk_cache=CACHE)
    if random:
        ds = ds.shuffle(seed=1).take(RANDOM)
    loader = ds.batch(BATCH).loader(threads=2)
    yield 0, 0
    for _ in range(1 if random else PASSES):
        for batch in loader:
            yield checked(batch[field])


def penstock_hdf5(folder: Path) -> Parts:
    yield from penstock_rows(files.make_hdf5(folder), "x", False)


def penstock_hdf5_random(folder: Path) -> Parts:
    yield from penstock_rows(files.make_hdf5(folder), "x", True)


def penstock_zarr(folder: Path) -> Parts:
    yield from penstock_rows(files.make_zarr(folder), "data", False)


def penstock_zarr_random(folder: Path) -> Parts:
    yield from penstock_rows(files.make_zarr(folder), "data", True)


def penstock_zarr_window(folder: Path) -> Parts:
    import penstock as ps

    ds = ps.open(files.make_zarr(folder), chunk_cache=CACHE).shuffle(seed=1, window=1024)
    loader = ds.take(RANDOM).batch(BATCH).loader(threads=2)
    yield 0, 0
    for batch in loader:
        yield checked(batch["data"])


# ---- h5py


def _h5py(path: Path) -> Any:
    import h5py

    return h5py.File(path, rdcc_nbytes=CACHE, rdcc_nslots=10_007)["x"]


def h5py_threads(folder: Path, random: bool) -> Parts:
    from concurrent.futures import ThreadPoolExecutor

    data = _h5py(files.make_hdf5(folder))
    with ThreadPoolExecutor(2) as pool:
        yield 0, 0
        yield from pool.map(lambda rows: checked(data[rows]), batches(random))


_FILE: Any = None


def _open_in_process(path: Path) -> None:
    global _FILE
    _FILE = _h5py(path)


def _read_in_process(rows: Any) -> Any:
    return _FILE[rows]


def h5py_processes(folder: Path, random: bool) -> Parts:
    import torch.multiprocessing as multiprocessing  # hands arrays over in shared memory

    path = files.make_hdf5(folder)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2, _open_in_process, (path,)) as pool:
        pool.map(_read_in_process, [slice(0, 1)] * 4)
        yield 0, 0
        for batch in pool.imap(_read_in_process, batches(random)):
            yield checked(batch)


def h5py_sequential(folder: Path) -> Parts:
    yield from h5py_threads(folder, False)


def h5py_random(folder: Path) -> Parts:
    yield from h5py_threads(folder, True)


def h5py_processes_sequential(folder: Path) -> Parts:
    yield from h5py_processes(folder, False)


def h5py_processes_random(folder: Path) -> Parts:
    yield from h5py_processes(folder, True)


# ---- Zarr


def tensorstore_rows(folder: Path, random: bool) -> Parts:
    import tensorstore as ts

    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(files.make_zarr(folder))},
        "context": {
            "cache_pool": {"total_bytes_limit": CACHE},
            "data_copy_concurrency": {"limit": 2},
            "file_io_concurrency": {"limit": 2},
        },
    }
    data = ts.open(spec, read=True).result()
    wanted = batches(random)
    yield 0, 0
    ahead = [data[rows].read() for rows in wanted[:2]]  # two under way, as ours has
    for i in range(len(wanted)):
        batch = ahead.pop(0).result()
        if i + 2 < len(wanted):
            ahead.append(data[wanted[i + 2]].read())
        yield checked(batch)


def tensorstore_sequential(folder: Path) -> Parts:
    yield from tensorstore_rows(folder, False)


def tensorstore_random(folder: Path) -> Parts:
    yield from tensorstore_rows(folder, True)


def zarr_rows(folder: Path, read: Callable[[Any, Any], Any], random: bool) -> Parts:
    from concurrent.futures import ThreadPoolExecutor

    import zarr

    data = zarr.open_array(str(files.make_zarr(folder)), mode="r")
    with ThreadPoolExecutor(2) as pool:
        yield 0, 0
        yield from pool.map(lambda rows: checked(read(data, rows)), batches(random))


def zarr_sequential(folder: Path) -> Parts:
    yield from zarr_rows(folder, lambda data, rows: data[rows], False)


def zarr_random(folder: Path) -> Parts:
    yield from zarr_rows(folder, lambda data, rows: data.oindex[rows], True)
