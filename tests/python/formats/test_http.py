"""Files on a server: a real nginx on loopback, also slow, broken and changing."""

import contextlib
import io as pyio
import os
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from patience import wait_until
from penstock import io
from servers import NGINX, Crowd, Proxy, nginx, serving

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

    def make(*fault: Any, **most: int) -> Proxy:
        made.append(Proxy(port, *fault, **most))
        return made[-1]

    yield make
    for proxy in made:
        with contextlib.suppress(OSError):  # closed already
            proxy.close()


def test_a_range_is_what_is_in_the_file(url: str, root: Path) -> None:
    data = (root / "large.tar").read_bytes()
    assert io.read_range(url=f"{url}/large.tar", offset=0, size=10) == data[:10]
    assert io.read_range(f"{url}/large.tar", 12345, 9_000_000) == data[12345 : 12345 + 9_000_000]
    assert io.read_range(f"{url}/large.tar", len(data) - 5, 5) == data[-5:]
    assert io.read_range(f"{url}/large.tar", 3, 0) == b""
    assert io.read_range(f"{url}/empty", 0, 0) == b""
    with pytest.raises(IndexError, match="goes beyond"):
        io.read_range(f"{url}/large.tar", len(data) - 5, 6)


def test_images_are_loaded_from_urls(url: str, root: Path) -> None:
    pixels = np.arange(24 * 32 * 3, dtype=np.uint8).reshape(24, 32, 3)
    (root / "picture.png").write_bytes(io.encode_image(pixels, "png"))
    assert (io.load_image(f"{url}/picture.png") == pixels).all()
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jpg"):
        io.load_image(f"{url}/nowhere.jpg")
    with pytest.raises(NotImplementedError, match=r"not a known image format.*large\.tar"):
        io.load_image(f"{url}/large.tar")


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


def test_urls_with_queries_and_spaces(url: str, root: Path, tmp_path: Path) -> None:
    name = "a b é.tar"
    (root / name).write_bytes((root / "0.tar").read_bytes())
    for where in (f"{url}/{name}", f"{url}/a%20b%20%C3%A9.tar?signature=a%2Fb/c&x=1"):
        ds = ps.open(where)
        assert len(ds) == 100
        assert bytes(ds[7]["cls"]) == b"7"
    assert len(list((tmp_path / "penstock" / "index").iterdir())) == 2
    assert io.load_npy(f"{url}/x.npy?version=3").shape == (1000, 3)
    ps.open(root / name)  # makes the sidecar there
    shutil.rmtree(tmp_path / "penstock")
    assert len(ps.open(f"{url}/a%20b%20%C3%A9.tar?signature=1")) == 100
    assert not (tmp_path / "penstock").exists()


def test_a_server_that_does_not_give_the_sidecar_out(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: "503" if 1 <= number <= 6 else None)
    assert len(ps.open(f"http://127.0.0.1:{proxy.port}/1.tar")) == 100


def test_a_sidecar_on_the_server_is_used(url: str, root: Path, tmp_path: Path) -> None:
    assert len(ps.open(root / "5.tar")) == 100
    assert (root / "5.tar.psidx").exists()
    os.utime(root / "5.tar", (1, 1))  # what the sidecar says of the time is of no use here
    assert len(ps.open(f"{url}/5.tar")) == 100
    assert not (tmp_path / "penstock").exists()
    (root / "5.tar.psidx").unlink()


def test_a_page_in_the_place_of_a_sidecar_is_none(url: str, root: Path) -> None:
    page = root / "4.tar.psidx"
    page.write_text("<!doctype html><title>the app</title>")
    try:
        assert len(ps.open(f"{url}/4.tar")) == 100
    finally:
        page.unlink()


def test_a_sidecar_that_claims_a_size_takes_no_memory(url: str, root: Path) -> None:
    assert len(ps.open(root / "3.tar")) == 100
    sidecar = root / "3.tar.psidx"
    try:
        os.truncate(sidecar, 2**43)  # a hole
        with pytest.raises(ValueError, match="another length than it says"):
            ps.open(f"{url}/3.tar")
        os.truncate(sidecar, 2**24)
        with pytest.raises(ValueError, match="another length than it says"):
            ps.open(f"{url}/3.tar")
    finally:
        sidecar.unlink()


