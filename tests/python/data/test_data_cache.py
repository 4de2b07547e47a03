"""cache(): the same samples, read once."""

import pickle

import numpy as np
import penstock as ps
import pytest
from makers import image_tars, whole_epoch


def used(ds):
    return sum(leaf.cached_bytes for leaf in ds._leaves())


def test_a_cached_dataset_gives_the_same_bytes_in_every_epoch(tmp_path):
    names = image_tars(tmp_path)

    def plan(ds):
        ds = ds.shuffle(seed=2)
        return ds.decode_image("jpg", size=(24, 24), crop="random_resized", flip=0.5).batch(8)

    plain = ps.open(names).decode("cls", "txt")
    cached = plain.cache()
    for threads in (1, 2, 3):
        one, other = plan(plain).loader(threads=threads), plan(cached).loader(threads=threads)
        for _ in range(2):
            assert whole_epoch(one) == whole_epoch(other)


def test_files_are_not_read_again(tmp_path):
    names = image_tars(tmp_path, shards=1)
    ds = ps.open(names).decode("cls").cache()
    loader = ds.batch(8).loader()
    first = whole_epoch(loader)
    for path in tmp_path.glob("*.tar"):
        with open(path, "r+b") as file:
            file.truncate(1000)
    assert whole_epoch(loader) == first
    assert whole_epoch(ds.batch(8).loader()) == first, "another loader shares what is kept"
    with pytest.raises(ValueError, match="size of the file"):
        ps.open(names)


def test_the_limit_is_kept_and_the_rest_is_read_each_time(tmp_path):
    names = image_tars(tmp_path)
    plain = ps.open(names).decode_image("jpg", size=(32, 32)).select("jpg", "cls")
    ds = plain.cache(memory=40_000)
    expected = whole_epoch(plain.batch(10).loader())
    loader = ds.batch(10).loader()
    for _ in range(2):
        assert whole_epoch(loader) == expected
        assert 3072 < used(ds) <= 40_000


def test_decoded_images_are_laid_out_as_the_batch_asks(tmp_path):
    names = image_tars(tmp_path)
    work = {"layout": "NCHW", "dtype": "float32", "mean": [0.5] * 3, "std": [0.25] * 3}
    plain = ps.open(names).decode_image("jpg", size=(16, 16)).rename(jpg="image").select("image")
    (a,) = plain.batch(50, **work).loader()
    (b,) = plain.cache().batch(50, **work).loader()
    assert b["image"].shape == (50, 3, 16, 16)
    assert np.array_equal(a["image"], b["image"])


def test_tokens_do_not_depend_on_the_cache(tmp_path):
    names = image_tars(tmp_path)
    plain = ps.open(names).decode("cls").shuffle(seed=4)
    loader = plain.batch(8).loader()
    batches = iter(loader)
    seen = [key for _ in range(2) for key in next(batches)["__key__"]]
    other = ps.open(names).decode("cls").cache().shuffle(seed=4).batch(8).loader()
    other.load_state_dict(loader.state_dict())
    seen += [key for batch in other for key in batch["__key__"]]
    assert len(seen) == len(set(seen)) == 50


def test_bad_samples_are_not_kept(tmp_path):
    names = image_tars(tmp_path, bad=(3, 30))
    ds = ps.open(names).decode_image("jpg", size=(8, 8)).cache()
    for _ in range(2):
        loader = ds.batch(10).loader(on_error="skip")
        assert sum(len(batch["jpg"]) for batch in loader) == 48
        assert [error.position for error in loader.errors()] == [3, 30]


def test_joined_datasets_share_the_limit(tmp_path):
    a, b = np.arange(1000), np.arange(1000, 3000)
    both = ps.from_arrays(x=a).concat(ps.from_arrays(x=b)).cache(memory="100KB")
    (batch,) = both.batch(3000).loader()
    assert np.array_equal(batch["x"], np.arange(3000))
    assert 0 < used(both) <= 100_000


def test_a_cached_plan_pickles_and_explains_itself(tmp_path):
    ds = ps.open(image_tars(tmp_path)).decode("cls").cache().shuffle(seed=1)
    again = pickle.loads(pickle.dumps(ds))
    assert again[5]["cls"] == ds[5]["cls"]
    assert ".cache()" in ds.explain()
    assert again.fields == ds.fields == ["__key__", "jpg", "cls", "txt"]


def test_what_cannot_be_cached_says_why(tmp_path):
    tars = ps.open(image_tars(tmp_path))
    random = tars.decode_image("jpg", size=(8, 8), crop="random_resized")
    zipped = ps.from_arrays(x=np.arange(3)).zip(ps.from_arrays(y=np.arange(3)))
    for call, words in (
        (lambda: ps.from_list([1]).cache(), "in memory already"),
        (lambda: ps.from_iterable([1]).cache(), "sequential"),
        (lambda: tars.map(dict).cache(), "after cache"),
        (lambda: random.cache(), "random"),
        (lambda: zipped.select("x").cache(), "before zip"),
        (lambda: tars.batch(2).cache(), "comes before batch"),
    ):
        with pytest.raises(ps.PlanError, match=words):
            call()
    assert zipped.cache()[1] == {"x": 1, "y": 1}


def test_nobody_can_write_into_what_is_kept(tmp_path):
    ds = ps.open(image_tars(tmp_path)).decode_image("jpg", size=(8, 8)).select("jpg")
    for memory in (None, 3000):  # kept, and read again each time
        kept = ds.cache(memory=memory)
        for _ in range(2):
            assert not kept[3]["jpg"].flags.writeable
            (batch,) = kept.batch(50, collate="list").loader()
            assert not any(array.flags.writeable for array in batch["jpg"])
        assert whole_epoch(kept.batch(10).loader()) == whole_epoch(ds.batch(10).loader())


def test_lists_of_bytes_are_kept_in_memory_of_their_own(tmp_path):
    import penstock.io as pio

    path = str(tmp_path / "a.tfrecord")
    with pio.TFRecordWriter(path) as writer:
        for i in range(20):
            writer.write_example({"parts": [bytes([i]) * 500, b"x" * i]})
    plain = ps.open(path, fields={"parts": "bytes[]"})
    kept = plain.cache()
    for _ in range(2):
        got = [[bytes(one) for one in sample["parts"]] for sample in kept]
        assert got == [[bytes([i]) * 500, b"x" * i] for i in range(20)]
    assert used(kept) > 20 * 500
