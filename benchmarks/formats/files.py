"""The files that are measured: made once, the same for all. Contents depend on numbers only."""

from pathlib import Path

import numpy as np

RECORDS, RECORD_BYTES = 1_000_000, 100
ARRAYS, ARRAY_SHAPE = 200, (3, 224, 224)
TABLE_ROWS = 4_000_000
VECTORS = 60_000
TOKENS, WINDOW = 50_000_000, 2048
IMAGES, IMAGE_BYTES = 3000, 65_000
MEMBERS, MEMBER_BYTES = 100_000, 106_496  # of the large tar: 10.7 GB
ROWS, ROW_SHAPE, CHUNK_ROWS, SHARD_ROWS = 12_288, (32, 32, 3), 32, 1024  # float32: 12 KB a row


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
    for one in (make_large_tar, make_hdf5, make_zarr, make_parquet, make_parquet_wide):
        one(folder)  # not in a contender's process, whose memory is measured


def make_large_tar(folder: Path) -> Path:
    """Headers of a tar of 10 GB, and holes where the members would be."""
    import tarfile

    path = folder / "large.tar"
    if not path.exists():
        with open(path, "wb") as file:
            for i in range(MEMBERS):
                member = tarfile.TarInfo(f"{i:06}.jpg")
                member.size = MEMBER_BYTES
                file.seek(i * (MEMBER_BYTES + 512))
                file.write(member.tobuf(tarfile.USTAR_FORMAT))
            file.truncate(MEMBERS * (MEMBER_BYTES + 512) + 1024)
    return path


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


def make_dali_index(folder: Path) -> Path:
    """Where the images are, as DALI's tfrecord2idx writes it."""
    path = folder / "images.idx"
    if not path.exists():
        data, lines, at = np.memmap(folder / "images.tfrecord", np.uint8, "r"), [], 0
        while at < len(data):
            size = int(data[at : at + 8].view(np.uint64)[0]) + 16
            lines.append(f"{at} {size}\n")
            at += size
        path.write_text("".join(lines))
    return path


def rows() -> np.ndarray:
    """Smooth pictures with some noise, packed to about a half; element 0 is the row's number."""
    random = np.random.default_rng(4)
    waves = np.sin(np.linspace(0, 9, 32 * 32 * 3, dtype=np.float32)).reshape(ROW_SHAPE)
    made = np.empty((ROWS, *ROW_SHAPE), np.float32)
    for i in range(ROWS):
        made[i] = np.round(waves * (i % 50) + random.integers(0, 8, ROW_SHAPE), 1)
        made[i, 0, 0, 0] = i
    return made


def make_hdf5(folder: Path) -> Path:
    """gzip 4 and shuffle, as most such files are."""
    path = folder / "rows.h5"
    if not path.exists():
        import h5py  # not in the process of who reads without it

        with h5py.File(path, "w") as file:
            options = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
            file.create_dataset("x", data=rows(), chunks=(CHUNK_ROWS, *ROW_SHAPE), **options)
    return path


def make_zarr(folder: Path) -> Path:
    """Version 3, zstd, in shards."""
    path = folder / "rows.zarr"
    if not path.exists():
        import zarr

        made = zarr.create_array(
            store=str(path),
            shape=(ROWS, *ROW_SHAPE),
            dtype="f4",
            chunks=(CHUNK_ROWS, *ROW_SHAPE),
            shards=(SHARD_ROWS, *ROW_SHAPE),
            compressors=zarr.codecs.ZstdCodec(level=3),
        )
        made[...] = rows()
    return path


def make_parquet(folder: Path) -> Path:
    """Eight columns of numbers, as pyarrow writes them: snappy, dictionaries where they pay."""
    path = folder / "numbers.parquet"
    if not path.exists():
        import pyarrow as pa
        import pyarrow.parquet

        random = np.random.default_rng(5)
        columns: dict[str, np.ndarray] = {}
        for i in range(8):
            kind = random.integers(0, 1000, TABLE_ROWS) if i % 2 == 0 else None
            columns[f"c{i}"] = random.random(TABLE_ROWS, "f4") if kind is None else kind
        pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=100_000)
    return path


def make_parquet_wide(folder: Path) -> Path:
    """A label and 512 floats in each row."""
    path = folder / "vectors.parquet"
    if not path.exists():
        import pyarrow as pa
        import pyarrow.parquet

        random = np.random.default_rng(6)
        flat = pa.array(random.random(VECTORS * 512, "f4"))
        columns = {
            "c0": pa.array(np.arange(VECTORS)),
            "vector": pa.FixedSizeListArray.from_arrays(flat, 512),
        }
        pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=2000)
    return path