def test_a_long_sidecar_comes_in_two_parts(
    url: str, tmp_path_factory: pytest.TempPathFactory, root: Path
) -> None:
    path = root / "many.tfrecord"
    with io.TFRecordWriter(path) as writer:
        for i in range(150_000):
            writer.write(b"%d" % i)
    assert len(io.TFRecords(path)) == 150_000
    sidecar = root / "many.tfrecord.psidx"
    assert sidecar.stat().st_size > 1 << 20
    os.utime(path, (1, 1))
    records = io.TFRecords(f"{url}/many.tfrecord")
    assert records[[149_999, 3]] == [b"149999", b"3"]
    path.unlink()
    sidecar.unlink()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_server_without_ranges_is_refused_at_once(chunked: bool) -> None:
    sent = 0

    class Whole(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            nonlocal sent
            self.send_response(200)
            self.send_header(*(("Transfer-Encoding", "chunked") if chunked else LENGTH))
            self.end_headers()
            block = bytes(1 << 20)
            with contextlib.suppress(OSError):
                for _ in range(1000):
                    self.wfile.write(b"100000\r\n" + block + b"\r\n" if chunked else block)
                    sent += len(block)

        def log_message(self, *args: Any) -> None:
            pass

    with serving(Whole) as port, pytest.raises(NotImplementedError, match="does not do ranges"):
        io.read_range(f"http://127.0.0.1:{port}/x", 0, 10)
    assert sent < 100 << 20


LENGTH = ("Content-Length", str(1000 << 20))


def test_a_page_that_does_not_end_is_not_waited_for() -> None:
    over = threading.Event()

    class Trickle(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.end_headers()
            with contextlib.suppress(OSError):
                while not over.wait(0.1):
                    self.wfile.write(b"no")

        def log_message(self, *args: Any) -> None:
            pass

    with serving(Trickle) as port:
        try:
            with pytest.raises(FileNotFoundError, match="no such file"):
                io.read_range(f"http://127.0.0.1:{port}/x", 0, 10)
        finally:
            over.set()


def test_redirects_in_a_circle_are_followed_once() -> None:
    requests = 0

    class Circle(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal requests
            requests += 1
            self.send_response(302)
            self.send_header("Location", self.path)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    with serving(Circle) as port, pytest.raises(OSError, match="redirect"):
        io.read_range(f"http://127.0.0.1:{port}/x", 0, 10)
    assert requests == 6


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


def test_python_runs_while_files_come(through: Callable[[Any], Proxy], root: Path) -> None:
    np.savez(root / "pair.npz", x=np.arange(6), y=np.arange(3))
    url = f"http://127.0.0.1:{through(lambda number: None).port}"  # the proxy is Python
    assert io.load_npz(f"{url}/pair.npz")["x"].tolist() == list(range(6))
    assert ps.open(f"{url}/pair.npz", fields=["y"])[2]["y"] == 2
    assert io.load_npy(f"{url}/x.npy").shape == (1000, 3)


def test_faults_that_pass_are_not_noticed(through: Callable[[Any], Proxy], root: Path) -> None:
    faults = ["reset", "503", "cut", "hang up", None, None]
    proxy = through(lambda number: faults[number % len(faults)], most=3)
    url = f"http://127.0.0.1:{proxy.port}"
    wanted = list(io.iter_tar(f"{root}/{{0..2}}.tar"))
    assert list(io.iter_tar(f"{url}/{{0..2}}.tar")) == wanted
    ds = ps.open(f"{url}/1.tar").shuffle(seed=4).decode("cls")
    labels = [batch["cls"].tolist() for batch in ds.batch(20).loader(threads=2)]
    assert sorted(sum(labels, [])) == list(range(100, 200))  # noqa: RUF017
    assert proxy.faults > 10


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
    crowd = Crowd()
    proxy = through(crowd)
    samples = iter(io.iter_tar(f"http://127.0.0.1:{proxy.port}/large.tar"))
    next(samples)
    crowd.expect(2)
    assert sum(1 for _ in samples) == 39
    assert proxy.requests >= 12
    assert crowd.most >= 2
    assert proxy.connections <= 32


def test_the_next_shards_come_while_one_is_read(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: None)
    stream = iter(io.iter_tar([f"http://127.0.0.1:{proxy.port}/large.tar"] * 3))
    for _ in range(30):  # of 40 samples in the first
        next(stream)
    # It has 12 ranges itself; without them the others have no more than their first.
    assert wait_until(lambda: proxy.requests >= 20)


def test_connections_are_used_again(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: None)
    records = ps.open(f"http://127.0.0.1:{proxy.port}/0.tar")
    for i in range(100):
        records[i]
    assert proxy.requests > 100
    assert proxy.connections <= 32


def test_many_threads_share_one_client(url: str, root: Path) -> None:
    data = (root / "large.tar").read_bytes()

    def part(i: int) -> bool:
        return io.read_range(f"{url}/large.tar", i * 1000, 5000) == data[i * 1000 : i * 1000 + 5000]

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(part, range(300)))


def bytes_of(ds: Any, batch: int, **settings: Any) -> list[list[bytes]]:
    loader = ds.batch(batch).loader(**settings)
    return [[bytes(one) for one in batch["bin"]] for batch in loader]


def test_a_loader_in_order_asks_for_few_large_ranges(
    through: Callable[[Any], Proxy], root: Path
) -> None:
    crowd = Crowd()
    proxy = through(crowd)
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/{{0..5}}.tar")
    before = proxy.requests
    crowd.expect(4)
    got = bytes_of(ds, 50, threads=1)
    assert got == bytes_of(ps.open(f"{root}/{{0..5}}.tar"), 50)
    assert proxy.requests - before <= 24  # 600 records, 12 batches
    assert crowd.most >= 4


def test_a_shuffled_loader_has_many_ranges_under_way(
    through: Callable[[Any], Proxy], root: Path
) -> None:
    crowd = Crowd()
    proxy = through(crowd)
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/large.tar").shuffle(seed=3)
    crowd.expect(16)
    got = bytes_of(ds, 4, threads=1)
    assert got == bytes_of(ps.open(f"{root}/large.tar").shuffle(seed=3), 4)
    assert crowd.most >= 16
    assert proxy.connections <= 32


def test_what_is_fetched_ahead_stays_under_the_ceiling(url: str, root: Path) -> None:
    ds = ps.open(f"{url}/large.tar").shuffle(seed=3).batch(4)
    budget = 3_000_000  # two batches
    loader = ds.loader(memory=budget, threads=2)
    for batch in loader:
        assert loader.stats()["memory"]["in_use"] <= budget
        del batch
    assert loader.stats()["memory"]["peak"] <= budget
    tight = ds.loader(memory=1000, threads=2)  # a batch that is alone is always admitted
    with pytest.warns(ResourceWarning, match="admitted alone"):
        assert sum(len(batch["bin"]) for batch in tight) == 40


def test_fields_that_lie_far_apart_are_fetched(url: str, root: Path) -> None:
    with tarfile.open(root / "apart.tar", "w") as tar:
        for i in range(20):
            for field, size in (("a", 100), ("large", 50_000), ("b", 200), ("c", 300)):
                member = tarfile.TarInfo(f"{i:05}.{field}")
                member.size = size
                tar.addfile(member, pyio.BytesIO(bytes([i]) * size))
    ds = ps.open(f"{url}/apart.tar", fields=["a", "b", "c"])
    for batch in ds.batch(5).loader(threads=2):
        for key, a, b, c in zip(batch["__key__"], batch["a"], batch["b"], batch["c"], strict=True):
            value = bytes([int(key)])
            assert (bytes(a), bytes(b), bytes(c)) == (value * 100, value * 200, value * 300)


def test_a_bad_sample_on_a_server_costs_itself_alone(url: str, root: Path) -> None:
    path = root / "bad.tar"
    write_tar(path, 0, 30)
    data = bytearray(path.read_bytes())
    header = data.index(b"00011.bin")
    data[header + 200] ^= 0xFF
    path.write_bytes(data)
    ds = ps.open(f"{url}/bad.tar").decode("cls")
    loader = ds.batch(10).loader(on_error="skip", threads=2)
    labels = [label for batch in loader for label in batch["cls"].tolist()]
    assert labels == [i for i in range(30) if i != 11]
    assert len(loader.errors()) == 1


def test_a_file_that_changes_under_a_loader_is_noticed(url: str, root: Path) -> None:
    path = root / "swapped.tar"
    write_tar(path, 0, 20)
    ds = ps.open(f"{url}/swapped.tar")
    write_tar(path, 100, 20)
    os.utime(path, (2, 2))
    with pytest.raises(OSError, match="changed on the server"):
        list(ds.batch(5).loader(threads=2))
    path.unlink()
    with pytest.raises(OSError, match="it was there when the dataset was opened"):
        list(ds.batch(5).loader(threads=2))


def test_faults_under_a_loader_that_pass_are_not_noticed(
    through: Callable[[Any], Proxy], root: Path
) -> None:
    faults = ["reset", None, "503", None, "cut", None]
    proxy = through(lambda number: faults[number % len(faults)], most=3)
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/large.tar").shuffle(seed=5)
    assert bytes_of(ds, 4) == bytes_of(ps.open(f"{root}/large.tar").shuffle(seed=5), 4)
    assert proxy.faults > 10


def test_a_cache_asks_a_server_once(through: Callable[[Any], Proxy]) -> None:
    proxy = through(lambda number: None)
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/0.tar").cache().shuffle(seed=2)
    first = bytes_of(ds, 25, epoch=0)
    before = proxy.requests
    assert sorted(sum(bytes_of(ds, 25, epoch=1), [])) == sorted(sum(first, []))  # noqa: RUF017
    assert proxy.requests == before


def test_a_loader_that_is_left_asks_for_no_more(through: Callable[[Any], Proxy]) -> None:
    proxy = through(Crowd())
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/{{0..5}}.tar").shuffle(seed=2)
    loader = ds.batch(20).loader(threads=2)
    next(iter(loader))
    loader.close()
    before = proxy.requests
    time.sleep(0.3)
    assert proxy.requests - before <= 32  # what was under way


def test_records_of_several_files_come_together(
    through: Callable[[Any], Proxy], root: Path
) -> None:
    for s in range(6):
        with io.TFRecordWriter(root / f"t{s}.tfrecord") as writer:
            for i in range(100):
                writer.write(b"%d" % (100 * s + i))
    crowd = Crowd()
    base = f"http://127.0.0.1:{through(crowd).port}"
    records = io.TFRecords([f"{base}/t{s}.tfrecord" for s in range(6)])
    crowd.expect(4)
    wanted = [550, 3, 120, 230, 340, 450, 3]
    assert [int(one) for one in records[wanted]] == wanted
    assert crowd.most >= 4


def write_tables(root: Path) -> Any:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    rows = np.arange(20_000)
    table = pa.table(
        {
            "x": rows,
            "name": [f"row {i}" for i in rows],
            "large": np.random.default_rng(0).random(len(rows)),
        }
    )
    parquet.write_table(table, root / "t.parquet", row_group_size=2000, compression="none")
    feather.write_feather(table, root / "t.feather", chunksize=2000)
    with pa.ipc.new_stream(root / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    return table


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_tables_are_read_from_a_server(
    through: Callable[[Any], Proxy], root: Path, name: str
) -> None:
    write_tables(root)
    proxy = through(lambda number: "503" if number % 20 == 3 else None, most=3)
    url = f"http://127.0.0.1:{proxy.port}/{name}"
    for ds, wanted in [
        (ps.open(url), ps.open(root / name)),
        (ps.open(url).shuffle(seed=2), ps.open(root / name).shuffle(seed=2)),
        (ps.open(url, filter=[("x", ">", 17_990)]), ps.open(root / name).skip(17_991)),
    ]:
        assert len(ds) == len(wanted)
        for got, local in zip(ds.batch(700).loader(), wanted.batch(700).loader(), strict=True):
            assert np.array_equal(got["x"], local["x"])
            assert np.array_equal(got["large"], local["large"])
            assert got["name"] == local["name"]


def test_a_group_of_rows_is_few_requests(through: Callable[[Any], Proxy], root: Path) -> None:
    write_tables(root)
    proxy = through(lambda number: None)
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/t.parquet")
    before = proxy.requests
    assert ds[5000]["name"] == "row 5000"
    assert proxy.requests - before <= 2
    before = proxy.requests
    some = ps.open(f"http://127.0.0.1:{proxy.port}/t.parquet", filter=[("x", "==", 3)])
    assert len(some) == 1
    assert proxy.requests - before <= 5  # nine groups are not touched


def test_a_table_that_changes_on_the_server_is_noticed(url: str, root: Path) -> None:
    table = write_tables(root)
    import pyarrow.parquet as parquet

    ds = ps.open(f"{url}/t.parquet")
    assert ds[3]["x"] == 3
    parquet.write_table(table.slice(5), root / "t.parquet", row_group_size=2000)
    os.utime(root / "t.parquet", (3, 3))
    with pytest.raises(OSError, match=r"changed on the server|another size"):
        ds[9000]
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        ps.open(f"{url}/none.parquet")


def test_what_is_not_read_from_servers_is_said(url: str, root: Path) -> None:
    write_tables(root)
    with pytest.raises(NotImplementedError, match=r"stream\.arrow has Arrow's stream format"):
        ps.open(f"{url}/stream.arrow")
    for names in (
        [f"{url}/x.npy"] * 2,
        [str(root / "x.npy"), f"{url}/x.npy"],
        f"{url}/{{x,y}}.npy",
    ):
        with pytest.raises(ps.PlanError, match="open one npy file at a time, and concatenate"):
            ps.open(names)
    together = ps.open(f"{url}/x.npy").concat(ps.open(f"{url}/x.npy"))
    assert len(together) == 2 * len(np.load(root / "x.npy"))


def test_single_pictures_on_a_server_are_refused_with_what_to_do(url: str, root: Path) -> None:
    (root / "one.png").write_bytes(io.encode_image(np.zeros((4, 5, 3), np.uint8), "png"))
    with pytest.raises(ps.PlanError, match=r"from_list\(urls\)\.map\(fn\)"):
        ps.open([f"{url}/one.png"])
    loaded = ps.from_list([f"{url}/one.png"]).map(lambda s: {"image": io.load_image(s["data"])})
    assert loaded[0]["image"].shape == (4, 5, 3)
