"""Measures datasets of tar shards by Penstock and its peers, in one run; prints Markdown tables.

    run.py [--quick] [--rounds N] [case ...]      --install-peers fetches the peers first

Every figure comes from a process of its own, and the contenders of a case take turns. Before that
each makes a pass whose samples are compared with those that Python's tarfile finds.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import torch_loader
from cases import CASES, Case
from common.cached import files_below, read_again
from common.command import options
from common.peers import PEERS, ROOT, install, machine
from common.processes import spawn, tree_cpu
from common.turns import table, take_turns

HERE = Path(__file__).resolve().parent
SHARDS = ROOT / "build" / "bench-datasets"
IMAGES = ROOT / "build" / "bench-images"


# ---- in a process of its own


def begin_of(case: Case, name: str) -> Any:
    import shards

    module, function = case.contenders[name].place.split(".")
    return getattr(importlib.import_module(module), function)(shards.paths(SHARDS, case.shards))


def size_of(got: Any) -> int:
    """How many samples there are in what a pass gives: images and labels, columns, or a sample."""
    if isinstance(got, dict):
        column = next(iter(got.values()))
        return len(column) if isinstance(column, list) else 1
    return len(got[0])


def measure_here(case: Case, name: str, passes: int) -> None:
    """Runs one contender once: the time and CPU time from ready to the last sample."""
    begin = begin_of(case, name)
    got = 0
    begun, cpu = time.perf_counter(), tree_cpu(os.getpid())
    for _ in range(passes):
        flow = iter(begin())
        first = next(flow)
        got += size_of(first)
        if isinstance(first, dict) and not isinstance(next(iter(first.values())), list):
            for _ in flow:
                got += 1
        else:
            for batch in flow:
                got += size_of(batch)
    ended, cpu_ended = time.perf_counter(), tree_cpu(os.getpid())
    print(json.dumps({"seconds": ended - begun, "cpu": cpu_ended - cpu, "count": got}))


def check_here(case: Case, name: str) -> None:
    """A pass against what tarfile finds. Prints what was compared."""
    import numpy as np
    import shards

    begin = begin_of(case, name)
    expected = shards.sum_of(shards.paths(SHARDS, case.shards))
    if case.contenders[name].place.startswith("crops."):
        count, labels = 0, []
        for images, some in begin():
            if tuple(images.shape[1:]) != (224, 224, 3):
                raise ValueError(f"a batch of shape {tuple(images.shape)}")
            if not 20 < float(np.asarray(images).mean()) < 235:
                raise ValueError("these are not photographs")
            count += len(images)
            labels += [int(label) for label in some]
        if count != expected.count or sorted(labels) != sorted(i % 1000 for i in range(count)):
            raise ValueError(f"{count} images of {expected.count}, or other labels")
        print(json.dumps({"checked": "count, shape, labels"}))
        return
    got = shards.Sum()
    for one in begin():
        columns = {field: value for field, value in one.items() if not field.startswith("__")}
        if isinstance(next(iter(columns.values())), list):
            for row in zip(*columns.values(), strict=True):
                got.add(dict(zip(columns, row, strict=True)))
        else:
            got.add(columns)
    if (got.count, got.total) != (expected.count, expected.total):
        raise ValueError(f"{got.count} samples of {expected.count}, or other bytes")
    print(json.dumps({"checked": "every byte"}))


# ---- tables


def run(key: str, rounds: int, quick: bool, only: list[str]) -> None:
    case = CASES[key]
    passes = max(case.passes // 2, 1) if quick else case.passes

    def start(mode: str, name: str) -> dict[str, Any] | str:
        folder = case.contenders[name].folder
        command = [sys.executable, str(HERE / "run.py"), mode, key, name, str(passes)]
        return spawn(command, str(PEERS / folder) if folder else "")

    checks, missing = {}, {}
    for name in case.contenders:
        if only and name not in only:
            continue
        got = start("--check", name)
        if isinstance(got, str):
            missing[name] = got
        else:
            checks[name] = got["checked"]
    turns, failed = take_turns(list(checks), rounds, lambda name: start("--one", name))
    print(f"\n### {case.title}\n\nWanted: {case.wanted}. {passes} passes a round.\n")
    notes = {name: one.note for name, one in case.contenders.items()}
    table("samples", turns, next(iter(case.contenders)), notes, checks)
    for name, why in (missing | failed).items():
        print(f"\n{name}: no figure: {why}")
    sys.stdout.flush()


def moments() -> None:
    """Single moments, in processes of their own."""
    import shards

    images = shards.paths(SHARDS, "images")

    def ask(*arguments: str) -> dict[str, Any]:
        got = spawn([sys.executable, str(HERE / "moments.py"), *arguments], "")
        if isinstance(got, str):
            raise RuntimeError(f"{arguments[0]}: {got}")
        return got

    first, sampler = ask("first_batch"), ask("torch_sampler")
    token, resume = ask("token", *images), ask("resume", *images)
    print("\n### Moments\n\n| | figure | wanted |\n|---|---|---|")
    print(
        f"| first batch of a billion samples, shuffled | {first['huge_ms']:.1f} ms, "
        f"{first['grown_mb']:.1f} MB (a thousand: {first['thousand_ms']:.1f} ms) | 50 ms, 50 MB |"
    )
    print(
        f"| torch's RandomSampler, first index of ten million | {sampler['ms']:.0f} ms, "
        f"{sampler['grown_mb']:.0f} MB | |"
    )
    print(f"| state_dict | {token['bytes']} bytes, {token['us']:.1f} us | 4 KB, 100 us |")
    print(
        f"| new loader to its first batch at 37% / at the beginning | {resume['resumed_ms']:.1f} / "
        f"{resume['fresh_ms']:.1f} ms | the same |"
    )
    sys.stdout.flush()


def make_shards() -> None:
    import shards

    # The photographs of the image benchmark.
    sys.path.append(str(HERE.parent / "images"))
    import corpus

    corpus.make(IMAGES)
    shards.make(SHARDS, [picture.path for picture in corpus.pictures(IMAGES, "small")])
    read_again(files_below(SHARDS))


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(CASES[sys.argv[2]], sys.argv[3], int(sys.argv[4]))
    if sys.argv[1:2] == ["--check"]:
        return check_here(CASES[sys.argv[2]], sys.argv[3])
    known = [*CASES, "moments", "torch"]
    chosen = options(__doc__, known, quick="half the passes", only=True)
    if chosen.install_peers:
        cases = [CASES[key] for key in chosen.cases if key in CASES]
        install(one.folder for case in cases for one in case.contenders.values())
    make_shards()
    print(f"{machine()}. {chosen.rounds} rounds, taking turns; two threads.")
    for key in chosen.cases:
        if key == "moments":
            moments()
        elif key == "torch":
            torch_loader.show(torch_loader.rows(rounds=chosen.rounds))
        else:
            run(key, chosen.rounds, chosen.quick, chosen.only)


if __name__ == "__main__":
    main()
