"""The classic flow of training in the cloud, from URLs to batches.

URLs are gathered into groups, a group is downloaded by one async call over one connection, the
files are taken apart again, decoded on threads and collated to arrays. A small HTTP server in this
process plays the store; its pictures are made up, so that every pixel can be checked.

Run it: python examples/python/cloud_flow.py
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
from penstock.io import decode_image, encode_image
from penstock.pipeline import Pipeline, PipelineBuilder

HEIGHT, WIDTH = 24, 32


def picture(number: int) -> np.ndarray:
    """The picture with this number: its pixels are different from those of all others."""
    return np.random.default_rng(number).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)


class Store(BaseHTTPRequestHandler):
    """Serves /<number>.png, each after a wait, as a store that is far away."""

    wait = 0.0
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        number = self.path.strip("/").removesuffix(".png")
        if not number.isdigit():
            self.send_error(404)
            return
        time.sleep(self.wait)
        body = encode_image(picture(int(number)), "png")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@contextlib.contextmanager
def serve_pictures() -> Iterator[str]:
    """Runs the store; gives the address at which it listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Store) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


async def download(urls: list[str]) -> list[tuple[str, bytes]]:
    """Fetches a group of URLs of one host, one after the other over one connection."""
    host = urlsplit(urls[0])
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    try:
        return [(url, await get(reader, writer, url)) for url in urls]
    finally:
        writer.close()
        await writer.wait_closed()


async def get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, url: str) -> bytes:
    parts = urlsplit(url)
    writer.write(f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers["content-length"]))
    if head[0].split()[1] != "200":
        raise OSError(f"{url}: {head[0]}")
    return body


def decode(file: tuple[str, bytes]) -> tuple[str, np.ndarray]:
    url, data = file
    return url, np.asarray(decode_image(data))


def collate(samples: list[tuple[str, np.ndarray]]) -> tuple[list[str], np.ndarray]:
    urls, pictures = zip(*samples, strict=True)
    return list(urls), np.stack(pictures)


def make_pipeline(
    urls: list[str], batch_size: int, group: int = 8, downloads: int = 4, decoders: int = 2
) -> Pipeline:
    """Groups of so many URLs, so many groups and pictures at a time."""
    return (
        PipelineBuilder()
        .add_source(urls)
        .aggregate(group)
        .pipe(download, concurrency=downloads)
        .disaggregate()
        .pipe(decode, concurrency=decoders)
        .aggregate(batch_size)
        .pipe(collate)
        .add_sink(3)
        .build(num_threads=2)
    )


def main() -> None:
    with serve_pictures() as address:
        pipeline = make_pipeline([f"{address}/{i}.png" for i in range(200)], batch_size=32)
        with pipeline.auto_stop():
            for urls, pictures in pipeline.get_iterator(timeout=60):
                print(f"{len(urls)} pictures, shape {pictures.shape}, mean {pictures.mean():.1f}")
        print(pipeline)


if __name__ == "__main__":
    main()
