"""Damaged files: typed errors that name frame and time, partial results, and no leak."""

import contextlib
import ctypes
import os
import random
from pathlib import Path

import numpy as np
import pytest
from clips import COUNT, Clips, decoded, ffmpeg, patched
from peaks import Peak
from penstock import io
from sounds import Sounds


@pytest.fixture(scope="module")
def whole(clips: Clips) -> bytes:
    """Its tables are in front, so that they survive a cut."""
    path = clips.folder / "front.mp4"
    ffmpeg("-i", clips("h264.mp4"), "-c", "copy", "-movflags", "+faststart", str(path))
    return path.read_bytes()


def test_no_file_and_no_video(clips: Clips, sounds: Sounds, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        io.Video(tmp_path / "nowhere.mp4")
    with pytest.raises(ValueError, match="no video in it"):
        io.Video(sounds("s16.wav"))
    with pytest.raises(ValueError, match="stream 7"):
        io.Video(clips("h264.mp4"), stream=7)
    with pytest.raises(ValueError, match="empty"):
        io.Video(b"")
    for nonsense in (b"\0" * 5000, b"no video at all" * 300, bytes(range(256)) * 30):
        with pytest.raises(ValueError):  # noqa: PT011
            io.Video(nonsense)


def test_what_is_no_file_or_number_is_named(clips: Clips, sounds: Sounds) -> None:
    for load in (io.Video, io.load_audio, io.audio_info):
        with pytest.raises(TypeError, match="src is None; give a path"):
            load(None)
    video = io.Video(clips("h264.mp4"))
    for far in (2**70, -(2**70)):
        with pytest.raises(IndexError, match=f"no frame {far}: it has {COUNT}"):
            video[far]
    with pytest.raises(ValueError, match="channels is empty"):
        io.load_audio(sounds("s16.wav"), channels=[])
    both = io.load_audio(sounds("s16.wav"), channels=np.array([1, 0]))
    assert np.array_equal(both, io.load_audio(sounds("s16.wav"))[::-1])


def test_the_extension_does_not_matter(clips: Clips, tmp_path: Path) -> None:
    wrong = tmp_path / "clip.wav"
    wrong.write_bytes(Path(clips("vp9.webm")).read_bytes())
    assert np.array_equal(io.Video(wrong)[5], decoded(clips("vp9.webm"))[5])


def test_an_mp4_without_its_tables_is_damaged(whole: bytes, clips: Clips, sounds: Sounds) -> None:
    tables_behind = Path(clips("h264.mp4")).read_bytes()
    for load, data in (
        (io.load_video, tables_behind[: len(tables_behind) // 2]),
        (io.load_video, whole[: whole.index(b"moov") - 4]),
        (io.load_audio, Path(sounds("aac.m4a")).read_bytes()[:4000]),
    ):
        with pytest.raises(ValueError, match="corrupt"):
            load(data)


def test_a_file_that_ends_early_names_frame_and_time(whole: bytes, clips: Clips) -> None:
    cut = whole[: len(whole) * 6 // 10]
    expected = decoded(clips("h264.mp4"))
    with pytest.raises(ValueError, match=r"frame \d+ \(\d\.\d+ s\): the file ends") as raised:
        io.load_video(cut)
    first = int(str(raised.value).split("frame ")[1].split()[0])
    part = io.load_video(cut, on_error="partial")
    assert 5 < len(part) < COUNT
    assert part.error is not None
    assert first not in part.indices
    assert np.array_equal(part, expected[part.indices])
    early = io.sample_video(cut, indices=[0, 3, 7])
    assert np.array_equal(early, expected[[0, 3, 7]])


@pytest.mark.parametrize("name", ["open_gop.mkv", "open_gop.ts", "vp9.webm", "mpeg4.avi"])
def test_containers_without_tables_that_end_early(name: str, clips: Clips) -> None:
    data = Path(clips(name)).read_bytes()
    cut = data[: len(data) // 2]
    expected = decoded(clips(name))
    part = io.load_video(cut, on_error="partial")
    assert 5 < len(part) < len(expected)
    sure = [i for i in part.indices if i < len(part) - 6 and i not in part.damaged]
    assert np.array_equal(part[: len(sure)], expected[sure])


@pytest.mark.parametrize("name", ["open_gop.mkv", "vp9.webm", "fragments.mp4"])
def test_what_is_cut_off_is_told_behind_the_last_frame(name: str, clips: Clips) -> None:
    data = Path(clips(name)).read_bytes()
    cut = data[: len(data) * 3 // 5]
    part = io.load_video(cut, on_error="partial")
    few = io.sample_video(cut, 3, on_error="partial")
    assert 5 < len(part) < COUNT
    for error in (part.error, few.error):
        assert "corrupt" in str(error)
        assert "frame" in str(error)
    assert io.load_video(cut, stop=5).error is None
    for strict in (False, True):
        seen = []
        with pytest.raises(ValueError, match=r"corrupt: .*frame"):
            seen.extend(io.Video(cut, strict=strict))
        before = [k for k, i in enumerate(part.indices) if i < len(seen)]
        assert np.array_equal(seen, part[before])
        assert len(seen) > len(part) - 3
    assert len(list(io.Video(cut, on_error="partial"))) == len(seen)


def test_an_mp4_that_ends_between_packets_of_a_fragment_is_damaged(clips: Clips) -> None:
    data = Path(clips("fragments.mp4")).read_bytes()
    cut = data[: data.rfind(b"moof") + 30]  # FFmpeg says nothing of it
    part = io.load_video(cut, on_error="partial")
    assert np.array_equal(part, decoded(clips("fragments.mp4"))[: len(part)])
    assert 10 < len(part) < COUNT
    assert "ends inside a fragment" in str(part.error)
    with pytest.raises(ValueError, match=f"after frame {len(part) - 1}: the file ends inside"):
        list(io.Video(cut))


@pytest.mark.parametrize("size", [0xFFFFFFFF, 0x80000000, 0x7FFFFFFF])
def test_a_packet_larger_than_any_memory_is_damage(size: int, clips: Clips) -> None:
    path = clips.make("vp8.ivf", "-i", clips("vp8.webm"), "-c", "copy")
    expected = decoded(path)
    data, at, packet = bytearray(Path(path).read_bytes()), 32, 0
    while packet < 30:
        at += 12 + int.from_bytes(data[at : at + 4], "little")
        packet += 1
    data[at : at + 4] = size.to_bytes(4, "little")
    cut = bytes(data)
    part = io.load_video(cut, on_error="partial")
    assert np.array_equal(part, expected[: len(part)])
    assert 28 <= len(part) <= 30
    assert "corrupt" in str(part.error)
    assert np.array_equal(io.load_video(cut, stop=10), expected[:10])
    assert io.video_info(cut).frames >= len(part)
    with pytest.raises(ValueError, match=r"frame \d+ \(\d+\.\d+ s\)"):
        io.load_video(cut)
    seen = []
    with pytest.raises(ValueError, match=r"corrupt: frame \d+"):
        seen.extend(io.Video(cut))
    assert np.array_equal(seen, part)


def test_tables_larger_than_any_memory_are_damage(clips: Clips) -> None:
    data = patched(Path(clips("h264.mp4")).read_bytes(), b"stsz", 8, [0x7FFFFFFF])
    large = patched(Path(clips("h264.mp4")).read_bytes(), b"stsc", 4, [0x7FFFFFFF])
    for damaged in (data, large):
        try:
            io.load_video(damaged, on_error="partial")
        except ValueError as error:
            assert "corrupt" in str(error)  # noqa: PT017


def test_a_picture_that_cannot_be_had_is_given_up_where_others_before_it_are_lost() -> None:
    """Frame 7 gives none from its own key frame, and going back ends at frame 1, which is cut."""
    corpus = Path(__file__).resolve().parents[3] / "fuzz" / "corpus" / "clip"
    data = (corpus / "lost-before-its-run.mp4").read_bytes()
    part = io.sample_video(data, indices=[7, 4, 0], on_error="partial")
    assert part.indices == [4]
    assert part.damaged == [4]
    assert "frame 0 (0.000 s)" in str(part.error)
    with pytest.raises(ValueError, match=r"frame 0 \(0\.000 s\): the decoder gives no picture"):
        io.sample_video(data, indices=[7, 4, 0])


def test_damage_is_named_and_strict_raises(whole: bytes, clips: Clips) -> None:
    expected = decoded(clips("h264.mp4"))
    chance = random.Random(5)
    found, wrong, named = 0, 0, 0
    for _ in range(12):
        data = bytearray(whole)
        at = chance.randrange(len(data) // 2, len(data) - 400)
        data[at : at + 200] = chance.randbytes(200)
        frames = io.load_video(bytes(data), on_error="partial")
        for i, frame in zip(frames.indices, frames, strict=True):
            if not np.array_equal(frame, expected[i]):
                wrong += 1
                named += i in frames.damaged
        if frames.damaged:
            found += 1
            with pytest.raises(ValueError, match="damaged"):
                io.load_video(bytes(data), strict=True)
            loop = iter(io.Video(bytes(data), strict=True))
            with pytest.raises(ValueError, match=r"frame \d+ or one near it is damaged"):
                list(zip(loop, range(frames.damaged[0] + 1), strict=False))
    assert found > 3
    # Bytes that happen to decode are beyond anybody's knowledge.
    assert wrong > 40
    assert named > 0.5 * wrong


def test_bytes_that_were_flipped_never_hang_or_crash(clips: Clips) -> None:
    chance = random.Random(7)
    for name in ("h264.mp4", "open_gop.mkv", "vp9.webm", "hevc_open_gop.ts", "mpeg4.avi"):
        data = Path(clips(name)).read_bytes()
        for _ in range(12):
            bad = bytearray(data)
            for _ in range(chance.choice((1, 10, 100))):
                bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
            try:
                frames = io.sample_video(bytes(bad), 4, on_error="partial", max_pixels=1 << 20)
            except (ValueError, IndexError, OSError, NotImplementedError, MemoryError):
                continue
            assert frames.ndim == 4


def test_absurd_dimensions_are_refused(clips: Clips) -> None:
    with pytest.raises(IndexError, match="max_pixels"):
        io.Video(clips("h264.mp4"), max_pixels=1000)


class _MallInfo(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


def _allocated() -> int:
    """Bytes that the C library has handed out and not got back."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _MallInfo
    now = mallinfo2()
    return int(now.uordblks + now.hblkhd)


def test_ten_thousand_failing_opens_leak_nothing(whole: bytes, tmp_path: Path) -> None:
    bad = [b"", b"nonsense" * 20, whole[:200], b"RIFF\x20\0\0\0WAVEfmt " + bytes(60)]
    cut = whole[: len(whole) // 3]
    files = [tmp_path / str(i) for i in range(4)]
    for file, data in zip(files, bad, strict=True):
        file.write_bytes(data)

    def open_many(count: int) -> None:
        for i in range(count):
            with contextlib.suppress(ValueError):
                io.Video(bad[i % 3] if i % 2 else files[i % 3], max_pixels=1 << 16)
            with contextlib.suppress(ValueError):
                io.load_audio(bad[i % 4] if i % 2 else files[i % 4])
            if i % 100 == 0:
                with contextlib.suppress(ValueError):
                    io.load_video(cut)

    open_many(400)
    bytes_before = _allocated()
    descriptors = len(os.listdir("/proc/self/fd"))  # some of other tests may go
    with Peak() as peak:
        open_many(5000)  # two in each turn
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert _allocated() - bytes_before < 200_000  # 20 bytes for each
    assert peak.grown < 8 << 20
