"""Order, fields and plans; each test quotes the line of the contract that it holds."""

import pickle

import makers
import numpy as np
import penstock as ps
import pytest


def numbers(ds, epoch=0, **options):
    """The items of a from_list dataset in the order of an epoch."""
    loader = ds.batch(7).loader(epoch=epoch, **options)
    return [int(x) for batch in loader for x in batch["data"]]


def items(n):
    return ps.from_list(range(n))


def test_take_and_skip_of_a_shuffle_never_overlap_in_any_epoch():
    # 7: "so shuffle().take(1000) and shuffle().skip(1000) never overlap in any epoch"
    ds = items(100).shuffle(seed=3)
    for epoch in (0, 1, 5):
        head, tail = numbers(ds.take(30), epoch), numbers(ds.skip(30), epoch)
        assert sorted(head + tail) == list(range(100))
        assert head == numbers(ds.take(30), 0)


def test_only_shuffles_to_the_right_reshuffle_each_epoch():
    # 7: "freeze every shuffle to their left at epoch 0; only shuffles to their right reshuffle"
    ds = items(50).shuffle(seed=1).take(20).shuffle(seed=2)
    first, second = numbers(ds, 0), numbers(ds, 1)
    assert first != second
    assert sorted(first) == sorted(second)


def test_repeat_uses_the_pass_number_as_the_epoch():
    # 7: ".shuffle().repeat() uses the pass number as the epoch"
    ds = items(20).shuffle(seed=1)
    assert numbers(ds.repeat(3)) == numbers(ds, 0) + numbers(ds, 1) + numbers(ds, 2)


def test_shard_applies_last_wherever_it_is_written_and_once():
    # 7: "shard applies last wherever it is written, once; twice is an error"
    early = items(40).shard(1, 2).shuffle(seed=1).take(10)
    late = items(40).shuffle(seed=1).take(10).shard(1, 2)
    assert numbers(early) == numbers(late) == numbers(items(40).shuffle(seed=1).take(10))[1::2]
    with pytest.raises(ps.PlanError, match="rank 1 of 2 already"):
        early.shard(0, 2)
    with pytest.raises(ps.PlanError, match="rank 2 is not from 0 to 1"):
        items(4).shard(2, 2)


def test_after_batch_only_map_and_to_may_follow():
    # 7: "anything else is a PlanError that shows the right order"
    ds = items(10).batch(2)
    for wrong in (
        lambda: ds.shuffle(),
        lambda: ds.take(3),
        lambda: ds.batch(3),
        lambda: ds.filter(bool),
        lambda: ds.select("data"),
        lambda: ds.split(0.5),
        lambda: ds.concat(ds),
        lambda: ps.mix([ds, ds]),
    ):
        with pytest.raises(ps.PlanError, match=r"comes before batch\(\)"):
            wrong()
    assert ds.map(lambda batch: batch).to("cpu") is not None
    with pytest.raises(NotImplementedError, match="no GPU support"):
        ds.to("cuda:0")


