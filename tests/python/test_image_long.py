"""JPEGs that are longer than what is unpacked of them at a time."""

import io as memory
from typing import Any

import numpy as np
import pytest
from penstock import io
from PIL import Image


def noise(height: int, width: int, **how: Any) -> bytes:
    """A JPEG with as much data as its size allows, many bytes of 255 among it."""
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    file = memory.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", **how)
    return file.getvalue()


@pytest.mark.parametrize("restart", [0, 1, 200])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_a_long_jpeg_decodes_to_pillows_pixels(subsampling: int, restart: int) -> None:
    file = noise(501, 703, quality=100, subsampling=subsampling, restart_marker_blocks=restart)
    assert len(file) > 500_000
    expected = Image.open(memory.BytesIO(file)).convert("RGB")
    assert (io.decode_image(file) == np.asarray(expected)).all()
    crop = io.decode_image(file, (45, 45), crop=(300, 411, 345, 456), exact=True)
    assert (crop == np.asarray(expected)[411:456, 300:345]).all()
    whole = io.decode_image(file, (501, 703), exact=False)
    assert np.abs(whole.astype(int) - np.asarray(expected)).mean() < 30


@pytest.mark.parametrize("exact", [True, False])
def test_a_long_jpeg_that_is_cut_or_damaged_is_refused(exact: bool) -> None:
    file = noise(501, 703, quality=100)
    begin = file.index(b"\xff\xda")
    for at in (*range(begin + 32_000, begin + 40_000, 397), len(file) - 200):
        with pytest.raises(ValueError, match="JPEG"):
            io.decode_image(file[:at], (64, 64), exact=exact)
        damaged = file[:at] + b"\xff\xd9" + file[at + 2 :]
        with pytest.raises(ValueError, match="JPEG"):
            io.decode_image(damaged, (64, 64), exact=exact)
