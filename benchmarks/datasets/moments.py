"""Single moments: the first batch of a huge dataset, the token, going on in mid-epoch."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from common.processes import peak_memory

HUGE = 10**9
TRIES = 15


class Numbers:
    """A sequence that takes no memory: a synthetic index."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        return i


def main() -> None:
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2:])))


def first_batch(_: list[str]) -> dict[str, Any]:
    """From the list to its first batch; what is imported does not count."""
    import penstock as ps

    next(iter(ps.from_list([1]).batch(1).loader(threads=2)))
    before = peak_memory()
    times = {}
    for n in (1000, HUGE):
        taken = []
        for seed in range(TRIES):
            begun = time.perf_counter()
            loader = ps.from_list(Numbers(n)).shuffle(seed=seed).batch(256).loader(threads=2)
            batch = next(iter(loader))
            taken.append(time.perf_counter() - begun)
            assert len(set(batch["data"].tolist())) == 256
            loader.close()
        times[n] = statistics.median(taken) * 1000
    grown = (peak_memory() - before) / 1e6
    return {"thousand_ms": times[1000], "huge_ms": times[HUGE], "grown_mb": grown}


def torch_sampler(_: list[str]) -> dict[str, Any]:
    """The same with torch's sampler, for a hundredth of the samples."""
    import torch.utils.data

    before = peak_memory()
    begun = time.perf_counter()
    next(iter(torch.utils.data.RandomSampler(range(HUGE // 100))))
    taken = time.perf_counter() - begun
    grown = (peak_memory() - before) / 1e6
    return {"ms": taken * 1000, "grown_mb": grown}


def token(shards: list[str]) -> dict[str, Any]:
    import penstock as ps

    ds = ps.open(shards).shuffle(seed=1).decode("cls").batch(64)
    loader = ds.loader(threads=2)
    batches = iter(loader)
    next(batches)
    taken = []
    for _ in range(1000):
        begun = time.perf_counter()
        state = loader.state_dict()
        taken.append(time.perf_counter() - begun)
    return {"bytes": len(json.dumps(state)), "us": statistics.median(taken) * 1e6}


def resume(shards: list[str]) -> dict[str, Any]:
    """From a new loader to its first batch: at the beginning, and at 37% of the epoch."""
    import penstock as ps

    def dataset() -> Any:
        work = {"size": (224, 224), "crop": "random_resized", "flip": 0.5}
        ds = ps.open(shards).shuffle(seed=1).decode("cls")
        return ds.decode_image("jpg", **work).select("jpg", "cls").batch(64)

    whole = dataset().loader(threads=2)
    upto = int(len(whole) * 0.37)
    batches = iter(whole)
    for _ in range(upto):
        next(batches)
    state = whole.state_dict()
    expected = next(batches)
    whole.close()
    fresh, resumed = [], []
    for turn in range(2 * TRIES):
        begun = time.perf_counter()
        loader = dataset().loader(threads=2)
        if turn % 2:
            loader.load_state_dict(state)
        batch = next(iter(loader))
        (resumed if turn % 2 else fresh).append(time.perf_counter() - begun)
        if turn % 2 and (batch["jpg"] != expected["jpg"]).any():
            raise ValueError("another batch than without the interruption")
        loader.close()
    return {
        "fresh_ms": statistics.median(fresh) * 1000,
        "resumed_ms": statistics.median(resumed) * 1000,
    }


if __name__ == "__main__":
    main()
