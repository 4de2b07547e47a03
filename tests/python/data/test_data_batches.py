"""What batches are made of; each test quotes the line of the contract that it holds."""

import gc
import io
import json

import makers
import numpy as np
import penstock as ps
import pytest
from penstock.io import decode_image, encode_image
from PIL import Image


def test_rows_go_to_batch_k_over_b_slot_k_mod_b():
    # 1: "Rank r takes positions r, r+W, r+2W, ...; its k-th row goes to batch k / B, slot k % B"
    for rank in range(3):
        loader = ps.from_list(range(24)).shard(rank, 3).batch(3).loader()
        rows = [batch["data"].tolist() for batch in loader]
        assert rows == [
            [rank + 3 * (3 * b + s) for s in range(3) if 3 * b + s < 8] for b in range(3)
        ]


def test_uneven_ends():
    # 11: drop_last drops the last partial global round on all ranks; pad fills by wrap-around and
    # mask=True adds _valid; short: as it falls
    def ranks(**options):
        return [
            [
                (batch["data"].tolist(), batch["_valid"].tolist())
                for batch in ps.from_list(range(10))
                .shard(r, 4)
                .batch(2, mask=True, **options)
                .loader()
            ]
            for r in range(4)
        ]

    assert ranks(drop_last=True) == [[([r, r + 4], [True, True])] for r in range(4)]
    pad = ranks()
    assert [[batch[0] for batch in rank] for rank in pad] == [
        [[0, 4], [8]],
        [[1, 5], [9]],
        [[2, 6], [0]],
        [[3, 7], [1]],
    ]
    assert [rank[1][1] for rank in pad] == [[True], [True], [False], [False]]
    assert [len(rank) for rank in ranks(ends="short")] == [2, 2, 1, 1]
    lengths = [
        len(ps.from_list(range(10)).shard(r, 4).batch(2, ends="short").loader()) for r in range(4)
    ]
    assert lengths == [2, 2, 1, 1]


def test_types_of_python_values():
    # 14: "int to int64, float to float32, bool to bool, NumPy scalars keep their dtype, str and
    # bytes become lists"
    def make(sample):
        i = sample["data"]
        return {
            "int": i,
            "float": i / 2,
            "bool": i % 2 == 0,
            "f64": np.float64(i),
            "u8": np.uint8(i),
            "array": np.full((2, 3), i, np.int16),
            "fortran": np.asfortranarray(np.arange(6).reshape(2, 3) + i),
            "str": str(i),
            "bytes": b"%d" % i,
            "object": {"i": i},
            "huge": 2**80,
        }

    (batch,) = ps.from_list(range(3)).map(make).batch(3).loader()
    types = {name: str(v.dtype) for name, v in batch.items() if isinstance(v, np.ndarray)}
    assert types == {
        "int": "int64",
        "float": "float32",
        "bool": "bool",
        "f64": "float64",
        "u8": "uint8",
        "array": "int16",
        "fortran": "int64",
    }
    assert batch["array"].tolist() == [[[i] * 3] * 2 for i in range(3)]
    assert batch["fortran"][2].tolist() == [[2, 3, 4], [5, 6, 7]]
    assert batch["str"] == ["0", "1", "2"]
    assert batch["bytes"] == [b"0", b"1", b"2"]
    assert batch["object"] == [{"i": 0}, {"i": 1}, {"i": 2}]
    assert batch["huge"] == [2**80] * 3


def test_a_mismatch_names_both_samples_both_shapes_and_collate():
    # 14: "a mismatch is an error that names both samples, both shapes and collate="
    ds = ps.from_list([np.zeros(2), np.zeros(2), np.zeros(3)])
    loader = ds.batch(2).loader()
    batches = iter(loader)
    next(batches)
    with pytest.raises(ValueError, match="collate=") as caught:
        next(batches)
    for words in ("item[2]", "item[0]", "(3,)", "(2,)", "'data'"):
        assert words in str(caught.value)
    for other in ([1, 2.5], [{"a": 1}, {"b": 1}], [{"a": 1}, {"a": 1, "b": 2}], [1, np.zeros(2)]):
        with pytest.raises(ValueError, match="schema"):
            list(ps.from_list(other).batch(2).loader())


