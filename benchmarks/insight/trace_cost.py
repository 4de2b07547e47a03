"""What a trace costs: CPU seconds with and without one, in turns, and what a file is like.

    trace_cost.py [case ...] [--rounds N]

A round is one short pass with a trace and two without, in one process, each time in another order.
The figure is the median over the rounds of the CPU time with a trace over the mean of the two
without, with the range in which the median is in 95 of 100 cases. Beside it the same for one pass
without over the other, which should be nothing.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import penstock as ps
from penstock.demo._shards import pack
from penstock.insight import trace
from penstock.pipeline import PipelineBuilder


def images(folder: Path) -> Callable[[], None]:
    pack(folder)
    plan = (
        ps.open(str(folder / "demo-{0..3}.tar"))
        .shuffle(seed=1)
        .decode_image(size=(224, 224), crop="random_resized", flip=0.5)
        .take(512)
        .batch(32)
    )
    loader = plan.loader()

    def run() -> None:
        for _ in loader:
            pass

    return run


def python_calls(microseconds: float, count: int) -> Callable[[], None]:
    def spin(x: int) -> int:
        end = time.perf_counter_ns() + int(microseconds * 1000)
        while time.perf_counter_ns() < end:
            pass
        return x

    op = spin if microseconds > 0 else abs

    def run() -> None:
        pipeline = PipelineBuilder().add_source(range(count)).pipe(op).add_sink(8)
        built = pipeline.build(num_threads=1)
        with built.auto_stop():
            for _ in built:
                pass

    return run


def cpu(run: Callable[[], None], path: Path | None) -> float:
    if path is not None:
        recorder = trace(path).start()
    begun = time.process_time()
    run()
    used = time.process_time() - begun
    if path is not None:
        recorder.stop()
    return used


def compare(name: str, run: Callable[[], None], rounds: int, path: Path) -> None:
    run()
    costs, noise = [], []
    for number in range(rounds):
        names = ["trace", "one", "other"]
        used = {
            name: cpu(run, path if name == "trace" else None)
            for name in names[number % 3 :] + names[: number % 3]
        }
        costs.append(2 * used["trace"] / (used["one"] + used["other"]) - 1)
        noise.append(used["one"] / used["other"] - 1)
    events = json.loads(path.read_text())["traceEvents"]
    slices = sum(one["ph"] == "X" for one in events)
    print(
        f"| {name} | {median(costs)} | {median(noise)} | "
        f"{slices:,} | {path.stat().st_size / 1e6:.1f} MB |",
        flush=True,
    )


def median(values: list[float]) -> str:
    """The median, and between which two values it is: those so many places before and after it."""
    ordered = sorted(values)
    half, places = len(ordered) // 2, round(0.98 * len(ordered) ** 0.5)
    low, high = ordered[max(half - places, 0)], ordered[min(half + places, len(ordered) - 1)]
    return f"{statistics.median(ordered):+.1%} ({low:+.1%} to {high:+.1%})"


CASES: dict[str, tuple[str, Callable[[Path], Callable[[], None]]]] = {
    "images": ("images: read, decode, crop, batch", images),
    "100us": ("Python calls of 100 us", lambda _: python_calls(100, 600)),
    "20us": ("Python calls of 20 us", lambda _: python_calls(20, 3_000)),
    "nothing": ("Python calls of nothing", lambda _: python_calls(0, 200_000)),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="*", choices=[*CASES, []], help=f"of: {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    print("| | with a trace | without, twice | slices | file |\n|---|---|---|---|---|")
    for case in options.case or CASES:
        title, prepare = CASES[case]
        with tempfile.TemporaryDirectory() as folder:
            run = prepare(Path(folder))
            compare(title, run, options.rounds, Path(folder) / "trace.json")


if __name__ == "__main__":
    main()
