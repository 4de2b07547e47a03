"""Zarr beside zarr-python: every dtype, codec and layout; stores; damage."""

import json
import pickle
import shutil
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import penstock as ps
import pytest
import servers
import zarr
from arrays import NUMBERS, assert_rows, assert_same, filled, texts
from penstock import io
from zarr import codecs

NAN = float("nan")
OTHERS = ["c8", "c16", "S5", "U3", "M8[ns]", "m8[10s]", "V4", [("a", "<f4"), ("b", "<i2")]]


@pytest.fixture(autouse=True)
def _warnings() -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):  # of zarr-python, of what it calls unstable
        yield


def write(path: Path, array: Any, **options: Any) -> Path:
    made = zarr.create_array(store=str(path), shape=array.shape, dtype=array.dtype, **options)
    made[...] = array
    return path


# ---- values


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_are_what_zarr_python_reads(dtype: str, version: int, tmp_path: Path) -> None:
    array = filled(dtype, (23, 3, 4))
    path = write(tmp_path / "x.zarr", array, chunks=(5, 3, 4), zarr_format=version)
    assert_rows(ps.open(path), data=array)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", OTHERS, ids=str)
def test_other_types_are_what_zarr_python_reads(dtype: Any, version: int, tmp_path: Path) -> None:
    text = isinstance(dtype, str) and dtype[0] in "SU"
    array = texts(dtype, (11, 2)) if text else filled(dtype, (11, 2))
    path = write(tmp_path / "x.zarr", array, chunks=(4, 1), zarr_format=version)
    assert_rows(ps.open(path), data=array)


@pytest.mark.parametrize("version", [2, 3])
def test_times_without_a_unit(version: int, tmp_path: Path) -> None:
    array = np.arange(22).reshape(11, 2).astype("m8")
    path = write(tmp_path / "x.zarr", array, chunks=(4, 1), zarr_format=version)
    ds = ps.open(path)
    assert ds[0]["data"].dtype == np.dtype("m8")
    assert_rows(ds, data=array)


def test_moments_without_a_unit(tmp_path: Path) -> None:
    (tmp_path / ".zarray").write_text(
        '{"shape": [3], "chunks": [2], "dtype": "<M8", "fill_value": "NaT", "order": "C",'
        ' "filters": null, "compressor": null, "zarr_format": 2}'
    )
    (tmp_path / "0").write_bytes(np.array([5, -7], "<i8").tobytes())
    ds = ps.open(tmp_path, "zarr")  # NumPy itself says little about them
    assert [int(row["data"].view("i8")) for row in ds] == [5, -7, -(2**63)]


@pytest.mark.parametrize("dtype", [">i2", ">f4", ">u8", ">c8", ">U2"])
def test_the_other_byte_order(dtype: str, tmp_path: Path) -> None:
    array = texts(dtype, (11, 2)) if "U" in dtype else filled(dtype, (11, 2))
    assert_rows(
        ps.open(write(tmp_path / "2.zarr", array, chunks=(4, 2), zarr_format=2)), data=array
    )
    big = codecs.BytesCodec(endian="big")
    native = array.astype(array.dtype.newbyteorder("="))
    path = write(tmp_path / "3.zarr", native, chunks=(4, 2), serializer=big)
    assert_rows(ps.open(path), data=native)


