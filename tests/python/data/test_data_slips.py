"""What a user gets wrong is said where it is written, and nothing is left out in silence."""

import io
import tarfile

import makers
import numpy as np
import penstock as ps
import pytest

LIST = ps.from_list([{"a": i, "b": float(i)} for i in range(10)])
ARRAYS = ps.from_arrays(x=np.arange(10), y=np.arange(20).reshape(10, 2))


@pytest.mark.parametrize(
    "slip",
    [
        lambda: LIST.batch(2.5),
        lambda: LIST.batch("4"),
        lambda: LIST.batch(True),
        lambda: LIST.repeat(-1),
        lambda: LIST.repeat(1.5),
        lambda: LIST.take(10**30),
        lambda: LIST.shuffle(window=2.5),
        lambda: LIST.shard("0", "2"),
        lambda: LIST.shard(0.5, 2),
        lambda: LIST.split(float("nan")),
        lambda: LIST.map(len, concurrency="2"),
        lambda: LIST.loader(epoch=-1),
        lambda: LIST.loader(max_errors=-1),
        lambda: LIST.loader(threads="2"),
        lambda: LIST.loader(seed=1.5),
        lambda: LIST.loader(seed=-1),
        lambda: LIST.loader(seed=2**64),
        lambda: LIST.shuffle(seed=-1),
        lambda: LIST.loader().set_epoch("next"),
        lambda: ARRAYS.batch(2, collate={"z": "pad"}),
        lambda: ARRAYS.batch(2, dtype={"z": "float32"}),
        lambda: ARRAYS.batch(2, mean=[0.5], std=[0.5]),
        lambda: ARRAYS.zip(LIST.batch(2)),
        lambda: LIST.decode_image("a", size=(4, 4), box="a"),
        lambda: LIST.decode_image("a", size=(0, 4)),
        lambda: LIST.filter(lambda sample, rng: True),
        lambda: LIST.filter(None),
        lambda: LIST.map(5),
        lambda: LIST.batch(2).map("name"),
        lambda: LIST.map(lambda sample: (yield sample)),
        lambda: ps.from_iterable(range(3), resume="again"),
        lambda: ps.mix([LIST, LIST], weights=[]),
        lambda: ps.open(None),
        lambda: ps.open(5),
        lambda: ps.mix(LIST),
        lambda: ps.mix([[1], [2]]),
        lambda: LIST.concat([1]),
        lambda: LIST.loader(threads=10**6),
        lambda: LIST.decode_image("a", size="32"),
        lambda: LIST.decode_image("a", size=(32, "32")),
        lambda: LIST.decode_image("a", size=(32, 32), flip="yes"),
        lambda: LIST.decode_image("a").batch(2, dtype="float32", mean="imagenet", std=1),
        lambda: LIST.decode_image("a").batch(2, dtype="float32", mean={"a": ["x"]}, std={"a": 1}),
    ],
)
def test_a_slip_is_a_plan_error(slip):
    with pytest.raises(ps.PlanError):
        slip()


@pytest.mark.parametrize("dataset", [LIST, ARRAYS, ps.from_iterable(range(3))])
@pytest.mark.parametrize(
    "step",
    [
        lambda ds: ds.shard(0, 2),
        lambda ds: ds.shuffle(window=2),
        lambda ds: ds.take(1),
        lambda ds: ds.skip(1),
        lambda ds: ds.split(0.5),
        lambda ds: ds.repeat(2),
        lambda ds: ds.concat(LIST),
        lambda ds: LIST.concat(ds),
        lambda ds: ds.zip(ARRAYS),
        lambda ds: ps.mix([ds, LIST]),
        lambda ds: ds.sample([1.0] * 10),
        lambda ds: ds.select("a"),
        lambda ds: ds.rename(a="c"),
        lambda ds: ds.filter(bool),
        lambda ds: ds.decode(a="cls"),
        lambda ds: ds.decode_image("a"),
        lambda ds: ds.decode_audio("a"),
        lambda ds: ds.decode_video("a"),
        lambda ds: ds.cache(),
        lambda ds: ds.batch(2),
    ],
)
def test_after_batch_only_map_and_to_may_follow(dataset, step):
    # 7: "After batch only map and to may follow: anything else is a PlanError that shows the right
    # order"
    with pytest.raises(ps.PlanError, match=r"comes before batch\(\)"):
        step(dataset.batch(3))


def test_a_folder_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        ps.open(str(tmp_path / "pictures"))


