"""The index of frames in a file beside the video."""

from pathlib import Path

import numpy as np
import pytest
from clips import Clips, decoded
from penstock import io

NAMES = ["h264.mp4", "open_gop.mkv", "open_gop.ts", "mpeg4.avi", "vp9.webm", "intra_refresh.mp4"]


@pytest.fixture
def clip(clips: Clips, tmp_path: Path) -> Path:
    path = tmp_path / "clip.mkv"
    path.write_bytes(Path(clips("open_gop.mkv")).read_bytes())
    return path


@pytest.mark.parametrize("name", NAMES)
def test_frames_by_a_kept_index_are_the_same(name: str, clips: Clips, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(Path(clips(name)).read_bytes())
    fresh = io.Video(path)
    assert not path.with_name(name + ".psidx").exists()
    first = io.Video(path, keep_index=True)
    kept = path.with_name(name + ".psidx").read_bytes()
    again = io.Video(path, keep_index=True)
    assert path.with_name(name + ".psidx").read_bytes() == kept
    assert fresh.info == first.info == again.info
    assert fresh.times == first.times == again.times
    expected = decoded(clips(name), fresh.info.width, fresh.info.height)
    for i in (len(expected) - 1, 0, len(expected) // 2, 7):
        assert np.array_equal(again[i], expected[i])
    assert np.array_equal(io.load_video(path, keep_index=True), expected)


def test_a_kept_index_is_used_and_checked(clip: Path, clips: Clips) -> None:
    sidecar = clip.with_name("clip.mkv.psidx")
    count = len(io.Video(clip, keep_index=True))
    good = sidecar.read_bytes()
    for bad in (
        b"",
        good[:50],
        good[:-1],
        b"X" + good[1:],
        good[:8] + b"\x09" + good[9:],
        good[:70] + bytes([good[70] ^ 1]) + good[71:],
    ):
        sidecar.write_bytes(bad)
        with pytest.raises(ValueError, match=r"index of frames .*refresh"):
            io.Video(clip, keep_index=True)
        assert len(io.Video(clip)) == count  # who does not ask does not look
    assert len(io.Video(clip, keep_index="refresh")) == count
    assert sidecar.read_bytes() == good


def test_an_index_of_another_file_is_refused(clip: Path, clips: Clips) -> None:
    io.Video(clip, keep_index=True)
    clip.write_bytes(Path(clips("vp9.webm")).read_bytes())
    with pytest.raises(ValueError, match="another version of the file"):
        io.Video(clip, keep_index=True)
    video = io.Video(clip, keep_index="refresh")
    assert np.array_equal(video[3], decoded(clips("vp9.webm"))[3])
    io.Video(clip, keep_index=True)


def test_where_it_can_be_written_nowhere_the_video_opens_all_the_same(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Also root cannot write to a name that is too long.
    long = clip.with_name("n" * 246 + ".mkv")
    clip.rename(long)
    count = len(io.Video(long, keep_index=True))
    assert len(io.Video(long, keep_index=True)) == count
    assert not list(tmp_path.rglob("*.psidx*"))


def test_bytes_and_damaged_files_keep_none(clip: Path, clips: Clips) -> None:
    data = clip.read_bytes()
    assert len(io.Video(data, keep_index=True)) > 10
    cut = clip.with_name("cut.mkv")
    cut.write_bytes(data[: len(data) // 2])
    video = io.Video(cut, keep_index=True)
    assert cut.with_name("cut.mkv.psidx").exists() == (video.info.damage == "")
    with pytest.raises(ValueError, match="keep_index"):
        io.Video(clip, keep_index="always")  # type: ignore[arg-type]
