"""Videos that were cut off are told from whole ones, also from those that came out of pipes."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from clips import COUNT, FFMPEG, Clips, decoded, source
from penstock import io

VP8 = "-c:v libvpx -cpu-used 8 -deadline realtime -pix_fmt yuv420p"
X264 = "-c:v libx264 -preset veryfast -g 10 -bf 3 -pix_fmt yuv420p"
MADE = {
    "huffyuv.avi": "-c:v huffyuv",
    "ends.flv": X264,
    "vp8.ivf": VP8,
    "av1.ivf": "-c:v libaom-av1 -cpu-used 8 -usage realtime -pix_fmt yuv420p",
    "ends.ogv": "-c:v libtheora -g 12",
    "ends.gif": "",
    "ends.apng": "",
    "ends.y4m": "-pix_fmt yuv420p",
    "ends.asf": "-c:v wmv2",
    "ends.mkv": X264,
    "ends.mxf": "-c:v mpeg2video -s 720x576 -r 25",
}
# As pipes take them, where nobody can go back to the header.
PIPED = {
    "avi": "-c:v huffyuv",
    "flv": X264,
    "ogg": "-c:v libtheora",
    "matroska": X264,
    "mpegts": X264,
    "ivf": VP8,
    "gif": "",
    "apng": "",
    "yuv4mpegpipe": "-pix_fmt yuv420p",
    "asf": "-c:v wmv2",
    "nut": "-c:v ffv1",
    "mxf": "-c:v mpeg2video -r 25",
}


def _made(name: str, clips: Clips) -> bytes:
    return Path(clips.make(name, *source(), *MADE[name].split())).read_bytes()


def _piped(form: str) -> bytes:
    if FFMPEG is None:
        pytest.skip("there is no ffmpeg command")
    how = [*source(), "-frames:v", str(COUNT), *PIPED[form].split(), "-f", form, "-"]
    command = [FFMPEG, "-v", "error", "-nostdin", *how]
    return subprocess.run(command, capture_output=True, check=True).stdout


def _check_cut(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"corrupt: the file is damaged after frame \d+"):
        io.sample_video(data, 4, strict=True)
    with pytest.raises(ValueError, match="corrupt"):
        io.load_video(data)
    few = io.sample_video(data, 4, on_error="partial")
    assert "damaged after frame" in str(few.error)
    assert len(few) >= 1
    seen = []
    with pytest.raises(ValueError, match="corrupt"):
        seen.extend(io.Video(data))
    assert 1 <= len(seen) < COUNT


def _check_whole(data: bytes) -> None:
    assert io.video_info(data).damage == ""
    frames = io.load_video(data, strict=True)
    assert len(frames) == COUNT
    assert frames.error is None
    assert len(list(io.Video(data, strict=True))) == COUNT


@pytest.mark.parametrize("name", MADE)
def test_a_file_that_was_cut_off_is_damaged_and_a_whole_one_is_not(name: str, clips: Clips) -> None:
    data = _made(name, clips)
    _check_whole(data)
    for share in (50, 61, 83):
        _check_cut(data[: len(data) * share // 100])


@pytest.mark.parametrize("form", PIPED)
def test_a_whole_file_out_of_a_pipe_is_not_damaged(form: str, clips: Clips) -> None:
    del clips  # which needs FFmpeg
    _check_whole(_piped(form))


@pytest.mark.parametrize("form", ["avi", "flv", "ogg", "matroska", "ivf", "gif", "apng"])
def test_a_file_out_of_a_pipe_may_be_cut_off_too(form: str, clips: Clips) -> None:
    del clips
    data = _piped(form)
    for share in (50, 83):
        _check_cut(data[: len(data) * share // 100])


def test_a_row_of_pictures_that_ends_inside_one_is_damaged(clips: Clips) -> None:
    whole = Path(_row_of_pngs(clips)).read_bytes()
    _check_whole(whole)
    _check_cut(whole[: len(whole) * 7 // 10])


def test_an_flv_without_its_last_size_is_whole(clips: Clips) -> None:
    data = _made("ends.flv", clips)
    _check_whole(data[:-4])
    _check_whole(data[:-4] + bytes(4))
    _check_whole(data + b"something else that is no tag")


def test_an_ivf_whose_header_counts_nothing_is_whole(clips: Clips) -> None:
    data = bytearray(_made("vp8.ivf", clips))
    for count in (0, 1, COUNT + 2, 0xFFFFFFFF):
        data[24:28] = count.to_bytes(4, "little")
        _check_whole(bytes(data))


def test_datasets_refuse_clips_that_were_cut_off(clips: Clips) -> None:
    import penstock as ps

    data = _made("ends.gif", clips)
    for clip, fine in ((data, True), (data[: len(data) // 2], False)):
        ds = ps.from_list([{"video": clip}]).decode_video("video", num_frames=4)
        if fine:
            assert ds[0]["video"].shape[0] == 4
            continue
        with pytest.raises(Exception, match="damaged after it: the file ends before its trailer"):
            ds[0]


def test_raw_dv_that_ends_inside_a_frame_is_damaged(clips: Clips) -> None:
    how = ["-c:v", "dvvideo", "-pix_fmt", "yuv420p", "-r", "25"]
    path = clips.make("raw.dv", *source(720, 576), *how, frames=4)
    data = Path(path).read_bytes()
    expected = decoded(path, 720, 576)
    assert np.array_equal(io.load_video(data, strict=True), expected)
    for share in (70, 83, 99):
        cut = data[: len(data) * share // 100]
        there = len(cut) * 4 // len(data)
        for strict in (False, True):
            with pytest.raises(
                ValueError, match=f"corrupt: the file is damaged after frame {there}"
            ):
                io.load_video(cut, strict=strict)
        part = io.load_video(cut, on_error="partial")
        assert part.indices == list(range(there))
        assert np.array_equal(part, expected[:there])
        assert part.error is not None


def _row_of_pngs(clips: Clips) -> str:
    return clips.make("row.png", *source(), "-c:v", "png", "-f", "image2pipe")


def test_frames_of_a_row_of_pictures_are_found_from_anywhere(clips: Clips) -> None:
    path = _row_of_pngs(clips)
    expected = decoded(path)
    for i in (COUNT - 1, 1, 20, 47):
        assert np.array_equal(io.Video(path)[i], expected[i]), f"frame {i}"
    video = io.Video(path)
    for i in (40, 3, 39, 0, 17):
        assert np.array_equal(video[i], expected[i]), f"frame {i}"
