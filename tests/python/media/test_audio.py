"""Samples are ffmpeg's; parts are equal to a full decode cut at the same place."""

from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from clips import ffmpeg
from penstock import io
from sounds import SECONDS, SOUNDS, Sounds, decoded


@pytest.mark.parametrize("name", SOUNDS)
def test_whole_and_parts_are_those_of_a_full_decode(name: str, sounds: Sounds) -> None:
    path = sounds(name)
    whole = io.load_audio(path)
    assert np.array_equal(whole, decoded(path))
    rate = whole.sample_rate
    assert rate == io.audio_info(path).sample_rate
    chance = np.random.default_rng(3)
    data = Path(path).read_bytes()
    for k in range(20):
        start, length = chance.uniform(0, SECONDS - 0.6), chance.uniform(0.01, 0.5)
        part = io.load_audio(path if k % 2 else data, start, length)
        first = round(start * rate)
        expected = whole[:, first : first + round(length * rate)]
        assert np.array_equal(part, expected), (start, length)
    for start in (1.7, (whole.shape[1] - 1) / rate):
        rest = io.load_audio(path, start)
        assert np.array_equal(rest, whole[:, round(start * rate) :])


WINDOWS = ("s16.wav", "lossless.flac", "variable.mp3", "aac.m4a", "opus.opus", "vorbis.ogg")


@pytest.mark.parametrize("name", WINDOWS)
def test_two_hundred_windows_of_a_second_are_those_of_a_full_decode(
    name: str, sounds: Sounds
) -> None:
    path = sounds(name)
    whole, chance = decoded(path), np.random.default_rng(9)
    rate = 48000 if name.startswith("opus") else 44100
    for start in chance.uniform(0, SECONDS - 1, 200):
        first = round(start * rate)
        part = io.load_audio(path, start, 1.0)
        assert np.array_equal(part, whole[:, first : first + rate]), start


MP3S = {
    "low": "-b:a 32k",
    "high": "-b:a 320k",
    "worst": "-q:a 9",
    "best": "-q:a 0",
    "half_rate": "-b:a 8k -ar 16000 -ac 1",
    "half_rate_stereo": "-b:a 64k -ar 22050",
    "quarter_rate": "-b:a 8k -ar 8000 -ac 1",
    "no_info": "-b:a 128k -write_xing 0",
    "tags": "-b:a 128k -id3v2_version 3 -write_id3v1 1 -metadata title=x",
    "no_reservoir": "-reservoir 0 -b:a 96k",
}


@pytest.mark.parametrize("name", MP3S)
def test_mp3_of_every_kind_is_what_ffmpeg_gives(name: str, sounds: Sounds, tmp_path: Path) -> None:
    path = str(tmp_path / "one.mp3")
    ffmpeg("-i", sounds("s16.wav"), *MP3S[name].split(), path)
    whole = io.load_audio(path)
    expected = decoded(path, len(whole))
    assert np.array_equal(whole, expected)
    chance, rate = np.random.default_rng(2), whole.sample_rate
    for start in chance.uniform(0, SECONDS - 0.5, 20):
        part, first = io.load_audio(path, start, 0.4), round(start * rate)
        assert np.array_equal(part, expected[:, first : first + round(0.4 * rate)])
        assert part.damaged == 0


def test_mp3_with_other_bytes_between_its_frames_is_read_by_ffmpeg(
    sounds: Sounds, tmp_path: Path
) -> None:
    data = Path(sounds("constant.mp3")).read_bytes()
    whole = io.load_audio(data)
    for name, odd in {
        "hole": data[:20_000] + bytes(700) + data[20_000:],
        "cut": data[:30_000],
        "behind": data + b"something else" * 20,
        "wrong": data[:20_000] + bytes(100) + data[20_100:],
    }.items():
        path = tmp_path / f"{name}.mp3"
        path.write_bytes(odd)
        got = io.load_audio(path, on_error="partial")
        assert np.array_equal(got, decoded(str(path))), name
        part = io.load_audio(path, 0.2, 0.5, on_error="partial")
        assert np.array_equal(part, whole[:, 8820:30870]), name