V3_CODECS: dict[str, Any] = {
    "none": None,
    "gzip": codecs.GzipCodec(level=1),
    "zstd": codecs.ZstdCodec(level=1),
    "zstd checked": codecs.ZstdCodec(level=1, checksum=True),
    "crc32c": codecs.Crc32cCodec(),
    "zstd and crc32c": [codecs.ZstdCodec(), codecs.Crc32cCodec()],
    "gzip of zstd": [codecs.ZstdCodec(), codecs.GzipCodec()],
    "blosc of crc32c": [codecs.Crc32cCodec(), codecs.BloscCodec(typesize=1)],
    "blosc zlib shuffle": codecs.BloscCodec(cname="zlib", shuffle="shuffle"),
}
BLOSC = {
    f"{name} {shuffle}": codecs.BloscCodec(cname=name, shuffle=shuffle)
    for name in ("lz4", "lz4hc", "blosclz", "zlib", "zstd")
    for shuffle in ("noshuffle", "shuffle", "bitshuffle")
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "rows": {"chunks": (4, 6, 5)},
    "tiles": {"chunks": (3, 4, 2)},
    "shards": {"chunks": (2, 6, 5), "shards": (8, 6, 5)},
    "shards of tiles": {"chunks": (2, 3, 2), "shards": (4, 6, 4)},
    "transposed": {"chunks": (4, 6, 5), "filters": codecs.TransposeCodec(order=(2, 0, 1))},
    "transposed shards": {
        "chunks": (2, 6, 5),
        "shards": (4, 6, 5),
        "filters": codecs.TransposeCodec(order=(1, 2, 0)),
    },
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("codec", V3_CODECS.values(), ids=V3_CODECS)
def test_version_3_codecs_and_layouts(codec: Any, layout: Any, tmp_path: Path) -> None:
    for dtype in ("u1", "f4"):
        array = filled(dtype, (13, 6, 5))
        path = write(tmp_path / f"{dtype}.zarr", array, compressors=codec, **layout)
        assert_rows(ps.open(path), data=array)


@pytest.mark.parametrize("codec", BLOSC.values(), ids=BLOSC)
def test_all_that_blosc_has_inside(codec: Any, tmp_path: Path) -> None:
    array = filled("f4", (13, 6, 5))
    path = write(tmp_path / "x.zarr", array, compressors=codec, **LAYOUTS["shards of tiles"])
    assert_rows(ps.open(path), data=array)


V2_CODECS: dict[str, Any] = {
    "none": (None, None),
    "zlib": (None, numcodecs.Zlib(1)),
    "gzip": (None, numcodecs.GZip(1)),
    "zstd": (None, numcodecs.Zstd()),
    "lz4": (None, numcodecs.LZ4()),
    "blosc": (None, numcodecs.Blosc("lz4", shuffle=1)),
    "shuffle, zlib": ([numcodecs.Shuffle(4)], numcodecs.Zlib(1)),
    "fletcher32, lz4": ([numcodecs.Fletcher32()], numcodecs.LZ4()),
}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("codec", V2_CODECS.values(), ids=V2_CODECS)
def test_version_2_codecs_and_layouts(
    codec: Any, separator: str, order: str, tmp_path: Path
) -> None:
    filters, compressor = codec
    array = filled("f4", (13, 6, 5))
    keys = {"name": "v2", "separator": separator}
    for i, chunks in enumerate([(4, 6, 5), (3, 4, 2)]):
        options = {"filters": filters, "compressors": compressor, "order": order}
        options |= {"zarr_format": 2, "chunk_key_encoding": keys, "chunks": chunks}
        assert_rows(ps.open(write(tmp_path / f"{i}.zarr", array, **options)), data=array)


@pytest.mark.parametrize("location", ["start", "end"])
def test_a_shards_index_may_be_at_either_end(location: str, tmp_path: Path) -> None:
    array = filled("i2", (20, 3))
    shards = codecs.ShardingCodec(chunk_shape=(2, 3), index_location=location)
    made = zarr.create_array(
        store=str(tmp_path / "x.zarr"), shape=(20, 3), chunks=(8, 3), dtype="i2", serializer=shards,
        compressors=None, filters=None,
    )  # fmt: skip
    made[...] = array
    assert_rows(ps.open(tmp_path / "x.zarr"), data=array)


@pytest.mark.parametrize(
    ("dtype", "fill", "value"),
    [
        ("int8", -128, -128),
        ("int8", -129, None),
        ("int16", 32768, None),
        ("int32", -9223372036857457809, None),  # was 0, unnoticed
        ("int64", -(2**63), -(2**63)),
        ("int64", 2**63, None),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("uint64", 2**64, None),
        ("uint8", -1, None),
        ("int32", 1.5, 1),
        ("int32", 1e300, None),
        ("uint16", -0.5, 0),
        ("bool", 1, True),
    ],
)
def test_a_fill_value_that_does_not_fit_its_type_is_an_error(
    dtype: str, fill: Any, value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "x.zarr"
    zarr.create_array(store=str(path), shape=(4,), dtype=dtype, chunks=(2,), fill_value=0)
    about = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps(about | {"fill_value": fill}))
    if value is None:
        with pytest.raises(ValueError, match="its fill value is wrong"):
            ps.open(path)
    else:
        assert next(iter(ps.open(path)[3].values())) == value


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("f4", 1.5), ("f4", NAN), ("f8", float("-inf")), ("f2", 0.1), ("i4", -7), ("u8", 2**64 - 1),
        ("?", True), ("c8", 1 + 2j), ("S3", b"ab"), ("U2", "äb"), ("M8[s]", np.datetime64(5, "s")),
    ],
)  # fmt: skip
def test_missing_chunks_are_the_fill_value(
    dtype: str, fill: Any, version: int, tmp_path: Path
) -> None:
    for name, options in {"rows": {"chunks": (2, 4)}, "tiles": {"chunks": (2, 3)}}.items():
        path = tmp_path / f"{name}.zarr"
        made = zarr.create_array(
            store=str(path),
            shape=(9, 4),
            dtype=dtype,
            fill_value=fill,
            zarr_format=version,
            **options,
        )
        made[2:4] = np.zeros((2, 4), dtype)
        assert_rows(ps.open(path), data=made[...])
    if version == 3:
        made = zarr.create_array(
            store=str(tmp_path / "s.zarr"), shape=(20, 4), dtype=dtype, fill_value=fill,
            chunks=(2, 4), shards=(4, 4),
        )  # fmt: skip
        made[2:4] = np.zeros((2, 4), dtype)
        assert_rows(ps.open(tmp_path / "s.zarr"), data=made[...])


