"""Files that end before the sound does: damage where the file lets us know, and nowhere else."""

import struct
from pathlib import Path

import numpy as np
import pytest
from clips import ffmpeg
from penstock import io
from sounds import SECONDS, SOUNDS, Sounds


def made(tmp_path: Path, sounds: Sounds, name: str, *options: str) -> bytes:
    path = tmp_path / name
    ffmpeg("-i", sounds("s16.wav"), *options, str(path))
    return path.read_bytes()


CUT = {
    "constant.mp3": "the file ends",
    "variable.mp3": "the file ends|frame|backstep",
    "aac.mkv": "ended prematurely|before its segment does",
    "opus.webm": "ended prematurely|before its segment does",
    "vorbis.webm": "ended prematurely|before its segment does",
    "opus.opus": "the file ends inside a page|no page that ends",
    "silk.opus": "the file ends inside a page|no page that ends",
    "vorbis.ogg": "the file ends inside a page|no page that ends",
    "flac.ogg": "the file ends inside a page|no page that ends",
    "mp3.avi": "the file ends before its chunks do",
    "one.au": "the file ends before the bytes",
    "one.aiff": "the file ends before its chunks do|PCM",
}
MORE = {"aac.mkv": "-c:a aac", "mp3.avi": "-c:a libmp3lame", "flac.ogg": "-c:a flac"}


@pytest.mark.parametrize("name", CUT)
def test_a_file_that_is_cut_off_is_damaged_at_its_end(
    name: str, sounds: Sounds, tmp_path: Path
) -> None:
    if name in SOUNDS:
        data = Path(sounds(name)).read_bytes()
    else:
        data = made(tmp_path, sounds, name, *MORE.get(name, "").split())
    whole = io.load_audio(data, strict=True)
    assert whole.damaged == 0
    rate = whole.sample_rate
    for share in (0.5, 0.77, 0.9):
        cut = data[: int(len(data) * share)]
        got = io.load_audio(cut)
        assert 1 <= got.damaged <= 2
        assert 0.2 * SECONDS * rate < got.shape[1] < SECONDS * rate
        with pytest.raises(ValueError, match=CUT[name]) as raised:
            io.load_audio(cut, strict=True)
        when = float(str(raised.value).split("at ")[1].split()[0])
        assert abs(when - got.shape[1] / rate) < 0.1
        part = io.load_audio(cut, 0.3, 0.2, strict=True)  # which ends before the cut
        assert part.damaged == 0
        first = round(0.3 * rate)
        assert np.array_equal(part, whole[:, first : first + part.shape[1]])
        with pytest.raises(ValueError, match="damaged"):
            io.load_audio(cut, 0.3, 60, strict=True)


def test_frames_that_an_mp3_lacks_are_missed_and_one_is_not(sounds: Sounds, tmp_path: Path) -> None:
    data = made(tmp_path, sounds, "one.mp3", "-b:a", "128k", "-id3v2_version", "0")
    at = data.index(b"Info") + 8
    said = int.from_bytes(data[at : at + 4], "big")
    whole = io.load_audio(data)
    for more, damaged in ((-3, 0), (1, 0), (2, 1), (1000, 1)):
        other = data[:at] + (said + more).to_bytes(4, "big") + data[at + 4 :]
        got = io.load_audio(other)
        assert got.damaged == damaged, more
        assert np.array_equal(got[:, :160_000], whole[:, :160_000])
    size = 417  # of a frame, or one byte more
    assert io.load_audio(data[: -4 * size]).damaged == 1
    bare = made(tmp_path, sounds, "bare.mp3", "-b:a", "128k", "-write_xing", "0")
    assert io.load_audio(bare).damaged == 0
    assert io.load_audio(bare[:-100]).damaged == 1  # inside a frame
    tag = b"TAG" + b"x" * 125
    ape = b"APETAGEX" + struct.pack("<IIII", 2000, 32, 0, 0) + bytes(8)
    for behind in (tag, ape + tag, tag + tag):
        for sound in (data, bare):
            assert io.load_audio(sound + behind, strict=True).damaged == 0


@pytest.mark.parametrize("name", ["opus.opus", "vorbis.ogg"])
def test_ogg_without_a_last_page_is_cut_off(name: str, sounds: Sounds) -> None:
    data = Path(sounds(name)).read_bytes()
    last = data.rindex(b"OggS")
    for cut in (data[:last], data[: last + 12], data[:-1]):
        assert io.load_audio(cut).damaged == 1
        with pytest.raises(ValueError, match="damaged: the file"):
            io.load_audio(cut, strict=True)
    open_ended = bytearray(data)
    open_ended[last + 5] &= ~4  # as in a recording of a stream that went on
    with pytest.raises(ValueError, match="recorded from one that went on"):
        io.load_audio(bytes(open_ended), strict=True)
    assert io.load_audio(data + b"tag" * 500, strict=True).damaged == 0


def test_matroska_that_does_not_say_how_long_it_is_is_whole(sounds: Sounds, tmp_path: Path) -> None:
    piped = ffmpeg("-i", sounds("opus.webm"), "-c", "copy", "-f", "matroska", "-")
    whole = io.load_audio(sounds("opus.webm"))
    got = io.load_audio(piped, strict=True)
    assert np.array_equal(got[:, : whole.shape[1]], whole)  # a pipe does not know the padding
    assert io.load_audio(piped[:-3000]).damaged == 1  # inside a block
    path = Path(sounds("opus.webm")).read_bytes()
    assert io.load_audio(path + bytes(2000), strict=True).damaged == 0


def test_info_of_an_mp3_is_what_its_encoder_says(sounds: Sounds, tmp_path: Path) -> None:
    for name, options in {
        "full": "-b:a 128k",
        "low": "-b:a 8k -ar 8000 -ac 1",
        "variable": "-q:a 9",
    }.items():
        data = made(tmp_path, sounds, f"{name}.mp3", *options.split())
        info = io.audio_info(data)
        assert info.duration == io.load_audio(data).shape[1] / info.sample_rate == SECONDS