def test_ragged_rows_are_padded_joined_or_listed():
    # 14: 'Ragged: collate={"tokens": "pad" | "list" | "ragged"}'
    ds = ps.from_list([{"t": np.arange(n, dtype=np.int32) + 1} for n in (2, 0, 3)])
    (pad,) = ds.batch(3, collate={"t": "pad"}).loader()
    assert pad["t"].tolist() == [[1, 2, 0], [0, 0, 0], [1, 2, 3]]
    (ragged,) = ds.batch(3, collate={"t": "ragged"}).loader()
    assert ragged["t"].values.tolist() == [1, 2, 1, 2, 3]
    assert ragged["t"].offsets.tolist() == [0, 2, 2, 5]
    (listed,) = ds.batch(3, collate={"t": "list"}).loader()
    assert [row.tolist() for row in listed["t"]] == [[1, 2], [], [1, 2, 3]]
    grids = ps.from_list([np.ones((1, 3, 2)), np.ones((2, 1, 2))])
    (both,) = grids.batch(2, collate={"data": "pad"}).loader()
    assert both["data"].shape == (2, 2, 3, 2)
    assert both["data"].sum() == 10
    assert both["data"][0, 0].all()
    assert both["data"][1, :, 0].all()


def test_images_in_batches_are_those_of_io(tmp_path):
    ds = ps.open(makers.image_tars(tmp_path)).select("jpg").decode_image(size=(24, 32), exact=True)
    (batch,) = ds.take(5).batch(5).loader()
    for i in range(5):
        want = decode_image(makers.jpeg(i), size=(24, 32))
        assert np.array_equal(batch["jpg"][i], want)
        assert np.array_equal(ds[i]["jpg"], want)
    pillow = Image.open(io.BytesIO(makers.jpeg(3))).resize((32, 24), Image.Resampling.BILINEAR)
    assert np.array_equal(batch["jpg"][3], np.asarray(pillow))


def test_layout_dtype_mean_and_std_apply_to_images_wherever_they_were_decoded(tmp_path):
    # 14: "dtype, layout, mean, std apply to fields made by decode_image unless given per field"
    ds = ps.open(makers.image_tars(tmp_path)).decode("cls").select("jpg", "cls").take(6)
    mean, std = [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]
    options = {"layout": "NCHW", "dtype": "float32", "mean": mean, "std": std}
    images = ds.decode_image(size=(16, 24))
    (native,) = images.batch(6, **options).loader()
    (mapped,) = images.map(lambda sample: sample).batch(6, **options).loader()
    (plain,) = images.batch(6).loader()
    want = (plain["jpg"].astype(np.float64) / 255 - mean) / std
    assert native["jpg"].shape == (6, 3, 16, 24)
    assert native["jpg"].dtype == np.float32
    assert np.abs(native["jpg"].transpose(0, 2, 3, 1) - want).max() < 1e-5
    assert np.array_equal(native["jpg"], mapped["jpg"])
    assert native["cls"].dtype == np.int64
    (renamed,) = (
        images.rename(jpg="x").batch(6, dtype={"x": "float16"}, layout={"x": "NCHW"}).loader()
    )
    assert renamed["x"].dtype == np.float16
    assert renamed["x"].shape == (6, 3, 16, 24)


def test_image_and_mask_share_crop_and_flip():
    def sample(i):
        picture = makers.picture(i)
        return {
            "image": ps_encode(picture),
            "mask": ps_encode(picture[:, :, 0]),
        }

    def ps_encode(array):
        from penstock.io import encode_image

        return encode_image(array, "png")

    ds = ps.from_list([sample(i) for i in range(8)]).decode_image(
        ["image", "mask"],
        size=(16, 16),
        crop="random_resized",
        flip=0.5,
        mode={"mask": "L"},
        interpolation="nearest",
        box="box",
    )
    (batch,) = ds.batch(8).loader(seed=3)
    assert batch["mask"].shape == (8, 16, 16, 1)
    assert np.array_equal(batch["image"][..., :1], batch["mask"])
    assert batch["box"].shape == (8, 4)
    assert (batch["box"][:, 2] > batch["box"][:, 0]).all()
    assert len({row.tobytes() for row in batch["box"]}) == 8
    (other,) = ds.batch(8).loader(seed=4)
    assert not np.array_equal(batch["box"], other["box"])