def test_samples_are_asked_for_by_number():
    assert [int(sample["x"]) for sample in ARRAYS[np.array([5, 1])]] == [5, 1]
    assert int(ARRAYS[np.int8(3)]["x"]) == 3
    for slip in ("x", None, 1.5):
        with pytest.raises(TypeError, match="number of a sample"):
            ARRAYS[slip]


def test_fields_can_change_names():
    assert LIST.rename(a="b", b="a")[1] == {"b": 1, "a": 1.0}
    assert ARRAYS.rename(x="y", y="x")[1]["x"].tolist() == [2, 3]
    with pytest.raises(ValueError, match="there is a field 'b' already"):
        LIST.rename(a="b")[0]


def test_an_early_filter_awaits():
    async def even(sample):
        return sample["a"] % 2 == 0

    assert [sample["a"] for sample in LIST.filter(even)] == [0, 2, 4, 6, 8]


def test_iterating_over_a_dataset_passes_over_what_a_late_filter_removes():
    late = LIST.map(lambda sample: sample).filter(lambda sample: sample["a"] > 6)
    assert [sample["a"] for sample in late] == [7, 8, 9]
    stream = ps.from_iterable(range(4)).shard(1, 2)
    assert [sample["data"] for sample in stream] == [0, 1, 2, 3]


def test_a_filter_after_parts_with_pictures_is_a_late_one(tmp_path):
    # 3: "Written after row work it is late"
    folder = ps.open(makers.image_folder(tmp_path)).select("image", "label")
    small, large = (folder.decode_image("image", size=(n, n)) for n in (8, 16))
    late = small.concat(large).filter(lambda sample: sample["image"].shape[0] == 8)
    with pytest.raises(TypeError, match="late filter"):
        len(late)
    rows = sum(len(batch["image"]) for batch in late.batch(4).loader())
    assert rows == len(folder)


def test_a_rank_given_to_one_part_is_that_of_the_whole():
    # 7: "shard applies last wherever it is written, once; twice is an error"
    other = ARRAYS.rename(x="p", y="q")
    for joined in (
        LIST.concat(LIST.shard(1, 2)),
        ps.mix([LIST, LIST.shard(1, 2)]),
        ARRAYS.zip(other.shard(1, 2)),
    ):
        loader = joined.batch(2).loader()
        assert (loader.rank, loader.world) == (1, 2)
    with pytest.raises(ps.PlanError, match="different ranks"):
        LIST.shard(0, 2).concat(LIST.shard(1, 2))


def test_random_work_in_the_parts_of_a_zip_is_not_the_same_chance(tmp_path):
    # 13: "counter (global position, ordinal of the random op in the plan, draw)"
    folder = ps.open(makers.image_folder(tmp_path)).select("image")
    crop = {"size": (8, 8), "crop": "random_resized"}
    a = folder.decode_image("image", box="a", **crop).select("a")
    b = folder.decode_image("image", box="b", **crop).select("b")
    (batch,) = a.zip(b).batch(30).loader()
    assert (batch["a"] != batch["b"]).any(axis=1).all()


def test_a_token_of_other_compressed_files_is_refused(tmp_path):
    # 4: "a digest of the data (record counts and names relative to the root ...)"
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    for name in ("here/a.tar.gz", "there/a.tar.gz", "here/b.tar.gz"):
        with tarfile.open(tmp_path / name, "w:gz") as tar:
            for i in range(20):
                member = tarfile.TarInfo(f"{i}.txt")
                member.size = 1
                tar.addfile(member, io.BytesIO(b"x"))

    def loader(name):
        return ps.open(str(tmp_path / name)).batch(4).loader()

    first = loader("here/a.tar.gz")
    next(iter(first))
    token = first.state_dict()
    moved = loader("there/a.tar.gz")
    moved.load_state_dict(token)
    assert next(iter(moved))["__key__"] == ["4", "5", "6", "7"]
    with pytest.raises(ValueError, match="of other data"):
        loader("here/b.tar.gz").load_state_dict(token)
    with pytest.raises(ValueError, match="of other data"):
        ps.from_iterable(range(40), resume="replay").batch(4).loader().load_state_dict(token)
    assert "open(a.tar.gz)" in ps.open(str(tmp_path / "here/a.tar.gz")).explain()


def test_the_right_order_is_shown_with_the_steps_that_are_there():
    # 7: "anything else is a PlanError that shows the right order"
    ds = LIST.shuffle(seed=3).select("a").batch(4)
    with pytest.raises(ps.PlanError) as error:
        ds.take(2)
    right = "from_list(10 items).shuffle(seed=3).select(a).take(...).batch(4)"
    assert right in str(error.value)
    with pytest.raises(ps.PlanError, match="batches of 4 already"):
        ds.batch(2)


