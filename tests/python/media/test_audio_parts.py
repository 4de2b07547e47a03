"""Parts of sounds: how long they are, where chance puts them, and what resampling makes of them."""

import struct
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from clips import ffmpeg
from penstock import io
from sounds import SECONDS, Sounds


def noise(samples: int, channels: int = 1) -> np.ndarray:
    chance = np.random.default_rng(samples)
    return (chance.standard_normal((channels, samples)) * 0.1).astype(np.float32)


@pytest.mark.parametrize("form", ["wav", "flac"])
def test_parts_of_one_duration_have_one_length_wherever_they_begin(form: str) -> None:
    data = io.encode_audio(noise(40000), 11025, form)  # type: ignore[arg-type]
    whole = io.load_audio(data)
    for start in (0, 0.3, 0.5, 1, 1.00004, 2.1):
        first = round(start * 11025)
        for duration in (0.1, 0.5, 1):
            part = io.load_audio(data, start, duration)
            assert np.array_equal(part, whole[:, first : first + round(duration * 11025)])
            for rate in (8000, 16000, 48000):
                other = io.load_audio(data, start, duration, sample_rate=rate)
                assert other.shape == (1, round(duration * rate))
    assert io.load_audio(data, 3.5, 1).shape == (1, 40000 - round(3.5 * 11025))  # the sound ends


@pytest.mark.parametrize("form", ["wav", "flac"])
@pytest.mark.parametrize(("rate", "wanted"), [(8000, 16000), (44100, 16000), (96000, 1000)])
def test_a_resampled_sound_is_as_long_as_its_rate_says(form: str, rate: int, wanted: int) -> None:
    for count in (1, 2, 15, 16, 17, 30, 32, 33, 34, 100, *range(180, 240)):
        data = io.encode_audio(noise(count), rate, form)  # type: ignore[arg-type]
        got = io.load_audio(data, sample_rate=wanted)
        assert got.shape == (1, -(-count * wanted // rate)), count


def test_a_sound_shorter_than_the_filter_keeps_its_samples() -> None:
    sound = noise(30)
    got = io.load_audio(io.encode_audio(sound, 8000, coding="float32"), sample_rate=16000)
    assert np.abs(got[:, ::2] - sound).max() < 1e-6 + 0.01 * np.abs(sound).max()


def test_an_absurd_rate_is_refused_before_memory_is_asked_for() -> None:
    plain = io.encode_audio(noise(20000), 8000)
    at = plain.index(b"fmt ") + 12
    slow = plain[:at] + struct.pack("<II", 1, 2) + plain[at + 8 :]
    assert io.load_audio(slow).shape == (1, 20000)
    for rate in (16000, 257):
        with pytest.raises(ValueError, match="absurd sample rate: 1 Hz cannot become"):
            io.load_audio(slow, sample_rate=rate)
    assert io.load_audio(slow, duration=3, sample_rate=256).shape == (1, 768)
    high = io.encode_audio(noise(2000), 192000)
    with pytest.raises(ValueError, match="absurd sample rate"):
        io.load_audio(high, sample_rate=100)


# Their headers tell of more than there is, or of less, or of nothing.
LOOSE = {
    "info.mp3": "-b:a 8k -ar 8000 -ac 1",
    "bare.mp3": "-b:a 64k -write_xing 0",
    "stream.aac": "-c:a aac",
    "pcm.avi": "-c:a pcm_s16le",
    "one.opus": "-c:a libopus -ar 48000",
    "one.wma": "-c:a wmav2",
    "one.ts": "-c:a aac",
    "live.mka": "-c:a libvorbis -live 1",
}


@pytest.mark.parametrize("name", LOOSE)
def test_chance_takes_only_parts_that_are_there(name: str, sounds: Sounds, tmp_path: Path) -> None:
    path = tmp_path / name
    ffmpeg("-i", sounds("s16.wav"), *LOOSE[name].split(), str(path))
    data = path.read_bytes()
    whole = io.load_audio(data)
    rate = whole.sample_rate
    length = whole.shape[1] / rate - 0.2  # so most draws beyond the end are met
    ds = ps.from_list([{"a": data}] * 60)
    parts = ds.decode_audio("a", start="random", duration=length).batch(20)
    got = np.concatenate([batch["a"] for batch in parts.loader(seed=1)])
    assert got.shape == (60, len(whole), round(length * rate))
    places = set()
    for part in got:
        room = whole.shape[1] - part.shape[1]
        alike = np.flatnonzero((whole[:, : room + 1] == part[:, :1]).all(0))
        at = [int(a) for a in alike if np.array_equal(whole[:, a : a + part.shape[1]], part)]
        assert at
        places.add(at[0])
    assert len(places) > 40
    assert min(places) < 0.05 * rate
    again = np.concatenate([batch["a"] for batch in parts.loader(seed=1, threads=2)])
    assert np.array_equal(got, again)
    speech = ds.decode_audio("a", start="random", duration=0.5, sample_rate=16000, channels=1)
    assert [batch["a"].shape for batch in speech.batch(30).loader()] == [(30, 1, 8000)] * 2


def test_chance_takes_a_sound_whole_that_is_shorter_than_the_part(sounds: Sounds) -> None:
    for name in ("s16.wav", "lossless.flac", "variable.mp3", "vorbis.ogg"):
        ds = ps.from_list([{"a": sounds(name)}]).decode_audio("a", start="random", duration=9)
        assert np.array_equal(ds[0]["a"], io.load_audio(sounds(name)))
    assert SECONDS < 9
