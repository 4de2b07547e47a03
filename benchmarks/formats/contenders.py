"""Who is measured. Each gives (0, 0) when it is ready, then parts of its work: how many things, and
a number that checks them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import files
import numpy as np

Parts = Iterator[tuple[int, int]]
BATCH = 1024


def number_of(record: Any) -> int:
    return int.from_bytes(record[:8], "little")


def random_batches(count: int) -> list[list[int]]:
    order = np.random.default_rng(1).permutation(files.RECORDS)[:count]
    return [order[i : i + BATCH].tolist() for i in range(0, count, BATCH)]


def on_two_threads(work: Callable[[Any], tuple[int, int]], jobs: list[Any]) -> Parts:
    with ThreadPoolExecutor(2) as pool:
        yield 0, 0
        yield from pool.map(work, jobs)


# ---- 100-byte records, from front to back


def walked(records: Iterable[Any]) -> tuple[int, int]:
    """All go through the same loop, each record as an object of Python."""
    total = 0
    for i, one in enumerate(records):
        if i % 1000 == 0:
            total += number_of(one)
    return i + 1, total


def penstock_sequential(folder: Path) -> Parts:
    from penstock import io

    yield 0, 0
    yield walked(io.iter_tfrecord(folder / "small.tfrecord"))


def tf_sequential(folder: Path) -> Parts:
    import tensorflow as tf

    data = tf.data.TFRecordDataset(str(folder / "small.tfrecord")).batch(1000)
    yield 0, 0
    for batch in data.as_numpy_iterator():
        yield walked(batch)


def array_record_sequential(folder: Path) -> Parts:
    from array_record.python.array_record_module import ArrayRecordReader

    reader = ArrayRecordReader(
        str(files.make_array_record(folder)), "readahead_buffer_size:16M,max_parallelism:1"
    )
    yield 0, 0
    for first in range(0, files.RECORDS, 1000):
        yield walked(reader.read(first, first + 1000))


# ---- 100-byte records, at random, in batches of 1024


def penstock_random(folder: Path, mmap: bool = False) -> Parts:
    from penstock import io

    records = io.TFRecords(folder / "small.tfrecord", mmap=mmap)

    def work(batch: list[int]) -> tuple[int, int]:
        got = records[batch]
        return len(got), number_of(got[0])

    yield from on_two_threads(work, random_batches(800_000))


def penstock_random_mapped(folder: Path) -> Parts:
    yield from penstock_random(folder, mmap=True)


def array_record_random(folder: Path) -> Parts:
    from array_record.python.array_record_module import ArrayRecordReader

    options = "readahead_buffer_size:0,max_parallelism:2"
    reader = ArrayRecordReader(str(files.make_array_record(folder)), options)
    batches = random_batches(800_000)
    yield 0, 0
    for batch in batches:
        got = reader.read(batch)
        yield len(got), number_of(got[0])


# ---- .npy files of 600 KB, two threads


Load = Callable[[str], Any]


def npy_jobs(folder: Path) -> list[list[str]]:
    """A job is ten files, as a batch of DALI's is: a future for each file would be measured too."""
    paths = [str(folder / f"{i:03}.npy") for i in range(files.ARRAYS)] * 60
    return [paths[i : i + 10] for i in range(0, len(paths), 10)]


def looked_at(arrays: Iterable[Any]) -> int:
    return sum(int(np.asarray(one)[0, 0, 0]) for one in arrays)


def npy_delivered(folder: Path, load: Load) -> Parts:
    """The loop gets the arrays, ten at a time, while two more jobs are under way."""

    def work(some: list[str]) -> list[Any]:
        return [load(path) for path in some]

    under_way: deque[Future[list[Any]]] = deque()
    with ThreadPoolExecutor(2) as pool:
        yield 0, 0
        for job in npy_jobs(folder):
            under_way.append(pool.submit(work, job))
            if len(under_way) > 2:
                arrays = under_way.popleft().result()
                yield len(arrays), looked_at(arrays)
        for last in under_way:
            arrays = last.result()
            yield len(arrays), looked_at(arrays)


def npy_at_once(folder: Path, load: Load) -> Parts:
    """Each array is looked at and dropped by the thread that has read it."""

    def work(some: list[str]) -> tuple[int, int]:
        return len(some), looked_at(load(path) for path in some)

    yield from on_two_threads(work, npy_jobs(folder))


def penstock_npy(folder: Path, way: Callable[[Path, Load], Parts] = npy_delivered) -> Parts:
    from penstock import io

    yield from way(folder, io.load_npy)


def penstock_npy_at_once(folder: Path) -> Parts:
    yield from penstock_npy(folder, npy_at_once)


def preadv_npy(folder: Path) -> Parts:
    """What the system takes to read, into memory that each thread uses again: no array is made.

    The memory begins with a page. 16 bytes further, where a bytearray has its own, some processors
    copy a third as fast.
    """
    import mmap
    import os
    import threading

    own = threading.local()

    def load(path: str) -> Any:
        if not hasattr(own, "buffer"):
            own.buffer = mmap.mmap(-1, 700_000)
        file = os.open(path, os.O_RDONLY)
        os.preadv(file, [own.buffer], 0)
        os.close(file)
        return np.frombuffer(own.buffer, np.float32, 1, 128).reshape(1, 1, 1)

    yield from npy_at_once(folder, load)


