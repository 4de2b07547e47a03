"""Packets that do not hold what they seem to: parts are those of a full decode all the same."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clips import ffmpeg
from penstock import _core, io
from sounds import Sounds, decoded

FFMPEG_5 = (_core.ffmpeg()[0] or "").startswith("5.")


def assert_parts(data: bytes, whole: np.ndarray, rate: int, **options: Any) -> None:
    count = whole.shape[1]
    chance = np.random.default_rng(count)
    for first in (*chance.integers(0, count - 10, 40), count - 441):
        part = io.load_audio(data, first / rate, 0.1, **options)
        expected = whole[:, first : first + round(0.1 * rate)]
        assert part.shape == expected.shape, first
        assert np.abs(part - expected).max() < (1e-4 if options else 1e-9), first


@pytest.mark.parametrize("form", ["s16", "s32"])
def test_samples_of_a_dvd_go_on_in_the_next_packet(form: str, tmp_path: Path) -> None:
    path = str(tmp_path / "one.vob")
    noise = "anoisesrc=r=48000:d=4:seed=3"
    ffmpeg("-f", "lavfi", "-i", noise, "-ac", "2", "-c:a", "pcm_dvd", "-sample_fmt", form, path)
    whole = io.load_audio(path)
    assert np.array_equal(whole, decoded(path))
    assert_parts(Path(path).read_bytes(), whole, 48000)


def test_chained_ogg_flac_has_headers_between_its_packets(tmp_path: Path) -> None:
    links = []
    for seed in (1, 2):
        path = tmp_path / f"{seed}.ogg"
        ffmpeg("-f", "lavfi", "-i", f"anoisesrc=r=44100:d=3:seed={seed}", "-c:a", "flac", str(path))
        links.append(path)
    whole = np.concatenate([io.load_audio(path) for path in links], 1)
    data = b"".join(path.read_bytes() for path in links)
    assert np.array_equal(io.load_audio(data, strict=True), whole)
    assert_parts(data, whole, 44100)
    assert io.load_audio(data, start=5.99, duration=1).shape == (1, 441)


def rebuilt(boxes: bytes, path: list[bytes], make: Callable[[bytes], bytes]) -> bytes:
    """The boxes of an MP4, with another body in the one at `path`."""
    out, at = b"", 0
    while at + 8 <= len(boxes):
        size, name = struct.unpack_from(">I4s", boxes, at)
        body = boxes[at + 8 : at + size]
        if name == path[0]:
            body = make(body) if len(path) == 1 else rebuilt(body, path[1:], make)
        out += struct.pack(">I4s", len(body) + 8, name) + body
        at += size
    return out


EDITS = (  # milliseconds, and from which sample on; -1: silence
    [(300, 0), (500, -1), (300, 50000)],
    [(141, 79771), (421, -1), (5, 50050), (290, -1), (700, 3)],
    [(616, 57539), (40, 1000), (333, 1001)],
)


@pytest.mark.parametrize("edits", EDITS)
@pytest.mark.parametrize("name", ["alac.m4a", "flac.mp4", "pcm_s16le.mov", "aac.m4a"])
def test_edit_lists_shorten_packets(
    name: str, edits: list[tuple[int, int]], tmp_path: Path
) -> None:
    plain, path = tmp_path / f"plain.{name}", tmp_path / name
    tone = "aevalsrc='0.4*sin(2*PI*(300+40*t)*t)':s=44100:d=3"
    coding = name.split(".")[0]
    ffmpeg("-f", "lavfi", "-i", tone, "-strict", "-2", "-c:a", coding, str(plain))
    table = struct.pack(">I", len(edits))
    table += b"".join(struct.pack(">Iihh", length, first, 1, 0) for length, first in edits)
    place = [b"moov", b"trak", b"edts", b"elst"]
    data = rebuilt(plain.read_bytes(), place, lambda old: old[:4] + table)
    path.write_bytes(data)
    whole = io.load_audio(path)
    if FFMPEG_5:  # later commands leave out packets in front of where an edit begins, not in it
        assert np.array_equal(whole, decoded(str(path), 1))
    assert_parts(data, whole, 44100)
    if coding == "aac":
        assert_parts(data, whole, 44100, exact=False)


@pytest.mark.parametrize(("name", "options"), [("one.ogg", ""), ("two.ogg", "-ac 2 -q:a 9")])
def test_short_ogg_vorbis_has_all_its_samples(name: str, options: str, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    for count in (1, 100, 448, 575, 576, 577, 704, 1500, 1601, 20000, 48000, 48705, 100_000):
        cut = f"atrim=end_sample={count}"
        tone = ["-f", "lavfi", "-i", "sine=440:r=48000", "-af", cut, "-c:a", "libvorbis"]
        ffmpeg(*tone, *options.split(), path)
        sound = io.load_audio(path, strict=True)
        assert sound.shape[1] == count
        assert sound.damaged == 0
        theirs = decoded(path, len(sound))  # a little too short, or too long
        both = min(count, theirs.shape[1])
        assert np.array_equal(sound[:, :both], theirs[:, :both])
        part = io.load_audio(path, duration=50 / 48000)
        assert np.array_equal(part, sound[:, :50])


def test_a_sound_that_is_all_padding_is_not_damaged(sounds: Sounds, tmp_path: Path) -> None:
    path = str(tmp_path / "one.m4a")
    ffmpeg("-i", sounds("s16.wav"), "-af", "atrim=end_sample=1", "-c:a", "aac", path)
    sound = io.load_audio(path, strict=True)
    assert sound.shape[1] == decoded(path).shape[1] <= 1  # FFmpeg 9's encoder counts right
    assert sound.damaged == 0


@pytest.mark.parametrize("name", ["of_eight.w64", "of_two.wav"])
def test_bytes_that_make_a_length_even_are_no_damage(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    form = "-c:a pcm_s24le -ac 1 -rf64 always" if name.endswith(".wav") else "-c:a pcm_s24le -ac 1"
    ffmpeg("-f", "lavfi", "-i", "sine=r=44100,atrim=end_sample=22051", *form.split(), str(path))
    whole = io.load_audio(path, strict=True)
    assert whole.damaged == 0
    assert np.abs(whole[:, :22051] - decoded(str(path), 1)[:, :22051]).max() < 1e-6
    assert io.load_audio(path, strict=True, channels=2).shape == (2, whole.shape[1])
