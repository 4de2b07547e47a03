"""HDF5 beside h5py: every dtype, filter and layout; what falls back to libhdf5; damage."""

import ctypes
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import penstock as ps
import pytest
from arrays import NUMBERS, assert_rows, assert_same, filled, texts
from penstock import inspection, io

RECORD = np.dtype([("a", "<f4"), ("b", ">i2", (2,)), ("c", [("x", "S3"), ("y", "?")])])
PADDED = np.dtype(
    {"names": ["u", "v"], "formats": ["u1", "<f8"], "offsets": [0, 8], "itemsize": 24}
)
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "gzip": {"compression": "gzip", "compression_opts": 1},
    "gzip shuffle": {"compression": "gzip", "shuffle": True},
    "gzip shuffle fletcher32": {"compression": "gzip", "shuffle": True, "fletcher32": True},
    "fletcher32": {"fletcher32": True},
    "shuffle": {"shuffle": True},
    "lzf": {"compression": "lzf"},
    "lzf shuffle": {"compression": "lzf", "shuffle": True},
    "lz4": dict(hdf5plugin.LZ4()),
    "lz4 blocks": dict(hdf5plugin.LZ4(nbytes=64)),
    "zstd": dict(hdf5plugin.Zstd()),
    "zstd shuffle fletcher32": {**hdf5plugin.Zstd(), "shuffle": True, "fletcher32": True},
} | {
    f"blosc {name} {shuffle}": dict(hdf5plugin.Blosc(cname=name, shuffle=shuffle))
    for name in ("lz4", "zstd", "blosclz", "zlib")
    for shuffle in (0, 1, 2)
}
LAYOUTS: dict[str, Any] = {"rows": (4, 6, 5), "tiles": (3, 4, 2), "one": (13, 6, 5)}
VERSIONS = ["earliest", ("earliest", "v108"), ("v108", "v108"), ("v110", "v110")]


def write(path: Path, libver: Any = "earliest", **arrays: Any) -> Path:
    with h5py.File(path, "w", libver=libver) as file:
        for name, (array, options) in arrays.items():
            file.create_dataset(name, data=array, **options)
    return path


# ---- values


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_filters_and_layouts(filters: Any, layout: Any, tmp_path: Path) -> None:
    arrays = {dtype: filled(dtype, (13, 6, 5)) for dtype in ("u1", "i2", "f4", "f8")}
    options = {"chunks": layout, **filters}
    path = write(tmp_path / "x.h5", **{name: (array, options) for name, array in arrays.items()})
    ds = ps.open(path)
    assert_rows(ds, **arrays)
    assert "libhdf5" not in ds.explain()


@pytest.mark.parametrize("chunks", [None, (4, 2)], ids=["contiguous", "chunked"])
@pytest.mark.parametrize("dtype", [*NUMBERS, ">i2", ">u4", ">f2", ">f8"])
def test_numbers_are_what_h5py_reads(dtype: str, chunks: Any, tmp_path: Path) -> None:
    array = filled(dtype, (11, 2))
    assert_rows(ps.open(write(tmp_path / "x.h5", x=(array, {"chunks": chunks}))), x=array)


@pytest.mark.parametrize("chunks", [None, (4, 2)], ids=["contiguous", "chunked"])
@pytest.mark.parametrize("dtype", ["c8", ">c16", "S5", RECORD, PADDED, "V4"], ids=str)
def test_other_types_are_what_h5py_reads(dtype: Any, chunks: Any, tmp_path: Path) -> None:
    array = texts("S5", (11, 2)) if dtype == "S5" else filled(dtype, (11, 2))
    path = tmp_path / "x.h5"
    write(path, x=(array, {"chunks": chunks}))
    with h5py.File(path) as file:
        wanted = file["x"][...]
    got = np.stack([sample["x"] for sample in ps.open(path)])
    assert got.dtype.names == wanted.dtype.names
    if wanted.dtype.names:  # padding is nobody's
        for name in wanted.dtype.names:
            assert np.array_equal(got[name], wanted[name])
    else:
        assert_same(got, wanted)


