"""What a sceptical user expected, and did not get."""

import asyncio
import gzip
import io as memory
import itertools
import tarfile
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from penstock import io

PICTURE = io.encode_image(np.full((8, 8, 3), 200, np.uint8), "png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "thumbs").mkdir()
    for name in ("1.jpg", "2.JPG", ".hidden.jpg", "notes.txt"):
        (tmp_path / name).write_bytes(PICTURE)
    return tmp_path


def test_images_beside_the_folders_of_classes_are_left_out_with_a_warning(folder: Path) -> None:
    assert len(ps.open(folder)) == 2
    (folder / "thumbs" / "3.jpg").write_bytes(PICTURE)
    with pytest.warns(UserWarning, match=r"2 images of .* are left out"):
        assert len(ps.open(folder)) == 1


def test_an_epoch_is_over_when_its_last_batch_was_received() -> None:
    # 5: "At an epoch's end the token is (epoch + 1, 0)": going on is the same as resuming.
    ds = ps.from_list(range(12)).shuffle(1).batch(4)
    whole, loader = ds.loader(), ds.loader()
    for epoch in range(3):
        expected = [batch["data"].tolist() for batch in whole]
        first = list(itertools.islice(loader, 2))
        assert first[1]["data"].tolist() == expected[1]  # a break begins the same epoch again
        taken = []
        for _, batch in zip(range(len(loader)), loader, strict=False):
            assert loader.epoch == epoch
            taken.append(batch["data"].tolist())
        assert taken == expected
        assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (epoch + 1, 0)


@pytest.mark.parametrize("drop_last", [False, True])
def test_an_epoch_that_is_chosen_begins_anew_though_it_was_received(drop_last: bool) -> None:
    loader = ps.from_list(range(11)).shuffle(1).batch(4, drop_last=drop_last).loader()
    passes = []
    for _ in range(2):
        loader.set_epoch(0)
        some = itertools.islice(loader, len(loader))
        passes.append([batch["data"].tolist() for batch in some])
    assert passes[0] == passes[1]
    assert next(iter(loader))["data"].tolist() != passes[0][0]  # epoch 1


def test_an_async_function_on_batches_is_awaited() -> None:
    async def total(batch: dict[str, np.ndarray]) -> int:
        await asyncio.sleep(0.001)
        return int(batch["data"].sum())

    loader = ps.from_list(range(6)).batch(2).map(total).loader()
    assert list(loader) == list(loader) == [1, 5, 9]


def test_numbers_that_jax_would_cut_off_are_an_error() -> None:
    jax = pytest.importorskip("jax")
    rows = [[1, 10**10], [np.uint64(1), np.uint64(2**63)], [np.float64(1), np.float64(1e300)]]
    for small, large in rows:
        loader = ps.from_list([small, large]).batch(1).loader(output="jax")
        batches = iter(loader)
        assert next(batches)["data"].tolist() == [1]
        if not jax.config.jax_enable_x64:
            with pytest.raises(OverflowError, match="jax_enable_x64"):
                next(batches)


def test_options_of_pixels_are_refused_for_other_fields(folder: Path) -> None:
    arrays = ps.from_arrays(x=np.zeros(4), y=np.zeros((4, 2, 2, 3), np.uint8))
    for option in ({"dtype": {"x": "float32"}}, {"layout": {"y": "NCHW"}}):
        with pytest.raises(ps.PlanError, match="made by decode_image or decode_video"):
            arrays.batch(2, **option)
    images = ps.open(folder).decode_image(size=(4, 4)).rename(image="picture")
    (batch,) = images.batch(2, dtype={"picture": "float32"}).loader()
    assert batch["picture"].dtype == np.float32


def test_a_mean_of_whole_numbers_is_refused_however_the_type_is_given(folder: Path) -> None:
    images = ps.open(folder).decode_image(size=(4, 4))
    for dtype in ("uint8", np.uint8, {"image": "uint8"}):
        with pytest.raises(ps.PlanError, match="mean and std are for"):
            images.batch(2, dtype=dtype, mean={"image": [0.5] * 3}, std={"image": [0.5] * 3})


def test_means_are_those_of_pixels_from_0_to_1(folder: Path) -> None:
    images = ps.open(folder).decode_image(size=(4, 4))
    (batch,) = images.batch(2, dtype="float32", mean=0, std=1).loader()
    assert np.allclose(batch["image"], 200 / 255)
    (batch,) = images.batch(2, dtype="float32", mean=[0.5] * 3, std=[0.25] * 3).loader()
    assert np.allclose(batch["image"], (200 / 255 - 0.5) / 0.25)


def test_compressed_tars_that_are_not_there_are_noticed_when_they_are_opened(
    tmp_path: Path,
) -> None:
    with pytest.raises(FileNotFoundError, match=r"no\.tar\.gz"):
        ps.open(tmp_path / "no.tar.gz")
    tar = memory.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as file:
        member = tarfile.TarInfo("a.txt")
        member.size = 2
        file.addfile(member, memory.BytesIO(b"ab"))
    (tmp_path / "one.tar.gz").write_bytes(gzip.compress(tar.getvalue()))
    with pytest.raises(KeyError, match="no field 'nope'; there are: __key__, txt"):
        ps.open(tmp_path / "one.tar.gz", fields=["nope"])
    assert len(list(ps.open(tmp_path / "one.tar.gz", fields=["txt"]))) == 1


def test_parts_that_are_all_of_it_have_no_rest() -> None:
    ds = ps.from_list(range(100))
    assert [len(part) for part in ds.split(0.8, 0.1, 0.1)] == [80, 10, 10]
    assert [len(part) for part in ds.split(0.8, 0.1)] == [80, 10, 10]
    assert [len(part) for part in ds.split(1.0)] == [100, 0]
    with pytest.raises(ps.PlanError, match="one by one"):
        ds.split([0.8, 0.2])


def test_messages_say_what_to_write_instead() -> None:
    batches = ps.from_list(range(4)).batch(2)
    with pytest.raises(TypeError, match=r"\.loader\(\)"):
        list(batches)
    with pytest.raises(ps.PlanError, match=r"\.map\(fn\)"):
        ps.from_list(range(4)).batch(2, collate=len)
    with pytest.raises(ps.PlanError, match="of streams and after a map"):
        ps.from_iterable([{"image": PICTURE}]).decode_image(size=(4, 4))
