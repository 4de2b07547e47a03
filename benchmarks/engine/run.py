"""Measures penstock.pipeline beside its peers, in one run, and prints Markdown tables.

    run.py [--quick] [--rounds N] [case ...]      --install-peers fetches the peers first

Every figure comes from a process of its own. The contenders of a case take turns, round after
round, so that a change in the machine's load meets all of them.
"""

import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import cases
from common.command import options
from common.peers import PEERS, install

sys.path.append(str(PEERS / "spdl"))  # last: what .venv has comes first


@dataclass(frozen=True)
class Case:
    """A measurement: how much work for each contender (about a second each), how to show it."""

    title: str
    wanted: str
    function: str
    work: dict[str, int]
    arguments: tuple[int, ...] = ()
    unit: str = "items/s"
    repeat: int = 1  # more, shorter runs where the figure wanted is close


CASES = {
    "noop1": Case(
        "One no-op Python stage",
        "200 x spdl, 5 x threads + queue.Queue; goal 1,000,000/s",
        "noop",
        {"penstock": 800_000, "spdl": 2_000, "threads": 80_000, "asyncio": 150_000},
        (1,),
    ),
    "noop4": Case(
        "Four no-op Python stages",
        "200 x spdl",
        "noop",
        {"penstock": 300_000, "spdl": 800, "threads": 30_000, "asyncio": 60_000},
        (4,),
    ),
    "sha256": Case(
        "sha256 of 200 KB, concurrency 2",
        "95% of two independent threads",
        "sha256",
        {"penstock": 2_400, "two threads": 2_400, "threads": 2_400, "spdl": 800},
        repeat=4,
    ),
    "async": Case(
        "Async stage sleeping 1 ms, concurrency 64",
        "90% of 64 bare asyncio workers over one iterator",
        "async_sleep",
        {"penstock": 30_000, "asyncio": 30_000, "spdl": 2_000},
    ),
    "main": Case(
        "Pure-Python work in the main thread while one worker is busy: how much a 15 ms step slows",
        "slowed by less than 3%",
        "main_thread",
        {
            "penstock native": 6,
            "bare thread native": 6,
            "penstock": 6,
            "threads": 6,
            "spdl": 6,
        },
        unit="share",
        repeat=2,
    ),
    "start": Case(
        "Start to first item, stop from full queues; four no-op stages",
        "under 5 ms each",
        "start_stop",
        {"penstock": 15, "spdl": 8, "threads": 15},
        unit="s",
    ),
    "memory": Case(
        "Memory: growth from a tenth of the items to the end",
        "flat after 10 million items",
        "memory",
        {"penstock": 10_000_000},
        unit="bytes",
    ),
}
NOTES = {
    "main": "Median over pairs of series, worker idle and busy in turn, in one process. The worker "
    "decodes a large picture in C++ (native), or runs hashlib.sha256 over 64 MB again and again: a "
    "Python call that lets go of the GIL for long. The bare thread is no pipeline: what it costs "
    "is the hardware's share.",
    "memory": "Only Penstock: the peers would take minutes to hours for ten million items.",
}


def measure_here(name: str, contender: str, work: int, extra: list[int]) -> None:
    """In a process of its own: one contender, once."""
    case = CASES[name]
    if contender in ("penstock", "spdl"):
        importlib.import_module(f"{contender}.pipeline")  # not part of the time
    sample = getattr(cases, case.function)(contender, work, *case.arguments, *extra)
    with open("/proc/self/status") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    print(json.dumps({**asdict(sample), "peak": peak * 1024, "work": work}))


