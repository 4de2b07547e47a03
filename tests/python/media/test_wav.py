"""WAV without FFmpeg: what every coding becomes, parts that read their own bytes, and writing."""

import os
import resource
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clips import ffmpeg
from penstock import io
from sounds import Sounds, decoded

CODINGS = ["pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le"]


def wav(sounds: Sounds, coding: str, channels: int, *more: str) -> str:
    path = sounds.folder / f"{coding}{channels}{''.join(more).replace('/', '')}.wav"
    if not path.exists():
        noise = f"anoisesrc=d=0.5:r=22050:a=1:seed={channels}"
        ffmpeg("-f", "lavfi", "-i", noise, "-ac", str(channels), "-c:a", coding, *more, str(path))
    return str(path)


@pytest.mark.parametrize(
    ("coding", "channels"), [*((one, 2) for one in CODINGS), ("pcm_s16le", 6), ("pcm_s24le", 1)]
)
def test_every_coding_is_what_ffmpeg_makes_of_it(
    coding: str, channels: int, sounds: Sounds
) -> None:
    path = wav(sounds, coding, channels)
    whole = io.load_audio(path)
    assert np.array_equal(whole, decoded(path, channels))
    info = io.audio_info(path)
    assert (info.codec, info.channels, info.sample_rate) == (coding, channels, 22050)
    assert info.duration == pytest.approx(0.5)
    words = np.frombuffer(ffmpeg("-i", path, "-f", "s16le", "-"), np.int16).reshape(-1, channels)
    if "pcm_f" not in coding:  # ffmpeg dithers nothing, but rounds floats in its own way
        assert np.array_equal(io.load_audio(path, dtype="int16", layout="TC"), words)
    else:
        got = io.load_audio(path, dtype="int16", layout="TC").astype(int)
        assert np.abs(got - words).max() <= 1
    assert np.array_equal(io.load_audio(path, 0.1, 0.2), whole[:, 2205:6615])
    assert np.array_equal(io.load_audio(path, 0.1, channels=[channels - 1]), whole[-1:, 2205:])
    assert np.array_equal(io.load_audio(path, layout="TC"), whole.T)


def test_headers_of_other_kinds(sounds: Sounds) -> None:
    expected = io.load_audio(wav(sounds, "pcm_s16le", 2))
    assert np.array_equal(io.load_audio(wav(sounds, "pcm_s16le", 2, "-rf64", "always")), expected)
    plain = Path(wav(sounds, "pcm_s16le", 2)).read_bytes()
    at = plain.index(b"data")
    for unknown in (0, 0xFFFFFFFF):  # who writes into a pipe does not know
        piped = plain[: at + 4] + struct.pack("<I", unknown) + plain[at + 8 :]
        assert np.array_equal(io.load_audio(piped), expected)
    odd = plain[:12] + b"note" + struct.pack("<I", 3) + b"abc\0" + plain[12:]
    assert np.array_equal(io.load_audio(odd), expected)
    law = wav(sounds, "pcm_mulaw", 1)  # not ours: FFmpeg's
    assert np.array_equal(io.load_audio(law), decoded(law, 1))
    assert io.audio_info(law).codec == "pcm_mulaw"