def test_native_decodes(tmp_path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    files = {}
    for name, value in (("npy", array), ("f.npy", np.asfortranarray(array))):
        file = io.BytesIO()
        np.save(file, value)
        files[name] = file.getvalue()
    text = json.dumps({"a": [1, 2]}).encode()
    sample = {"__key__": b"k", "cls": b" -7\n", "txt": "é".encode(), "json": text, **files}
    makers.write_tar(tmp_path / "a.tar", [sample])
    ds = ps.open(tmp_path / "a.tar").decode("cls", "txt", "json", "npy")
    got = ds[0]
    assert (got["cls"], got["txt"], got["json"]) == (-7, "é", {"a": [1, 2]})
    assert np.array_equal(got["npy"], array)
    assert np.array_equal(got["f.npy"], array)
    (batch,) = ds.batch(2).loader()
    assert batch["npy"].shape == (1, 3, 4)
    assert np.array_equal(batch["f.npy"][0], array)


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("cls", b"seven"),
        ("cls", b""),
        ("txt", b"\xff\xfe"),
        ("txt", b"\xed\xa0\x80"),
        ("json", b"{"),
        ("npy", b"\x93NUMPY\x01\x00"),
        (
            "npy",
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        ),
    ],
)
def test_bad_fields_say_what_is_wrong_with_which_sample(tmp_path, field, data):
    makers.write_tar(tmp_path / "a.tar", [{"__key__": b"sample7", field: data}])
    ds = ps.open(tmp_path / "a.tar").decode(field)
    with pytest.raises((ValueError, NotImplementedError), match=f"'{field}'") as caught:
        list(ds.batch(1).loader())
    assert "sample7" in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))


def test_a_batch_map_runs_after_conversion_in_order_and_may_return_anything_but_none():
    # 15: "A batch map runs after output conversion, in batch order, and may return anything but
    # None"
    seen = []

    def note(batch):
        assert isinstance(batch["data"], np.ndarray)
        seen.append(int(batch["data"][0]))
        return int(batch["data"].sum())

    ds = ps.from_list(range(40)).batch(4).map(note)
    assert list(ds.loader(threads=3)) == [sum(range(i, i + 4)) for i in range(0, 40, 4)]
    assert seen == list(range(0, 40, 4))
    with pytest.raises(TypeError, match="returned None"):
        list(ps.from_list(range(4)).batch(2).map(lambda batch: None).loader())


def test_a_map_gets_arrays_and_bytes_and_items_that_are_no_dicts_are_data(tmp_path):
    # 15: "A row map gets a dict of NumPy arrays and bytes-like values ... Items that are not dicts
    # become {"data": x}"
    types = {}

    def look(sample):
        types.update({name: type(value) for name, value in sample.items()})
        return sample["cls"]

    source = makers.image_tars(tmp_path)
    ds = ps.open(source).decode("cls").decode_image(size=(8, 8))
    (batch,) = ds.select("jpg", "cls").take(2).map(look).batch(2).loader()
    assert types == {"jpg": np.ndarray, "cls": int}
    assert batch["data"].tolist() == [0, 1]
    raw = ps.open(source)[0]["jpg"]
    assert isinstance(raw, memoryview)
    assert raw.readonly
    assert raw == makers.jpeg(0)


def test_native_work_after_a_map():
    ds = ps.from_list(range(6)).map(lambda s: {"jpg": makers.jpeg(s["data"]), "n": s["data"]})
    (batch,) = ds.decode_image("jpg", size=(16, 16), exact=True).batch(6).loader()
    assert batch["n"].tolist() == list(range(6))
    for i in range(6):
        assert np.array_equal(batch["jpg"][i], decode_image(makers.jpeg(i), size=(16, 16)))