# ---- stores and groups


def make_group(store: Any, version: int = 3) -> tuple[Any, dict[str, Any]]:
    arrays = {"image": filled("u1", (12, 4, 4)), "label": filled("i8", (12,))}
    group = zarr.open_group(store=store, mode="w", zarr_format=version)
    for name, array in arrays.items():
        group.create_array(name, shape=array.shape, chunks=(5, *array.shape[1:]), dtype=array.dtype)
        group[name][...] = array
    group.attrs["made"] = "here"
    group["image"].attrs["unit"] = [1, 2.5]
    return group, arrays


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_of_a_group_stand_side_by_side(version: int, tmp_path: Path) -> None:
    group, arrays = make_group(str(tmp_path / "x.zarr"), version)
    ds = ps.open(tmp_path / "x.zarr")
    assert_rows(ds, **arrays)
    assert_rows(ps.open(tmp_path / "x.zarr", fields=["label"]), label=arrays["label"])
    assert_rows(pickle.loads(pickle.dumps(ds)), **arrays)
    group.create_array("inner/deep", shape=(12,), chunks=(3,), dtype="f4")[...] = 1
    assert_rows(ps.open(tmp_path / "x.zarr"), **arrays, **{"inner/deep": np.ones(12, "f4")})
    zarr.consolidate_metadata(str(tmp_path / "x.zarr"))
    assert ps.open(tmp_path / "x.zarr").fields == ["image", "inner/deep", "label"]
    group.create_array("other", shape=(3,), chunks=(3,), dtype="f4")
    shutil.rmtree(tmp_path / "x.zarr" / "inner")
    (tmp_path / "x.zarr" / ".zmetadata").unlink(missing_ok=True)
    zarr.consolidate_metadata(str(tmp_path / "x.zarr"))
    with pytest.raises(ValueError, match=r"'image' has 12 rows, 'other' has 3; say with fields"):
        ps.open(tmp_path / "x.zarr")
    with pytest.raises(KeyError, match="there is no array 'no'; there are: image, label, other"):
        ps.open(tmp_path / "x.zarr", fields=["no"])


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("version", [2, 3])
def test_zip_stores(version: int, method: int, tmp_path: Path) -> None:
    with zarr.storage.ZipStore(tmp_path / "x.zarr.zip", mode="w", compression=method) as store:
        _, arrays = make_group(store, version)
    assert_rows(ps.open(tmp_path / "x.zarr.zip"), **arrays)


