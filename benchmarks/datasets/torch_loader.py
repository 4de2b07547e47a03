"""Measures PyTorchDataLoader beside torch's DataLoader on datasets that stay as they are.

    torch_loader.py [--rounds N] [--images N] [job ...]

Every figure comes from a process of its own, and the contenders take turns. Both have two workers.

- samples/s: a whole epoch, from iter() to the last batch.
- start-up: from iter() to the first call of the dataset's __getitem__.
- first batch: from iter() to the first batch; the work for it is in there.
- memory: what the loader adds at the peak, over the process and its workers, looked at ten times a
  second: in proportional sizes (PSS: a page that n processes share counts 1/n in each) and in
  resident sizes (RSS: it counts in full in each). In brackets what there was before the loader:
  torch, mostly, and the dataset.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "images"))

from common.peers import ROOT, machine
from common.processes import descendants, tree_cpu

IMAGES = ROOT / "build" / "bench-images"
JOBS = {
    "decode": "Pillow: decode, resize to 224",
    "gil": "Pillow: decode, resize to 224, and 3 ms of pure Python, which hold the GIL",
    "paths": "No images: a list of 500,000 paths and labels, of which each is looked at once",
}
BATCHES = {"decode": 32, "gil": 32, "paths": 256}
CONTENDERS = ("penstock threads", "penstock processes", "torch")
PATHS = 500_000
WORKERS = 2


# ---- in a process of its own


class Paths:
    """What an image folder has in memory, without the images."""

    def __init__(self, samples: list[tuple[str, int]]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> int:
        path, label = self.samples[index]
        return label + len(path)


def make_dataset(job: str, count: int, first_call: Any) -> Any:
    import corpus
    import numpy as np
    import torch
    from PIL import Image

    if job == "paths":
        return Paths([(f"train/n{i % 1000:08}/image-{i:08}.jpg", i % 1000) for i in range(PATHS)])
    paths = [picture.path for picture in corpus.pictures(IMAGES, "small")]

    class Pictures(torch.utils.data.Dataset):
        """As anybody writes it."""

        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> Any:
            if first_call.value == 0:
                first_call.value = time.monotonic()
            image = Image.open(paths[index % len(paths)]).convert("RGB").resize((224, 224))
            if job == "gil":
                hold_the_gil()
            return torch.from_numpy(np.array(image)).permute(2, 0, 1), index

    return Pictures()


def hold_the_gil() -> int:
    total = 0
    for number in range(60_000):
        total += number
    return total


def measure_here(job: str, contender: str, count: int) -> None:
    import multiprocessing

    import torch

    torch.set_num_threads(1)
    first_call = multiprocessing.RawValue("d", 0.0)
    dataset = make_dataset(job, count, first_call)
    options = {"batch_size": BATCHES[job], "shuffle": True, "num_workers": WORKERS}
    if contender.startswith("penstock"):
        from penstock.dataloader import PyTorchDataLoader

        executor = "process" if contender.endswith("processes") else "thread"
        loader = PyTorchDataLoader(dataset, **options, executor=executor)
    else:
        loader = torch.utils.data.DataLoader(dataset, **options)
    print(json.dumps({"before": memory_of(os.getpid())}), flush=True)
    got, cpu, begun = 0, tree_cpu(os.getpid()), time.monotonic()
    batches = iter(loader)
    for batch in batches:
        images = batch if job == "paths" else batch[0]
        if got == 0:
            first = time.monotonic() - begun
        got += len(images)
    ended = time.monotonic()
    shape = () if job == "paths" else (3, 224, 224)
    if got != len(dataset) or tuple(images.shape[1:]) != shape:
        raise ValueError(f"{got} images of shape {tuple(images.shape)}")
    print(
        json.dumps(
            {
                "rate": got / (ended - begun),
                "cpu": (tree_cpu(os.getpid()) - cpu) / got * 1000,
                "startup": max(first_call.value - begun, 0),
                "first": first,
            }
        )
    )


# ---- around it


def memory_of(pid: int) -> dict[str, int]:
    """Bytes of a process and its children, shared pages by share and in full."""
    total = {"pss": 0, "rss": 0}
    for one in descendants(pid):
        try:
            with open(f"/proc/{one}/smaps_rollup") as file:
                for line in file:
                    name, _, rest = line.partition(":")
                    if name in ("Pss", "Rss"):
                        total[name.lower()] += int(rest.split()[0]) * 1024
        except OSError:
            pass  # it has ended meanwhile
    return total


def one_turn(job: str, contender: str, count: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", job, contender, str(count)]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    peak = {"pss": 0, "rss": 0}
    while process.poll() is None:
        now = memory_of(process.pid)
        peak = {name: max(peak[name], now[name]) for name in peak}
        time.sleep(0.1)
    assert process.stdout is not None
    before, result = map(json.loads, process.stdout.read().splitlines())
    return {**result, **peak, **{f"{name}_before": size for name, size in before["before"].items()}}


def rows(
    jobs: Sequence[str] = tuple(JOBS),
    rounds: int = 5,
    count: int = 1024,
    contenders: Sequence[str] = CONTENDERS,
) -> list[dict[str, Any]]:
    """One row for each job and contender: medians over the rounds. One of them must be torch."""
    taken: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for job in jobs:
        for turn in range(rounds):
            first = turn % len(contenders)
            for contender in [*contenders[first:], *contenders[:first]]:
                taken.setdefault((job, contender), []).append(one_turn(job, contender, count))
    made = []
    for (job, contender), turns in taken.items():
        row: dict[str, Any] = {"job": job, "contender": contender, "rounds": rounds}
        row |= {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
        theirs = taken[job, "torch"]
        row["times_torch"] = statistics.median(
            ours["rate"] / their["rate"] for ours, their in zip(turns, theirs, strict=True)
        )
        made.append(row)
    return made


def show(made: list[dict[str, Any]]) -> None:
    for job, title in JOBS.items():
        some = [row for row in made if row["job"] == job]
        if not some:
            continue
        print(f"\n### PyTorchDataLoader, two workers, batches of {BATCHES[job]}. {title}\n")
        print(
            "| | samples/s | times torch | CPU s per 1000 | start-up ms | first batch ms ", end=""
        )
        print("| PSS added, MB | RSS added, MB |\n|---|---|---|---|---|---|---|---|")
        for row in some:
            cells = [
                row["contender"],
                f"{row['rate']:.0f}",
                f"{row['times_torch']:.2f}",
                f"{row['cpu']:.2f}",
                f"{row['startup'] * 1e3:.1f}" if row["startup"] else "",
                f"{row['first'] * 1e3:.0f}",
                *(
                    f"{(row[name] - row[f'{name}_before']) / 1e6:.0f} "
                    f"({row[f'{name}_before'] / 1e6:.0f})"
                    for name in ("pss", "rss")
                ),
            ]
            print("| " + " | ".join(cells) + " |")


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", metavar="job", help=f"of: {', '.join(JOBS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=1024, help="in an epoch")
    parser.add_argument("--processes", action="store_true", help="also with executor='process'")
    options = parser.parse_args()
    import corpus

    corpus.make(IMAGES)
    print(f"{machine()}. {options.rounds} rounds, taking turns.")
    contenders = [name for name in CONTENDERS if options.processes or "processes" not in name]
    show(rows(options.jobs or tuple(JOBS), options.rounds, options.images, contenders))


if __name__ == "__main__":
    main()
