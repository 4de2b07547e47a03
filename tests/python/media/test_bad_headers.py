"""Headers that lie: endless durations, absurd numbers of frames and pixels, half a packet."""

import struct
from pathlib import Path

import numpy as np
import pytest
from clips import Clips, decoded, ffmpeg, patched
from penstock import io
from sounds import Sounds
from sounds import decoded as sounds_decoded

TYPED = (ValueError, IndexError, NotImplementedError, MemoryError)


@pytest.fixture(scope="module")
def front(clips: Clips) -> bytes:
    """An MP4 with its tables in front."""
    path = clips.folder / "headers.mp4"
    ffmpeg("-i", clips("h264.mp4"), "-c", "copy", "-movflags", "+faststart", str(path))
    return path.read_bytes()


def test_an_endless_duration_in_the_tables_is_no_duration(front: bytes, clips: Clips) -> None:
    expected = decoded(clips("h264.mp4"))
    endless = front
    for box, at in ((b"mvhd", 16), (b"mdhd", 16), (b"tkhd", 20)):
        endless = patched(endless, box, at, [0xFFFFFFFF])
    info = io.video_info(endless)
    assert info.frames == len(expected)
    assert info.duration == pytest.approx(io.video_info(front).duration)
    assert np.array_equal(io.sample_video(endless, indices=[40])[0], expected[40])
    with pytest.raises(IndexError, match="no frame is shown"):
        io.sample_video(endless, times=[1e9])


@pytest.mark.parametrize(
    ("box", "at", "words"),
    [
        (b"stts", 8, [0x7FFFFFFF, 512]),  # so many frames
        (b"stts", 8, [48, 0x7FFFFFFF]),  # so long ones
        (b"stsz", 4, [0, 0x7FFFFFFF]),
        (b"stsz", 4, [0x7FFFFFFF, 48]),  # so large ones
        (b"stco", 4, [0x7FFFFFFF]),
        (b"stsc", 8, [1, 0x7FFFFFFF, 1]),
        (b"elst", 8, [0xFFFFFFFF, 0x7FFFFFFF]),
    ],
)
def test_tables_that_make_no_sense_give_right_frames_or_a_typed_error(
    box: bytes, at: int, words: list[int], front: bytes, clips: Clips
) -> None:
    expected = decoded(clips("h264.mp4"))
    bad = patched(front, box, at, words)
    try:
        frames = io.sample_video(bad, indices=[0, 7], on_error="partial")
    except TYPED:
        return
    for i, frame in zip(frames.indices, frames, strict=True):
        assert i in frames.damaged or np.array_equal(frame, expected[i])


def test_a_picture_of_four_thousand_million_pixels_is_refused(front: bytes) -> None:
    at = front.index(b"avc1", front.index(b"stsd")) + 4 + 24
    vast = front[:at] + struct.pack(">HH", 65535, 65535) + front[at + 4 :]
    with pytest.raises(IndexError, match="max_pixels"):
        io.Video(vast)
    with pytest.raises(IndexError, match="max_pixels"):
        io.load_video(vast, on_error="partial")


def test_half_a_packet_names_its_frame_and_gives_none(front: bytes, clips: Clips) -> None:
    info = io.video_info(front)
    half = front[: len(front) - 40]  # inside the last packet of the file
    with pytest.raises(ValueError, match=r"frame \d+ \(\d\.\d+ s\)") as raised:
        io.load_video(half)
    lost = int(str(raised.value).split("frame ")[1].split()[0])
    part = io.load_video(half, on_error="partial")
    assert lost not in part.indices
    assert len(part) >= info.frames - 4  # those in front of it in the file are all there
    sure = [i for i in part.indices if i not in part.damaged]
    assert np.array_equal(
        part[[part.indices.index(i) for i in sure]], decoded(clips("h264.mp4"))[sure]
    )


def test_sounds_whose_headers_promise_too_much(sounds: Sounds, tmp_path: Path) -> None:
    plain = Path(sounds("s16.wav")).read_bytes()
    at = plain.index(b"data") + 4
    vast = plain[:at] + struct.pack("<I", 0xFFFFFF00) + plain[at + 4 :]
    whole = io.load_audio(plain)
    got = io.load_audio(vast, on_error="partial")
    assert np.array_equal(got, whole[:, : got.shape[1]])
    assert whole.shape[1] - got.shape[1] <= 1
    m4a = Path(sounds("aac.m4a")).read_bytes()
    endless = patched(patched(m4a, b"mdhd", 16, [0xFFFFFFFF]), b"mvhd", 16, [0xFFFFFFFF])
    path = tmp_path / "endless.m4a"
    path.write_bytes(endless)
    got = io.load_audio(endless)
    assert np.array_equal(got, sounds_decoded(str(path)))  # FFmpeg 9 keeps the padding then
    assert np.array_equal(got[:, : 3 * 44100], io.load_audio(m4a)[:, : 3 * 44100])
    flac = bytearray(Path(sounds("lossless.flac")).read_bytes())
    flac[8 + 13] |= 0x0F  # 36 bits say how many samples there are
    flac[8 + 14 : 8 + 18] = b"\xff" * 4
    long = io.load_audio(bytes(flac), on_error="partial")
    assert np.array_equal(long, io.load_audio(sounds("lossless.flac"))[:, : long.shape[1]])
    assert long.shape[1] > 3 * 44100