def test_mp3_whose_first_frame_is_unlike_the_next_begins_where_ffmpeg_begins(
    sounds: Sounds, tmp_path: Path
) -> None:
    path = tmp_path / "bare.mp3"
    ffmpeg("-i", sounds("s16.wav"), "-b:a", "128k", "-write_xing", "0", "-id3v2_version", "0", path)
    data = bytearray(path.read_bytes())
    assert data[0] == 0xFF  # a frame, not a tag
    data[3] ^= 0x04  # "this is the original"
    # FFmpeg begins with the second, which lacks bytes of the first: what a decoder does then must
    # not depend on what it has decoded before.
    for rest in (b"", b"something else" * 20):
        path.write_bytes(data + rest)
        expected = decoded(str(path))
        assert np.array_equal(io.load_audio(path, on_error="partial"), expected)
        part = io.load_audio(path, 0.01, 0.1, on_error="partial")
        assert np.array_equal(part, expected[:, 441:4851])


@pytest.mark.parametrize("form", ["s16", "s32"])
def test_flac_is_the_same_in_every_type_and_layout(
    form: str, sounds: Sounds, tmp_path: Path
) -> None:
    path = str(tmp_path / "one.flac")
    ffmpeg("-i", sounds("s24.wav"), "-sample_fmt", form, path)
    expected = decoded(path)
    assert np.array_equal(io.load_audio(path), expected)
    assert np.array_equal(io.load_audio(path, channels=[1], layout="TC"), expected[1:].T)
    words = np.frombuffer(ffmpeg("-i", path, "-f", "s16le", "-"), np.int16).reshape(-1, 2).T
    assert np.abs(io.load_audio(path, dtype="int16").astype(int) - words).max() <= 1
    mono = io.load_audio(path, channels=1)
    assert np.allclose(mono[0], expected.mean(0), atol=1e-6)
    tail = io.load_audio(path, start=3.9, duration=5)
    assert np.array_equal(tail, expected[:, round(3.9 * 44100) :])
    with pytest.raises(IndexError, match="ends before"):
        io.load_audio(path, start=9)


@pytest.mark.parametrize("form", ["s16", "s32"])
@pytest.mark.parametrize("channels", [1, 2])
def test_resampled_and_mixed_flac_is_that_of_ffmpegs_decoder(
    form: str, channels: int, sounds: Sounds, tmp_path: Path
) -> None:
    path, other = str(tmp_path / "one.flac"), str(tmp_path / "one.mkv")
    ffmpeg("-i", sounds("s24.wav"), "-sample_fmt", form, "-ac", str(channels), path)
    ffmpeg("-i", path, "-c", "copy", other)  # which is not for libFLAC
    for rate, mixed, dtype in (
        (16000, 1, "float32"),
        (48000, None, "float32"),
        (8000, 2, "int16"),
        (None, 3 - channels, "int16"),
    ):
        for start, length in ((0.0, None), (0.013, 0.9), (2.5, 0.5), (3.9, 5.0)):
            got = io.load_audio(path, start, length, sample_rate=rate, channels=mixed, dtype=dtype)
            expected = io.load_audio(
                other, start, length, sample_rate=rate, channels=mixed, dtype=dtype
            )
            assert got.sample_rate == expected.sample_rate == (rate or 44100)
            assert np.array_equal(got, expected), (rate, mixed, dtype, start)


@pytest.mark.parametrize("name", ["half.wav", "half.flac", "half.mp3"])
def test_a_part_that_begins_between_two_samples_is_rounded_as_by_python(
    name: str, sounds: Sounds, tmp_path: Path
) -> None:
    path = str(tmp_path / name)
    ffmpeg("-i", sounds("s16.wav"), "-ar", "11025", path)
    whole = io.load_audio(path)
    for start in (0.02, 0.1, 0.3, 0.5, 0.7):  # times 11025: 220.5, 1102.5, ...
        part, first = io.load_audio(path, start, 0.2), round(start * 11025)
        assert np.array_equal(part, whole[:, first : first + 2205])


def test_damage_in_flac_is_counted(sounds: Sounds) -> None:
    data = bytearray(Path(sounds("lossless.flac")).read_bytes())
    for at in range(50_000, 50_040):
        data[at] ^= 0x5A
    got = io.load_audio(bytes(data))
    assert got.damaged > 0
    with pytest.raises(ValueError, match=r"at \d\.\d+ s: .*damaged") as raised:
        io.load_audio(bytes(data), strict=True)
    when = float(str(raised.value).split("at ")[1].split()[0])
    whole = io.load_audio(sounds("lossless.flac"))
    count = min(got.shape[1], whole.shape[1])
    wrong = np.flatnonzero((got[:, :count] != whole[:, :count]).any(0))
    assert abs(when - wrong[0] / 44100) < 0.2


