"""Rows and windows from a web server: neighbours come in one request, and many are under way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import penstock as ps
import pytest
import zarr
from arrays import assert_rows
from servers import NGINX, Crowd, Proxy, nginx

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")

ROWS = np.random.default_rng(1).integers(0, 255, (4000, 100), "u1")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    with h5py.File(folder / "chunks.h5", "w") as file:
        file.create_dataset("data", data=ROWS, chunks=(5, 100), compression="gzip")
    with h5py.File(folder / "plain.h5", "w") as file:
        file.create_dataset("data", data=ROWS)
    for shards, name in (((400, 100), "shards.zarr"), (None, "files.zarr")):
        made = zarr.create_array(
            store=str(folder / name), shape=ROWS.shape, dtype="u1", chunks=(5, 100), shards=shards
        )
        made[...] = ROWS
    ROWS.astype("uint16").tofile(folder / "tokens.bin")
    np.save(folder / "rows.npy", ROWS)
    return folder


@pytest.fixture(scope="module")
def port(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with nginx(root, tmp_path_factory.mktemp("nginx")) as port:
        yield port


def opened(base: str, name: str, **options: Any) -> Any:
    if name == "tokens.bin":
        return ps.open(f"{base}/{name}", format="tokens", window=100)
    return ps.open(f"{base}/{name}", **options)


def values(ds: Any, **settings: Any) -> Any:
    batches = list(ds.batch(100).loader(**settings))
    return np.concatenate([next(iter(batch.values())) for batch in batches])


NAMES = ["chunks.h5", "plain.h5", "shards.zarr", "tokens.bin", "rows.npy"]


@pytest.mark.parametrize("name", NAMES)
def test_in_order_neighbours_come_in_one_request(port: int, root: Path, name: str) -> None:
    crowd = Crowd()
    proxy = Proxy(port, crowd)
    ds = opened(f"http://127.0.0.1:{proxy.port}", name)
    before = proxy.requests
    crowd.expect(4)
    assert np.array_equal(values(ds, threads=1), ROWS)
    # 40 batches of 100 rows, in 800 chunks; ten shards take two more each to open.
    assert proxy.requests - before <= 40 + 20 + 5
    assert crowd.most >= 4
    proxy.close()


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_many_are_under_way(port: int, root: Path, name: str) -> None:
    crowd = Crowd()
    proxy = Proxy(port, crowd)
    ds = opened(f"http://127.0.0.1:{proxy.port}", name)
    for i in range(0, len(ROWS), 400):  # opens a shard
        ds[i]
    ds = ds.shuffle(seed=3)
    crowd.expect(4)
    assert np.array_equal(values(ds, threads=1), values(opened(str(root), name).shuffle(seed=3)))
    assert 4 <= crowd.most <= 32
    proxy.close()


def test_a_chunk_of_several_batches_is_fetched_once(port: int, root: Path) -> None:
    proxy = Proxy(port, lambda number: None)
    ds = opened(f"http://127.0.0.1:{proxy.port}", "chunks.h5")
    before = proxy.requests
    for batch in ds.batch(2).loader(threads=2):
        assert batch["data"].shape == (2, 100)
    # A connection that the server closes between two requests costs one more.
    assert proxy.requests - before <= 800 + 16
    assert ds._leaves()[0].chunks_loaded == 800
    proxy.close()


def test_a_small_cache_of_chunks_and_windows_of_rows(port: int, root: Path) -> None:
    url = f"http://127.0.0.1:{port}/chunks.h5"
    ds = ps.open(url, chunk_cache=20 * 800).shuffle(seed=2, window=300)
    local = ps.open(root / "chunks.h5").shuffle(seed=2, window=300)
    assert np.array_equal(values(ds, threads=2), values(local))
    windows = np.stack([ROWS[i : i + 12] for i in range(0, len(ROWS) - 11, 7)])
    assert_rows(ps.open(url, window=12, stride=7), data=windows)
    assert_rows(ps.open(f"http://127.0.0.1:{port}/plain.h5", window=12, stride=7), data=windows)


def test_fields_of_both_kinds_side_by_side(port: int, root: Path) -> None:
    big = np.arange(4000, dtype=">i4").reshape(1000, 4)
    with h5py.File(root / "two.h5", "w") as file:
        file.create_dataset("image", data=ROWS[:1000], chunks=(7, 30), compression="lzf")
        file.create_dataset("label", data=big)
    ds = ps.open(f"http://127.0.0.1:{port}/two.h5")
    assert_rows(ds, image=ROWS[:1000], label=big)


def test_rows_of_npy_files_that_are_no_ranges_say_so(port: int, root: Path) -> None:
    base = f"http://127.0.0.1:{port}"
    with pytest.raises(FileNotFoundError, match=r"none\.npy"):
        ps.open(f"{base}/none.npy")
    np.save(root / "fortran.npy", np.asfortranarray(ROWS))
    with pytest.raises(NotImplementedError, match=r"in Fortran order.*fortran\.npy"):
        ps.open(f"{base}/fortran.npy")
    np.save(root / "records.npy", np.zeros(3, [("a", "i4")]))
    with pytest.raises(NotImplementedError, match=r"of records.*records\.npy"):
        ps.open(f"{base}/records.npy")
    whole = (root / "rows.npy").read_bytes()
    (root / "cut.npy").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"cut\.npy"):
        ps.open(f"{base}/cut.npy")
    texts = np.array([["a", "bcd"], ["", "é"]])
    np.save(root / "texts.npy", texts)
    assert_rows(ps.open(f"{base}/texts.npy"), data=texts)


def test_what_is_fetched_ahead_stays_under_the_ceiling(port: int) -> None:
    ds = opened(f"http://127.0.0.1:{port}", "tokens.bin").shuffle(seed=3).batch(50)
    loader = ds.loader(memory=3_000_000, threads=2)
    for batch in loader:
        assert loader.stats()["memory"]["in_use"] <= 3_000_000
        del batch
    assert loader.stats()["memory"]["peak"] <= 3_000_000


@pytest.mark.parametrize("name", NAMES)
def test_faults_that_pass_are_not_noticed(port: int, root: Path, name: str) -> None:
    faults = [None, "reset", "503", None, "cut"]
    proxy = Proxy(port, lambda number: faults[number % len(faults)], most=2)
    ds = opened(f"http://127.0.0.1:{proxy.port}", name)
    assert np.array_equal(values(ds.take(1000), threads=2), ROWS[:1000])
    assert proxy.faults > 3
    proxy.close()
