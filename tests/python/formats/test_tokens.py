"""Token files: windows beside NumPy's own slices, documents, resume."""

import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from patience import wait_until


def write(path: Path, tokens: Any, dtype: str = "uint16") -> Path:
    np.asarray(tokens, dtype).tofile(path)
    return path


def rows(ds: Any, **options: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([batch["tokens"] for batch in ds.batch(7).loader(**options)])


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int32"])
@pytest.mark.parametrize("stride", [None, 1, 5, 8, 20])
def test_windows_are_slices(tmp_path: Path, dtype: str, stride: int | None) -> None:
    rng = np.random.default_rng(0)
    low, high = (-(2**31), 2**31) if dtype == "int32" else (0, np.iinfo(dtype).max + 1)
    parts = [rng.integers(low, high, n).astype(dtype) for n in (100, 7, 53)]
    paths = [write(tmp_path / f"{i}.bin", part, dtype) for i, part in enumerate(parts)]
    ds = ps.open(paths, format="tokens", dtype=dtype, window=8, stride=stride)
    wanted = [
        part[first : first + 8] for part in parts for first in range(0, len(part) - 7, stride or 8)
    ]
    assert len(ds) == len(wanted)
    got = rows(ds, threads=2)
    assert got.dtype == np.int64
    assert np.array_equal(got, np.stack(wanted))
    assert np.array_equal(ds[3]["tokens"], wanted[3])
    assert ds[3]["tokens"].dtype == np.int64


def test_windows_are_shuffled_globally_and_resumed(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", np.arange(60_000))
    ds = ps.open(tmp_path / "*.bin", format="tokens", window=16, stride=4).shuffle(seed=2)
    everything = rows(ds, threads=2)
    assert len(everything) == len(ds) == 14997
    assert np.array_equal(np.sort(everything[:, 0]), np.arange(14997) * 4)
    assert np.array_equal(everything - everything[:, :1], np.tile(np.arange(16), (14997, 1)))
    half = ds.batch(7).loader()
    walker = iter(half)
    first = [next(walker)["tokens"] for _ in range(1000)]
    rest = pickle.loads(pickle.dumps(ds)).batch(7).loader()
    rest.load_state_dict(half.state_dict())
    again = np.concatenate([*first, *(batch["tokens"] for batch in rest)])
    assert np.array_equal(again, everything)


def test_documents_are_told_by_their_last_token(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", [1, 2, 3, 0, 4, 0, 0, 5, 6, 7, 8, 9, 0, 10])
    ds = ps.open(path, format="tokens", window=4, documents=0, pad=-1)
    (batch,) = ds.batch(10).loader()
    assert batch["tokens"].tolist() == [
        [1, 2, 3, 0],
        [4, 0, -1, -1],
        [0, -1, -1, -1],
        [5, 6, 7, 8],
        [9, 0, -1, -1],
        [10, -1, -1, -1],
    ]
    assert batch["length"].tolist() == [4, 2, 1, 4, 2, 1]
    assert batch["document"].tolist() == [0, 1, 2, 3, 3, 4]


def test_documents_are_told_by_an_index(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", range(10))
    starts = np.array([0, 3, 9])
    np.save(tmp_path / "starts.npy", starts)
    for documents in (starts, [starts], tmp_path / "starts.npy", [[0, 3, 9]]):
        ds = ps.open(path, format="tokens", window=4, stride=2, documents=documents)
        lengths = [(int(s["tokens"][0]), s["length"], s["document"]) for s in ds]
        assert lengths == [(0, 3, 0), (3, 4, 1), (5, 4, 1), (9, 1, 2)]


def test_tokens_go_through_maps_and_other_collations(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", range(100))
    ds = ps.open(path, format="tokens", window=11)
    pairs = ds.map(lambda s: {"x": s["tokens"][:-1], "y": s["tokens"][1:]})
    (batch,) = pairs.batch(9).loader()
    assert np.array_equal(batch["x"] + 1, batch["y"])
    assert batch["x"].shape == (9, 10)
    (listed,) = ds.batch(9, collate={"tokens": "list"}).loader()
    assert len(listed["tokens"]) == 9
    (renamed,) = ds.rename(tokens="ids").batch(9).loader()
    assert renamed["ids"].shape == (9, 11)


def test_documents_in_any_batch(tmp_path: Path) -> None:
    tokens = np.random.default_rng(3).integers(0, 9, 5000)
    path = write(tmp_path / "a.bin", tokens)
    ds = ps.open(path, format="tokens", window=6, stride=4, documents=0, pad=-7).shuffle(seed=5)
    samples = [ds[i] for i in range(len(ds))]
    for collate in (None, {"tokens": "list"}, {"length": "list"}):
        loader = ds.batch(64, collate=collate).loader(threads=2)
        batches = list(loader)
        for name in ("tokens", "length", "document"):
            got = [row for batch in batches for row in batch[name]]
            assert [np.asarray(row).tolist() for row in got] == [
                np.asarray(sample[name]).tolist() for sample in samples
            ]
            assert list(batches[0]) == ["tokens", "length", "document"]
    some = next(iter(ds.select("document", "tokens").rename(tokens="ids").batch(64).loader()))
    assert list(some) == ["document", "ids"]
    assert np.array_equal(some["ids"], [s["tokens"] for s in samples[:64]])


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", range(10))
    with pytest.raises(ps.PlanError, match="window is the number of tokens"):
        ps.open(path, format="tokens")
    with pytest.raises(ps.PlanError, match="tokens are uint16"):
        ps.open(path, format="tokens", window=4, dtype="float32")
    with pytest.raises(ps.PlanError, match=r"not as '>u2'.*astype\('uint16'\)"):
        ps.open(path, format="tokens", window=4, dtype=">u2")
    with pytest.raises(ps.PlanError, match="stride"):
        ps.open(path, format="tokens", window=4, stride=0)
    with pytest.raises(ps.PlanError, match="window= is for arrays and tokens"):
        ps.open(tmp_path, window=4)
    (tmp_path / "odd.bin").write_bytes(b"abc")
    with pytest.raises(ValueError, match=r"3 bytes.*odd\.bin"):
        ps.open(tmp_path / "odd.bin", format="tokens", window=4)
    with pytest.raises(FileNotFoundError, match=r"none\.bin"):
        ps.open(tmp_path / "none.bin", format="tokens", window=4)
    with pytest.raises(ValueError, match="must begin at 0"):
        ps.open(path, format="tokens", window=4, documents=np.array([0, 99]))
    with pytest.raises(ps.PlanError, match="there are 1 files, but documents for 2"):
        ps.open(path, format="tokens", window=4, documents=[[0], [0]])


@pytest.mark.parametrize("signals_are_reset", [False, True])
def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, signals_are_reset: bool) -> None:
    path = tmp_path / "shrinking.bin"
    np.arange(400_000, dtype="uint32").tofile(path)
    ds = ps.open(path, format="tokens", dtype="uint32", window=100)
    loader = ds.shuffle(seed=1).batch(16).loader(threads=2, prefetch=1)
    batches = iter(loader)
    assert len(next(batches)["tokens"]) == 16

    def at_rest() -> bool:
        counts = [stage.items_out for stage in loader.stats()["stages"]]
        time.sleep(0.2)
        return counts == [stage.items_out for stage in loader.stats()["stages"]]

    # Who is in the middle of a read when the handler goes away cannot be saved.
    assert wait_until(at_rest)
    if signals_are_reset:  # as Lightning does
        signal.signal(signal.SIGBUS, signal.SIG_DFL)
    os.truncate(path, 800_400)  # inside a page
    with pytest.raises(OSError, match=r"become shorter"):
        list(batches)
    with pytest.raises(OSError, match=r"become shorter.*shrinking\.bin"):
        ds[10]
