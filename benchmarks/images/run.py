"""Measures image loading by Penstock and its peers, in one run, and prints Markdown tables.

    run.py [--quick] [--rounds N] [case ...]      --install-peers fetches the peers first

Every figure comes from a process of its own. The contenders of a case take turns, round after
round, each time in another order, so that a change in the machine's load meets all of them. Before
that each has its output compared with Pillow's.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from cases import CASES, CONTENDERS, Case
from common.command import options
from common.peers import PEERS, ROOT, install, machine
from common.processes import spawn, tree_cpu
from common.turns import table, take_turns

CORPUS = ROOT / "build" / "bench-images"
DRAW_CROPS = ("mlx-data", "penstock loader", "FFCV")  # of their own


# ---- in a process of its own


def contender_of(name: str) -> Any:
    module, function = CONTENDERS[name].place.split(".")
    return getattr(importlib.import_module(module), function)


def pictures_of(case: Case, count: int) -> tuple[Any, list[Any]]:
    import corpus
    from work import Work

    work = Work(**case.work)
    pictures = corpus.pictures(CORPUS, work.pictures)
    if work.kind == "resize":
        pictures = pictures[:4]  # they stay in cache, as rows do that have just been decoded
    return work, (pictures * (count // len(pictures) + 1))[:count]


def measure_here(case: Case, name: str, count: int) -> None:
    """Runs one contender once: the time and CPU time from ready to the last batch."""
    work, pictures = pictures_of(case, count)
    flow = contender_of(name)(pictures, work)
    next(flow)
    begun, cpu = time.perf_counter(), tree_cpu(os.getpid())
    got, ended, cpu_ended = 0, begun, cpu
    for batch in flow:
        got += len(batch)
        if got == count:
            ended, cpu_ended = time.perf_counter(), tree_cpu(os.getpid())
        if work.batch > 1 and tuple(batch.shape[1:]) != work.shape(1)[1:]:
            raise ValueError(f"a batch of shape {tuple(batch.shape)}")
    if got != count:
        raise ValueError(f"{got} images instead of {count}")
    print(json.dumps({"seconds": ended - begun, "cpu": cpu_ended - cpu, "count": got}))


def check_here(case: Case, name: str) -> None:
    """Compares the first batches with Pillow's pixels, or tells why it cannot."""
    import numpy as np
    from work import difference

    work, pictures = pictures_of(case, max(case.work["batch"], 32))
    flow = contender_of(name)(pictures, work)
    next(flow)
    total, done = 0.0, 0
    for batch in flow:
        some = pictures[done : done + len(batch)]
        total += difference(np.asarray(batch), some, work) * len(batch)
        done += len(batch)
    if done != len(pictures):
        raise ValueError(f"{done} images instead of {len(pictures)}")
    print(json.dumps({"difference": total / done}))


# ---- tables


def start(mode: str, case: str, name: str, *more: str) -> dict[str, Any] | str:
    folder = CONTENDERS[name].folder
    command = [sys.executable, __file__, mode, case, name, *more]
    return spawn(command, str(PEERS / folder) if folder else "")


def run(key: str, rounds: int, quick: bool, only: list[str]) -> None:
    case = CASES[key]
    count = case.images
    if quick:
        count = max(count // 3 // case.work["batch"], 2) * case.work["batch"]
    checks: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name in only or case.contenders:
        if name not in case.contenders:
            continue
        got = start("--check", key, name)
        if isinstance(got, str):
            missing[name] = got
        else:
            checks[name] = described(name, case, got["difference"])
    turns, failed = take_turns(
        list(checks), rounds, lambda name: start("--one", key, name, str(count))
    )
    print(f"\n### {case.title}\n\nWanted: {case.wanted}. {count} images a round.\n")
    notes = {name: one.note for name, one in CONTENDERS.items()}
    table("images", turns, case.contenders[0], notes, checks)
    for name, why in (missing | failed).items():
        print(f"\n{name}: no figure: {why}")
    sys.stdout.flush()


def described(name: str, case: Case, difference: float) -> str:
    if name in DRAW_CROPS and case.work["kind"] == "random":
        return "count, shape (draws its own crops)"
    return f"count, shape, {difference:.2f} off Pillow"


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(CASES[sys.argv[2]], sys.argv[3], int(sys.argv[4]))
    if sys.argv[1:2] == ["--check"]:
        return check_here(CASES[sys.argv[2]], sys.argv[3])
    chosen = options(__doc__, CASES, quick="a third of the images", only=True)
    if chosen.install_peers:
        names = [name for key in chosen.cases for name in CASES[key].contenders]
        install(CONTENDERS[name].folder for name in names)
    import corpus

    corpus.make(CORPUS)
    print(f"{machine()}. {chosen.rounds} rounds, taking turns; two threads unless it says one.")
    for key in chosen.cases:
        run(key, chosen.rounds, chosen.quick, chosen.only)


if __name__ == "__main__":
    main()
