"""Native ops on images inside a dataset: as alone, and drawn by each sample's own numbers."""

from typing import Any

import numpy as np
import penstock as ps
import pytest
from penstock import ops
from pictures import Pixels, photographs

PLAIN = {
    "resize": ops.resize((30, 20), "bicubic"),
    "resize with a box": ops.resize((30, 20), "lanczos", (3.5, 2, 60, 41.25)),
    "short side": ops.resize(24),
    "crop": ops.crop((3, 5, 40, 30)),
    "center_crop": ops.center_crop((33, 44)),
    "pad": ops.pad((1, 2, 3, 4), "reflect"),
    "flip": ops.flip("vertical"),
    "rotate90": ops.rotate90(3),
    "convert": ops.convert("L"),
    "grayscale": ops.grayscale(),
    "brightness": ops.brightness(1.3),
    "contrast": ops.contrast(0.7),
    "saturation": ops.saturation(1.5),
    "normalize": ops.normalize((0.4, 0.5, 0.6), (0.2, 0.25, 0.3)),
}
RANDOM = {
    "random_resized_crop": ops.random_resized_crop((20, 30)),
    "random_crop": ops.random_crop((20, 30)),
    "random_flip": ops.random_flip(),
    "color_jitter": ops.color_jitter(0.4, 0.4, 0.4),
}


def images() -> Pixels:
    return np.stack([p[40:100, 30:110] for p in photographs().values()] * 2)


def results(*chain: Any, **options: Any) -> Pixels:
    dataset = ps.from_arrays(image=images()).apply("image", *chain).batch(5)
    return np.concatenate([np.asarray(b["image"]) for b in dataset.loader(**options)])


@pytest.mark.parametrize("name", PLAIN)
def test_an_op_gives_in_a_dataset_what_it_gives_alone(name: str) -> None:
    op = PLAIN[name]
    np.testing.assert_array_equal(results(op), np.stack([op(image) for image in images()]))


@pytest.mark.parametrize("name", RANDOM)
def test_chance_is_the_samples_own(name: str) -> None:
    op = RANDOM[name]
    once = results(op, seed=3, threads=1)
    np.testing.assert_array_equal(results(op, seed=3, threads=3), once)
    assert (results(op, seed=4) != once).any()
    loader = ps.from_arrays(image=images()).apply("image", op).batch(12).loader(seed=3)
    first, second = (np.concatenate([b["image"] for b in loader]) for _ in range(2))
    np.testing.assert_array_equal(first, once)
    assert (first != second).any()


def test_two_ops_of_a_kind_draw_apart() -> None:
    ramp = np.broadcast_to(np.arange(12, dtype=np.uint8).reshape(3, 4), (64, 3, 4))
    both = ops.random_flip(), ops.random_flip(0.5, "vertical")
    dataset = ps.from_arrays(image=np.ascontiguousarray(ramp)).apply("image", *both).batch(64)
    (batch,) = dataset.loader(seed=1)
    assert {int(image[0, 0]) for image in np.asarray(batch["image"])} == {0, 3, 8, 11}
