"""A server that stays out of order: an error after the tries of one request, not of each row."""

import gc
import logging
import tarfile
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
import zarr
from patience import wait_until
from penstock import io
from servers import NGINX, Proxy, nginx

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")

TRIES = 6


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    root = tmp_path_factory.mktemp("served")
    group = zarr.create_group(root / "a.zarr")
    for name in ("id", "x"):
        group.create_array(name, shape=(1024,), chunks=(64,), dtype="i8")[...] = np.arange(1024)
    np.save(root / "a.npy", np.arange(3000).reshape(1000, 3))
    with tarfile.open(root / "packed.tar.gz", "w:gz", compresslevel=1) as tar:
        for i in range(30):  # 3 MB: three chunks of the stream
            member = tarfile.TarInfo(f"{i:02}.bin")
            member.size = 100_000
            tar.addfile(member, BytesIO(np.random.default_rng(i).bytes(member.size)))
    with nginx(root, tmp_path_factory.mktemp("nginx")) as port:
        yield port


class Switch:
    """A fault that is there while `on`; with `stalled` no answer comes at all meanwhile.

    The first `spare` requests are answered all the same.
    """

    def __init__(self) -> None:
        self.on, self.stalled = False, False
        self.spare = 0
        self.over = threading.Event()

    def __call__(self, number: int) -> str | None:
        if self.on and self.spare > 0:
            self.spare -= 1
            return None
        if self.on and self.stalled:
            self.over.wait(50)
        return "503" if self.on else None


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Switch]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = Switch()
    yield made
    made.over.set()


@pytest.fixture
def proxy(port: int, switch: Switch) -> Iterator[Proxy]:
    made = Proxy(port, switch)
    yield made
    made.close()


@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
@pytest.mark.parametrize("mapped", [False, True])
def test_a_loader_says_so_after_the_tries_of_one_request(
    proxy: Proxy, switch: Switch, on_error: str, mapped: bool
) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/a.zarr", fields=["id", "x"])
    if mapped:
        ds = ds.map(lambda sample: sample)
    switch.on = True
    before = proxy.requests
    with pytest.raises(OSError, match="503"):
        next(iter(ds.batch(16).loader(on_error=on_error, threads=2)))  # type: ignore[arg-type]
    assert proxy.requests - before <= 4 * TRIES  # two threads, each may read ahead for the other


@pytest.mark.parametrize("batch", [2, 64])
def test_one_thread_asks_for_one_chunk(proxy: Proxy, switch: Switch, batch: int) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/a.zarr", fields=["id"])
    switch.on = True
    before = proxy.requests
    with pytest.raises(OSError, match=f"failed {TRIES} times.*503"):
        next(iter(ds.batch(batch).loader(threads=1, prefetch=1)))
    assert proxy.requests - before <= 2 * TRIES


def test_batches_before_the_error_are_delivered(proxy: Proxy, switch: Switch) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/a.zarr", fields=["id"], chunk_cache="1MB")
    assert [int(ds[i]["id"]) for i in range(0, 256, 64)] == [
        0,
        64,
        128,
        192,
    ]  # four chunks are here
    switch.on = True
    loader = ds.batch(32).loader(threads=2, on_error="skip")
    got = []
    with pytest.raises(OSError, match=r"503.*a\.zarr:256"):
        got += [batch["id"].tolist() for batch in loader]
    assert sum(got, []) == []  # noqa: RUF017 - the comprehension is given up as a whole
    batches = iter(loader)
    for first in range(0, 256, 32):
        assert next(batches)["id"].tolist() == list(range(first, first + 32))
    with pytest.raises(OSError, match="503"):
        next(batches)
    assert loader.errors() == []
    switch.on = False  # and it is as if nothing had been
    assert [batch["id"][0] for batch in loader] == list(range(0, 1024, 32))


