"""Small data for the tests of datasets, and what they compare."""

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from penstock.io import encode_image


def picture(number: int, height: int = 40, width: int = 56) -> np.ndarray:
    """A picture that looks like no other."""
    rng = np.random.default_rng(number)
    small = rng.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    return small.repeat(8, 0).repeat(8, 1)


def jpeg(number: int) -> bytes:
    return encode_image(picture(number), "jpeg")


def write_tar(path: Path, samples: list[dict[str, bytes]]) -> None:
    with tarfile.open(path, "w") as tar:
        for sample in samples:
            key = sample["__key__"].decode()
            for field, data in sample.items():
                if field != "__key__":
                    member = tarfile.TarInfo(f"{key}.{field}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def image_tars(
    folder: Path, shards: int = 2, per_shard: int = 25, bad: tuple[int, ...] = ()
) -> str:
    """Shards of jpg, cls, txt; the pictures of samples in `bad` are damaged."""
    for shard in range(shards):
        samples = []
        for i in range(shard * per_shard, (shard + 1) * per_shard):
            data = b"no picture at all" if i in bad else jpeg(i)
            samples.append(
                {
                    "__key__": f"{i:05}".encode(),
                    "jpg": data,
                    "cls": str(i).encode(),
                    "txt": f"picture {i}".encode(),
                }
            )
        write_tar(folder / f"train-{shard:03}.tar", samples)
    return str(folder / "train-*.tar")


def image_folder(folder: Path, classes: int = 3, each: int = 10) -> str:
    for c in range(classes):
        (folder / f"class{c}").mkdir(parents=True)
        for i in range(each):
            (folder / f"class{c}" / f"{i:03}.jpg").write_bytes(jpeg(c * each + i))
    return str(folder)


def plain(batch: Any) -> Any:
    """A batch as something that == compares, down to the bytes and types."""
    if isinstance(batch, dict):
        return {name: plain(value) for name, value in batch.items()}
    if isinstance(batch, list | tuple):
        return [plain(value) for value in batch]
    if isinstance(batch, np.ndarray):
        return (str(batch.dtype), batch.shape, batch.tobytes())
    if isinstance(batch, memoryview):
        return bytes(batch)
    return batch


def whole_epoch(loader: Any) -> list[Any]:
    return [plain(batch) for batch in loader]
