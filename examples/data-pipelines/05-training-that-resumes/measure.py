"""Steps a second with torch's DataLoader, with Penstock's threads, with native decoding.

The model, the size of batches and the decoder are the same in all rows; what differs is who calls
it. The best of three rounds in which all variants took turns; starting workers is counted, too.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import penstock as ps
import torch
import train
from penstock import io
from penstock.dataloader import PyTorchDataLoader
from samples import Table, make_shards, options
from torch import nn
from torch.utils.data import DataLoader

Pair = tuple[torch.Tensor, torch.Tensor]


def decoded(jpeg: bytes, position: int) -> np.ndarray:
    made = io.decode_image(
        jpeg, size=train.SIZE, crop="random_resized", flip=0.5, position=position
    )
    return ((np.asarray(made, np.float32) - 127.5) / 64).transpose(2, 0, 1)


class Pictures(torch.utils.data.Dataset):
    """What a program for torch has: one sample at a time, made in Python."""

    def __init__(self, data: ps.Dataset) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        sample = self._data[index]
        return decoded(bytes(sample["jpg"]), index), int(bytes(sample["cls"]))


def epochs(loader: Iterable, count: int) -> Iterator[Pair]:
    for _ in range(count):
        yield from loader


def pairs(loader: ps.Loader, count: int) -> Iterator[Pair]:
    return ((batch["jpg"], batch["cls"]) for batch in epochs(loader, count))


def in_python(data: ps.Dataset) -> ps.Loader:
    """A Penstock loader whose samples are made by a Python function."""

    def make(sample: dict) -> dict:
        jpg = decoded(bytes(sample["jpg"]), int(sample["__key__"]))
        return {"jpg": jpg, "cls": int(bytes(sample["cls"]))}

    plan = data.shuffle(seed=0).map(make, concurrency=2)
    return plan.batch(train.BATCH).loader(output="torch", threads=2)


def trained(batches: Iterable[Pair], after: Callable[..., None] | None = None) -> int:
    """The steps of train.py, one for each batch."""
    model, count = train.make_model(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for pictures, classes in batches:
        loss = nn.functional.cross_entropy(model(pictures), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        count += 1
        if after is not None:
            after(model=model.state_dict(), optimizer=optimizer.state_dict())
    return count


def main() -> None:
    small = options(__doc__).small
    count, passes, repeat = (64, 1, 1) if small else (400, 4, 3)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        shards = make_shards(Path(folder), count)
        data = ps.open(shards)
        dataset = Pictures(data)

        def torch_loader(workers: int) -> int:
            kept = workers > 0
            loader = DataLoader(
                dataset, train.BATCH, True, num_workers=workers, persistent_workers=kept
            )
            return trained(epochs(loader, passes))

        def threads() -> int:
            loader = PyTorchDataLoader(dataset, train.BATCH, shuffle=True, num_workers=2)
            return trained(epochs(loader, passes))

        def native(**given: int) -> int:
            return trained(pairs(train.make_loader(shards, **given), passes))

        def saving() -> int:
            loader, path = train.make_loader(shards, threads=2), Path(folder) / "state.pt"

            def save(**state: object) -> None:
                train.save(path, loader=json.dumps(loader.state_dict()), **state)

            return trained(pairs(loader, passes), save)

        held = next(pairs(train.make_loader(shards), 1))
        steps = passes * count // train.BATCH
        Table("steps").rows(
            {
                "torch `DataLoader`, no workers": lambda: torch_loader(0),
                "torch `DataLoader`, 2 processes": lambda: torch_loader(2),
                "`PyTorchDataLoader`, 2 threads": threads,
                "`map` in Python, 2 threads": lambda: trained(pairs(in_python(data), passes)),
                "native, 1 thread": lambda: native(threads=1),
                "native, 2 threads": lambda: native(threads=2),
                "and `prefetch=8`": lambda: native(threads=2, prefetch=8),
                "and a checkpoint after every step": saving,
                "one batch, again and again": lambda: trained([held] * steps),
            },
            repeat,
        )


if __name__ == "__main__":
    main()
