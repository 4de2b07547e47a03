"""The bottleneck rule on pipelines whose bottleneck is known by construction, many times each.

    bottlenecks.py [--runs N] [case ...]

Prints a Markdown table: how often the rule named the right kind and the right stage.
"""

import argparse
import hashlib
import http.server
import io
import os
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import penstock as ps
from penstock.insight import Bottleneck, bottleneck
from penstock.pipeline import PipelineBuilder

CORES = len(os.sched_getaffinity(0))


def nap(seconds: float) -> Callable[[int], int]:
    def op(x: int) -> int:
        time.sleep(seconds)
        return x

    return op


def python_work(x: int) -> int:
    for i in range(60_000):
        x ^= i
    return x


def native_work(x: int) -> int:
    hashlib.sha256(bytes(1_000_000)).digest()  # without the GIL
    return x


def slow_numbers() -> Iterator[int]:
    for i in range(60):
        time.sleep(0.005)
        yield i


def judge(builder: PipelineBuilder, step: float = 0.0, threads: int = 4) -> Bottleneck:
    pipeline = builder.add_sink(2).build(num_threads=threads)
    with pipeline.auto_stop():
        for _ in pipeline:
            if step > 0:
                time.sleep(step)
    return bottleneck(pipeline.stats())


def judge_loader(loader: ps.Loader, step: float = 0.0) -> Bottleneck:
    held = None
    for batch in loader:
        time.sleep(step)
        held = batch
    del held
    return bottleneck(loader.stats()["stages"])


def numbers(count: int = 60) -> PipelineBuilder:
    return PipelineBuilder().add_source(range(count))


def source_bound() -> Bottleneck:
    return judge(PipelineBuilder().add_source(slow_numbers()).pipe(nap(0.001), name="op"))


def gil_bound() -> Bottleneck:
    return judge(numbers(120).pipe(python_work, name="work", concurrency=4))


def slow_stage() -> Bottleneck:
    builder = numbers().pipe(nap(0.001), name="quick").pipe(nap(0.008), name="slow")
    return judge(builder.pipe(nap(0.001), name="after"))


def few_at_a_time() -> Bottleneck:
    return judge(numbers().pipe(nap(0.02), name="many", concurrency=3))


def sink_bound() -> Bottleneck:
    return judge(numbers(40).pipe(nap(0.0005), name="op"), step=0.02)


def cpu_bound() -> Bottleneck:
    return judge(numbers(400).pipe(native_work, name="hash", concurrency=4))


def one_after_the_other() -> Bottleneck:
    return judge(numbers(120).pipe(python_work, name="work"))


def one_hash_at_a_time() -> Bottleneck:
    return judge(numbers(200).pipe(native_work, name="hash"))


def processes_on_all_cores() -> Bottleneck:
    with ProcessPoolExecutor(CORES) as pool:
        list(pool.map(python_work, range(CORES)))  # they have started
        stage = {"executor": pool, "concurrency": 2 * CORES}
        return judge(numbers(300).pipe(python_work, name="work", **stage))


def few_workers() -> Bottleneck:
    with ThreadPoolExecutor(2) as pool:
        return judge(numbers().pipe(nap(0.01), name="many", executor=pool, concurrency=8))


def memory_bound() -> Bottleneck:
    def slow(sample: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        time.sleep(0.008)
        return sample

    data = np.zeros((64, 100_000), np.uint8)
    plan = ps.from_arrays(x=data).map(slow, concurrency=8).batch(2)
    return judge_loader(plan.loader(threads=2, memory=450_000), step=0.002)


class _Slow(http.server.BaseHTTPRequestHandler):
    """A server far away: every answer takes its time."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer leaves at once
    body = b""

    def do_HEAD(self) -> None:
        there = self.path.endswith(".tar")  # and no index beside it
        self.answer(200 if there else 404, len(self.body) if there else 0)

    def do_GET(self) -> None:
        if not self.path.endswith(".tar"):
            return self.answer(404, 0)
        time.sleep(0.01)
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        part = self.body[int(first) : int(last) + 1]
        self.answer(206, len(part), f"bytes {first}-{int(first) + len(part) - 1}/{len(self.body)}")
        self.wfile.write(part)
        return None

    def answer(self, code: int, length: int, content_range: str = "") -> None:
        self.send_response(code)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(length))
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # connections that come at once are not turned away for a second


def tar(members: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as file:
        for i in range(members):
            member = tarfile.TarInfo(f"{i:03}.bin")
            member.size = 50_000
            file.addfile(member, io.BytesIO(bytes(member.size)))
    return packed.getvalue()


def disk_bound() -> Bottleneck:
    _Slow.body = _Slow.body or tar(480)
    server = _Server(("127.0.0.1", 0), _Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        data = ps.open(f"http://127.0.0.1:{server.server_port}/data.tar")
        return judge_loader(data.shuffle(seed=0).batch(4, collate="list").loader(threads=2))
    finally:
        server.shutdown()
        server.server_close()


CASES: dict[str, tuple[str, Callable[[], Bottleneck], str, str]] = {
    "source": ("a source of 5 ms an item", source_bound, "source", "src"),
    "gil": ("pure Python, four calls at a time", gil_bound, "gil", "work[4]"),
    "gil-one": ("pure Python, one call at a time", one_after_the_other, "gil", "work"),
    "stage": ("one stage of 8 ms between two of 1 ms", slow_stage, "concurrency", "slow"),
    "concurrency": ("20 ms an item, three at a time", few_at_a_time, "concurrency", "many[3]"),
    "sink": ("a consumer of 20 ms", sink_bound, "consumer", ""),
    "cpu": ("hashing without the GIL, four at a time", cpu_bound, "cpu", "hash[4]"),
    "hash-one": ("the same, one at a time", one_hash_at_a_time, "concurrency", "hash"),
    "processes": (
        "pure Python, a process on every core",
        processes_on_all_cores,
        "cpu",
        f"work[{2 * CORES}]",
    ),
    "workers": ("8 of 10 ms, an executor of two", few_workers, "concurrency", "many[8]"),
    "memory": ("a ceiling of one batch", memory_bound, "memory", "admit"),
    "disk": ("reads of 10 ms", disk_bound, "disk", "read"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    print("| case | wanted | right | otherwise |\n|---|---|---|---|")
    for name in options.cases or CASES:
        words, run, kind, stage = CASES[name]
        said = Counter()
        for _ in range(options.runs):
            found = run()
            said[found.kind, (found.stage or "").split(":")[-1]] += 1
        right = said.pop((kind, stage), 0)
        others = ", ".join(f"{k} {s} ({n})" for (k, s), n in said.items())
        print(
            f"| {words} | `{kind}` | {right} of {options.runs} | {others or 'none'} |", flush=True
        )


if __name__ == "__main__":
    main()