@pytest.mark.parametrize("output", ["numpy", "torch", "jax", "dlpack"])
def test_outputs(output):
    pytest.importorskip({"numpy": "numpy", "dlpack": "numpy"}.get(output, output))
    ds = ps.from_arrays(x=np.arange(12, dtype=np.float32).reshape(6, 2))
    batches = list(ds.batch(4).loader(output=output))
    kind = {"numpy": np.ndarray, "dlpack": ps._core.Tensor}.get(output)
    if output == "torch":
        import torch

        kind = torch.Tensor
    if output == "jax":
        import jax

        kind = jax.Array
    assert all(isinstance(batch["x"], kind) for batch in batches)
    assert np.concatenate([np.asarray(batch["x"]) for batch in batches]).sum() == 66


def test_a_loader_without_batches_gives_samples():
    loader = ps.from_arrays(x=np.arange(6).reshape(3, 2)).loader()
    assert loader.batch_size is None
    assert [sample["x"].tolist() for sample in loader] == [[0, 1], [2, 3], [4, 5]]
    assert len(loader) == 3


def test_whoever_holds_a_batch_owns_it():
    # 16: "its memory goes back to the pool when the last array or view is gone, never earlier"
    ds = ps.from_list([makers.jpeg(i) for i in range(64)]).decode_image("data", size=(32, 32))
    ds = ds.repeat(4)
    loader = ds.batch(8).loader(memory="100KB", threads=2)
    kept, copies = [], []
    for batch in loader:
        kept.append(batch["data"][3])  # a view of one row
        copies.append(kept[-1].copy())
        del batch
        assert all(np.array_equal(a, b) for a, b in zip(kept[-3:], copies[-3:], strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(kept, copies, strict=True))
    held = loader.stats()["memory"]["held_by_user"]
    assert held >= 32 * 8 * 32 * 32 * 3
    kept.clear()
    gc.collect()
    assert loader.stats()["memory"]["held_by_user"] == 0


def test_collate_as_one_word_is_for_all_fields():
    rows = [{"a": np.arange(i + 1), "b": np.zeros((i, 2)), "n": i} for i in range(3)]
    (batch,) = ps.from_list(rows).batch(3, collate="list").loader()
    assert [len(a) for a in batch["a"]] == [1, 2, 3]
    assert [b.shape for b in batch["b"]] == [(0, 2), (1, 2), (2, 2)]
    assert list(batch["n"]) == [0, 1, 2]
    (batch,) = ps.from_list(rows).batch(3, collate={"*": "list", "n": "stack"}).loader()
    assert batch["n"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="collate is 'heap'"):
        ps.from_list(rows).batch(3, collate="heap")


@pytest.mark.parametrize("how", ["list", "pad", "ragged"])
def test_images_that_stay_apart_are_laid_out_as_the_batch_asks(how):
    # 14: "dtype, layout, mean, std apply to fields made by decode_image"
    pictures = [np.full((8 + i, 9, 3), 10 * i, np.uint8) for i in range(3)]
    ds = ps.from_list([{"png": encode_image(one, "png")} for one in pictures])
    ds = ds.decode_image("png")
    work = {"dtype": "float32", "mean": [0.5] * 3, "std": [0.25] * 3}
    layout = "NHWC" if how == "ragged" else "NCHW"
    (batch,) = ds.batch(3, layout=layout, collate=how, **work).loader()
    if how == "ragged":
        start, stop = batch["png"].offsets[2:4]
        third = batch["png"].values[start:stop].transpose(2, 0, 1)
        with pytest.raises(ValueError, match="channels first"):
            list(ds.batch(3, layout="NCHW", collate=how, **work).loader())
    else:
        third = batch["png"][2]
    expected = (pictures[2].transpose(2, 0, 1) / np.float32(255) - 0.5) / 0.25
    assert third.dtype == np.float32
    np.testing.assert_allclose(third, expected, rtol=0, atol=1e-6)


def test_samples_one_by_one_are_given_in_every_output():
    ds = ps.from_arrays(x=np.arange(6).reshape(3, 2))
    for output in ("numpy", "dlpack"):
        rows = [np.asarray(sample["x"]).tolist() for sample in ds.loader(output=output)]
        assert rows == [[0, 1], [2, 3], [4, 5]]
