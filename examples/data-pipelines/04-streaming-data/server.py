"""A web server for a folder that does ranges, as every object store does."""

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serve(folder: Path, wait: float = 0.0) -> Iterator[str]:
    """The address under which the files of the folder can be had; each answer takes `wait` more."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # an answer leaves at once

        def do_HEAD(self) -> None:
            self.answer(False)

        def do_GET(self) -> None:
            self.answer(True)

        def answer(self, with_body: bool) -> None:
            time.sleep(wait)
            path = folder / Path(self.path).name
            if not path.is_file():
                self.reply(404, b"")
                return
            wanted = self.headers.get("Range", "").removeprefix("bytes=")
            if not wanted:
                self.reply(200, path.read_bytes(), with_body=with_body)
                return
            first, _, last = wanted.partition("-")
            with path.open("rb") as file:
                file.seek(int(first))
                part = file.read(int(last) + 1 - int(first) if last else -1)
            where = f"bytes {first}-{int(first) + len(part) - 1}/{path.stat().st_size}"
            self.reply(206, part, where, with_body)

        def reply(self, code: int, body: bytes, where: str = "", with_body: bool = True) -> None:
            self.send_response(code)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(body)))
            if where:
                self.send_header("Content-Range", where)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