def measure(name: str, contender: str, work: int, extra: list[int]) -> dict[str, Any] | str:
    """A sample, or why there is none."""
    command = [sys.executable, __file__, "--one", name, contender, str(work), *map(str, extra)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "took over 600 s"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return json.loads(done.stdout.splitlines()[-1])


def amount(case: Case, work: int, quick: bool) -> int:
    if not quick:
        return work
    if case.function == "memory":
        return work // 10
    return max(work // 4 // 8 * 8, 5)


def run(name: str, rounds: int, quick: bool) -> None:
    case = CASES[name]
    extra = [cases.calibrate()] if case.function == "main_thread" else []
    samples: dict[str, list[dict[str, Any]]] = {contender: [] for contender in case.work}
    missing: dict[str, str] = {}
    if "spdl" in case.work and importlib.util.find_spec("spdl") is None:
        missing["spdl"] = "not installed (run with --install-peers)"
    for _ in range(1 if case.function == "memory" else rounds * case.repeat):
        for contender, work in case.work.items():
            if contender in missing:
                continue
            got = measure(name, contender, amount(case, work, quick), extra)
            if isinstance(got, str):
                missing[contender] = got
            else:
                samples[contender].append(got)
    print(f"\n### {case.title}\n\nWanted: {case.wanted}.{' ' if name in NOTES else ''}", end="")
    print(NOTES.get(name, ""), end="\n\n")
    {"memory": show_memory}.get(case.function, show)(case, samples)
    for contender, why in missing.items():
        print(f"\n{contender}: no figure: {why}")
    sys.stdout.flush()


def figure(case: Case, value: float) -> str:
    if case.unit == "items/s":
        return f"{value:,.0f}"
    return f"{value:+.1%}" if case.unit == "share" else f"{value * 1e3:.2f} ms"


def show(case: Case, samples: dict[str, list[dict[str, Any]]]) -> None:
    """Best and median of the rounds; the ratios are Penstock's figure over the contender's."""
    pick = max if case.unit == "items/s" else min
    ours = [sample["value"] for sample in samples["penstock"]]
    stops = case.function == "start_stop"
    rows = ["| | best | median | penstock / it, best | median | CPU s | peak MB | checked |"]
    if stops:
        rows = ["| | start: best | median | stop: best | median | CPU s | peak MB | checked |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for contender, taken in samples.items():
        if not taken:
            continue
        values = [sample["value"] for sample in taken]
        cells = [contender, figure(case, pick(values)), figure(case, statistics.median(values))]
        if stops:
            stopped = [sample["extra"]["stop"] for sample in taken]
            cells += [figure(case, min(stopped)), figure(case, statistics.median(stopped))]
        elif ours and case.unit != "share":
            cells.append(f"{pick(ours) / pick(values):.3g}")
            cells.append(f"{statistics.median(ours) / statistics.median(values):.3g}")
        else:
            cells += ["", ""]
        cpu = statistics.median(sample["cpu"] for sample in taken)
        wall = statistics.median(sample["seconds"] for sample in taken)
        cells.append(f"{cpu:.2f} in {wall:.2f} s")
        cells.append(f"{max(sample['peak'] for sample in taken) / 1e6:.0f}")
        cells.append(taken[-1]["checked"])
        rows.append("| " + " | ".join(cells) + " |")
    print("\n".join(rows))


def show_memory(case: Case, samples: dict[str, list[dict[str, Any]]]) -> None:
    print(
        "| | after a tenth | at the end | growth | items/s | checked |\n|---|---|---|---|---|---|"
    )
    for contender, taken in samples.items():
        for one in taken:
            early, late = (one["extra"][when] / 1e6 for when in ("early", "late"))
            print(
                f"| {contender} | {early:.1f} MB | {late:.1f} MB | {late - early:+.2f} MB "
                f"| {one['work'] / one['seconds']:,.0f} | {one['checked']} |"
            )


def version(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is missing"


def machine() -> str:
    with open("/proc/cpuinfo") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0))
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{cores} cores ({models[0] if models else platform.machine()}), Linux, "
        f"Python {platform.python_version()}, {version('penstock')}, {version('spdl')}; "
        f"load at the start {load}"
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        name, contender, work, *extra = sys.argv[2:]
        measure_here(name, contender, int(work), [int(one) for one in extra])
        return
    chosen = options(__doc__, CASES, quick="a quarter of the work")
    if chosen.install_peers:
        install(["spdl"])
    print(f"{machine()}. {chosen.rounds} rounds, taking turns. Sinks of {cases.flows.SINK}.")
    for name in chosen.cases:
        run(name, chosen.rounds, chosen.quick)


if __name__ == "__main__":
    main()