def test_a_zip_store_with_shards(tmp_path: Path) -> None:
    array = filled("f4", (20, 3))
    with zarr.storage.ZipStore(tmp_path / "x.zarr.zip", mode="w") as store:
        made = zarr.create_array(
            store=store, shape=array.shape, dtype="f4", chunks=(2, 3), shards=(8, 3)
        )
        made[...] = array
    assert_rows(ps.open(tmp_path / "x.zarr.zip"), data=array)


@pytest.mark.skipif(servers.NGINX is None, reason="no nginx")
def test_stores_on_a_web_server(tmp_path: Path) -> None:
    root, own = tmp_path / "root", tmp_path / "own"
    root.mkdir(), own.mkdir()
    _, arrays = make_group(str(root / "plain.zarr"))
    make_group(str(root / "all.zarr"))
    zarr.consolidate_metadata(str(root / "all.zarr"))
    with zarr.storage.ZipStore(root / "x.zarr.zip", mode="w") as store:
        make_group(store)
    made = zarr.create_array(
        store=str(root / "s.zarr"), shape=(20, 3), dtype="f4", chunks=(2, 3), shards=(8, 3)
    )
    made[:10] = 1  # the last shard is missing
    with servers.nginx(root, own) as port:
        url = f"http://127.0.0.1:{port}"
        assert_rows(ps.open(f"{url}/x.zarr.zip"), **arrays)
        assert_rows(ps.open(f"{url}/all.zarr"), **arrays)
        assert_rows(ps.open(f"{url}/plain.zarr", fields=["image"]), image=arrays["image"])
        assert_rows(ps.open(f"{url}/s.zarr"), data=made[...])
        with pytest.raises(NotImplementedError, match="name the arrays with fields="):
            ps.open(f"{url}/plain.zarr")


@pytest.mark.parametrize("version", [2, 3])
def test_array_info_tells_what_is_there(version: int, tmp_path: Path) -> None:
    make_group(str(tmp_path / "x.zarr"), version)
    info = io.array_info(tmp_path / "x.zarr")
    assert info["image"]["shape"] == (12, 4, 4)
    assert info["image"]["chunks"] == (5, 4, 4)
    assert info["image"]["dtype"] == np.dtype("u1")
    assert info["image"]["attributes"] == {"unit": [1, 2.5]}
    assert info[""]["attributes"] == {"made": "here"}
    with pytest.raises(ValueError, match="neither Zarr nor HDF5"):
        io.array_info(tmp_path)


# ---- rows as samples


def test_windows_of_rows(tmp_path: Path) -> None:
    array = filled("f4", (50, 3))
    path = write(tmp_path / "x.zarr", array, chunks=(7, 3))
    np.save(tmp_path / "x.npy", array)
    np.save(tmp_path / "c.npy", array.astype("c8"))
    for window, stride in [(16, 4), (7, None), (1, 3), (50, 1)]:
        step = stride or window
        wanted = np.stack([array[i : i + window] for i in range(0, 51 - window, step)])
        assert_rows(ps.open(path, window=window, stride=stride), data=wanted)
        assert_rows(ps.open(tmp_path / "x.npy", window=window, stride=stride), data=wanted)
        odd = ps.open(tmp_path / "c.npy", window=window, stride=stride)
        assert_same(np.stack([sample["data"] for sample in odd]), wanted.astype("c8"))
    assert len(ps.open(path, window=51)) == 0
    with pytest.raises(ValueError, match="stride goes with window"):
        ps.open(path, stride=2)


def test_slices_are_lists_of_samples(tmp_path: Path) -> None:
    array = filled("i4", (30,))
    ds = ps.open(write(tmp_path / "x.zarr", array, chunks=(7,)))
    assert [int(sample["data"]) for sample in ds[10:20]] == array[10:20].tolist()
    assert [int(sample["data"]) for sample in ds[-3:]] == array[-3:].tolist()
    assert [int(sample["data"]) for sample in ds[::10]] == array[::10].tolist()
    assert ds[30:40] == []


