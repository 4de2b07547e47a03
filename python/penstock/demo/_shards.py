"""The demo's data: photographs cut into samples and packed into tar shards."""

from __future__ import annotations

import io as bytesio
import tarfile
from importlib.resources import files
from pathlib import Path

import numpy as np

from penstock import io

_SAMPLES, _SHARDS = 400, 4
_HEIGHT, _WIDTH = 300, 400


def pack(folder: Path) -> list[str]:
    """Writes the shards; a sample is a JPEG and the number of its photograph."""
    found = files("penstock.demo").joinpath("photos").iterdir()
    photos = sorted((one for one in found if one.name.endswith(".jpg")), key=lambda one: one.name)
    pictures = [np.asarray(io.decode_image(photo.read_bytes())) for photo in photos]
    rng = np.random.default_rng(0)
    names = []
    for shard in range(_SHARDS):
        path = folder / f"demo-{shard}.tar"
        names.append(str(path))
        with tarfile.open(path, "w") as tar:
            for i in range(shard, _SAMPLES, _SHARDS):
                label = i % len(pictures)
                _add(tar, f"{i:04}.jpg", _cut(pictures[label], rng))
                _add(tar, f"{i:04}.cls", str(label).encode())
    return names


def _cut(picture: np.ndarray, rng: np.random.Generator) -> bytes:
    height, width = min(_HEIGHT, picture.shape[0]), min(_WIDTH, picture.shape[1])
    top = int(rng.integers(picture.shape[0] - height + 1))
    left = int(rng.integers(picture.shape[1] - width + 1))
    part = np.ascontiguousarray(picture[top : top + height, left : left + width])
    return bytes(io.encode_image(part, "jpeg", 90))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, bytesio.BytesIO(data))
