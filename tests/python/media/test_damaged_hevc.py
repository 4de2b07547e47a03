"""Damaged HEVC: what the decoder leaves out without a word is named, and comes out the same."""

import random
from pathlib import Path

import numpy as np
import pytest
from clips import Clips, source
from numpy.typing import NDArray
from penstock import io

X265 = "-c:v libx265 -preset ultrafast -pix_fmt yuv420p -x265-params log-level=error:"
X265 += "keyint=12:open-gop=1:bframes=3:b-adapt=0"


@pytest.fixture(scope="module")
def damaged(clips: Clips) -> list[bytes]:
    """Clips in which some bytes of pictures are others."""
    data = Path(clips.make("to_damage.mp4", *source(), *X265.split())).read_bytes()
    begin, end = data.index(b"mdat") + 3000, data.index(b"moov") - 500
    made = []
    for seed in range(24):
        chance = random.Random(seed)
        bad = bytearray(data)
        for _ in range(6):
            at = chance.randrange(begin, end)
            for i in range(chance.choice((1, 4, 30))):
                bad[at + i] ^= chance.randrange(1, 256)
        made.append(bytes(bad))
    return made


def _read(video: io.Video, i: int) -> tuple[NDArray[np.uint8], list[int]]:
    frames = video.read([i])
    return np.array(frames), frames.damaged


def test_the_same_call_gives_the_same_pixels(damaged: list[bytes]) -> None:
    named = 0
    for data in damaged:
        video, other = (io.Video(data, on_error="partial") for _ in range(2))
        for i in range(0, len(video), 3):
            try:
                first = _read(video, i)
            except ValueError:
                continue
            for again in (_read(video, i), _read(other, i)):
                assert np.array_equal(first[0], again[0]), f"frame {i}"
                assert first[1] == again[1]
            named += len(first[1])
    assert named > 5


def test_a_loop_gives_the_same_pixels_each_time(damaged: list[bytes]) -> None:
    for data in damaged[:12]:
        one, two = (list(io.Video(data, on_error="partial")) for _ in range(2))
        assert len(one) == len(two)
        assert np.array_equal(one, two)


def _slices(clips: Clips) -> tuple[bytes, list[tuple[int, int, int]]]:
    """A raw stream of pictures in four slices; place, size and kind of its units."""
    how = f"{X265}:slices=4".replace("bframes=3", "bframes=0").split()
    path = clips.make("slices.hevc", *source(256, 512), *how, frames=24)
    data = Path(path).read_bytes()
    begins = [i + 3 for i in range(len(data)) if data.startswith(b"\0\0\1", i)]
    ends = [begin - 3 for begin in begins[1:]] + [len(data)]
    return data, [(b, e - b, data[b] >> 1 & 63) for b, e in zip(begins, ends, strict=True)]


def test_a_picture_that_lacks_a_slice_is_named(clips: Clips) -> None:
    data, units = _slices(clips)
    slices = [unit for unit in units if unit[2] < 32]
    assert len(slices) == 24 * 4
    assert io.load_video(data, strict=True).damaged == []
    for which in (5 * 4 + 1, 5 * 4 + 3):  # of frame 5
        begin, size, _ = slices[which]
        cut = data[: begin - 3] + data[begin + size :]
        frames = io.load_video(cut)
        assert frames.damaged == list(range(5, 12))
        with pytest.raises(ValueError, match=r"frame 5 .*parts of the picture are missing"):
            io.load_video(cut, strict=True)
        with pytest.raises(ValueError, match="frame 5 or one near it is damaged"):
            list(io.Video(cut, strict=True))
        assert np.array_equal(io.load_video(cut), frames)
        assert np.array_equal(np.stack(list(io.Video(cut))), frames)
