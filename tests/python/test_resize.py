"""Resizing gives Pillow's pixels, bit for bit: any size, box, filter and number of channels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from penstock import ops
from pictures import FILTERS, Pixels, as_image, channels_of, photographs
from PIL import Image

pytest.importorskip("skimage")
pytest.importorskip("sklearn")


def by_pillow(pixels: Pixels, size: tuple[int, int], name: str, box: Any = None) -> Pixels:
    image = as_image(pixels).resize(size[::-1], Image.Resampling[name.upper()], box=box)
    return np.asarray(image)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Pixels, tuple[int, int], str, Any]:
    side = st.integers(1, 90) | st.integers(1, 400)
    height, width = draw(side), draw(side)
    size = (draw(side), draw(side))
    channels = draw(st.integers(1, 4))
    box = None
    if draw(st.booleans()):
        edge = st.floats(0, 1, width=32)
        left, right = sorted(float(np.float32(draw(edge) * width)) for _ in range(2))
        top, bottom = sorted(float(np.float32(draw(edge) * height)) for _ in range(2))
        if left < right and top < bottom:
            box = (left, top, right, bottom)
    if draw(st.booleans()):
        photograph = photographs()[draw(st.sampled_from(["china", "coffee"]))]
        y, x = draw(st.integers(0, 20)), draw(st.integers(0, 20))
        pixels = channels_of(photograph[y : y + height, x : x + width], channels)
    else:
        random = np.random.default_rng(draw(st.integers(0, 2**32)))
        top_value = draw(st.sampled_from([2, 256]))  # noise, and only black and white
        shape = (height, width) if channels == 1 else (height, width, channels)
        pixels = (random.integers(0, top_value, shape) * (255 // (top_value - 1))).astype(np.uint8)
    return pixels, size, draw(st.sampled_from(FILTERS)), box


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems())
def test_any_size_box_filter_and_mode_gives_pillows_pixels(
    problem: tuple[Pixels, tuple[int, int], Any, Any],
) -> None:
    pixels, size, name, box = problem
    if box is not None and (box[2] > pixels.shape[1] or box[3] > pixels.shape[0]):
        box = None  # the photograph was smaller
    np.testing.assert_array_equal(
        ops.resize(size, name, box)(pixels), by_pillow(pixels, size, name, box)
    )


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("size", [(224, 224), (256, 341), (90, 640), (400, 40), (1, 1), (700, 900)])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_photographs_give_pillows_pixels(name: Any, size: tuple[int, int], channels: int) -> None:
    pixels = channels_of(photographs()["astronaut"], channels)
    np.testing.assert_array_equal(ops.resize(size, name)(pixels), by_pillow(pixels, size, name))


@pytest.mark.parametrize("shape", [(427, 640), (300, 451), (451, 300), (64, 64), (7, 1000)])
def test_the_short_side_is_torchvisions(shape: tuple[int, int]) -> None:
    height, width = shape
    pixels = np.zeros((height, width, 3), np.uint8)
    for short in (1, 7, 224, 256, 333):
        long = int(short * max(shape) / min(shape))
        expected = (short, long) if height <= width else (long, short)
        assert ops.resize(short)(pixels).shape[:2] == expected


def test_rows_may_lie_apart_and_pixels_in_any_order() -> None:
    pixels = photographs()["chelsea"]
    for part in (
        pixels[5:35, 7:41],
        pixels[::-1],
        pixels[:, ::-1],
        pixels[:, :, ::-1],
        pixels[::3],
    ):
        np.testing.assert_array_equal(
            ops.resize((20, 30))(part), ops.resize((20, 30))(np.ascontiguousarray(part))
        )
    turned = pixels.transpose(1, 0, 2)
    np.testing.assert_array_equal(
        ops.resize((20, 30))(turned), ops.resize((20, 30))(np.ascontiguousarray(turned))
    )


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"size": (0, 10)}, "size"),
        ({"size": (10, -1)}, "size"),
        ({"size": 0}, "size"),
        ({"size": (10, 10), "box": (0, 0, 60, 40)}, "box"),
        ({"size": (10, 10), "box": (5, 5, 5, 20)}, "box"),
        ({"size": (10, 10), "box": (0, 0, float("nan"), 40)}, "box"),
        ({"size": (10, 10), "interpolation": "cubic"}, "interpolation"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        ops.resize(**arguments)(np.zeros((40, 50, 3), np.uint8))