def frames_of(flac: bytes) -> list[int]:
    """Where its frames begin: by the mark and the number that follows."""
    places: list[int] = []
    at = flac.find(b"\xff\xf8")
    while at >= 0 and len(places) < 128:  # larger numbers take more bytes
        if flac[at + 4] == len(places):
            places.append(at)
        at = flac.find(b"\xff\xf8", at + 2)
    return places


@pytest.mark.parametrize(
    "lost", ["in the middle", "in front", "at the end", "and junk in its place"]
)
def test_flac_frames_that_are_missing_are_damage(lost: str, sounds: Sounds) -> None:
    data = Path(sounds("lossless.flac")).read_bytes()
    whole, at = io.load_audio(data), frames_of(data)
    size = int.from_bytes(data[8:10], "big")  # samples of a frame: encoders differ
    if lost == "in the middle":
        data, when = data[: at[5]] + data[at[7] :], 5 * size
        left = np.delete(whole, np.s_[5 * size : 7 * size], 1)
    elif lost == "in front":
        data, when = data[: at[0]] + data[at[3] :], whole.shape[1] - 3 * size
        left = whole[:, 3 * size :]
    elif lost == "at the end":
        data, when, left = data[: at[12]], 12 * size, whole[:, : 12 * size]
    else:
        data, when = data[: at[5]] + bytes(8) + data[at[6] :], 5 * size
        left = np.delete(whole, np.s_[5 * size : 6 * size], 1)
    got = io.load_audio(data)
    assert got.damaged == 1
    assert np.array_equal(got, left)
    with pytest.raises(ValueError, match="damaged") as raised:
        io.load_audio(data, strict=True)
    assert f"at {when / 44100:.3f} s: " in str(raised.value)


def test_info_says_what_the_sound_is(sounds: Sounds) -> None:
    info = io.audio_info(sounds("lossless.flac"))
    assert (info.codec, info.sample_rate, info.channels) == ("flac", 44100, 2)
    assert info.duration == pytest.approx(SECONDS)
    assert io.audio_info(sounds("s16.wav")).bits == 16


def test_types_and_layouts(sounds: Sounds) -> None:
    path = sounds("s16.wav")
    floats, words = io.load_audio(path), io.load_audio(path, dtype="int16")
    assert words.dtype == np.int16
    assert np.array_equal(floats, words.astype(np.float32) / 32768)
    assert np.array_equal(io.load_audio(path, layout="TC"), floats.T)
    assert np.array_equal(io.load_audio(path, layout="TC", dtype="int16"), words.T)


def test_channels_are_mixed_or_chosen(sounds: Sounds) -> None:
    path = sounds("float.wav")
    both = io.load_audio(path)
    assert np.allclose(io.load_audio(path, channels=1)[0], both.mean(0), atol=1e-6)
    assert np.array_equal(io.load_audio(path, channels=[1]), both[1:])
    assert np.array_equal(io.load_audio(path, channels=[1, 0, 1]), both[[1, 0, 1]])
    with pytest.raises(IndexError, match="no channel 2"):
        io.load_audio(path, channels=[2])


def test_another_rate_is_what_libswresample_makes_of_it(sounds: Sounds) -> None:
    path = sounds("float.wav")
    low = io.load_audio(path, sample_rate=16000)
    assert low.sample_rate == 16000
    assert low.shape == (2, SECONDS * 16000)
    expected = decoded(path, 2, "-ar", "16000")
    count = min(expected.shape[1], low.shape[1])  # the tool ends where its filter does
    assert low.shape[1] - count < 32
    assert np.abs(low[:, :count] - expected[:, :count]).max() < 1e-5
    mono = io.load_audio(path, sample_rate=16000, channels=1)
    assert np.abs(mono[0] - low.mean(0)).max() < 1e-5
    part = io.load_audio(path, start=1, duration=0.5, sample_rate=16000)
    assert part.shape == (2, 8000)
    # The same as in the whole, away from the ends, where the filter sees what is around.
    assert np.abs(part[:, 100:-100] - low[:, 16100:23900]).max() < 1e-4


