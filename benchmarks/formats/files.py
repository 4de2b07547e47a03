"""The files that are measured: made once, the same for all. Contents depend on numbers only."""

from pathlib import Path

import numpy as np

RECORDS, RECORD_BYTES = 1_000_000, 100
ARRAYS, ARRAY_SHAPE = 200, (3, 224, 224)
TOKENS, WINDOW = 50_000_000, 2048
IMAGES, IMAGE_BYTES = 3000, 65_000


def record(i: int) -> bytes:
    """The first bytes are its number."""
    return i.to_bytes(8, "little") + bytes(RECORD_BYTES - 8)


def make(folder: Path) -> None:
    from penstock import io

    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "small.tfrecord").exists():
        with io.TFRecordWriter(folder / "small.tfrecord") as writer:
            for i in range(RECORDS):
                writer.write(record(i))
    if not (folder / "images.tfrecord").exists():
        noise = np.random.default_rng(0).bytes(IMAGE_BYTES + IMAGES)
        with io.TFRecordWriter(folder / "images.tfrecord") as writer:
            for i in range(IMAGES):
                writer.write_example({"image": noise[i : i + IMAGE_BYTES], "label": i})
    for i in range(ARRAYS):
        if not (folder / f"{i:03}.npy").exists():
            np.save(folder / f"{i:03}.npy", np.full(ARRAY_SHAPE, i, np.float32))
    if not (folder / "tokens.bin").exists():
        (np.arange(TOKENS) % 50_257).astype(np.uint16).tofile(folder / "tokens.bin")


def make_array_record(folder: Path) -> Path:
    """The same small records as ArrayRecord, in groups of 256."""
    from array_record.python.array_record_module import ArrayRecordWriter

    path = folder / "small.arrayrecord"
    if not path.exists():
        writer = ArrayRecordWriter(str(path), "group_size:256,uncompressed")
        for i in range(RECORDS):
            writer.write(record(i))
        writer.close()
    return path