def test_chunks_behind_a_sound_without_samples_are_no_sound() -> None:
    header = io.encode_audio(np.zeros((2, 0), np.float32), 8000)
    assert header.endswith(b"data" + bytes(4))
    chunk = (
        b"LIST" + struct.pack("<I", 26) + b"INFOISFT" + struct.pack("<I", 14) + b"Lavf59.27.100\0"
    )
    for behind in (b"", chunk, chunk + chunk, chunk + b"note" + struct.pack("<I", 3) + b"abc"):
        for options in ({}, {"sample_rate": 16000}, {"channels": 1, "dtype": "int16"}):
            got = io.load_audio(header + behind, **options)  # type: ignore[arg-type]
            assert got.shape == (options.get("channels", 2), 0)
            assert got.sample_rate == options.get("sample_rate", 8000)
        assert io.audio_info(header + behind).duration == 0
    streamed = np.arange(900, dtype=np.int16).tobytes()  # size 0: until the end
    for behind in (streamed, chunk + streamed[:5]):
        assert io.load_audio(header + behind).shape == (2, len(behind) // 4)


def test_a_wav_that_was_cut_off_raises_or_gives_what_is_there(sounds: Sounds) -> None:
    whole = io.load_audio(wav(sounds, "pcm_s16le", 2))
    data = Path(wav(sounds, "pcm_s16le", 2)).read_bytes()[:20_001]
    with pytest.raises(ValueError, match=r"at 0\.22\d s: the file ends"):
        io.load_audio(data)
    part = io.load_audio(data, on_error="partial")
    assert part.error is not None
    assert np.array_equal(part, whole[:, : part.shape[1]])
    assert part.shape[1] > 4900
    assert np.array_equal(io.load_audio(data, 0.1, 0.1), whole[:, 2205:4410])
    with pytest.raises(IndexError, match="ends before"):
        io.load_audio(data, 1.0)


def test_wav_needs_no_ffmpeg(sounds: Sounds) -> None:
    program = (
        f"from penstock import io; print(io.load_audio({wav(sounds, 'pcm_s24le', 2)!r}).shape)"
    )
    environment = dict(os.environ, PENSTOCK_AV_LIBRARY="/nowhere/libpenstock_av.so")
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "(2, 11025)\n"


@pytest.mark.parametrize("form", ["wav", "flac"])
@pytest.mark.parametrize("coding", ["int16", "int24", "int32", "float32"])
def test_what_is_saved_is_what_is_loaded(form: str, coding: str, tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    sound = chance.uniform(-1.1, 1.1, (3, 9001)).astype(np.float32)
    path = tmp_path / f"sound.{form}"
    if form == "flac" and coding in ("int32", "float32"):
        with pytest.raises(ValueError, match="FLAC holds int16 or int24"):
            io.save_audio(path, sound, 16000, coding=coding)  # type: ignore[arg-type]
        return
    io.save_audio(path, sound, 16000, coding=coding)  # type: ignore[arg-type]
    got = io.load_audio(path)
    assert got.sample_rate == 16000
    step = {"int16": 2.0**-15, "int24": 2.0**-23, "int32": 2.0**-24, "float32": 0}[coding]
    expected = sound if coding == "float32" else np.clip(sound, -1, 1 - step)
    assert np.abs(got - expected).max() <= step
    assert np.array_equal(decoded(str(path), 3), got)  # ffmpeg reads the same
    assert io.encode_audio(sound.T, 16000, form, coding=coding, layout="TC") == path.read_bytes()  # type: ignore[arg-type]
    if form == "flac":
        ffmpeg("-err_detect", "crccheck+explode", "-i", str(path), "-f", "null", "-")


def test_int16_is_kept_bit_for_bit(tmp_path: Path) -> None:
    words = np.arange(-32768, 32767, 7, dtype=np.int16)[None]
    for form in ("wav", "flac"):
        path = tmp_path / f"words.{form}"
        io.save_audio(path, words, 44100)
        assert np.array_equal(io.load_audio(path, dtype="int16"), words)
    with pytest.raises(ValueError, match="let the name end so"):
        io.save_audio(tmp_path / "sound.ogg", words, 44100)
    with pytest.raises(ValueError, match="1 to 64 channels"):
        io.save_audio(tmp_path / "turned.wav", np.zeros((1000, 2), np.float32), 44100)
    with pytest.raises(FileNotFoundError):
        io.save_audio(tmp_path / "nowhere" / "sound.wav", words, 44100)


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path, link = tmp_path / "sound.wav", tmp_path / "link.wav"
    io.save_audio(path, np.zeros(100, np.float32), 8000)
    before = path.read_bytes()
    path.chmod(0o640)
    link.symlink_to(path)
    resource.prlimit(os.getpid(), resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(OSError, match="cannot write: File too large"):
            io.save_audio(path, np.zeros(5000, np.float32), 8000)
    finally:
        signal.signal(signal.SIGXFSZ, handler)
        resource.prlimit(
            os.getpid(), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )
    assert path.read_bytes() == before
    io.save_audio(link, np.ones(3, np.float32), 8000)
    assert link.is_symlink()
    assert io.load_audio(path).shape == (1, 3)
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [link, path]
    with pytest.raises(OSError, match="cannot write: No space left"):
        io.save_audio("/dev/full", np.zeros(100, np.float32), 8000, format="wav")
    io.save_audio("/dev/null", np.zeros(100, np.float32), 8000, format="wav")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OSError, match="Invalid argument"):
        io.save_audio(f"{tmp_path}/a.wav\0b.wav", np.zeros(100, np.float32), 8000)
    long = tmp_path / ("a" * 251 + ".wav")
    io.save_audio(long, np.zeros(100, np.float32), 8000)
    assert io.load_audio(long).shape == (1, 100)


def test_what_a_file_cannot_hold_is_refused() -> None:
    sound = np.array([[0, 0, 0], [0, 0, np.nan]], np.float32)
    for form in ("wav", "flac"):
        with pytest.raises(ValueError, match="sample 2 of channel 1 is not a number"):
            io.encode_audio(sound, 8000, form)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"sample_rate is 44100\.5"):
            io.encode_audio(sound, 44100.5, form)  # type: ignore[arg-type]
    assert np.isnan(io.load_audio(io.encode_audio(sound, 8000, coding="float32"))[1, 2])
    for rate in (65534, 96000, 655340):
        assert io.audio_info(io.encode_audio(sound[:1], rate, "flac")).sample_rate == rate
    for rate in (65535, 100001, 655350):
        with pytest.raises(ValueError, match=f"up to 65534, or of tens up to 655340, not {rate}"):
            io.encode_audio(sound[:1], rate, "flac")
