"""Measures image loading by Penstock and its peers, in one run, and prints Markdown tables.

    run.py [--quick] [--rounds N] [case ...]      --install-peers fetches the peers first

Every figure comes from a process of its own. The contenders of a case take turns, round after
round, each time in another order, so that a change in the machine's load meets all of them. Before
that each has its output compared with Pillow's.
"""

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cases import CASES, CONTENDERS, REQUIREMENTS, Case
from processes import spawn, tree_cpu

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "bench-peers"
CORPUS = ROOT / "build" / "bench-images"


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
    got = 0
    for batch in flow:
        got += len(batch)
        ended, cpu_ended = time.perf_counter(), tree_cpu(os.getpid())
        if work.batch > 1 and tuple(batch.shape[1:]) != work.shape(1)[1:]:
            raise ValueError(f"a batch of shape {tuple(batch.shape)}")
    if got != count:
        raise ValueError(f"{got} images instead of {count}")
    print(json.dumps({"seconds": ended - begun, "cpu": cpu_ended - cpu, "images": got}))


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
    samples: dict[str, list[dict[str, Any]]] = {name: [] for name in checks}
    order = list(samples)
    for turn in range(rounds):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            got = start("--one", key, name, str(count))
            if isinstance(got, str):
                missing[name] = got
            else:
                samples[name].append(got)
    print(f"\n### {case.title}\n\nWanted: {case.wanted}. {count} images a round.\n")
    show(case, samples, checks)
    for name, why in missing.items():
        print(f"\n{name}: no figure: {why}")
    sys.stdout.flush()


def described(name: str, case: Case, difference: float) -> str:
    if name == "mlx-data" and case.work["kind"] == "random":
        return "count, shape (draws its own crops)"
    return f"count, shape, {difference:.2f} off Pillow"


def show(case: Case, samples: dict[str, list[dict[str, Any]]], checks: dict[str, str]) -> None:
    """Medians of the rounds. A ratio is the median of the rounds' own ratios to our first row."""
    rates = {
        name: [one["images"] / one["seconds"] for one in taken]
        for name, taken in samples.items()
        if taken
    }
    ours = rates.get(case.contenders[0], [])
    first = samples.get(case.contenders[0]) or [{"cpu": float("nan"), "images": 1}]
    our_cpu = statistics.median(1000 * one["cpu"] / one["images"] for one in first)
    print("| | images/s | range | times us | CPU s per 1000 | times us | peak MB | checked |")
    print("|---|---|---|---|---|---|---|---|")
    for name, values in sorted(rates.items(), key=lambda one: -statistics.median(one[1])):
        ratio = statistics.median(
            [its / our for its, our in zip(values, ours, strict=False)] or [float("nan")]
        )
        cpu = statistics.median(1000 * one["cpu"] / one["images"] for one in samples[name])
        cells = [
            name + (f" ({CONTENDERS[name].note})" if CONTENDERS[name].note else ""),
            f"{statistics.median(values):,.0f}",
            f"{min(values):,.0f} to {max(values):,.0f}",
            f"{ratio:.2f}",
            f"{cpu:.2f}",
            f"{cpu / our_cpu:.2f}",
            f"{max(one['peak'] for one in samples[name]) / 1e6:.0f}",
            checks[name],
        ]
        print("| " + " | ".join(cells) + " |")


# ---- setting up


def install_peers() -> None:
    """Each peer has a folder of its own: they do not agree on versions of what they share."""
    for name, packages in REQUIREMENTS.items():
        folder = PEERS / "images" / name
        stamp = folder / "requirements.txt"
        if stamp.exists() and stamp.read_text().split() == packages:
            continue
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--upgrade", "--target", str(folder), *packages])
        if done.returncode == 0:
            stamp.write_text("\n".join(packages) + "\n")
        else:
            print(f"{name} could not be installed; it is left out")


def machine() -> str:
    with open("/proc/cpuinfo") as file:
        lines = file.read().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    widest = next((one for one in ("avx512bw", "avx2", "sse4_1") if one in flags), "")
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{len(os.sched_getaffinity(0))} cores ({platform.machine()}, {widest}), Linux, Python "
        f"{platform.python_version()}; load at the start {load}"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(CASES[sys.argv[2]], sys.argv[3], int(sys.argv[4]))
    if sys.argv[1:2] == ["--check"]:
        return check_here(CASES[sys.argv[2]], sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of: {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="a third of the images, three rounds")
    parser.add_argument("--rounds", type=int, help="how often each contender runs (5)")
    parser.add_argument("--install-peers", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="a contender; may be repeated")
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    import corpus

    corpus.make(CORPUS)
    if options.install_peers:
        install_peers()
    rounds = options.rounds or (3 if options.quick else 5)
    print(f"{machine()}. {rounds} rounds, taking turns; two threads unless it says one.")
    for key in options.cases or CASES:
        run(key, rounds, options.quick, options.only)


if __name__ == "__main__":
    main()
