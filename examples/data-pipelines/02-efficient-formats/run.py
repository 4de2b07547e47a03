"""The same images as files, tar shards, TFRecord and arrays: what each takes and gives."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import penstock as ps
from penstock import io
from samples import Table, make_folder, make_shards, options, pictures

SIZE = (224, 224)


def write_folder(folder: Path, count: int) -> str:
    return str(make_folder(folder / "folder", count))


def write_tar(folder: Path, count: int) -> str:
    return make_shards(folder, count)


def write_tfrecord(folder: Path, count: int) -> str:
    path = folder / "train.tfrecord"
    with io.TFRecordWriter(str(path)) as writer:
        for jpeg, label in pictures(count):
            writer.write(io.encode_example({"jpg": jpeg, "cls": label}))
    return str(path)


def pixels(count: int) -> np.ndarray:
    return np.stack([np.asarray(io.decode_image(jpeg, size=SIZE)) for jpeg, _ in pictures(count)])


def write_npy(folder: Path, count: int) -> str:
    np.save(folder / "pixels.npy", pixels(count))
    return str(folder / "pixels.npy")


def write_hdf5(folder: Path, count: int) -> str:
    import h5py

    path = folder / "pixels.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=pixels(count), chunks=(1, *SIZE, 3), compression="gzip")
    return str(path)


def write_zarr(folder: Path, count: int) -> str:
    import zarr

    path = folder / "pixels.zarr"
    group = zarr.create_group(str(path))
    array = group.create_array("data", shape=(count, *SIZE, 3), chunks=(1, *SIZE, 3), dtype="uint8")
    array[:] = pixels(count)
    return str(path)


# HDF5 and Zarr are measured where this build opens them and the package that writes them is there.
FORMATS: dict[str, Callable[[Path, int], str]] = {
    "folder of JPEGs": write_folder,
    "tar shards": write_tar,
    "TFRecord": write_tfrecord,
    "npy, pixels": write_npy,
    "HDF5, pixels, gzip": write_hdf5,
    "Zarr, pixels": write_zarr,
}


def plan(data: ps.Dataset, shuffled: bool) -> ps.Dataset:
    """Images of one size, decoded where they are not pixels yet."""
    if shuffled:
        data = data.shuffle(seed=0)
    return data.decode_image(size=SIZE) if {"jpg", "image"} & set(data.fields) else data


def read(data: ps.Dataset, shuffled: bool) -> int:
    loader = plan(data, shuffled).batch(32).loader()
    return sum(len(next(iter(batch.values()))) for batch in loader)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    small = options(__doc__).small
    count, repeat = (32, 1) if small else (300, 3)
    table = Table("images")
    for name, write in FORMATS.items():
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            try:
                source = write(folder, count)
                taken = size(folder)
                data = ps.open(source)
            except (ImportError, NotImplementedError, ValueError) as error:
                print(f"| {name}: left out ({error}) | | |")
                continue
            head = f"{name}, {taken / count / 1e3:.0f} KB a sample"
            table.row(f"{head}; in order", lambda data=data: read(data, False), repeat)
            table.row(f"{name}; shuffled", lambda data=data: read(data, True), repeat)


if __name__ == "__main__":
    main()
