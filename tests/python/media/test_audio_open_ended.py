"""Files that were written into pipes do not say how long they are; what was cut off does."""

import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from clips import FFMPEG, ffmpeg
from penstock import io
from sounds import Sounds

WORDS = np.arange(20001, dtype=np.int16)


def wav(size: int) -> bytes:
    form = struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16)
    return (
        b"RIFF\xff\xff\xff\xffWAVEfmt " + form + b"data" + struct.pack("<I", size) + WORDS.tobytes()
    )


# 0 and -1 are FFmpeg's, 0x7FFFF000 that of sox and espeak, 0x80000000 arecord's.
@pytest.mark.parametrize(
    "size", [0, 0x7F000000, 0x7FFFF000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFDB, -1]
)
def test_a_wav_of_unknown_length_goes_on_to_the_end_of_the_file(size: int, sounds: Sounds) -> None:
    data, known = wav(size & 0xFFFFFFFF), wav(WORDS.nbytes)
    assert io.audio_info(data).duration == 20001 / 16000
    forms: tuple[dict[str, Any], ...] = (
        {},
        {"sample_rate": 8000},
        {"channels": 2},
        {"start": 1.2, "duration": 1},
        {"start": 1.2, "sample_rate": 44100},
    )
    for form in forms:
        got = io.load_audio(data, strict=True, **form)
        assert np.array_equal(got, io.load_audio(known, **form)), form
    ds = ps.from_list([{"wav": data}] * 9)
    parts = ds.decode_audio("wav", start="random", duration=1.0, sample_rate=8000).batch(9)
    assert next(iter(parts.loader()))["wav"].shape == (9, 1, 8000)


PIPED = {
    "s16": "-f wav",
    "s24": "-c:a pcm_s24le -f wav",
    "mulaw": "-c:a pcm_mulaw -f wav",
    "adpcm": "-c:a adpcm_ms -f wav",
    "mp3": "-c:a libmp3lame -f wav",
    "rf64": "-rf64 always -f wav",
    "rf64_alaw": "-rf64 always -c:a pcm_alaw -f wav",
    "caf": "-f caf",
    "caf_mulaw": "-c:a pcm_mulaw -f caf",
    "au": "-f au",
}


@pytest.mark.parametrize("name", PIPED)
def test_what_ffmpeg_writes_into_a_pipe_is_whole(name: str, sounds: Sounds, tmp_path: Path) -> None:
    assert FFMPEG is not None
    options = ["-i", sounds("s16.wav"), *PIPED[name].split()]
    command = [FFMPEG, "-v", "error", *options, "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        data = writer.stdout.read()
    path = tmp_path / "sound"
    ffmpeg(*options, str(path))
    whole = io.load_audio(path)
    assert whole.shape[1] >= 4 * 44100
    forms: tuple[dict[str, Any], ...] = (
        {},
        {"sample_rate": 16000},
        {"channels": 1},
        {"start": 3.5, "duration": 0.3},
    )
    for form in forms:
        got = io.load_audio(data, strict=True, **form)
        assert got.damaged == 0
        assert np.array_equal(got, io.load_audio(path, **form)), form


@pytest.mark.parametrize("name", ["s16", "mulaw", "adpcm", "rf64", "caf", "caf_mulaw"])
def test_a_file_that_says_how_long_it_is_and_is_shorter_was_cut_off(
    name: str, sounds: Sounds, tmp_path: Path
) -> None:
    path = tmp_path / "sound"
    ffmpeg("-i", sounds("s16.wav"), *PIPED[name].split(), str(path))
    data, whole = path.read_bytes(), io.load_audio(path)
    at = data.index(b"data") + (12 + 4 if "caf" in name else 8)
    forms: tuple[dict[str, Any], ...] = ({}, {"sample_rate": 16000})
    for size in (50_000, 10 * 4096, 20 * 4096 + 2048):  # also where FFmpeg's reads end
        for form in forms:
            with pytest.raises(ValueError, match=r"at \d\.\d+ s: the file ends"):
                io.load_audio(data[: at + size], **form)
        part = io.load_audio(data[: at + size], on_error="partial")
        assert part.error is not None
        assert 0 < part.shape[1] < whole.shape[1]
        assert np.array_equal(part, whole[:, : part.shape[1]])
