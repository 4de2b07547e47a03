"""Where the chunks of HDF5 datasets are: every kind of index, beside h5py; damage; user blocks."""

import itertools
import random
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import penstock as ps
import pytest
from arrays import assert_rows, assert_same, filled

OLD, V108, V110, V112 = "earliest", ("v108", "v108"), ("v110", "v110"), ("v112", "v112")
VERSIONS: list[Any] = [OLD, V108, V110, V112, ("earliest", "v110")]
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 1},
    "shuffle": {"shuffle": True},
    "fletcher32": {"fletcher32": True},
    "lzf": {"compression": "lzf"},
}
# How a dataset may grow, and the mark of the index that files of 1.10 have for it.
GROWS: dict[str, tuple[Any, bytes]] = {
    "fixed": ((20, 6), b"FAHD"),
    "finite": ((33, 11), b"FAHD"),
    "first": ((None, 11), b"EAHD"),
    "other": ((33, None), b"EAHD"),
    "both": ((None, None), b"BTHD"),
}


def assert_same_as_h5py(path: Path, rows: Any = None, native: bool = True) -> None:
    with h5py.File(path) as file:
        wanted = file["x"][...]
    ds = ps.open(path)
    assert len(ds) == len(wanted)
    for i in range(len(wanted)) if rows is None else rows:
        assert_same(ds[i]["x"], wanted[i])
    assert ("read by libhdf5" in ds.explain()) != native, ds.explain()


