"""Measures 60 tar shards over HTTP, from a real nginx on loopback, with time added to each request.

    remote.py [--rounds N] [--delay MS]      --install-peers fetches the peers first

A proxy before nginx waits before it hands a request on; bodies pass through it in the kernel. Every
figure comes from a process of its own; contenders take turns. Each says how many bytes of images it
got, or of shards.
"""

import argparse
import asyncio
import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "python"))

from common.peers import PEERS, ROOT, install, machine
from common.processes import spawn, tree_cpu
from common.turns import table, take_turns
from servers import NGINX, nginx

FOLDER = ROOT / "build" / "bench-formats" / "remote"
SHARDS, IMAGES, IMAGE_BYTES = 60, 64, 65_000  # 4 MB each


def make() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    noise = os.urandom(IMAGE_BYTES)
    for shard in range(SHARDS):
        path = FOLDER / f"{shard:03}.tar"
        if path.exists():
            continue
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for i in range(IMAGES):
                member = tarfile.TarInfo(f"{shard:03}{i:03}.jpg")
                member.size = IMAGE_BYTES
                tar.addfile(member, io.BytesIO(noise))


# ---- the server


def serve_with_delay(target: int, delay: float) -> None:
    """Until standard input is closed; says its port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listener.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    def serve(client: socket.socket) -> None:
        read_end, write_end = os.pipe()
        with client, socket.create_connection(("127.0.0.1", target)) as server:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(OSError):
                while head := receive_head(client):
                    time.sleep(delay)
                    server.sendall(head)
                    answer = receive_head(server)
                    client.sendall(answer)
                    left = length_of(answer)
                    while left > 0:
                        count = os.splice(server.fileno(), write_end, min(left, 1 << 16))
                        left -= count
                        while count > 0:
                            count -= os.splice(read_end, client.fileno(), count)
        os.close(read_end)
        os.close(write_end)

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


def receive_head(connection: socket.socket) -> bytes:
    """Up to the empty line and no further: the body goes its own way."""
    while True:
        seen = connection.recv(1 << 14, socket.MSG_PEEK)
        if not seen:
            return b""
        end = seen.find(b"\r\n\r\n")
        if end >= 0:
            return connection.recv(end + 4)
        time.sleep(0.001)


def length_of(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


# ---- who is measured: bytes, until there are no more


def penstock_stream(urls: list[str]) -> Iterator[int]:
    from penstock import io

    yield 0
    for sample in io.iter_tar(urls):
        yield len(sample["jpg"])


def penstock_loader(urls: list[str]) -> Iterator[int]:
    import penstock as ps

    loader = ps.open(urls).batch(64).loader(threads=2)
    yield 0
    for batch in loader:
        yield sum(len(image) for image in batch["jpg"])


def penstock_shuffled(urls: list[str]) -> Iterator[int]:
    """A range a record: what is under way at once, by the delay, is the limit."""
    import penstock as ps

    loader = ps.open(urls).shuffle(seed=1).batch(64).loader(threads=2)
    yield 0
    for batch in loader:
        yield sum(len(image) for image in batch["jpg"])


def webdataset(urls: list[str]) -> Iterator[int]:
    import webdataset as wds

    yield 0
    for sample in wds.WebDataset(urls, shardshuffle=False):
        yield len(sample["jpg"])


def aiohttp_ranges(urls: list[str]) -> Iterator[int]:
    """Bytes of shards, that is all: 16 ranges of 1 MB under way."""
    import aiohttp

    yield 0
    step, sizes = 1 << 20, (FOLDER / "000.tar").stat().st_size

    async def everything() -> int:
        jobs = iter([(url, at) for url in urls for at in range(0, sizes, step)])
        total = 0

        async def work(session: Any) -> None:
            nonlocal total
            for url, at in jobs:
                headers = {"Range": f"bytes={at}-{min(at + step, sizes) - 1}"}
                async with session.get(url, headers=headers) as answer:
                    body = await answer.read()
                    total += len(body)

        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(work(session) for _ in range(16)))
        return total

    yield asyncio.run(everything())


CONTENDERS: dict[str, tuple[Callable[[list[str]], Iterator[int]], str]] = {
    "Penstock io.iter_tar": (penstock_stream, ""),
    "Penstock loader": (penstock_loader, ""),
    "Penstock loader, shuffled": (penstock_shuffled, ""),
    "aiohttp, 16 ranges under way": (aiohttp_ranges, "remote"),
    "webdataset": (webdataset, "remote"),
}


def measure_here(name: str, port: str) -> None:
    urls = [f"http://127.0.0.1:{port}/{shard:03}.tar" for shard in range(SHARDS)]
    parts = CONTENDERS[name][0](urls)
    next(parts)
    begun, cpu = time.perf_counter(), tree_cpu(os.getpid())
    total = sum(parts)
    ended, cpu_ended = time.perf_counter(), tree_cpu(os.getpid())
    whole = SHARDS * (FOLDER / "000.tar").stat().st_size
    assert total in (whole, SHARDS * IMAGES * IMAGE_BYTES), total
    print(json.dumps({"seconds": ended - begun, "cpu": cpu_ended - cpu, "count": total / 1e6}))


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(*sys.argv[2:])
    if sys.argv[1:2] == ["--proxy"]:
        return serve_with_delay(int(sys.argv[2]), float(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how often each contender runs")
    parser.add_argument("--delay", type=int, default=30, help="milliseconds added to a request")
    parser.add_argument("--install-peers", action="store_true")
    options = parser.parse_args()
    make()
    if options.install_peers:
        install(["remote"])
    if NGINX is None:
        sys.exit("nginx is not installed")
    with tempfile.TemporaryDirectory() as own, nginx(FOLDER, Path(own)) as target:
        command = [sys.executable, __file__, "--proxy", str(target), str(options.delay / 1000)]
        proxy = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        port = proxy.stdout.readline().strip()

        def start(name: str) -> dict[str, Any] | str:
            folder = CONTENDERS[name][1]
            command = [sys.executable, __file__, "--one", name, port]
            return spawn(command, str(PEERS / folder) if folder else "")

        turns, missing = take_turns(list(CONTENDERS), options.rounds, start)
        proxy.stdin.close()
        proxy.wait()
    print(f"{machine()}. {options.rounds} rounds, taking turns; {options.delay} ms a request.\n")
    table("MB", turns, next(iter(CONTENDERS)), {}, dict.fromkeys(CONTENDERS, "bytes"))
    for name, why in missing.items():
        print(f"\n{name}: no figure: {why}")


if __name__ == "__main__":
    main()
