"""The course's data: the package's photographs, cut into samples; and small things all share."""

import argparse
import io as memory
import resource
import tarfile
import time
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

import numpy as np
from penstock import io


def pictures(count: int, height: int = 300, width: int = 400) -> Iterable[tuple[bytes, int]]:
    """JPEGs and the numbers of the photographs they are cut from."""
    found = files("penstock.demo").joinpath("photos").iterdir()
    photos = sorted((one for one in found if one.name.endswith(".jpg")), key=lambda one: one.name)
    whole = [np.asarray(io.decode_image(photo.read_bytes())) for photo in photos]
    rng = np.random.default_rng(0)
    for i in range(count):
        label = i % len(whole)
        picture = whole[label]
        top = int(rng.integers(max(picture.shape[0] - height, 0) + 1))
        left = int(rng.integers(max(picture.shape[1] - width, 0) + 1))
        part = np.ascontiguousarray(picture[top : top + height, left : left + width])
        yield bytes(io.encode_image(part, "jpeg", 90)), label


def make_folder(folder: Path, count: int) -> Path:
    """A folder of images, a sub-folder for each class."""
    for i, (jpeg, label) in enumerate(pictures(count)):
        path = folder / f"class-{label}" / f"{i:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg)
    return folder


def make_shards(folder: Path, count: int, shards: int = 2, name: str = "train") -> str:
    """Tar shards with a JPEG and a class for each sample; the pattern that opens them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(enumerate(pictures(count)))
    for shard in range(shards):
        with tarfile.open(folder / f"{name}-{shard}.tar", "w") as tar:
            for i, (jpeg, label) in made[shard::shards]:
                for extension, data in (("jpg", jpeg), ("cls", str(label).encode())):
                    member = tarfile.TarInfo(f"{i:05}.{extension}")
                    member.size = len(data)
                    tar.addfile(member, memory.BytesIO(data))
    return str(folder / f"{name}-{{0..{shards - 1}}}.tar")


def options(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--small", action="store_true", help="little data, for a test")
    return parser.parse_args()


def cpu_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Table:
    """Rows of a Markdown table, each measured: so many things, by wall clock and by CPU time."""

    def __init__(self, thing: str, per: int = 1000) -> None:
        self._per = per
        print(f"| | {thing}/s | CPU s per {per:,} |\n|---|---|---|")

    def row(self, name: str, work: Callable[[], int], repeat: int = 1) -> None:
        """`work` says how many things it did. The best of some rounds counts."""
        self.rows({name: work}, repeat)

    def rows(self, works: dict[str, Callable[[], int]], repeat: int = 1) -> None:
        """Rows measured in turns, so that a slow minute of the machine meets all of them."""
        rates, costs = dict.fromkeys(works, 0.0), dict.fromkeys(works, float("inf"))
        for _ in range(repeat):
            for name, work in works.items():
                cpu, begun = cpu_seconds(), time.perf_counter()
                count = work()
                rates[name] = max(rates[name], count / (time.perf_counter() - begun))
                costs[name] = min(costs[name], self._per * (cpu_seconds() - cpu) / count)
        for name in works:
            print(f"| {name} | {rates[name]:,.0f} | {costs[name]:.3f} |", flush=True)