def test_enumerations_arrays_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    dates = np.arange(6).astype("M8[s]")
    with h5py.File(path, "w") as file:
        enum = h5py.enum_dtype({"RED": 1, "GREEN": 2}, basetype="i2")
        file.create_dataset("enum", data=np.array([1, 2, 1, 1, 2, 2], "i2"), dtype=enum)
        file.create_dataset("array", (6,), np.dtype(("f4", (2, 3))), chunks=(4,))
        file["array"][...] = filled("f4", (6, 2, 3))
        file.create_dataset("date", data=dates.astype(h5py.opaque_dtype(dates.dtype)))
    assert_rows(
        ps.open(path),
        enum=np.array([1, 2, 1, 1, 2, 2], "i2"),
        array=filled("f4", (6, 2, 3)),
        date=dates,
    )


@pytest.mark.parametrize("libver", VERSIONS, ids=str)
def test_files_of_every_version_that_libhdf5_knows(libver: Any, tmp_path: Path) -> None:
    image, label = filled("f4", (130, 3, 2)), filled("i8", (130,))
    for i, chunks in enumerate([(1, 3, 2), (130, 3, 2), (7, 2, 1)]):
        for shape in (None, (None, 3, 2), (None, None, None)):
            more = {"chunks": chunks, "maxshape": shape, "compression": "gzip"}
            path = write(tmp_path / f"{i}.h5", libver, image=(image, more), label=(label, {}))
            assert_rows(ps.open(path), image=image, label=label)


@pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2, 0, 0), reason="writes no such files")
def test_a_file_of_a_later_version_is_an_error(tmp_path: Path) -> None:
    options = {"chunks": (2, 2), "compression": "gzip"}
    path = write(tmp_path / "x.h5", "latest", x=(filled("f4", (8, 2)), options))
    why = r"libhdf5 cannot open dataset 'x'.*version.*later HDF5 than this libhdf5.*libver=.*x.h5"
    with pytest.raises(NotImplementedError, match=why):
        ps.open(path)
    with h5py.File(path, "a", libver="latest") as file:
        file["y"] = np.arange(8)
    with pytest.raises(NotImplementedError, match=r"what can be read: fields=\['y'\].*x.h5"):
        ps.open(path)
    info = io.array_info(path)
    assert info["x"]["shape"] is None
    assert "later HDF5" in info["x"]["unreadable"]
    assert info["y"]["shape"] == (8,)


def test_many_chunks_are_found_at_once(tmp_path: Path) -> None:
    array = np.arange(20_000, dtype="i4").reshape(-1, 1)
    path = write(tmp_path / "x.h5", x=(array, {"chunks": (1, 1), "compression": "gzip"}))
    ds = ps.open(path)  # libhdf5 would take half a minute
    for i in (0, 63, 64, 9_999, 19_999):
        assert ds[i]["x"].tolist() == [i]