def test_weights_of_a_mix_may_be_an_array():
    assert len(ps.mix([LIST, LIST], weights=np.array([3.0, 1.0]))) == len(
        ps.mix([LIST, LIST], weights=[3, 1])
    )


def test_an_endless_dataset_is_not_counted_from_its_end():
    assert LIST.repeat()[25]["a"] == 5
    with pytest.raises(IndexError, match="endless"):
        LIST.repeat()[-1]


def test_a_variable_that_is_no_number_is_named(monkeypatch):
    monkeypatch.setenv("RANK", "first")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="RANK is 'first' in the environment, not a number"):
        LIST.batch(2).loader()
    assert LIST.shard(0, 1).batch(2).loader().world == 1


PICTURE = bytes(ps.io.encode_image(np.full((8, 8, 3), 9, np.uint8), "png"))


def test_a_list_says_which_of_its_fields_is_the_picture():
    for items, name in [([{"png": PICTURE, "n": 1}] * 2, "png"), ([PICTURE] * 2, "data")]:
        (batch,) = ps.from_list(items).decode_image(size=(4, 4)).batch(2).loader()
        assert batch[name].shape == (2, 4, 4, 3)
        assert (batch[name] == 9).all()
    both = ps.from_list([{"png": PICTURE}]).rename(png="jpg").decode_image()
    assert both[0]["jpg"].shape == (8, 8, 3)
    for unclear in [[{"png": PICTURE, "jpg": PICTURE}], [{"a": PICTURE, "b": PICTURE}], []]:
        with pytest.raises(ps.PlanError, match="say which field holds the image"):
            ps.from_list(unclear).decode_image()
    with pytest.raises(ps.PlanError, match="of streams and after a map"):
        ps.from_iterable([PICTURE]).decode_image()
    with pytest.raises(ps.PlanError, match="of streams and after a map"):
        ps.from_list([PICTURE]).map(lambda sample: sample).decode_image()


def test_a_name_that_was_given_needs_no_look_at_the_list():
    class Dear(list):
        def __getitem__(self, index):
            raise AssertionError("nobody has asked for it")

    plan = ps.from_list(Dear([PICTURE])).decode_image("data", size=(4, 4)).batch(2)
    assert "decode_image" in plan.explain()


def test_means_may_be_of_any_kind_of_number():
    ds = ps.from_list([PICTURE] * 2).decode_image()
    wanted = (9 / 255 - 4) / 2
    for mean, std in [
        (4, 2),
        (np.float32(4), np.array(2)),
        ([4, 4, 4], np.full(3, 2)),
        ((4,), [2]),
    ]:
        (batch,) = ds.batch(2, dtype="float32", mean=mean, std=std).loader()
        assert np.allclose(batch["data"], wanted)


@pytest.mark.parametrize(
    ("shapes", "collate", "advice"),
    [
        ([(1,), (2,)], "stack", 'collate={"data": "list"} (or "pad", "ragged") takes'),
        ([(1, 2), (2, 3)], "stack", 'collate={"data": "list"} (or "pad") takes'),
        ([(1, 2), (2, 3)], "ragged", 'collate={"data": "list"} (or "pad") takes'),
        ([(1,), (1, 1)], "pad", 'collate={"data": "list"} takes'),
    ],
)
def test_only_what_would_help_is_recommended_for_rows_that_differ(shapes, collate, advice):
    ds = ps.from_list([np.zeros(shape) for shape in shapes])
    with pytest.raises(ValueError, match="takes rows that differ") as error:
        list(ds.batch(2, collate=collate).loader())
    assert advice in str(error.value)
    helps = "list" if "pad" not in advice else "pad"
    assert len(list(ds.batch(2, collate=helps).loader())) == 1


def test_a_sample_that_could_not_be_replaced_says_so():
    ds = ps.from_list([b"nothing"] * 4).decode_image(size=(4, 4)).batch(2)
    with pytest.raises(
        NotImplementedError, match=r"not a known image.*the 8 samples that were tried"
    ):
        list(ds.loader(on_error="replace"))


def test_a_sample_of_a_compressed_tar_is_called_by_its_key(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as file:
        for name, data in [("one.png", PICTURE), ("two.png", b"broken")]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
    loader = ps.open(tmp_path / "a.tar.gz").decode_image("png").batch(1).loader(on_error="skip")
    assert len(list(loader)) == 1
    (error,) = loader.errors()
    assert "item 1 ('two')" in str(error)
