"""Colours of indices, which the container gives with the first packet, or where they change."""

from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from clips import Clips, decoded, source
from penstock import io

NEW = "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1"
MADE = {
    "raw.avi": "-c:v rawvideo -pix_fmt pal8",
    "raw.mov": "-c:v rawvideo -pix_fmt pal8",
    "smc.mov": "-c:v smc -pix_fmt pal8 -g 12",
    "changes.avi": f"-vf {NEW} -c:v rawvideo -pix_fmt pal8",
}


@pytest.fixture(params=MADE)
def clip(request: pytest.FixtureRequest, clips: Clips) -> str:
    how = MADE[request.param].split()
    return clips.make(f"palette_{request.param}", *source(), *how, frames=20)


def test_the_test_clip_changes_its_palette(clips: Clips) -> None:
    how = MADE["changes.avi"].split()
    path = clips.make("palette_changes.avi", *source(), *how, frames=20)
    assert Path(path).read_bytes().count(b"00pc") >= 20


def test_a_read_that_begins_anywhere_has_the_colours(clip: str) -> None:
    expected = decoded(clip)
    assert len({frame.tobytes() for frame in expected}) == 20
    assert np.array_equal(io.load_video(clip), expected)
    for i in range(20):
        frames = io.sample_video(clip, indices=[i], strict=True)
        assert np.array_equal(frames[0], expected[i]), f"frame {i}"
        assert np.array_equal(io.Video(clip)[i], expected[i]), f"frame {i}"
    video = io.Video(clip)
    for i in (15, 0, 9, 19, 3, 15):
        assert np.array_equal(video[i], expected[i]), f"frame {i}"
    few = io.sample_video(clip, num_frames=3)
    assert np.array_equal(few, expected[few.indices])
    for frame, other in zip(video, expected, strict=True):
        assert np.array_equal(frame, other)


def test_a_kept_index_knows_the_colours(clip: str, tmp_path: Path) -> None:
    path = tmp_path / Path(clip).name
    path.write_bytes(Path(clip).read_bytes())
    expected = decoded(clip)
    for i in (15, 19, 0, 12, 1):  # the first one makes it
        video = io.Video(path, keep_index=True)
        assert np.array_equal(video[i], expected[i]), f"frame {i}"
        assert np.array_equal(video[0], expected[0])
    frames = io.sample_video(path, indices=[17, 4, 5], keep_index=True, strict=True)
    assert np.array_equal(frames, expected[[17, 4, 5]])


def test_rows_have_the_colours(clip: str) -> None:
    ds = ps.from_list([{"video": clip}] * 3)
    ds = ds.decode_video("video", num_frames=2, indices="at", keep_index=False)
    for row in ds:
        assert np.array_equal(row["video"], decoded(clip)[row["at"]])
