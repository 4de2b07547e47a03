"""Times of streams that were put one behind the other run on."""

from pathlib import Path

import numpy as np
import pytest
from clips import Clips, decoded, ffmpeg, source
from penstock import io

X264 = "-c:v libx264 -preset veryfast -g 10 -pix_fmt yuv420p -bf"


def _part(name: str, bf: int, frames: int, clips: Clips) -> str:
    return clips.make(name, *source(), *X264.split(), str(bf), frames=frames)


def _joined(name: str, parts: list[str], clips: Clips) -> Path:
    path = clips.folder / name
    path.write_bytes(b"".join(Path(part).read_bytes() for part in parts))
    return path


@pytest.mark.parametrize("count", [2, 3])
def test_times_that_begin_anew_run_on(count: int, clips: Clips) -> None:
    path = _joined(f"anew_{count}.ts", [_part("anew.ts", 2, 30, clips)] * count, clips)
    video = io.Video(path)
    assert len(video) == 30 * count
    assert video.info.duration == pytest.approx(count)
    assert video.info.rate == pytest.approx(30)
    assert video.times == pytest.approx(np.arange(30 * count) / 30, abs=1e-4)
    assert video.at([0.5, 1.5]).indices == [15, 45]
    expected = decoded(str(path))
    assert np.array_equal(video.at([0.5, 1.5]), expected[[15, 45]])


def test_parts_with_and_without_pictures_that_wait_follow_one_another(clips: Clips) -> None:
    parts = [_part(f"bf_{bf}.ts", bf, 20, clips) for bf in (3, 0)]
    for name, order in (("forth", parts), ("back", parts[::-1])):
        video = io.Video(_joined(f"unlike_{name}.ts", order, clips))
        assert np.diff(video.times) == pytest.approx(1 / 30, abs=1e-4)
        assert len(video) == 40


def test_a_part_that_begins_before_the_one_in_front_of_it_follows_it(clips: Clips) -> None:
    first = _part("anew.ts", 2, 30, clips)
    late = str(clips.folder / "late_part.ts")
    ffmpeg("-i", first, "-c", "copy", "-output_ts_offset", "100", late)
    video = io.Video(_joined("late_first.ts", [late, first], clips))
    assert video.info.duration == pytest.approx(2)
    gap = io.Video(_joined("late_last.ts", [first, late], clips))
    assert gap.times[30] == pytest.approx(100, abs=0.1)  # time that has passed stays


def test_an_index_that_was_kept_knows_that_times_run_on(clips: Clips, tmp_path: Path) -> None:
    part = Path(_part("anew.ts", 2, 30, clips)).read_bytes()
    path = tmp_path / "kept.ts"
    path.write_bytes(part + part)
    times = [io.Video(path, keep_index=True).times for _ in range(2)]
    assert times[0] == times[1]
    assert times[1][-1] == pytest.approx(59 / 30)


MATROSKA = {
    "hevc": "-c:v libx265 -preset veryfast -pix_fmt yuv420p "
    "-x265-params log-level=error:bframes=6:keyint=21",
    "hevc_open": "-c:v libx265 -preset veryfast -pix_fmt yuv420p "
    "-x265-params log-level=error:bframes=4:keyint=12:open-gop=1:b-adapt=0",
    "h264": "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 20 -bf 3",
    "h264_one_group": "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 1000 -bf 0",
    "mpeg2": "-c:v mpeg2video -g 12 -bf 2",
    "mpeg4": "-c:v mpeg4 -g 12 -bf 2",
    "vp9": "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 20 -pix_fmt yuv420p",
}


@pytest.mark.parametrize("kind", MATROSKA)
def test_matroska_without_times_of_decoding_has_those_that_it_says(kind: str, clips: Clips) -> None:
    path = clips.make(f"says_{kind}.mkv", *source(), *MATROSKA[kind].split(), frames=60)
    video = io.Video(path)
    assert len(video) == 60
    assert np.diff(video.times) == pytest.approx(1 / 30, abs=1.1e-3)  # they are milliseconds
    assert video.at([1.01]).indices == [30]
    assert np.array_equal(video.at([1.01]), decoded(path)[[30]])


@pytest.mark.parametrize("kind", MATROSKA)
def test_matroska_files_put_one_behind_the_other_run_on(kind: str, clips: Clips) -> None:
    part = clips.make(f"says_{kind}.mkv", *source(), *MATROSKA[kind].split(), frames=60)
    video = io.Video(_joined(f"anew_{kind}.mkv", [part, part], clips))
    assert len(video) == 120
    assert np.diff(video.times) == pytest.approx(1 / 30, abs=1.5e-3)
    assert video.at([1.01, 3.01]).indices == [30, 90]
    assert np.array_equal(video[:], np.concatenate([decoded(part)] * 2))
