"""What a trace costs: CPU seconds with and without one, in turns, and what a file is like.

    trace_cost.py [--rounds N]

A round is one short pass with a trace and two without, in one process, each time in another order.
What others do on the machine only adds: the figure is the least CPU time with a trace over the
least without. Beside it the same for the two passes without, which is the noise.
"""

import argparse
import json
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
        .take(128)
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
    least = dict.fromkeys(["trace", "one", "other"], float("inf"))
    for number in range(rounds):
        names = list(least)
        for one in names[number % 3 :] + names[: number % 3]:
            least[one] = min(least[one], cpu(run, path if one == "trace" else None))
    without = min(least["one"], least["other"])
    events = json.loads(path.read_text())["traceEvents"]
    slices = sum(one["ph"] == "X" for one in events)
    print(
        f"| {name} | {least['trace'] / without - 1:+.1%} | "
        f"{abs(least['one'] / least['other'] - 1):.1%} | "
        f"{slices:,} | {path.stat().st_size / 1e6:.1f} MB |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    print("| | with a trace | without, twice | slices | file |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "trace.json"
        compare("images: read, decode, crop, batch", images(folder), rounds, path)
        compare("Python calls of 100 us", python_calls(100, 600), rounds, path)
        compare("Python calls of 20 us", python_calls(20, 3_000), rounds, path)
        compare("Python calls of nothing", python_calls(0, 200_000), rounds, path)


if __name__ == "__main__":
    main()
