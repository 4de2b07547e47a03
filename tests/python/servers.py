"""A real nginx on loopback, and a proxy before it that is slow or breaks things."""

import contextlib
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait()


class Proxy:
    """Hands requests on to a server, one by one; `fault(number)` says what goes wrong with each.

    None: nothing. A number: so many seconds of delay. "reset", "503", "cut" (half of the body),
    "hang up" (no answer at all).
    """

    def __init__(self, port: int, fault: Callable[[int], float | str | None]) -> None:
        self._target, self._fault = port, fault
        self._lock = threading.Lock()
        self.requests = 0
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

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
        fault = self._fault(number)
        if isinstance(fault, float):
            time.sleep(fault)
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