def test_window_shuffles_keep_blocks_together():
    # 9: "consecutive permuted blocks form a window, a keyed permutation inside"
    order = numbers(items(160).shuffle(seed=1, window=32))
    assert sorted(order) == list(range(160))
    for first in range(0, 160, 32):
        blocks = {x // 2 for x in order[first : first + 32]}
        assert len(blocks) == 16, "a window is made of whole blocks"


def test_a_window_in_bytes_becomes_a_number_of_samples(tmp_path):
    # 9: '"64MB" becomes a number of samples through the index's mean record size'
    ds = ps.open(makers.image_tars(tmp_path))
    mean = ds._leaves()[0].mean_bytes
    windowed = ds.shuffle(window=f"{mean * 10}B")
    assert "window=10" in windowed.explain()
    assert windowed._order().digest == ds.shuffle(window=10)._order().digest


def test_a_window_in_bytes_of_objects_without_a_size_is_refused():
    with pytest.raises(ps.PlanError, match="give a number of samples"):
        ps.from_list(range(1000)).shuffle(window="64MB")
    assert len(ps.from_list(range(1000)).shuffle(window=100)) == 1000


def test_mix_has_fixed_counts_per_period_and_ends_with_the_first_source():
    # 10: "Length: until the first source runs out (stop="first", default)"
    a, b = ps.from_list(["a"] * 30), ps.from_list(["b"] * 10)
    both = [sample["data"] for sample in ps.mix([a, b], weights=[3, 1], seed=4)]
    for first in range(0, len(both) // 4 * 4, 4):
        assert sorted(both[first : first + 4]) == ["a", "a", "a", "b"]
    assert len(both) >= 37
    endless = ps.mix([a, b], weights=[3, 1], stop="never")
    with pytest.raises(TypeError, match="endless"):
        len(endless)
    assert len(endless.take(1000)) == 1000


def test_a_sample_is_drawn_by_weight():
    ds = items(3).sample(weights=[1, 0, 3], n=4000, seed=1)
    drawn = np.bincount(numbers(ds), minlength=3)
    assert drawn[1] == 0
    assert 850 < drawn[0] < 1150


def test_split_parts_do_not_overlap_and_are_all():
    train, test = items(100).split(0.9, seed=5)
    assert (len(train), len(test)) == (90, 10)
    assert sorted(numbers(train) + numbers(test)) == list(range(100))
    parts = items(10).split(0.5, 0.3, seed=None)
    assert [numbers(part) for part in parts] == [[0, 1, 2, 3, 4], [5, 6, 7], [8, 9]]


def test_concat_and_zip():
    assert numbers(items(3).concat(items(2))) == [0, 1, 2, 0, 1]
    pairs = ps.from_arrays(x=np.arange(5)).zip(ps.from_arrays(y=np.arange(5) * 10))
    assert {name: int(value) for name, value in pairs[3].items()} == {"x": 3, "y": 30}
    with pytest.raises(ps.PlanError, match="5 and 4"):
        ps.from_arrays(x=np.arange(5)).zip(ps.from_arrays(y=np.arange(4)))
    with pytest.raises(ps.PlanError, match="field 'x'"):
        ps.from_arrays(x=np.arange(5)).zip(ps.from_arrays(x=np.arange(5)))


def test_sources_with_other_names_are_joined_after_renaming(tmp_path):
    folder = ps.open(makers.image_folder(tmp_path / "folder")).select("image", "label")
    tar = ps.open(makers.image_tars(tmp_path)).decode("cls").select("jpg", "cls")
    both = ps.mix([folder, tar.rename(jpg="image", cls="label")], seed=1)
    assert both.fields == ["image", "label"]
    batch = next(iter(both.decode_image(size=(16, 16)).batch(8).loader()))
    assert batch["image"].shape == (8, 16, 16, 3)
    assert batch["label"].dtype == np.int64


def test_early_filters_are_the_survivors():
    # 3: "the dataset is then the survivors, with exact len, ds[i], shuffle and full batches"
    calls = []

    def even(sample):
        calls.append(sample["data"])
        return sample["data"] % 2 == 0

    ds = items(20).shuffle(seed=1).filter(even)
    assert sorted(calls) == list(range(20)), "once per record"
    assert len(ds) == 10
    assert sorted(numbers(ds)) == list(range(0, 20, 2))
    assert numbers(ds, 0) != numbers(ds, 1)
    assert [len(batch["data"]) for batch in ds.batch(5).loader()] == [5, 5]
    assert numbers(items(20).take(6).filter(even)) == [0, 2, 4]


def test_an_early_filter_keeps_its_outcome_in_a_sidecar(tmp_path):
    path, calls = tmp_path / "odd.bits", []

    def odd(sample):
        calls.append(1)
        return sample["data"] % 2 == 1

    data = items(100)
    first = numbers(data.shuffle(seed=1).filter(odd, sidecar=path))
    assert sorted(first) == list(range(1, 100, 2))
    assert len(calls) == 100
    assert numbers(data.shuffle(seed=1).filter(odd, sidecar=path)) == first
    assert numbers(data.filter(odd, sidecar=str(path))) == sorted(first)
    assert len(calls) == 100  # not asked again
    assert [one.name for one in tmp_path.iterdir()] == ["odd.bits"]

    with pytest.raises(
        ps.PlanError, match=r"odd\.bits was made for other data.*100 records.* 99 now"
    ):
        items(99).filter(odd, sidecar=path)
    with pytest.raises(ps.PlanError, match="for early filters"):
        data.map(lambda sample: sample).filter(odd, sidecar=path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + b"\0")
    with pytest.raises(ps.PlanError, match=r"odd\.bits is damaged; remove it"):
        data.filter(odd, sidecar=path)
    path.write_bytes(b"something else")
    with pytest.raises(ps.PlanError, match="is not what sidecar= writes"):
        data.filter(odd, sidecar=path)
    with pytest.raises(FileNotFoundError):
        data.filter(odd, sidecar=tmp_path / "no" / "folder")


def test_late_filters_leave_holes():
    # 3: "Written after row work it is late: holes as in 2; len(ds) then raises and says so,
    # len(loader) is the number of batches by position"
    ds = items(20).map(lambda sample: sample).filter(lambda sample: sample["data"] % 2 == 0)
    with pytest.raises(TypeError, match="late filter"):
        len(ds)
    loader = ds.batch(5).loader()
    assert len(loader) == 4
    assert [batch["data"].tolist() for batch in loader] == [
        [0, 2, 4],
        [6, 8],
        [10, 12, 14],
        [16, 18],
    ]


def test_a_sample_is_a_dict_and_lists_of_indices_give_lists():
    # 15: "ds[i] uses epoch 0; ds[[...]] is a list of samples"
    ds = items(10).shuffle(seed=2)
    assert [sample["data"] for sample in ds[[5, 1, 5]]] == [
        ds[5]["data"],
        ds[1]["data"],
        ds[5]["data"],
    ]
    assert numbers(ds)[4] == ds[4]["data"]
    assert ds[-1] == ds[9]
    for beyond in (10, -11):
        with pytest.raises(IndexError):
            ds[beyond]
    assert [sample["data"] for sample in ds] == numbers(ds)


def test_fields_that_are_not_there_are_named(tmp_path):
    ds = ps.open(makers.image_tars(tmp_path))
    assert ds.fields == ["__key__", "jpg", "cls", "txt"]
    for wrong in (
        lambda: ds.select("png"),
        lambda: ds.rename(png="image"),
        lambda: ds.decode("npy"),
        lambda: ds.decode_image("png"),
        lambda: ds.decode("jpg"),
        lambda: ds.select("cls").decode_image(),
        lambda: ds.decode_image(crop="nowhere"),
        lambda: ds.decode_image(flip=2),
    ):
        with pytest.raises(ps.PlanError):
            wrong()
    with pytest.raises(ps.PlanError, match="there are: __key__, jpg, cls, txt"):
        ds.select("png")


def test_a_dataset_pickles(tmp_path):
    ds = ps.open(makers.image_tars(tmp_path)).shuffle(seed=1).take(9).decode("cls").batch(3)
    again = pickle.loads(pickle.dumps(ds))
    assert makers.whole_epoch(again.loader()) == makers.whole_epoch(ds.loader())
    assert again.explain() == ds.explain()


def test_explain_shows_the_plan_as_it_runs(tmp_path):
    # 8: "Sharding taken from the environment is visible: in explain()"; 12: "explain() says which"
    ds = (
        ps.open(makers.image_tars(tmp_path))
        .shuffle(seed=1)
        .decode("cls")
        .map(dict)
        .decode_image("jpg", size=(8, 8))
        .batch(4)
        .map(len)
    )
    text = ds.explain()
    assert text.startswith("indexed: 50 samples, another order in each epoch")
    assert "native  read, decode(cls as cls)\npython  map(dict)\nnative  decode_image(jpg" in text
    assert "-> slot" in text
    assert "rank 0 of 1 (alone)" in text
    assert ps.from_iterable(iter([])).explain().startswith("sequential")


def test_ranks_come_from_the_environment_and_can_be_switched_off(monkeypatch, caplog):
    # 8: "loader.rank, loader.world and one log line; .shard(0, 1) switches it off"
    caplog.set_level("INFO")
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    ds = items(9).batch(2)
    loader = ds.loader()
    assert (loader.rank, loader.world) == (2, 3)
    assert [record for record in caplog.records if "rank 2 of 3" in record.getMessage()]
    assert "rank 2 of 3 (torchrun)" in ds.explain()
    alone = items(9).shard(0, 1).batch(2).loader()
    assert (alone.rank, alone.world) == (0, 1)
    assert [int(x) for batch in loader for x in batch["data"]] == [2, 5, 8]


def test_a_billion_samples_start_as_fast_as_ten():
    ds = ps.from_list(range(10**9)).shuffle(seed=1).skip(5).shuffle(seed=2)
    loader = ds.batch(64).loader()
    assert len(loader) == -(-(10**9 - 5) // 64)
    batch = next(iter(loader))
    assert len(set(batch["data"].tolist())) == 64
    loader.close()
