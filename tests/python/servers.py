"""A real nginx on loopback, and a proxy before it that is slow or breaks things."""

import contextlib
import math
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from patience import wait_until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log {folder}/access.log;
    default_type application/octet-stream;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 100000;
    sendfile on;
    server {{
        listen 127.0.0.1:{port};
        root {root};
        location /norange/ {{ max_ranges 0; }}
    }}
}}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def nginx(root: Path, folder: Path) -> Iterator[int]:
    """Serves `root`; gives the port. `folder` is for its own files."""
    assert NGINX is not None
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, root=root, port=port))
    process = subprocess.Popen(
        [NGINX, "-c", str(configuration), "-p", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_until(lambda: _answers(port)), (folder / "error.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """For answers that no real server gives; gives the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.block_on_close = True, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


class Crowd:
    """A fault that is none: says how many requests were under way at once.

    Each is held back for half a second, or until there are as many as are expected. Some have to
    come alone; if twenty did, the others are not held back any more.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._now = self._expected = self._in_vain = self.most = 0

    def expect(self, number: int) -> None:
        """From now on."""
        self.most, self._expected = 0, number

    def __call__(self, number: int) -> None:
        with self._changed:
            self._now += 1
            self.most = max(self.most, self._now)
            self._changed.notify_all()
            if self._in_vain < 20:
                self._in_vain += not self._changed.wait_for(self._are_enough, 0.5)
        time.sleep(0.02)  # more than are expected may come
        with self._changed:
            self._now -= 1

    def _are_enough(self) -> bool:
        return self.most >= self._expected


class Proxy:
    """Hands requests on to a server, one by one; `fault(number)` says what goes wrong with each.

    None: nothing. "reset", "503", "cut" (half of the body), "hang up" (no answer at all). After
    `most` faults of a request the same one is answered: else chance would decide how many of its
    tries meet one.
    """

    def __init__(
        self, port: int, fault: Callable[[int], str | None], most: float = math.inf
    ) -> None:
        self._target, self._fault, self._most = port, fault, most
        self._lock = threading.Lock()
        self._met: Counter[bytes] = Counter()  # faults, by request
        self.requests = 0
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def faults(self) -> int:
        """How many there were."""
        return self._met.total()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not wake who accepts
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            server = socket.create_connection(("127.0.0.1", self._target))
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with server:
                while self._one(client, server):
                    pass

    def _one(self, client: socket.socket, server: socket.socket) -> bool:
        head = _head(client)
        if not head:
            return False
        with self._lock:
            number = self.requests
            self.requests += 1
            answered = self._met[head] >= self._most
        fault = None if answered else self._fault(number)
        if fault is not None:
            with self._lock:
                self._met[head] += 1
        if fault == "hang up":
            return False
        if fault == "reset":
            linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return False
        if fault == "503":
            client.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
            return True
        server.sendall(head)
        answer = _head(server)
        length = _length(answer)
        client.sendall(answer)
        if fault == "cut":
            length //= 2
        while length > 0:
            data = server.recv(min(length, 1 << 16))
            client.sendall(data)
            length -= len(data)
        return fault != "cut"


def _head(connection: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            return b""
        head += byte
    return head


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0