# ---- values


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("grows", GROWS)
@pytest.mark.parametrize("libver", VERSIONS, ids=str)
def test_every_index_and_filter(libver: Any, grows: str, filters: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    most, mark = GROWS[grows]
    options = {"chunks": (3, 2), "maxshape": most, "fillvalue": 9, **filters}
    with h5py.File(path, "w", libver=libver) as file:
        made = file.create_dataset("x", (20, 6), "i4", **options)
        made[...] = filled("i4", (20, 6))
    assert_same_as_h5py(path)
    assert libver not in (V110, V112) or mark in path.read_bytes()
    with h5py.File(path, "a", libver=libver) as file:
        made = file.create_dataset("some", (20, 6), "i4", **options)
        made[4:7, 1] = 5
        made[19] = 6
        file.create_dataset("none", (20, 6), "i4", **options)
        if grows != "fixed":
            made.resize((23, 5))
            made.resize((20, 6))
        wanted = {name: file[name][...] for name in file}
    assert_rows(ps.open(path), **wanted)


@pytest.mark.parametrize("grows", GROWS)
def test_the_latest_version_without_filters(grows: str, tmp_path: Path) -> None:
    """With filters HDF5 2.0 writes what libhdf5 1.10 does not open."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as file:
        options = {"chunks": (3, 2), "maxshape": GROWS[grows][0]}
        file.create_dataset("x", data=filled("i4", (20, 6)), **options)
    assert_same_as_h5py(path)


def test_an_array_that_grows_in_another_dimension_than_the_first(tmp_path: Path) -> None:
    path, array = tmp_path / "x.h5", np.arange(1, 17, dtype="i4").reshape(4, 4)
    with h5py.File(path, "w", libver="v110") as file:
        file.create_dataset("x", data=array, chunks=(2, 2), maxshape=(4, None))
    assert_rows(ps.open(path), x=array)


@pytest.mark.parametrize("seed", range(6))
def test_any_dataset_is_what_h5py_reads(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    for number in range(20):
        path = tmp_path / f"{number}.h5"
        shape = tuple(choose.choice([0, 1, 2, 5, 8, 12]) for _ in range(choose.randint(1, 3)))
        chunks = tuple(choose.randint(1, max(extent, 1)) for extent in shape)
        most = tuple(
            choose.choice([None, max(extent, chunk), extent + choose.randint(1, 9)])
            for extent, chunk in zip(shape, chunks, strict=True)
        )
        options = choose.choice(list(FILTERS.values())) | {"chunks": chunks, "fillvalue": 3}
        block = choose.choice([0, 0, 512, 2048])
        libver = choose.choice(VERSIONS)
        with h5py.File(path, "w", libver=libver, userblock_size=block) as file:
            made = file.create_dataset("x", shape, "i4", maxshape=most, **options)
            for _ in range(choose.randint(0, 4)):
                part = tuple(
                    slice(*sorted((choose.randint(0, n), choose.randint(0, n)))) for n in made.shape
                )
                where = choose.choice([part, tuple(slice(0, n) for n in made.shape)])
                made[where] = choose.randint(1, 2**30)
                if choose.random() < 0.6:
                    made.resize(
                        tuple(
                            choose.randint(0, extent + 9 if limit is None else limit)
                            for extent, limit in zip(made.shape, most, strict=True)
                        )
                    )
        assert_same_as_h5py(path)


@pytest.mark.parametrize("filters", ["none", "fletcher32"])
@pytest.mark.parametrize(
    ("most", "marks"),
    [
        ((20_000, 1), [b"FADB"]),
        ((30_000, 3), [b"FADB"]),
        ((None, 1), [b"EASB", b"EADB"]),
        ((20_000, None), [b"EASB", b"EADB"]),
        ((None, None), [b"BTIN", b"BTLF"]),
    ],
    ids=["fixed", "finite", "first", "other", "both"],
)
def test_many_chunks(most: Any, marks: list[bytes], filters: str, tmp_path: Path) -> None:
    """Pages, super blocks and inner nodes; some pages are not there."""
    path, rows = tmp_path / "x.h5", 20_000
    with h5py.File(path, "w", libver=V110) as file:
        options = {"chunks": (1, 1), "maxshape": most, "fillvalue": -1, **FILTERS[filters]}
        made = file.create_dataset("x", (rows, 1), "i4", **options)
        for first, last in ((0, 3000), (7000, 7010), (12_500, rows)):
            made[first:last] = np.arange(first, last).reshape(-1, 1)
    assert all(mark in path.read_bytes() for mark in marks)
    ds = ps.open(path)  # libhdf5 would take half a minute
    got = np.concatenate([batch["x"][:, 0] for batch in ds.batch(1000).loader(threads=1)])
    wanted = np.full(rows, -1)
    for first, last in ((0, 3000), (7000, 7010), (12_500, rows)):
        wanted[first:last] = np.arange(first, last)
    assert np.array_equal(got, wanted)
    assert "read by libhdf5" not in ds.explain()


@pytest.mark.parametrize("filters", ["none", "fletcher32"])
@pytest.mark.parametrize("most", [(None,), (1_000_000,)], ids=["first", "finite"])
def test_pages_that_are_far_apart(most: Any, filters: str, tmp_path: Path) -> None:
    """An array that grows has pages from 131,088 chunks on."""
    path, rows = tmp_path / "x.h5", 600_000
    places = [0, 3, 4, 131_087, 131_088, 140_000, 262_159, 262_160, 300_000, 524_303, 524_304]
    places += [*range(133_000, 133_300), *range(400_000, 401_030), rows - 1]
    with h5py.File(path, "w", libver=V110) as file:
        options = {"chunks": (1,), "maxshape": most, "fillvalue": -1, **FILTERS[filters]}
        made = file.create_dataset("x", (rows,), "i4", **options)
        for place in places:
            made[place] = place
    ds = ps.open(path)
    for place in places:
        assert ds[place]["x"] == place
        for near in (place - 1, place + 1):
            if 0 <= near < rows and near not in places:
                assert ds[near]["x"] == -1
    assert "read by libhdf5" not in ds.explain()


def test_chunks_that_were_all_made_at_once(tmp_path: Path) -> None:
    """Without an index, as they lie one after the other."""
    for number, most in enumerate([None, (20, 6), (33, 11)]):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w", libver=V110) as file:
            created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            created.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            created.set_chunk((3, 2))
            space = h5py.h5s.create_simple((20, 6), most)
            made = h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32LE, space, created)
            made.write(h5py.h5s.ALL, h5py.h5s.ALL, filled("i4", (20, 6)))
            if most == (33, 11):
                file["x"].resize((7, 9))
        data = path.read_bytes()
        assert not any(mark in data for mark in (b"FAHD", b"EAHD", b"BTHD", b"TREE\1"))
        assert_same_as_h5py(path)


@pytest.mark.parametrize("filters", FILTERS)
def test_a_single_chunk(filters: str, tmp_path: Path) -> None:
    for number, chunks in enumerate([(20, 6), (25, 6)]):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w", libver=V110) as file:
            most = None if chunks == (20, 6) else chunks
            options = {"chunks": chunks, "maxshape": most, **FILTERS[filters]}
            file.create_dataset("x", data=filled("i4", (20, 6)), **options)
            file.create_dataset("none", (20, 6), "i4", fillvalue=4, **options)
            wanted = {name: file[name][...] for name in file}
        assert_rows(ps.open(path), **wanted)


@pytest.mark.parametrize("version", [1, 2])
def test_layouts_of_the_first_versions(version: int, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=OLD) as file:
        file.create_dataset("x", data=np.arange(20, dtype="i4"), chunks=(3,), compression="gzip")
    data = path.read_bytes()
    new = re.compile(rb"\x03\x02\x02(.{8})(\x03\x00\x00\x00\x04\x00\x00\x00).{5}", re.DOTALL)
    assert len(new.findall(data)) == 1
    old = bytes([version, 2, 2]) + bytes(5)
    path.write_bytes(new.sub(lambda found: old + found[1] + found[2], data))
    assert_same_as_h5py(path)


# ---- files that begin with something else


@pytest.mark.parametrize("libver", [OLD, V110], ids=str)
@pytest.mark.parametrize("afterwards", [False, True], ids=["made so", "put in front later"])
def test_a_user_block(libver: Any, afterwards: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    block = 0 if afterwards else 1024
    wanted: dict[str, Any] = {}
    with h5py.File(path, "w", libver=libver, userblock_size=block) as file:
        for filters, (grows, (most, _)) in itertools.product(FILTERS, GROWS.items()):
            name = f"{filters} {grows}"
            wanted[name] = filled("f4", (20, 6)) + len(wanted)
            options = {"chunks": (3, 2), "maxshape": most, **FILTERS[filters]}
            file.create_dataset(name, data=wanted[name], **options)
        wanted["contiguous"] = filled("i2", (20, 5))
        file.create_dataset("contiguous", data=wanted["contiguous"])
        file.create_dataset("scaled", data=np.arange(20), chunks=(4,), scaleoffset=0)
        wanted["scaled"] = np.arange(20)
    if afterwards:
        path.write_bytes(b"#" * 512 + path.read_bytes())
    ds = ps.open(path)
    assert_rows(ds, **wanted)
    assert ds.explain().count("read by libhdf5") == 1  # scaled


# ---- what libhdf5 has to read


def narrow(path: Path, sizes: tuple[int, int], **options: Any) -> None:
    """Addresses and lengths of so many bytes."""
    created = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    created.set_sizes(*sizes)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    made = h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, created, access)
    with h5py.File(made) as file:
        file.create_dataset("x", data=filled("i4", (20, 6)), chunks=(3, 2), **options)


@pytest.mark.parametrize("sizes", [(4, 4), (8, 4), (4, 8)], ids=str)
def test_other_widths_are_left_to_libhdf5(sizes: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    narrow(path, sizes, compression="gzip")
    assert_same_as_h5py(path, native=False)
    assert "because addresses or lengths in the file are not 8 bytes" in ps.open(path).explain()


def test_libhdf5_reads_arrays_that_grow_in_another_dimension(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    narrow(path, (4, 8), maxshape=(20, None))
    assert_same_as_h5py(path, native=False)
    with h5py.File(path, "w", libver=V110) as file:
        options = {"chunks": (3, 2), "maxshape": (33, None), "scaleoffset": 0}
        file.create_dataset("x", data=filled("i4", (20, 6)), **options)
        file["x"].resize((21, 5))
    assert_same_as_h5py(path, native=False)


def test_filters_that_libhdf5_lacks_are_refused_when_it_has_to_read(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    narrow(path, (4, 4), compression="lzf")
    with pytest.raises(NotImplementedError, match=r"'x': its filter 32000 \(lzf\).*PLUGIN_PATH"):
        ps.open(path)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.create_dataset("x", data=np.arange(20), chunks=(4,), compression="lzf")
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["far"] = h5py.ExternalLink("other.h5", "/x")
    with pytest.raises(NotImplementedError, match="has to read it because a link leads to it"):
        ps.open(tmp_path / "link.h5", fields=["far"])


def test_single_values_have_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["scale"] = 2.0
        file["empty"] = h5py.Empty("f4")
        file["rows"] = np.arange(3)
    for name in ("scale", "empty"):
        with pytest.raises(ValueError, match=f"invalid argument: '{name}' is a single value.*x.h5"):
            ps.open(path, fields=[name])
    assert ps.open(path).fields == ["rows"]


# ---- damage


@pytest.mark.parametrize("grows", GROWS)
def test_a_flipped_byte_is_an_error_or_does_not_matter(grows: str, tmp_path: Path) -> None:
    """Everything in such a file has a checksum: chunks, too."""
    path, array = tmp_path / "x.h5", filled("i4", (20, 6))
    most, mark = GROWS[grows]
    with h5py.File(path, "w", libver=V110) as file:
        options = {"chunks": (5, 3), "maxshape": most, "fletcher32": True}
        file.create_dataset("x", data=array, **options)
    whole = path.read_bytes()
    marks = [b"FADB", b"EAIB", b"EADB", b"BTLF", mark]
    starts = [whole.index(one) for one in marks if one in whole]
    tried = {at for start in starts for at in range(start, min(start + 240, len(whole)))}
    messages = []
    for at in sorted(tried):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        path.write_bytes(bytes(data))
        try:
            got = [sample["x"] for sample in ps.open(path)]
        except (ValueError, NotImplementedError, OSError) as error:
            messages.append(str(error))
        else:
            assert_same(np.stack(got), array)
    assert len(messages) >= 28  # a header of an index, at least
    assert all("x.h5" in message for message in messages)


def test_the_place_of_the_damage_is_named(tmp_path: Path) -> None:
    for number, (most, mark) in enumerate(GROWS.values()):
        path = tmp_path / f"{number}.h5"
        with h5py.File(path, "w", libver=V110, userblock_size=512) as file:
            file.create_dataset("x", data=filled("i4", (20, 6)), chunks=(3, 2), maxshape=most)
        data = bytearray(path.read_bytes())
        at = data.index(mark)
        data[at + 9] ^= 16
        path.write_bytes(bytes(data))
        with pytest.raises(ValueError, match=rf"checksum.*{number}\.h5.*{at}\b"):
            ps.open(path)


@pytest.mark.parametrize("grows", GROWS)
def test_cut_anywhere_nothing_is_made_up(grows: str, tmp_path: Path) -> None:
    path, array = tmp_path / "x.h5", filled("i4", (20, 6))
    with h5py.File(path, "w", libver=V110) as file:
        options = {"chunks": (3, 2), "maxshape": GROWS[grows][0]}
        file.create_dataset("x", data=array, **options)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with pytest.raises((ValueError, OSError), match=r"x\.h5"):
            list(ps.open(path))