def test_a_row_is_the_users_own_to_change(tmp_path: Path) -> None:
    ds = ps.open(write(tmp_path / "x.zarr", filled("i4", (6, 2)), chunks=(3, 2)))
    before = ds[0]["data"].copy()
    ds[0]["data"][:] = 99
    assert_same(ds[0]["data"], before)


def test_a_windowed_shuffle_unpacks_each_chunk_once(tmp_path: Path) -> None:
    array = np.arange(1000, dtype="i4").reshape(1000, 1)
    path = write(tmp_path / "x.zarr", array, chunks=(10, 1))
    # A window has eight chunks; the cache holds about twice as many. One thread: of two, one may
    # unpack a chunk ahead that it takes for the next.
    ds = ps.open(path, chunk_cache=16 * (40 + 256)).shuffle(seed=5, window=80)
    seen = np.concatenate([batch["data"][:, 0] for batch in ds.batch(20).loader(threads=1)])
    assert sorted(seen.tolist()) == list(range(1000))
    assert ds._leaves()[0].chunks_loaded == 100
    first = seen[:80]
    assert len({int(row) // 10 for row in first}) == 8
    assert first.tolist() != sorted(first.tolist())


def test_a_global_shuffle_unpacks_a_chunk_for_all_rows_that_come_soon(tmp_path: Path) -> None:
    image = np.arange(2000 * 64, dtype="i4").reshape(2000, 64)
    path = tmp_path / "x.zarr"
    group = zarr.open_group(str(path), mode="w")
    for name, array, rows in [("image", image, 20), ("label", np.arange(2000), 50)]:
        made = group.create_array(
            name, shape=array.shape, dtype=array.dtype, chunks=(rows, *array.shape[1:])
        )
        made[...] = array
    budget = 200_000  # a third of it; room for some 400 rows and ten chunks
    ds = ps.open(path, fields=["image", "label"], chunk_cache=budget).shuffle(seed=3)
    seen = []
    for epoch in range(2):  # and once more after a loop that was left
        for batch in ds.batch(50).loader(threads=2):
            labels = batch["label"].tolist()
            assert (batch["image"] == image[labels]).all()
            assert ds._leaves()[0].chunk_bytes <= budget
            seen += labels
            if epoch == 0 and len(seen) == 1000:
                break
    assert sorted(seen[1000:]) == list(range(2000))
    # A batch alone would want nearly 80 of the 140 chunks, in all 60 batches.
    assert ds._leaves()[0].chunks_loaded < 60 * 80 // 3


def test_the_cache_stays_below_its_budget(tmp_path: Path) -> None:
    array = filled("f8", (400, 32))
    path = write(tmp_path / "x.zarr", array, chunks=(10, 32))
    ds = ps.open(path, chunk_cache="10KB")
    for batch in ds.shuffle(seed=1).batch(16).loader():
        assert len(batch["data"]) == 16
        assert ds._leaves()[0].chunk_bytes <= 10_000
    assert_rows(ps.open(path, chunk_cache=1), data=array)


def test_python_maps_filters_and_caches_work_on_rows(tmp_path: Path) -> None:
    array = filled("f4", (20, 3))
    ds = ps.open(write(tmp_path / "x.zarr", array, chunks=(4, 3)))
    doubled = ds.map(lambda sample: {"x": sample["data"] * 2}).batch(20).loader()
    assert_same(next(iter(doubled))["x"], array * 2)
    some = ds.filter(lambda sample: sample["data"][0] > np.median(array[:, 0]))
    assert len(some) == int((array[:, 0] > np.median(array[:, 0])).sum())
    assert_rows(ds.cache(memory="1MB"), data=array)
    assert_rows(ds.rename(data="y"), y=array)
    both = ds.zip(ps.from_arrays(number=np.arange(20)))
    assert_same(both[3]["data"], array[3])
    assert_same(next(iter(ds.batch(4, collate="list").loader()))["data"][1], array[1])


# ---- damage


def damaged(path: Path, at: int, change: int = 0xFF) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= change
    path.write_bytes(bytes(data))


def outcome(path: Path) -> tuple[list[Any], int]:
    """Rows that a loader gives with on_error="skip", and how many it lost."""
    loader = ps.open(path).batch(4).loader(on_error="skip", max_errors=None)
    rows = [row for batch in loader for row in batch["data"]]
    return rows, len(loader.errors())


@pytest.mark.parametrize("codec", ["gzip", "zstd checked", "crc32c", "blosc zlib shuffle"])
def test_a_damaged_chunk_costs_its_own_rows(codec: str, tmp_path: Path) -> None:
    array = filled("f4", (20, 30))
    path = write(tmp_path / "x.zarr", array, chunks=(4, 30), compressors=V3_CODECS[codec])
    chunk = path / "c" / "2" / "0"
    damaged(chunk, chunk.stat().st_size // 2)
    with pytest.raises(ValueError, match=r"damaged.*x.zarr/c/2/0.*sample .*x.zarr:9"):
        ps.open(path)[9]
    rows, lost = outcome(path)
    assert lost == 4
    assert_same(np.stack(rows), np.delete(array, slice(8, 12), axis=0))
    for cut in (0, 1, 10, chunk.stat().st_size - 1):
        chunk.write_bytes(chunk.read_bytes()[:cut])
        with pytest.raises(ValueError, match=r"x.zarr/c/2/0"):
            ps.open(path)[9]


def test_any_flipped_byte_of_a_shard_is_noticed(tmp_path: Path) -> None:
    array = filled("i4", (16, 3))
    checked = [codecs.ZstdCodec(), codecs.Crc32cCodec()]
    path = write(tmp_path / "x.zarr", array, chunks=(4, 3), shards=(16, 3), compressors=checked)
    shard = path / "c" / "0" / "0"
    whole = shard.read_bytes()
    for at in range(0, len(whole), 3):
        damaged(shard, at)
        rows, lost = outcome(path)
        assert len(rows) + lost == 16
        assert lost in (4, 16)  # a chunk, or the index
        shard.write_bytes(whole)
    for cut in (0, 3, 50, len(whole) - 1):
        shard.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"shard.*x.zarr/c/0/0"):
            ps.open(path)[0]


@pytest.mark.parametrize("version", [2, 3])
def test_damaged_metadata_is_an_error_or_other_values_but_never_a_crash(
    version: int, tmp_path: Path
) -> None:
    path = write(tmp_path / "x.zarr", filled("i4", (8, 2)), chunks=(4, 2), zarr_format=version)
    file = path / ("zarr.json" if version == 3 else ".zarray")
    whole = file.read_bytes()
    for at in range(0, len(whole), 2):
        damaged(file, at, 1 << at % 7)
        try:
            ds = ps.open(path)
            for sample in ds[: min(len(ds), 20)]:
                assert sample["data"].nbytes < 2**20
        except (ValueError, NotImplementedError, KeyError, OSError, MemoryError):
            pass
        file.write_bytes(whole)
    for cut in range(0, len(whole), 9):
        file.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="the Zarr metadata is damaged"):
            ps.open(path)


@pytest.mark.parametrize(
    ("version", "old", "new"),
    [
        (3, '"chunk_key_encoding"', '"chunk_key_encodinG"'),
        (3, '"default"', '"defaulT"'),
        (3, '"separator": "/"', '"separator": "o"'),
        (3, '"endian": "little"', '"endian": "littlE"'),
        (3, '"fill_value"', '"fill_valuE"'),
        (2, '"order": "C"', '"order": "c"'),
        (2, '"dimension_separator": "."', '"dimension_separator": "/."'),
    ],
)
def test_metadata_that_would_hide_chunks_or_mix_elements_up_is_an_error(
    version: int, old: str, new: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "x.zarr", filled("i4", (8, 2)), chunks=(4, 2), zarr_format=version)
    file = path / ("zarr.json" if version == 3 else ".zarray")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match="the Zarr metadata is damaged"):
        ps.open(path)