def test_what_was_not_written_is_the_fill_value(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        some = file.create_dataset("some", (20, 3), "f4", chunks=(4, 3), fillvalue=1.5)
        some[8:12] = 7
        file.create_dataset("chunked", (20,), ">i4", chunks=(4,), fillvalue=-3)
        file.create_dataset("contiguous", (20,), "i2", fillvalue=5)
        grown = file.create_dataset("grown", (5, 2), "f8", chunks=(2, 2), maxshape=(None, None))
        grown[...] = 2
        grown.resize((30, 4))
        grown.resize((20, 1))
        wanted = {name: file[name][...] for name in file}
    ds = ps.open(path)
    assert_rows(ds, **wanted)
    assert "contiguous: read by libhdf5, one thread at a time, because nothing" in ds.explain()


@pytest.mark.parametrize("chunks", [None, (3,)], ids=["contiguous", "chunked"])
@pytest.mark.parametrize(
    "end", [h5py.h5t.STR_NULLPAD, h5py.h5t.STR_NULLTERM, h5py.h5t.STR_SPACEPAD]
)
def test_texts_end_where_h5py_ends_them(end: int, chunks: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    text = h5py.h5t.C_S1.copy()
    text.set_size(6)
    text.set_strpad(end)
    record = h5py.h5t.create(h5py.h5t.COMPOUND, 24)
    record.insert(b"one", 1, text)
    record.insert(b"two", 8, h5py.h5t.array_create(text, (2,)))
    stored = b"ab\0cd ", b"ab    ", b"abcdef", b"\0\0\0\0\0\0", b"  a b ", b"abc\0\0\0"
    with h5py.File(path, "w") as file:
        created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if chunks:
            created.set_chunk(chunks)
        rows = h5py.h5s.create_simple((6,))
        # With the file's own type nothing is converted: the bytes come to lie there as they are.
        text_set = h5py.h5d.create(file.id, b"text", text, rows, created)
        data = np.frombuffer(b"".join(stored), "V6")
        text_set.write(h5py.h5s.ALL, h5py.h5s.ALL, data, text)
        records = np.zeros((6, 24), "u1")
        for i in range(6):
            records[i, 1:7] = bytearray(stored[i])
            records[i, 8:20] = bytearray(stored[-i] + stored[1 - i])
        record_set = h5py.h5d.create(file.id, b"record", record, rows, created)
        record_set.write(h5py.h5s.ALL, h5py.h5s.ALL, records.view("V24"), record)
    with h5py.File(path) as file:
        texts, wanted = file["text"][...], file["record"][...]
    ds = ps.open(path)
    assert [sample["text"].item() for sample in ds] == texts.tolist()
    got = np.stack([sample["record"] for sample in ds])
    for name in ("one", "two"):
        assert got[name].tolist() == wanted[name].tolist()


# ---- groups, rows, attributes


def test_groups_fields_and_windows(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    image, label = filled("u1", (30, 4, 4)), filled("i8", (30,))
    with h5py.File(path, "w") as file:
        file.create_dataset("train/image", data=image, chunks=(7, 4, 4), compression="gzip")
        file.create_dataset("train/label", data=label)
        file.create_dataset("test/label", data=label[:3])
        file.create_dataset("scale", data=2.0)
    with pytest.raises(ValueError, match=r"'test/label' has 3 rows, 'train/image' has 30; say"):
        ps.open(path)
    ds = ps.open(path, fields=["train/image", "train/label"])
    assert_rows(ds, **{"train/image": image, "train/label": label})
    assert_rows(pickle.loads(pickle.dumps(ds)), **{"train/image": image, "train/label": label})
    assert [int(sample["train/label"]) for sample in ds[10:20]] == label[10:20].tolist()
    windows = np.stack([image[i : i + 8] for i in range(0, 23, 3)])
    assert_rows(
        ps.open(path, fields=["train/image"], window=8, stride=3), **{"train/image": windows}
    )
    with pytest.raises(KeyError, match="there is no dataset 'no'; there are: scale, test/label"):
        ps.open(path, fields=["no"])
    with pytest.raises(ValueError, match="no rows"):
        ps.open(path, fields=["scale"])


def test_names_that_are_links(tmp_path: Path) -> None:
    path, array = tmp_path / "x.h5", filled("f4", (8, 2))
    write(tmp_path / "other.h5", x=(2 * array, {"chunks": (3, 2)}))
    with h5py.File(path, "w") as file:
        file["train/image"] = array
        file["hard"] = file["train/image"]
        file["soft"] = h5py.SoftLink("/train/image")
        file["far"] = h5py.ExternalLink("other.h5", "/x")
        file["lost"] = h5py.SoftLink("/nothing")
    for name in ("train/image", "/train/image", "hard", "soft"):
        assert_rows(ps.open(path, fields=[name]), **{name: array})
    assert_rows(ps.open(path, fields=["far"]), far=2 * array)
    assert "far: read by libhdf5" in ps.open(path, fields=["far"]).explain()
    for name in ("lost", "train"):
        with pytest.raises(KeyError, match=f"there is no dataset '{name}'"):
            ps.open(path, fields=[name])


def test_a_windowed_shuffle_unpacks_each_chunk_once(tmp_path: Path) -> None:
    array = np.arange(1000, dtype="i4").reshape(-1, 1)
    path = write(tmp_path / "x.h5", x=(array, {"chunks": (10, 1), "compression": "gzip"}))
    ds = ps.open(path, chunk_cache=16 * (40 + 256)).shuffle(seed=5, window=80)
    seen = np.concatenate([batch["x"][:, 0] for batch in ds.batch(20).loader(threads=1)])
    assert sorted(seen.tolist()) == list(range(1000))
    assert ds._leaves()[0].chunks_loaded == 100


def test_array_info_has_attributes(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5", x=(filled("f4", (8, 2)), {"chunks": (4, 2), "shuffle": True}))
    with h5py.File(path, "a") as file:
        file.attrs["made"] = "här"
        file.attrs["flag"] = True
        file["x"].attrs["numbers"] = np.array([[1, 2], [3, 4]])
        file["x"].attrs["half"] = np.float32(0.5)
        file["x"].attrs["words"] = np.array([b"a", b"bc"])
        file["x"].attrs["texts"] = ["x", "yz"]
        file["x"].attrs["odd"] = np.zeros(2, [("a", "i4")])
    info = io.array_info(path)
    assert info["x"]["shape"] == (8, 2)
    assert info["x"]["chunks"] == (4, 2)
    assert info["x"]["codecs"] == "shuffle"
    assert info["x"]["dtype"] == np.dtype("f4")
    assert info["x"]["attributes"] == {
        "numbers": [[1, 2], [3, 4]],
        "half": 0.5,
        "words": ["a", "bc"],
        "texts": ["x", "yz"],
        "odd": [{"a": 0}, {"a": 0}],
    }
    assert info[""]["attributes"] == {"made": "här", "flag": True}


def test_attributes_are_what_h5py_has(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5", x=(np.arange(3), {}))
    color = h5py.enum_dtype({"RED": 1, "GREEN": 2}, basetype="i2")
    with h5py.File(path, "a") as file:
        at = file["x"].attrs
        at["nan"] = float("nan")
        at["inf"] = np.array([1.0, np.inf, -np.inf])
        at["half"] = np.array([0.5, -2, 6e-8, np.inf], "f2")
        at["complex"] = 1 + 2j
        at["complexes"] = np.array([[1j, np.nan]], "c8")
        at["record"] = np.array([(1, "ab", 2j)], [("a", "i4"), ("s", "S4"), ("c", "c16")])[0]
        at["bools"] = np.array([True, False])
        at.create("enum", 2, dtype=color)
        lists = np.empty(2, "O")
        lists[:] = [np.arange(3, dtype="i4"), np.zeros(0, "i4")]
        at.create("lists", lists, (2,), h5py.vlen_dtype("i4"))
        at["empty"] = h5py.Empty("f4")
        at["none"] = np.zeros((0, 2))
        at["big"] = np.array([2**64 - 1, 0], "u8")
        at["ref"] = file["x"].ref
        at["opaque"] = np.void(b"abc")
    info = io.array_info(path)["x"]
    assert sorted(info["left_out"]) == ["opaque", "ref"]
    assert "references" in info["left_out"]["ref"]
    found = info["attributes"]
    assert np.isnan(found.pop("nan"))
    complexes = found.pop("complexes")
    assert complexes[0][0] == 1j
    assert np.isnan(complexes[0][1])
    assert found == {
        "inf": [1.0, np.inf, -np.inf],
        "half": np.array([0.5, -2, 6e-8, np.inf], "f2").tolist(),
        "complex": 1 + 2j,
        "record": {"a": 1, "s": "ab", "c": 2j},
        "bools": [True, False],
        "enum": 2,
        "lists": [[0, 1, 2], []],
        "empty": None,
        "none": [],
        "big": [2**64 - 1, 0],
    }


# ---- what libhdf5 has to do


TEXTS = ["a", "bb", "", "värld", "a longer one " * 20] * 4


@pytest.mark.parametrize(
    "options",
    [{}, {"chunks": (3,), "compression": "gzip"}, {"chunks": (7,), "maxshape": (None,)}],
    ids=["contiguous", "gzip", "growing"],
)
def test_text_and_lists_of_any_length(options: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    image = filled("u1", (20, 4, 4))
    lists = [np.arange(i % 4) for i in range(20)]
    with h5py.File(path, "w") as file:
        file.create_dataset("image", data=image, chunks=(4, 4, 4), compression="gzip")
        file.create_dataset("caption", data=TEXTS, dtype=h5py.string_dtype(), **options)
        for name, dtype in {"ids": "i4", "boxes": ">f8", "jpeg": "u1"}.items():
            made = file.create_dataset(name, (20,), h5py.vlen_dtype(dtype), **options)
            for i in range(20):
                made[i] = lists[i].astype(dtype)
        file.create_dataset("unwritten", (20,), h5py.string_dtype(), **options)
        file.create_dataset("about", data="a single text")
    ds = ps.open(path)
    assert ds.fields == ["boxes", "caption", "ids", "image", "jpeg", "unwritten"]
    assert "libhdf5" not in ds.explain()
    assert [sample["caption"] for sample in ds] == TEXTS
    assert ds[3]["unwritten"] == ""
    for name, dtype in {"ids": "i4", "boxes": "f8", "jpeg": "u1"}.items():
        for sample, wanted in zip(ds, lists, strict=True):
            assert_same(sample[name], wanted.astype(dtype))
    columns = {"ids": "ragged", "boxes": "list", "jpeg": "pad"}
    loader = ds.shuffle(seed=3).batch(8, collate=columns).loader(threads=2)
    seen = []
    for batch in loader:
        assert isinstance(batch["caption"], list)
        offsets = batch["ids"].offsets
        for i, one in enumerate(batch["image"]):
            (row,) = np.flatnonzero((image == one).all(axis=(1, 2)))
            seen.append(int(row))
            assert batch["caption"][i] == TEXTS[row]
            assert batch["boxes"][i].tolist() == lists[row].tolist()
            assert len(batch["jpeg"][i]) >= len(lists[row])
            assert offsets[i + 1] - offsets[i] == len(lists[row])
    assert sorted(seen) == list(range(20))
    assert pickle.loads(pickle.dumps(ds))[7]["caption"] == TEXTS[7]
    info = io.array_info(path)
    assert info["caption"]["shape"] == (20,)
    assert info["caption"]["dtype"].metadata == {"vlen": str}
    assert info["ids"]["dtype"].metadata == {"vlen": np.dtype("i4")}
    assert info["about"]["shape"] == ()
    with pytest.raises(ValueError, match=r"rows of 'caption' have different lengths.*windows"):
        ps.open(path, fields=["caption"], window=2)
    found = inspection.inspect(path)
    assert {one.name: one.kind for one in found.fields} == {
        "boxes": "array",
        "caption": "text",
        "ids": "array",
        "image": "array",
        "jpeg": "array",
        "unwritten": "text",
    }


def test_one_dataset_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    packed = {"chunks": (4, 3), **hdf5plugin.BZip2()}
    with h5py.File(path, "w") as file:
        file["image"] = filled("u1", (8, 4, 4))
        file["label"] = np.arange(8)
        file.create_dataset("bz", data=filled("i4", (8, 3)), **packed)
        file.create_dataset("grid", data=[["a", "b"]] * 8, dtype=h5py.string_dtype())
        file.create_dataset("ref", (8,), h5py.ref_dtype)
        file.create_dataset("about", data="a single text")
    why = (
        r"'bz': its filter 307 \(bzip2\).*nor can be read: 'grid', 'ref'"
        r".*what can be read: fields=\['image', 'label'\].*x.h5"
    )
    with pytest.raises(NotImplementedError, match=why):
        ps.open(path)
    assert ps.open(path, fields=["image", "label"])[3]["label"] == 3
    info = io.array_info(path)
    assert sorted(info) == ["", "about", "bz", "grid", "image", "label", "ref"]
    assert [name for name in info if "unreadable" in info[name]] == ["bz", "grid", "ref"]
    assert info["bz"]["shape"] == (8, 3)
    assert info["bz"]["dtype"] == np.dtype("i4")
    assert "307 (bzip2)" in info["bz"]["unreadable"]
    assert info["grid"]["shape"] == (8, 2)
    assert info["ref"]["dtype"] is None
    assert "references" in info["ref"]["unreadable"]
    found = inspection.inspect(path)
    assert found.samples == 8
    assert [one.name for one in found.fields] == ["image", "label", "bz", "grid", "ref"]
    words = inspection.words(found)
    assert "bz     cannot be read: dataset 'bz': its filter 307" in words
    assert "ref    cannot be read: dataset 'ref': references" in words


def test_what_is_not_unpacked_here_falls_back_to_libhdf5(tmp_path: Path) -> None:
    array = filled("i4", (13, 6, 5))
    path = write(tmp_path / "x.h5", x=(array, {"chunks": (4, 3, 5), "scaleoffset": 0}))
    ds = ps.open(path)
    assert_rows(ds, x=array)
    assert "x: read by libhdf5, one thread at a time, because its filter 6" in ds.explain()
    block = write(tmp_path / "b.h5", x=(array, {}))
    assert "libhdf5" not in ps.open(block).explain()
    small = tmp_path / "c.h5"
    with h5py.File(small, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((5,))
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32LE, space, plist)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(5, dtype="i4"))
    assert_rows(ps.open(small), x=np.arange(5, dtype="i4"))


@pytest.mark.parametrize("stored", ["STD_I32LE", "STD_I16BE", "STD_U32BE", "STD_I8LE", "STD_U64LE"])
@pytest.mark.parametrize("how", ["contiguous", "chunked", "gzip", "nbit"])
def test_integers_of_fewer_bits_than_their_bytes(stored: str, how: str, tmp_path: Path) -> None:
    bits = getattr(h5py.h5t, stored).copy()
    bits.set_precision(8 * bits.get_size() - 3)
    least = -15 if bits.get_sign() == h5py.h5t.SGN_2 else 0
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if how != "contiguous":
            plist.set_chunk((4, 3))
        if how == "gzip":
            plist.set_deflate(4)
        if how == "nbit":
            plist.set_filter(h5py.h5z.FILTER_NBIT, 0)
        made = h5py.h5d.create(file.id, b"x", bits, h5py.h5s.create_simple((10, 3)), plist)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(least, least + 30).reshape(10, 3))
    with h5py.File(path) as file:
        expected = file["x"][:]
    assert expected.min() == least
    ds = ps.open(path)
    assert_rows(ds, x=expected)
    assert "x: read by libhdf5, one thread at a time, because its integers have" in ds.explain()


def test_chunks_at_the_edges_that_are_not_filtered(tmp_path: Path) -> None:
    path, array = tmp_path / "x.h5", filled("i4", (10, 3))
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        created.set_chunk((4, 3))
        created.set_shuffle()
        loaded = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
        library = ctypes.CDLL(
            next(name for name in loaded if "h5py" in name and "libhdf5-" in name)
        )
        not_partial_ones = 2
        assert library.H5Pset_chunk_opts(ctypes.c_int64(created.id), not_partial_ones) >= 0
        space = h5py.h5s.create_simple(array.shape)
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I32LE, space, created)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, array)
    ds = ps.open(path)
    assert_rows(ds, x=array)
    assert "chunks at its edges are not filtered" in ds.explain()


def test_a_filter_that_nobody_has_is_named(tmp_path: Path) -> None:
    options = {"chunks": (4, 3), **hdf5plugin.BZip2()}
    path = write(tmp_path / "x.h5", x=(filled("i4", (8, 3)), options), y=(np.arange(8), {}))
    with pytest.raises(NotImplementedError, match=r"'x': its filter 307 \(bzip2\).*PLUGIN_PATH"):
        ps.open(path)
    assert_rows(ps.open(path, fields=["y"]), y=np.arange(8))


def test_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        record = np.dtype([("s", h5py.string_dtype()), ("i", "i4")])
        file.create_dataset("text", (2,), record)
        file.create_dataset("good", data=np.arange(2))
        file.create_dataset("lists", (2,), h5py.vlen_dtype(np.dtype([("a", "i4")])))
    for name, why in {"text": "text of variable length", "lists": "lists of variable"}.items():
        with pytest.raises(NotImplementedError, match=rf"dataset '{name}': {why}.*fields="):
            ps.open(path, fields=[name])
    assert_rows(ps.open(path, fields=["good"]), good=np.arange(2))
    with pytest.raises(FileNotFoundError):
        ps.open(tmp_path / "none.h5")
    (tmp_path / "y.h5").write_bytes(b"not hdf5" * 100)
    with pytest.raises(ValueError, match=r"libhdf5 cannot open the file.*y.h5"):
        ps.open(tmp_path / "y.h5")


def test_without_libhdf5_the_message_says_what_to_install(tmp_path: Path) -> None:
    path = write(tmp_path / "x.h5", x=(filled("f4", (8, 2)), {}))
    code = "import sys, penstock as ps; ps.open(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PENSTOCK_HDF5_LIBRARY": str(tmp_path / "none.so")},
    )
    assert "NotImplementedError" in done.stderr
    assert "HDF5 files need libhdf5, 1.10.5 or newer" in done.stderr
    assert "apt install libhdf5-dev" in done.stderr


