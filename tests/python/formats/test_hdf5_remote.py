"""HDF5 files on a web server, beside h5py on the same files: values, requests, faults, damage."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import penstock as ps
import pytest
from arrays import assert_rows, assert_same, filled
from penstock import io
from servers import NGINX, Proxy, nginx

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def port(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with nginx(root, tmp_path_factory.mktemp("nginx")) as port:
        yield port


@pytest.fixture
def url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def write(path: Path, array: Any, **options: Any) -> Path:
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=array, **options)
    return path


def test_values_are_what_h5py_reads(url: str, root: Path) -> None:
    with h5py.File(root / "all.h5", "w") as file:
        tall = filled("f4", (40, 30, 7))
        packed = {"compression": "gzip", "shuffle": True, "fletcher32": True}
        file.create_dataset("packed", data=tall, chunks=(4, 9, 7), **packed)
        file.create_dataset("group/plain", data=filled(">i2", (40, 5)))
        file.create_dataset("group/lzf", data=filled("u1", (40,)), chunks=(7,), compression="lzf")
        file.create_dataset(
            "only_libhdf5", data=filled("i4", (40, 6)), chunks=(3, 6), scaleoffset=0
        )
        file.create_dataset("nothing", (40,), "i2", fillvalue=5)
        file["packed"].attrs["unit"] = "m"
    with h5py.File(root / "all.h5") as file:
        names = ["packed", "group/plain", "group/lzf", "only_libhdf5", "nothing"]
        wanted = {name: file[name][...] for name in names}
    ds = ps.open(f"{url}/all.h5")
    assert_rows(ds, **wanted)
    assert "only_libhdf5: read by libhdf5, one thread at a time" in ds.explain()
    assert "packed: read by libhdf5" not in ds.explain()
    assert io.array_info(f"{url}/all.h5")["packed"]["attributes"] == {"unit": "m"}


def test_text_and_lists_of_any_length(url: str, root: Path) -> None:
    texts = [f"text {i}" * (i % 9) for i in range(500)]
    with h5py.File(root / "varying.h5", "w") as file:
        file.create_dataset("text", data=texts, chunks=(50,), compression="gzip")
        made = file.create_dataset("list", (500,), h5py.vlen_dtype("i2"))
        for i in range(0, 500, 7):
            made[i] = np.arange(i)
        file.attrs["unit"] = ["m", "s"]
    ds = ps.open(f"{url}/varying.h5")
    assert [sample["text"] for sample in ds] == texts
    for batch in ds.shuffle(seed=1).batch(100, collate={"list": "list"}).loader(threads=4):
        for text, one in zip(batch["text"], batch["list"], strict=True):
            i = one[-1] + 1 if len(one) else 0
            assert text == texts[i] or i == 0
    assert io.array_info(f"{url}/varying.h5")[""]["attributes"] == {"unit": ["m", "s"]}


@pytest.mark.parametrize("libver", ["earliest", ("v108", "v108"), ("v110", "v110")], ids=str)
def test_files_of_every_version(url: str, root: Path, libver: Any) -> None:
    array = filled("f4", (130, 3))
    with h5py.File(root / "version.h5", "w", libver=libver) as file:
        file.create_dataset("x", data=array, chunks=(7, 2), maxshape=(None, 3), compression="gzip")
    assert_rows(ps.open(f"{url}/version.h5"), x=array)


@pytest.mark.parametrize("most", [None, (None, 400), (20_000, None), (None, None)], ids=str)
@pytest.mark.parametrize("libver", ["earliest", ("v110", "v110")], ids=str)
def test_opening_takes_few_requests(port: int, root: Path, libver: Any, most: Any) -> None:
    rows = np.random.default_rng(1).integers(0, 255, (20_000, 400), "u1")
    with h5py.File(root / "many.h5", "w", libver=libver) as file:
        options = {"chunks": (5, 400), "maxshape": most, "compression": "gzip"}
        file.create_dataset("x", data=rows, **options)
    proxy = Proxy(port, lambda number: None)
    ds = ps.open(f"http://127.0.0.1:{proxy.port}/many.h5")
    assert proxy.requests <= 100  # 4,000 chunks in 8 MB
    for i in (0, 321, 19_999):
        assert_same(ds[i]["x"], rows[i])
    proxy.close()


def test_faults_that_pass_are_not_noticed(port: int, root: Path) -> None:
    array = filled("f4", (200, 300))
    write(root / "faults.h5", array, chunks=(4, 300), compression="gzip")
    faults = ["reset", None, "503", None, "cut", None, "hang up", None]
    proxy = Proxy(port, lambda number: faults[number % len(faults)], most=2)
    assert_rows(ps.open(f"http://127.0.0.1:{proxy.port}/faults.h5"), x=array)
    assert proxy.faults > 3
    proxy.close()


@pytest.mark.parametrize("good", [1, 2])
def test_a_server_that_stays_broken_is_an_error(port: int, root: Path, good: int) -> None:
    rows = np.random.default_rng(1).integers(0, 255, (2000, 1000), "u1")
    write(root / "broken.h5", rows, chunks=(1, 1000), compression="gzip")
    proxy = Proxy(port, lambda number: "503" if number >= good else None)
    with pytest.raises(OSError, match=r"failed 6 times.*broken\.h5"):
        ps.open(f"http://127.0.0.1:{proxy.port}/broken.h5")
    proxy.close()


@pytest.mark.parametrize("options", [{"chunks": (4, 300), "compression": "gzip"}, {}], ids=str)
def test_a_file_that_changes_on_the_server_is_noticed(url: str, root: Path, options: Any) -> None:
    array = filled("f4", (200, 300))
    path = write(root / "changing.h5", array, **options)
    ds = ps.open(f"{url}/changing.h5")
    assert_same(ds[3]["x"], array[3])
    write(path, array + 1, **options)
    os.utime(path, (2, 2))
    with pytest.raises(OSError, match=r"on the server|another size"):
        ds[150]
    path.unlink()
    with pytest.raises(OSError, match=r"changing\.h5"):
        ds[151]


def test_what_libhdf5_reads_notices_changes_too(url: str, root: Path) -> None:
    array = filled("i4", (2000, 300))
    path = write(root / "changing.h5", array, chunks=(100, 300), scaleoffset=0)
    ds = ps.open(f"{url}/changing.h5")
    assert_same(ds[3]["x"], array[3])
    os.utime(path, (2, 2))
    with pytest.raises(OSError, match="changed on the server"):
        ds[1500]


def test_what_is_not_there_or_cut_is_said(url: str, root: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.h5"):
        ps.open(f"{url}/none.h5")
    array = filled("f4", (400, 30))
    for options in ({"chunks": (4, 30), "compression": "gzip"}, {}):
        whole = write(root / "cut.h5", array, **options).read_bytes()
        for cut in (0, 8, 100, 600, 2000, len(whole) // 2, len(whole) - 1):
            (root / "cut.h5").write_bytes(whole[:cut])
            with pytest.raises((ValueError, OSError), match=r"cut\.h5"):
                ps.open(f"{url}/cut.h5")
    (root / "other.h5").write_bytes(b"not hdf5" * 100)
    with pytest.raises(ValueError, match=r"libhdf5 cannot open the file.*other\.h5"):
        ps.open(f"{url}/other.h5")


def test_a_damaged_chunk_costs_its_own_rows(url: str, root: Path) -> None:
    array = filled("f4", (20, 30))
    path = write(root / "bad.h5", array, chunks=(4, 30), compression="gzip")
    with h5py.File(path) as file:
        place = file["x"].id.get_chunk_info(2)
    data = bytearray(path.read_bytes())
    data[place.byte_offset + place.size // 2] ^= 0xFF
    path.write_bytes(data)
    loader = ps.open(f"{url}/bad.h5").batch(4).loader(on_error="skip", max_errors=None)
    assert sum(len(batch["x"]) for batch in loader) == 16
    assert len(loader.errors()) == 4


def test_elements_in_other_files_are_refused(url: str, root: Path) -> None:
    np.arange(10, dtype="i4").tofile(root / "raw.bin")
    layout = h5py.VirtualLayout((10,), "i4")
    layout[:] = h5py.VirtualSource(str(root / "local.h5"), "x", (10,))
    write(root / "local.h5", np.arange(10, dtype="i4"))
    with h5py.File(root / "outside.h5", "w") as file:
        place = [(str(root / "raw.bin"), 0, h5py.h5f.UNLIMITED)]
        file.create_dataset("external", (10,), "i4", external=place)
        file.create_virtual_dataset("virtual", layout)
        file["linked"] = h5py.ExternalLink(str(root / "local.h5"), "/x")
    assert_rows(ps.open(root / "outside.h5", fields=["virtual"]), virtual=np.arange(10, dtype="i4"))
    for name in ("external", "virtual"):
        with pytest.raises(NotImplementedError, match=f"'{name}' is in other files"):
            ps.open(f"{url}/outside.h5", fields=[name])
    with pytest.raises(KeyError, match="linked"):
        ps.open(f"{url}/outside.h5", fields=["linked"])