def test_any_flipped_byte_of_a_member_of_a_zip_store_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr.zip"
    array = filled("i4", (8, 2))
    store = zarr.storage.ZipStore(path, mode="w")
    zarr.create_array(store, shape=(8, 2), dtype="i4", chunks=(4, 2), compressors=None)[...] = array
    store.close()
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for member in members:
        first = member.header_offset + 30 + len(member.filename)
        for at in range(first, first + member.file_size, 5):
            damaged(path, at, 1 << at % 7)
            with pytest.raises(ValueError, match="checksum"):
                list(ps.open(path))
            path.write_bytes(whole)


def test_sizes_that_cannot_be(tmp_path: Path) -> None:
    path = write(tmp_path / "x.zarr", filled("i4", (8, 2)), chunks=(4, 2))
    file = path / "zarr.json"
    known = json.loads(file.read_text())

    def altered(shape: list[int], chunk: list[int]) -> None:
        grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
        file.write_text(json.dumps(known | {"shape": shape, "chunk_grid": grid}))

    for shape, chunk in [
        ([8, 2**62], [4, 2]), ([8, 2], [2**62, 2]), ([2**62, 2**20], [1, 1]), ([8, 2], [4, 0]),
        ([2**63, 1], [4, 2]), ([8], [4, 2]), ([8, 2], [2**31, 2]),
    ]:  # fmt: skip
        altered(shape, chunk)
        with pytest.raises(ValueError, match=r"rows|row|chunk|dimensions"):
            ps.open(path)
    altered([2**62, 2], [4, 2])  # that many rows there may be: all but the first are fill values
    assert len(ps.open(path)) == 2**62
    assert ps.open(path)[2**62 - 1]["data"].tolist() == [0, 0]
    for bad in ("[[1]]", "7", "{}", '{"node_type": "array"}', "[" * 100_000):
        file.write_text(bad)
        with pytest.raises(ValueError, match="the Zarr metadata is damaged"):
            ps.open(path)


