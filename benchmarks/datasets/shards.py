"""The tar shards of the benchmark, made once: photographs with labels, and records of 1 KB."""

from __future__ import annotations

import hashlib
import io
import json
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = 2
SHARDS = 4
SMALL = 200_000  # records of 1 KB
TIMES = 4  # each photograph in the shards for raw reading, so that an epoch is no matter of 15 ms


def make(folder: Path, pictures: list[str]) -> None:
    """Writes the shards unless this version of them is there."""
    stamp = folder / "shards.json"
    if stamp.exists() and json.loads(stamp.read_text())["version"] == VERSION:
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    for name, times in (("images", 1), ("raw", TIMES)):
        photographs = (
            (f"{i:06}", {"jpg": Path(path).read_bytes(), "cls": b"%d" % (i % 1000)})
            for i, path in enumerate(pictures * times)
        )
        write(folder, name, photographs, len(pictures) * times)
    records = ((f"{i:08}", {"bin": rng.randbytes(1024)}) for i in range(SMALL))
    write(folder, "small", records, SMALL)
    stamp.write_text(json.dumps({"version": VERSION}))


def write(folder: Path, name: str, samples: Iterator[tuple[str, dict[str, bytes]]], n: int) -> None:
    for shard in range(SHARDS):
        path = folder / f"{name}-{shard:03}.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for _ in range(n // SHARDS):
                key, fields = next(samples)
                for field, data in fields.items():
                    member = tarfile.TarInfo(f"{key}.{field}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def paths(folder: Path, name: str) -> list[str]:
    return [str(folder / f"{name}-{shard:03}.tar") for shard in range(SHARDS)]


class Sum:
    """What samples add up to: equal sums mean the same fields of the same samples in any order."""

    def __init__(self) -> None:
        self.count, self.total = 0, 0

    def add(self, fields: dict[str, Any]) -> None:
        """`fields` without the key."""
        digest = hashlib.blake2b(digest_size=8)
        for name in sorted(fields):
            digest.update(name.encode() + b"\0" + bytes(fields[name]) + b"\0")
        self.count += 1
        self.total = (self.total + int.from_bytes(digest.digest(), "big")) % 2**64


def sum_of(shards: list[str]) -> Sum:
    """By Python's tarfile: what everybody is compared with."""
    samples: dict[str, dict[str, bytes]] = {}
    for path in shards:
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, field = member.name.partition(".")
                file = tar.extractfile(member)
                assert file is not None
                samples.setdefault(key, {})[field] = file.read()
    all_of_them = Sum()
    for fields in samples.values():
        all_of_them.add(fields)
    return all_of_them
