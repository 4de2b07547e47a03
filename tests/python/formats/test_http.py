"""Files on a server: a real nginx on loopback, also slow, broken and changing."""

import contextlib
import io as pyio
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from penstock import io
from servers import NGINX, Proxy, nginx

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")


def write_tar(path: Path, first: int, count: int, size: int = 3000) -> None:
    with tarfile.open(path, "w") as tar:
        for i in range(first, first + count):
            for field, data in (("bin", bytes([i % 251]) * size), ("cls", b"%d" % i)):
                member = tarfile.TarInfo(f"{i:05}.{field}")
                member.size = len(data)
                tar.addfile(member, pyio.BytesIO(data))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    for s in range(6):
        write_tar(folder / f"{s}.tar", s * 100, 100)
    write_tar(folder / "large.tar", 0, 40, 300_000)
    np.save(folder / "x.npy", np.arange(3000).reshape(1000, 3))
    np.arange(50_000, dtype="uint16").tofile(folder / "tokens.bin")
    with io.TFRecordWriter(folder / "a.tfrecord") as writer:
        for i in range(500):
            writer.write_example({"label": i})
    with io.TFRecordWriter(folder / "packed.tfrecord.gz", "gzip") as writer:
        for i in range(500):
            writer.write_example({"label": i})
    (folder / "empty").write_bytes(b"")
    (folder / "norange").mkdir()
    (folder / "norange" / "a").write_bytes(b"abc")
    return folder


@pytest.fixture(scope="module")
def port(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with nginx(root, tmp_path_factory.mktemp("nginx")) as port:
        yield port


@pytest.fixture
def url(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def through(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Any], Proxy]]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[Proxy] = []

    def make(fault: Any) -> Proxy:
        made.append(Proxy(port, fault))
        return made[-1]

    yield make
    for proxy in made:
        with contextlib.suppress(OSError):  # closed already
            proxy.close()


def test_a_range_is_what_is_in_the_file(url: str, root: Path) -> None:
    data = (root / "large.tar").read_bytes()
    assert io.read_range(f"{url}/large.tar", 0, 10) == data[:10]
    assert io.read_range(f"{url}/large.tar", 12345, 9_000_000) == data[12345 : 12345 + 9_000_000]
    assert io.read_range(f"{url}/large.tar", len(data) - 5, 5) == data[-5:]
    assert io.read_range(f"{url}/large.tar", 3, 0) == b""
    assert io.read_range(f"{url}/empty", 0, 0) == b""
    with pytest.raises(IndexError, match="goes beyond"):
        io.read_range(f"{url}/large.tar", len(data) - 5, 6)


def test_what_is_not_there_is_said(url: str) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        io.read_range(f"{url}/nowhere", 0, 1)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tar"):
        ps.open(f"{url}/nowhere.tar")
    with pytest.raises(NotImplementedError, match="does not do ranges"):
        io.read_range(f"{url}/norange/a", 0, 1)
    with pytest.raises(NotImplementedError, match="only URLs of http and https"):
        io.read_range("s3://bucket/key", 0, 1)


def test_tar_shards_have_an_index_and_a_global_shuffle(url: str) -> None:
    ds = ps.open(f"{url}/{{0..5}}.tar")
    assert len(ds) == 600
    assert bytes(ds[417]["bin"]) == bytes([417 % 251]) * 3000
    loader = ds.shuffle(seed=1).decode("cls").batch(50).loader(threads=2)
    labels = np.concatenate([batch["cls"] for batch in loader])
    assert sorted(labels.tolist()) == list(range(600))
    assert labels.tolist() != list(range(600))


def test_the_index_of_a_url_is_kept_in_the_cache(url: str, tmp_path: Path) -> None:
    ps.open(f"{url}/0.tar")
    (kept,) = (tmp_path / "penstock" / "index").iterdir()
    assert kept.name.endswith("0.tar.psidx")
    assert len(ps.open(f"{url}/0.tar")) == 100


def test_a_sidecar_on_the_server_is_used(url: str, root: Path, tmp_path: Path) -> None:
    assert len(ps.open(root / "5.tar")) == 100
    assert (root / "5.tar.psidx").exists()
    os.utime(root / "5.tar", (1, 1))  # what the sidecar says of the time is of no use here
    assert len(ps.open(f"{url}/5.tar")) == 100
    assert not (tmp_path / "penstock").exists()
    (root / "5.tar.psidx").unlink()