# ---- damage


def outcome(path: Path) -> tuple[int, int]:
    """How many rows a loader gives with on_error="skip", and how many it lost."""
    loader = ps.open(path).batch(4).loader(on_error="skip", max_errors=None)
    return sum(len(batch["x"]) for batch in loader), len(loader.errors())


@pytest.mark.parametrize("filters", ["gzip shuffle", "zstd shuffle fletcher32", "fletcher32"])
def test_a_damaged_chunk_costs_its_own_rows(filters: str, tmp_path: Path) -> None:
    array = filled("f4", (20, 30))
    options = {"chunks": (4, 30), **FILTERS[filters]}
    path = write(tmp_path / "x.h5", x=(array, options))
    with h5py.File(path) as file:
        place = file["x"].id.get_chunk_info(2)
    data = bytearray(path.read_bytes())
    data[place.byte_offset + place.size // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match=r"damaged.*x.h5.*sample .*x.h5:9"):
        ps.open(path)[9]
    assert outcome(path) == (16, 4)
    assert_same(ps.open(path)[7]["x"], array[7])


def test_cut_anywhere_it_is_an_error(tmp_path: Path) -> None:
    array = filled("f4", (40, 30))
    for name, options in {"c": {"chunks": (4, 30), "compression": "gzip"}, "r": {}}.items():
        whole = write(tmp_path / f"{name}.h5", x=(array, options)).read_bytes()
        path = tmp_path / f"{name}cut.h5"
        for cut in [0, 8, 100, 600, 2000, len(whole) // 2, len(whole) - 1]:
            path.write_bytes(whole[:cut])
            with pytest.raises((ValueError, OSError), match=r"cut.h5"):
                list(ps.open(path))


def test_flipped_bytes_of_metadata_never_crash(tmp_path: Path) -> None:
    array = filled("i4", (8, 2))
    path = write(tmp_path / "x.h5", x=(array, {"chunks": (2, 2), "compression": "gzip"}))
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        path.write_bytes(bytes(data))
        try:
            ds = ps.open(path)
            for sample in ds[: min(len(ds), 20)]:
                assert all(row.nbytes < 2**20 for row in sample.values())
        except (ValueError, NotImplementedError, OSError, MemoryError):
            pass


def test_a_shape_of_two_to_the_62_is_an_error_or_fill_values(tmp_path: Path) -> None:
    array = np.arange(1237 * 2, dtype="i4").reshape(1237, 2)
    for name, options in {"c": {"chunks": (100, 2), "compression": "gzip"}, "r": {}}.items():
        path = write(tmp_path / f"{name}.h5", x=(array, options))
        rows = (1237).to_bytes(8, "little")
        assert rows in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(rows, (2**62).to_bytes(8, "little")))
        if name == "r":
            with pytest.raises(ValueError, match=r"r\.h5"):
                ps.open(path)
            continue
        ds = ps.open(path)
        assert_same(ds[1000]["x"], array[1000])
        assert ds[2**61]["x"].tolist() == [0, 0]


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    array = filled("f4", (400, 30))
    for name, options in {"c": {"chunks": (4, 30), "compression": "gzip"}, "r": {}}.items():
        path = write(tmp_path / f"{name}.h5", x=(array, options))
        ds = ps.open(path)
        assert_same(ds[0]["x"], array[0])
        os.truncate(path, path.stat().st_size // 4)
        with pytest.raises(OSError, match=r"become shorter.*\.h5"):
            ds[399]