def test_more_channels_are_mixed_by_the_usual_weights(tmp_path: Path) -> None:
    path = str(tmp_path / "six.wav")
    noise = "anoisesrc=d=0.4:r=16000:a=0.5:seed={}"
    inputs = [one for seed in range(6) for one in ("-f", "lavfi", "-i", noise.format(seed))]
    joined = "join=inputs=6:channel_layout=5.1"
    ffmpeg(*inputs, "-filter_complex", joined, "-c:a", "pcm_f32le", path)
    six = io.load_audio(path)
    assert six.shape == (6, 6400)
    for channels, layout in ((1, "mono"), (2, "stereo")):
        scaled = f"aresample=ochl={layout}:rematrix_maxval=1"
        expected = decoded(path, channels, "-af", scaled)
        got = io.load_audio(path, channels=channels)
        assert np.abs(got - expected).max() < 1e-6
        assert np.abs(got).max() <= np.abs(six).max()
    assert np.array_equal(io.load_audio(path, channels=[4, 0]), six[[4, 0]])


def test_inexact_parts_are_in_the_right_place(sounds: Sounds) -> None:
    for name in ("aac.m4a", "opus.opus"):
        whole = io.load_audio(sounds(name))
        part = io.load_audio(sounds(name), 2.0, 0.5, exact=False)
        rate = whole.sample_rate
        expected = whole[:, 2 * rate : 2 * rate + rate // 2]
        assert part.shape == expected.shape
        assert np.corrcoef(part[0], expected[0])[0, 1] > 0.98


def test_a_packet_that_gives_nothing_does_not_shorten_parts() -> None:
    # The decoder passes over the third of its four packets without a word.
    data = (Path(__file__).parents[3] / "fuzz/corpus/sound/silent_packet.mp3").read_bytes()
    whole = io.load_audio(data)
    assert (whole.shape, whole.damaged) == ((1, 1728), 0)
    assert np.array_equal(io.load_audio(data, 0.05, 0.1), whole[:, 400:1200])


def test_what_cannot_be_is_refused(sounds: Sounds) -> None:
    path = sounds("s16.wav")
    with pytest.raises(IndexError, match="ends before"):
        io.load_audio(path, start=1000)
    for options in (
        {"start": -1},
        {"duration": 0},
        {"channels": 0},
        {"dtype": "float64"},
        {"stream": -2},
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            io.load_audio(path, **options)  # type: ignore[arg-type]


def test_types_are_given_by_name_or_as_numpys(sounds: Sounds) -> None:
    path = sounds("s16.wav")
    words = io.load_audio(path, duration=0.1, dtype="int16")
    for dtype in (np.int16, np.dtype("int16"), "int16"):
        assert np.array_equal(io.load_audio(path, duration=0.1, dtype=dtype), words)
    assert io.encode_audio(words, 8000, coding=np.int16) == io.encode_audio(words, 8000)  # type: ignore[arg-type]
    ds = ps.from_list([{"a": path}]).decode_audio("a", duration=0.1, dtype=np.int16)
    assert np.array_equal(ds[0]["a"], words)
    assert "dtype=int16" in ds.explain()
    with pytest.raises(TypeError, match=r'dtype is \[3\]; give "float32" or "int16"'):
        io.load_audio(path, dtype=[3])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="strict is 'no'"):
        io.load_audio(path, strict="no")  # type: ignore[arg-type]
    for duration in (float("inf"), 1e12):
        with pytest.raises(ValueError, match="leave it out to go on to the end"):
            io.load_audio(path, duration=duration)


def test_a_sound_that_was_cut_off_raises_or_gives_what_is_there(sounds: Sounds) -> None:
    data = Path(sounds("aac.m4a")).read_bytes()
    flac = Path(sounds("lossless.flac")).read_bytes()[:60_000]
    with pytest.raises(ValueError, match="corrupt"):
        io.load_audio(data[: len(data) // 2])  # its tables are at the end
    part = io.load_audio(flac, on_error="partial")
    assert 0 < part.shape[1] < SECONDS * 44100
    whole = io.load_audio(sounds("lossless.flac"))
    good = part.shape[1] - 8192
    assert np.array_equal(part[:, :good], whole[:, :good])


@pytest.mark.parametrize("bad", [b"", b"nonsense" * 40, b"RIFF\xff\xff\xff\xffWAVE"])
def test_what_is_no_sound_raises(bad: bytes, sounds: Sounds) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        io.load_audio(bad)