def numpy_npy(folder: Path) -> Parts:
    yield from npy_delivered(folder, np.load)


def numpy_npy_at_once(folder: Path) -> Parts:
    yield from npy_at_once(folder, np.load)


def spdl_npy(folder: Path, way: Callable[[Path, Load], Parts] = npy_delivered) -> Parts:
    import spdl.io

    yield from way(folder, lambda path: spdl.io.load_npy(Path(path).read_bytes()))


def spdl_npy_at_once(folder: Path) -> Parts:
    yield from spdl_npy(folder, npy_at_once)


# ---- tokens: random windows of 2048, batches of 32, as int64


def window_starts(batches: int) -> Any:
    last = files.TOKENS - files.WINDOW
    return np.random.default_rng(2).integers(0, last, (batches, 32))


def memmap_loop(folder: Path) -> Parts:
    tokens = np.memmap(folder / "tokens.bin", np.uint16, "r")
    yield 0, 0
    for starts in window_starts(3000):
        batch = np.stack([tokens[s : s + files.WINDOW].astype(np.int64) for s in starts])
        yield batch.size, 0


def usual_loop(folder: Path) -> Parts:
    """As scripts that train language models have it: the file is mapped anew for each batch, since
    the pages of a map that is kept count as memory of the process, and torch puts windows together.
    """
    import torch

    yield 0, 0
    for starts in torch.from_numpy(window_starts(1000)):
        tokens = np.memmap(folder / "tokens.bin", np.uint16, "r")
        windows = [torch.from_numpy(tokens[s : s + files.WINDOW].astype(np.int64)) for s in starts]
        yield torch.stack(windows).numel(), 0


def sliding_view(folder: Path) -> Parts:
    tokens = np.memmap(folder / "tokens.bin", np.uint16, "r")
    windows = np.lib.stride_tricks.sliding_window_view(tokens, files.WINDOW)
    yield 0, 0
    for starts in window_starts(20_000):
        yield windows[starts].astype(np.int64).size, 0


def penstock_tokens(folder: Path) -> Parts:
    import penstock as ps

    ds = ps.open(folder / "tokens.bin", format="tokens", window=files.WINDOW, stride=1)
    ds = ds.shuffle(seed=2).take(32 * 40_000)
    yield 0, 0
    for batch in ds.batch(32).loader(threads=2, prefetch=4):
        yield batch["tokens"].size, 0


# ---- TFRecord of images: Examples parsed, from front to back


def penstock_images(folder: Path, mmap: bool = False) -> Parts:
    import penstock as ps

    fields = {"image": "bytes", "label": "int64"}
    ds = ps.open(folder / "images.tfrecord", fields=fields, mmap=mmap)
    loader = ds.batch(100).loader(threads=2)
    yield 0, 0
    for _ in range(5):
        for batch in loader:
            yield len(batch["image"]), int(batch["label"].sum())


def penstock_images_mapped(folder: Path) -> Parts:
    """DALI maps files, too, unless it is told not to."""
    yield from penstock_images(folder, mmap=True)


def tf_images(folder: Path) -> Parts:
    import tensorflow as tf

    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    yield 0, 0
    for _ in range(5):
        data = tf.data.TFRecordDataset(str(folder / "images.tfrecord")).batch(100)
        data = data.map(lambda some: tf.io.parse_example(some, features), num_parallel_calls=2)
        for batch in data.prefetch(2).as_numpy_iterator():
            yield len(batch["image"]), int(batch["label"].sum())


# ---- DALI, on the CPU, two threads


def dali_graph(read: Callable[[], Any], rows: int) -> Any:
    from nvidia.dali import pipeline_def

    graph = pipeline_def(read, batch_size=rows, num_threads=2, device_id=None)()
    graph.build()
    return graph


def dali_npy(folder: Path) -> Parts:
    from nvidia.dali import fn

    paths = [str(folder / f"{i:03}.npy") for i in range(files.ARRAYS)]
    graph = dali_graph(lambda: fn.readers.numpy(files=paths), 10)
    yield 0, 0
    for _ in range(60 * files.ARRAYS // 10):
        (arrays,) = graph.run()
        yield len(arrays), sum(int(arrays.at(i)[0, 0, 0]) for i in range(len(arrays)))


def dali_images(folder: Path) -> Parts:
    from nvidia.dali import fn, tfrecord

    path, index = folder / "images.tfrecord", files.make_dali_index(folder)

    def read() -> Any:
        features = {
            "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
            "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
        }
        got = fn.readers.tfrecord(path=str(path), index_path=str(index), features=features)
        return got["image"], got["label"]

    graph = dali_graph(read, 100)
    yield 0, 0
    for _ in range(5 * files.IMAGES // 100):
        images, labels = graph.run()
        yield len(images), sum(int(labels.at(i)[0]) for i in range(len(labels)))