def test_what_is_not_read_says_so(tmp_path: Path) -> None:
    array = filled("i4", (8, 2))
    path = write(tmp_path / "2.zarr", array, zarr_format=2, compressors=numcodecs.BZ2())
    with pytest.raises(NotImplementedError, match="codec 'bz2' is not read here; gzip"):
        ps.open(path)
    zarr.create_array(store=str(tmp_path / "s.zarr"), shape=(3,), dtype="str")
    with pytest.raises(NotImplementedError, match="elements of type"):
        ps.open(tmp_path / "s.zarr")
    with pytest.raises(FileNotFoundError):
        ps.open(tmp_path / "none.zarr")
    with pytest.raises(ValueError, match="window= is for arrays"):
        ps.open(tmp_path, format="folder", window=3)
    with pytest.raises(ValueError, match="no rows"):
        ps.open(write(tmp_path / "0.zarr", np.array(3)))


def test_a_chunk_that_goes_missing_or_shrinks_while_it_is_read(tmp_path: Path) -> None:
    array = filled("f4", (40, 30))
    path = write(tmp_path / "x.zarr", array, chunks=(4, 30), shards=(20, 30))
    ds = ps.open(path)
    assert_same(ds[0]["data"], array[0])
    shard = path / "c" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:100])
    with pytest.raises((OSError, ValueError), match=r"x.zarr/c/0/0"):
        ds[19]
    (path / "c" / "1" / "0").unlink()
    assert_same(ds[39]["data"], np.zeros(30, "f4"))  # to Zarr, what is not there is the fill value


def test_shards_in_shards_and_codecs_around_them_are_refused_by_name(tmp_path: Path) -> None:
    inner = codecs.ShardingCodec(chunk_shape=(2,), codecs=[codecs.BytesCodec()])
    nested = codecs.ShardingCodec(chunk_shape=(4,), codecs=[inner])
    shape = {"shape": (16,), "dtype": "i4", "chunks": (8,), "filters": None}
    around = codecs.GzipCodec()
    zarr.create_array(tmp_path / "n.zarr", **shape, compressors=None, serializer=nested)
    with pytest.raises(NotImplementedError, match="shards inside of shards"):
        ps.open(tmp_path / "n.zarr")
    zarr.create_array(tmp_path / "g.zarr", **shape, compressors=around, serializer=inner)
    with pytest.raises(NotImplementedError, match="all codecs inside of the shards"):
        ps.open(tmp_path / "g.zarr")