def test_rows_of_a_file_say_so_too(proxy: Proxy, switch: Switch) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/a.npy")
    switch.on = True
    before = proxy.requests
    with pytest.raises(OSError, match="503"):
        next(iter(ds.batch(100).loader(threads=1)))
    assert proxy.requests - before <= 10 * TRIES + 1  # a request for each batch
    switch.on = False
    assert len(next(iter(ds.batch(100).loader()))["data"]) == 100


def test_others_are_tried_once_until_something_is_answered(proxy: Proxy, switch: Switch) -> None:
    name = f"http://127.0.0.1:{proxy.port}/a.npy"
    ds = ps.open(name)  # keeps the client
    switch.on = True
    counts = []
    for _ in range(2):
        before = proxy.requests
        with pytest.raises(OSError, match="the request failed"):
            io.read_range(name, 0, 10)
        counts.append(proxy.requests - before)
    assert counts == [TRIES, 1]
    switch.on = False
    assert ds[3]["data"].tolist() == [9, 10, 11]
    switch.on = True
    before = proxy.requests
    with pytest.raises(OSError, match=f"failed {TRIES} times"):
        ds[3]
    assert proxy.requests - before == TRIES


def test_a_host_that_answers_others_is_not_out_of_order(port: int, switch: Switch) -> None:
    # Every second request is answered; one name never is.
    def fault(number: int) -> str | None:
        return "503" if switch.on and number % 2 == 0 else None

    proxy = Proxy(port, fault)
    name = f"http://127.0.0.1:{proxy.port}/a.npy"
    switch.on = True
    for i in range(20):
        assert len(io.read_range(name, i, 10)) == 10
    proxy.close()


@pytest.mark.parametrize("stalled", [False, True])
def test_stopping_a_loader_does_not_wait_for_requests(
    proxy: Proxy, switch: Switch, stalled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/a.zarr", fields=["id"])
    assert ds[0]["id"] == 0
    switch.stalled = stalled
    switch.on = True
    before = proxy.requests
    with caplog.at_level(logging.WARNING):
        batches = iter(ds.batch(32).loader(threads=1))
        assert next(batches)["id"][31] == 31
        assert wait_until(lambda: proxy.requests > before)  # the next chunk is asked for
        del batches
        gc.collect()
    assert "abandoned" not in caplog.text


@pytest.mark.parametrize("stalled", [False, True])
def test_stopping_a_loader_does_not_wait_for_a_stream(
    proxy: Proxy, switch: Switch, stalled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/packed.tar.gz")
    switch.on, switch.stalled, switch.spare = True, stalled, 1
    before = proxy.requests
    with caplog.at_level(logging.WARNING):
        batches = iter(ds.batch(4).loader(threads=1))
        assert next(batches)["__key__"] == ["00", "01", "02", "03"]
        assert wait_until(lambda: proxy.requests > before + 1)  # the second chunk is asked for
        del batches
        gc.collect()
    assert "abandoned" not in caplog.text


@pytest.mark.parametrize("leaves_first", ["reader", "waiting"])
def test_a_loader_that_is_stopped_takes_nothing_from_others(
    proxy: Proxy, switch: Switch, leaves_first: str, caplog: pytest.LogCaptureFixture
) -> None:
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/a.zarr", fields=["id"])
    assert ds[0]["id"] == 0
    switch.on = switch.stalled = True
    before = proxy.requests
    loops = {"reader": iter(ds.batch(32).loader(threads=1))}
    assert next(loops["reader"])["id"][0] == 0
    assert wait_until(lambda: proxy.requests > before)
    loops["waiting"] = iter(ds.batch(32).loader(threads=1))  # for what the other reads
    assert next(loops["waiting"])["id"][0] == 0
    switch.on = False
    with caplog.at_level(logging.WARNING):
        del loops[leaves_first]
        gc.collect()
    assert "abandoned" not in caplog.text
    switch.over.set()
    (other,) = loops.values()
    assert [next(other)["id"][0] for _ in range(4)] == [32, 64, 96, 128]