@pytest.mark.parametrize("name", ["{0..5}.tar", "large.tar"])
def test_tars_are_streamed(url: str, root: Path, name: str) -> None:
    wanted = list(io.iter_tar(f"{root}/{name}"))
    assert list(io.iter_tar(f"{url}/{name}")) == wanted


def test_other_formats_are_read_too(url: str, root: Path) -> None:
    assert ps.open(f"{url}/a.tfrecord", fields={"label": "int64"})[321] == {"label": 321}
    packed = ps.open(f"{url}/packed.tfrecord.gz").batch(500).loader()
    assert [batch["label"].tolist() for batch in packed] == [list(range(500))]
    assert np.array_equal(io.load_npy(f"{url}/x.npy"), np.load(root / "x.npy"))
    windows = ps.open(f"{url}/tokens.bin", format="tokens", window=100)
    assert windows[7]["tokens"].tolist() == list(range(700, 800))


def test_faults_that_pass_are_not_noticed(through: Callable[[Any], Proxy], root: Path) -> None:
    faults = ["reset", "503", "cut", "hang up", None, None]
    proxy = through(lambda number: faults[number % len(faults)])
    url = f"http://127.0.0.1:{proxy.port}"
    wanted = list(io.iter_tar(f"{root}/{{0..2}}.tar"))
    assert list(io.iter_tar(f"{url}/{{0..2}}.tar")) == wanted
    ds = ps.open(f"{url}/1.tar").shuffle(seed=4).decode("cls")
    labels = [batch["cls"].tolist() for batch in ds.batch(20).loader(threads=2)]
    assert sorted(sum(labels, [])) == list(range(100, 200))  # noqa: RUF017
    assert proxy.requests > 20


@pytest.mark.parametrize("fault", ["reset", "503", "cut", "hang up"])
def test_a_server_that_stays_broken_is_an_error(
    through: Callable[[Any], Proxy], fault: str
) -> None:
    proxy = through(lambda number: fault if number > 0 else None)
    with pytest.raises(OSError, match="failed 6 times"):
        io.read_range(f"http://127.0.0.1:{proxy.port}/large.tar", 5, 1000)


def test_nobody_listens(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: None)
    proxy.close()
    with pytest.raises(OSError, match="failed 6 times"):
        io.read_range(f"http://127.0.0.1:{proxy.port}/0.tar", 0, 1)


def test_a_file_that_changes_on_the_server_is_noticed(url: str, root: Path) -> None:
    path = root / "changing.tar"
    write_tar(path, 0, 20)
    ds = ps.open(f"{url}/changing.tar")
    assert bytes(ds[3]["cls"]) == b"3"
    write_tar(path, 100, 20)
    os.utime(path, (2, 2))
    with pytest.raises(OSError, match="changed on the server"):
        ds[3]


def test_slow_answers_overlap(through: Callable[[Any], Proxy], root: Path) -> None:
    proxy = through(lambda number: 0.1)
    url = f"http://127.0.0.1:{proxy.port}/large.tar"
    begun = time.monotonic()
    got = list(io.iter_tar(url))
    one_by_one = 0.1 * proxy.requests
    assert len(got) == 40
    assert proxy.requests >= 12
    assert time.monotonic() - begun < one_by_one
    assert proxy.connections <= 16


def test_the_next_shards_come_while_one_is_read(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: None)
    stream = iter(io.iter_tar([f"http://127.0.0.1:{proxy.port}/large.tar"] * 3))
    for _ in range(30):  # of 40 samples in the first
        next(stream)
        if proxy.requests >= 20:
            break
        time.sleep(0.1)
    # It has 12 ranges itself; without them the others have no more than their first.
    assert proxy.requests >= 20


def test_connections_are_used_again(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: None)
    records = ps.open(f"http://127.0.0.1:{proxy.port}/0.tar")
    for i in range(100):
        records[i]
    assert proxy.requests > 100
    assert proxy.connections <= 16


def test_many_threads_share_one_client(url: str, root: Path) -> None:
    data = (root / "large.tar").read_bytes()

    def part(i: int) -> bool:
        return io.read_range(f"{url}/large.tar", i * 1000, 5000) == data[i * 1000 : i * 1000 + 5000]

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(part, range(300)))
