"""Sizes, boxes and counts are whole numbers: anything else is refused by name, never cut."""

from typing import Any

import numpy as np
import penstock as ps
import pytest
from penstock import io, ops

PICTURE = np.zeros((8, 6, 3), np.uint8)
FILE = io.encode_image(PICTURE, "png")
SOUND = io.encode_audio(np.zeros((1, 100), np.float32), 8000)


@pytest.mark.parametrize("kind", [float, np.float32, np.float64, str])
@pytest.mark.parametrize(
    ("name", "slip"),
    [
        ("size", lambda two: io.decode_image(FILE, size=(two, 4))),
        ("size", lambda two: io.decode_image(FILE, size=(4, two), exact=False)),
        ("crop", lambda two: io.decode_image(FILE, crop=(0, 0, two, 4))),
        ("resize_short", lambda two: io.decode_image(FILE, resize_short=two)),
        ("position", lambda two: io.decode_image(FILE, flip=0.5, position=two)),
        ("seed", lambda two: io.decode_image(FILE, seed=two)),
        ("epoch", lambda two: io.decode_image(FILE, epoch=two)),
        ("max_pixels", lambda two: io.decode_image(FILE, max_pixels=two)),
        ("size", lambda two: io.decode_image_batch([FILE], (two, two))),
        ("crop", lambda two: io.decode_image_batch([FILE], (4, 4), [(0, 0, two, 4)])),
        ("position", lambda two: io.decode_image_batch([FILE], (4, 4), position=two)),
        ("threads", lambda two: io.decode_image_batch([FILE], (4, 4), threads=two)),
        ("size", lambda two: io.decode_image_fields({"a": FILE}, ["a"], (two, 4))),
        ("quality", lambda two: io.encode_image(PICTURE, quality=two)),
        ("level", lambda two: io.encode_image(PICTURE, "png", level=two)),
        ("offset", lambda two: io.read_range(__file__, two, 1)),
        ("channels", lambda two: io.load_audio(SOUND, channels=[two])),
        ("sample_rate", lambda two: io.load_audio(SOUND, sample_rate=two)),
        ("size", lambda two: ops.resize((two, 4))),
        ("size", lambda two: ops.decode_image((two, 4))),
        ("size", lambda two: ops.center_crop((two, 4))),
        ("size", lambda two: ops.random_crop((two, 4))),
        ("size", lambda two: ops.random_resized_crop((two, 4))),
        ("box", lambda two: ops.crop((0, 0, two, 4))),
        ("sides", lambda two: ops.pad((0, 0, two, 4))),
    ],
)
def test_what_is_no_whole_number_is_refused_by_name(name: str, slip: Any, kind: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name}.* is .*2.*; give a whole number"):
        slip(kind("2") if kind is str else kind(2.5))
    with pytest.raises(TypeError, match=f"^{name}"):
        slip(kind("2"))  # also without a fraction


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint16])
def test_any_kind_of_int_is_a_whole_number(kind: Any) -> None:
    two = kind(2)
    assert io.decode_image(FILE, size=(two, two), crop=(0, 0, two, two)).shape == (2, 2, 3)
    assert ops.resize((two, two))(PICTURE).shape == (2, 2, 3)
    assert len(io.encode_image(PICTURE, quality=two)) > 0


@pytest.mark.parametrize("size", [224, (1, 2, 3), "ab", ()])
def test_a_size_is_a_height_and_a_width(size: Any) -> None:
    with pytest.raises(TypeError, match=r"^size is .*; give \(height, width\)"):
        io.decode_image(FILE, size=size)


@pytest.mark.parametrize(
    "slip",
    [
        lambda ds: ds.decode_image("data", size=(2.5, 4)),
        lambda ds: ds.decode_image("data", crop=(0, 0, 2.5, 4)),
        lambda ds: ds.decode_image("data", resize_short=np.float32(2.5)),
        lambda ds: ds.decode_video("data", num_frames=2.5),
        lambda ds: ds.decode_video("data", stride=1.5),
        lambda ds: ds.decode_video("data", size=(4, 2.5)),
        lambda ds: ds.decode_audio("data", sample_rate=8000.5),
    ],
)
def test_in_a_plan_it_is_a_plan_error(slip: Any) -> None:
    with pytest.raises(ps.PlanError, match="give"):
        slip(ps.from_list([FILE]))
