"""Streams put together, cut, or silent on what they should say: the frames of a linear decode."""

import os
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from clips import COUNT, Clips, decoded, ffmpeg, patched, source
from penstock import io

REFRESH = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -x264-params intra-refresh=1:keyint=15"


def check_frames(path: Path | str) -> io.Video:
    """Every index, the whole and a loop are what ffmpeg gives from front to back."""
    expected = decoded(str(path))
    video = io.Video(path)
    assert len(video) == len(expected)
    for i in reversed(range(len(video))):
        assert np.array_equal(video[i], expected[i]), f"frame {i}"
    assert np.array_equal(video[:], expected)
    for frame, other in zip(video, expected, strict=True):
        assert np.array_equal(frame, other)
    return video


def test_fields_of_mpeg4_do_not_depend_on_where_decoding_began(clips: Clips) -> None:
    how = "-c:v mpeg4 -g 12 -bf 2 -flags +ilme+ildct"
    for form in ("mp4", "avi", "mkv", "m4v"):
        check_frames(clips.make(f"fields.{form}", *source(), *how.split()))
    how = "-c:v libxvid -g 12 -bf 2 -flags +ilme+ildct"  # two pictures in a packet
    check_frames(clips.make("packed_fields.avi", *source(), *how.split()))


@pytest.mark.parametrize("codec", ["libx264", "flv1"])
def test_times_of_flv_run_on_where_they_turn_over(codec: str, clips: Clips) -> None:
    made = clips.make(f"{codec}.flv", *source(), "-c:v", codec, "-g", "12", "-pix_fmt", "yuv420p")
    early = ("-itsoffset", "-0.5", "-i", made, "-c", "copy", "-avoid_negative_ts", "disabled")
    video = check_frames(clips.make(f"early_{codec}.flv", *early))
    assert np.diff(video.times) == pytest.approx(1 / 30, abs=0.002)


def test_a_file_that_cannot_be_opened_again_raises_until_it_can(
    clips: Clips, tmp_path: Path
) -> None:
    path = tmp_path / "clip.avi"
    whole = Path(clips("h264.avi")).read_bytes()
    path.write_bytes(whole)
    video = io.Video(path)
    expected = decoded(clips("h264.avi"))
    assert np.array_equal(video[40], expected[40])
    path.write_bytes(b"")
    for frame in (0, 30, 0):
        with pytest.raises((ValueError, OSError)):
            video[frame]
    path.write_bytes(whole)
    assert np.array_equal(video[0], expected[0])
    assert np.array_equal(video[40], expected[40])


@pytest.mark.parametrize("late", ["0.5177", "100"])
def test_streams_that_follow_one_another_do_not_mix(late: str, clips: Clips) -> None:
    first = clips.make("first.ts", "-i", clips("h264.mp4"), "-c", "copy")
    shift = ("-output_ts_offset", late)
    other = clips.make(f"shifted_{late}.ts", "-i", clips("h264.mp4"), "-c", "copy", *shift)
    parts = [Path(first).read_bytes(), Path(other).read_bytes()]
    for name, order in (("forth", parts), ("back", parts[::-1])):
        path = clips.folder / f"{name}_{late}.ts"
        path.write_bytes(b"".join(order))
        assert len(check_frames(path)) == 2 * COUNT


@pytest.mark.parametrize("at", [3000, 9000, 15000, 26000])
def test_what_a_cut_stream_shows_before_it_has_recovered_is_no_frame(at: int, clips: Clips) -> None:
    whole = clips.make("refresh_b.ts", *source(), *f"{REFRESH}:bframes=2".split())
    path = clips.folder / f"cut_{at}.ts"
    path.write_bytes(Path(whole).read_bytes()[at:])
    assert 10 < len(check_frames(path)) < COUNT - 10


def test_messages_before_a_recovery_point_may_hold_any_bytes(clips: Clips) -> None:
    whole = clips.make("refresh_p.ts", *source(), *f"{REFRESH}:bframes=0".split())
    raw = clips.make("begins.h264", "-ss", "0.37", "-i", whole, "-c", "copy")
    data = Path(raw).read_bytes()
    # A message of 16 zeros, each pair of which has a 3 put behind it.
    message = b"\x05\x10" + b"\0\0\3" * 8
    marked = data.replace(b"\0\0\1\x06\x06", b"\0\0\1\x06" + message + b"\x06")
    assert len(marked) > len(data)
    Path(raw).write_bytes(marked)
    timed = ("-c", "copy", "-bsf:v", "setts=ts=N*3000")
    assert (
        10 < len(check_frames(clips.make("marked.ts", "-r", "30", "-i", raw, *timed))) < COUNT - 10
    )


def _without_reorder(data: bytes) -> bytes:
    """With SPS units that end where they would say how far pictures change places."""
    made = bytearray(data)
    at = data.index(b"\x67\x64", max(data.find(b"avcC"), 0))
    size = int.from_bytes(data[at - 2 : at], "big")
    bits = "".join(f"{byte:08b}" for byte in data[at : at + size].replace(b"\0\0\3", b"\0\0"))
    place = 32

    def number() -> int:
        nonlocal place
        zeros = bits.index("1", place) - place
        place += 2 * zeros + 1
        return int(bits[place - zeros - 1 : place], 2) - 1

    number(), number(), number(), number()  # id, chroma, depths
    place += 2
    number()  # of frames
    if number() == 0:
        number()
    number()  # of references
    place += 1
    number(), number()  # size
    place += 2 if bits[place] == "1" else 3
    place += 1
    if bits[place - 1] == "1":
        number(), number(), number(), number()  # crop
    assert bits[place] == "1"
    short = bits[:place] + "01"
    short += "0" * (8 * size - len(short))
    made[at : at + size] = int(short, 2).to_bytes(size, "big")
    return bytes(made)


@pytest.mark.parametrize("name", ["pyramid.mkv", "untrue_pyramid.mkv"])
def test_a_stream_that_does_not_say_how_far_pictures_change_places(name: str, clips: Clips) -> None:
    how = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 30 -x264-params"
    params = "bframes=5:b-adapt=0:b-pyramid=normal:scenecut=0"
    whole = clips.make("pyramid.mp4", *source(), *how.split(), params)
    untrue = ["-bsf:v", "setts=pts=DTS"] if name.startswith("untrue") else []
    told = clips.make(f"told_{name}", "-i", whole, "-c", "copy", *untrue)
    path = clips.folder / name
    path.write_bytes(_without_reorder(Path(told).read_bytes()))
    assert len(check_frames(path)) == COUNT


def test_times_of_packets_are_found_out_however_late_pictures_change_places(clips: Clips) -> None:
    how = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -bf"
    parts = [clips.make(f"bf{b}.h264", *source(), *how.split(), str(b)) for b in (0, 3)]
    both = clips.folder / "both.h264"
    both.write_bytes(b"".join(Path(part).read_bytes() for part in parts))
    timed = clips.make("both.mp4", "-i", str(both), "-c", "copy", frames=2 * COUNT)
    check_frames(clips.make("both.mkv", "-i", timed, "-c", "copy", frames=2 * COUNT))


def test_damage_lasts_until_a_recovery_is_complete(clips: Clips) -> None:
    path = clips.make("refresh.mp4", *source(), *f"{REFRESH}:bframes=0".split())
    expected = decoded(path)
    data = Path(path).read_bytes()
    seen = 0
    for seed in range(100):
        if seed >= 12 and seen > 40:  # how much is wrong depends on what this machine encodes
            break
        chance = random.Random(seed)
        at = chance.randrange(len(data) // 4, len(data) // 2)
        bad = data[:at] + chance.randbytes(60) + data[at + 60 :]
        frames = io.load_video(bad, on_error="partial")
        if not frames.damaged:  # nobody can know
            continue
        pairs = zip(frames.indices, frames, strict=True)
        wrong = [i for i, frame in pairs if not np.array_equal(frame, expected[i])]
        assert set(wrong) <= set(frames.damaged)
        seen += len(wrong)
    assert seen > 40


def test_a_frame_that_is_cut_off_raises_each_time(clips: Clips) -> None:
    front = ("-c", "copy", "-movflags", "+faststart")
    data = Path(clips.make("front.mov", "-i", clips("mjpeg.mov"), *front)).read_bytes()
    video = io.Video(data[: len(data) * 6 // 10])
    lost = len(io.load_video(data[: len(data) * 6 // 10], on_error="partial"))
    assert 10 < lost < COUNT - 10
    for _ in range(3):
        with pytest.raises(ValueError, match=f"frame {lost} .*the file ends inside it"):
            video[lost]


@pytest.mark.parametrize(("count", "size"), [(5_000_000, 100), (20_000, 60_000_000)])
def test_tables_of_more_than_a_file_can_hold_cost_little(
    count: int, size: int, clips: Clips
) -> None:
    data = Path(clips("h264.mp4")).read_bytes().replace(b"edts", b"free").replace(b"ctts", b"free")
    data = patched(data, b"stsz", 4, [size, count])
    data = patched(data, b"stsc", 4, [1, 1, count, 1])
    data = patched(data, b"stts", 4, [1, count, 512])
    video = io.Video(data)
    assert len(video) <= 4 * len(data)
    with pytest.raises(ValueError, match="frame"):
        video[len(video) - 1]


FRONT = ("-c", "copy", "-movflags", "+faststart")
OPEN = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -x264-params open-gop=1:keyint=12:"
OPEN += "min-keyint=12:bframes=3:b-adapt=0:scenecut=0:"
OTHERS = {
    "offset": ("chroma-qp-offset=0", "chroma-qp-offset=10"),
    "cavlc": ("cabac=0:qp=20", "cabac=0:qp=36"),
    "dct": ("8x8dct=0:ref=1", "8x8dct=1:ref=3:cqm=jvt"),
}


def _joined(clips: Clips, name: str, *parts: str) -> Path:
    """The parts one behind the other, as ffmpeg's concat copies them."""
    listed = clips.folder / f"{name}.txt"
    listed.write_text("".join(f"file {part}\n" for part in parts))
    path = clips.folder / name
    ffmpeg("-f", "concat", "-safe", "0", "-i", str(listed), "-c", "copy", str(path))
    return path


def _unlike(clips: Clips, what: str) -> list[str]:
    """Two clips whose key frames need different parameter sets, and do not carry them."""
    return [
        clips.make(f"{what}_{i}.mp4", *source(), *(OPEN + one).split())
        for i, one in enumerate(OTHERS[what])
    ]


@pytest.mark.parametrize("form", ["mp4", "mkv", "ts", "flv"])
@pytest.mark.parametrize("what", OTHERS)
def test_parameter_sets_change_inside_a_stream(what: str, form: str, clips: Clips) -> None:
    path = _joined(clips, f"{what}.{form}", *_unlike(clips, what))
    assert len(check_frames(path)) == 2 * COUNT
    expected = decoded(str(path))
    for i in range(0, 2 * COUNT, 5):
        frames = io.sample_video(path, indices=[i])
        assert frames.damaged == []
        assert np.array_equal(frames[0], expected[i]), f"frame {i}"
    video, chance = io.Video(path, strict=True), random.Random(4)
    for _ in range(30):
        some = chance.sample(range(len(video)), 3)
        assert np.array_equal(video[some], expected[some])


def test_parameter_sets_return_to_what_they_were(clips: Clips) -> None:
    first, second = _unlike(clips, "dct")
    assert len(check_frames(_joined(clips, "returns.mp4", first, second, first))) == 3 * COUNT
    assert len(check_frames(_joined(clips, "returns.mkv", second, first, second))) == 3 * COUNT


@pytest.mark.parametrize("form", ["mp4", "mkv", "ts"])
def test_parameter_sets_change_behind_a_part_that_carries_none(form: str, clips: Clips) -> None:
    first, second = _unlike(clips, "offset")
    cut = clips.folder / "cut_open.mp4"
    ffmpeg("-ss", "0.6", "-i", first, "-c", "copy", str(cut))
    path = _joined(clips, f"carries_none.{form}", str(cut), second)
    expected = decoded(str(path))
    for i in range(len(expected) - 1, -1, -4):
        assert np.array_equal(io.Video(path)[i], expected[i]), f"frame {i}"


def test_parameter_sets_of_hevc_change_inside_a_stream(clips: Clips) -> None:
    how = "-c:v libx265 -preset ultrafast -pix_fmt yuv420p -flags +global_header -x265-params"
    params = "log-level=error:open-gop=1:keyint=12:min-keyint=12:bframes=3:repeat-headers=0"
    parts = []
    for i in (0, 10):
        made = f"{params}:cbqpoffs={i}:crqpoffs={i}"
        whole = clips.make(f"sets_{i}.mkv", *source(), *how.split(), made)
        # The sets are put before the first picture alone.
        once = ("-c", "copy", "-bsf:v", "hevc_mp4toannexb", "-f", "hevc")
        parts.append(Path(clips.make(f"sets_{i}.hevc", "-i", whole, *once)))
    both = clips.folder / "sets.hevc"
    both.write_bytes(b"".join(_sets_once(part.read_bytes()) for part in parts))
    timed = ("-c", "copy", "-bsf:v", "setts=ts=N*40")
    for form in ("mkv", "mp4"):
        path = clips.folder / f"sets.{form}"
        ffmpeg("-r", "25", "-i", str(both), *timed, str(path))
        assert len(check_frames(path)) == 2 * COUNT


def _sets_once(data: bytes) -> bytes:
    """A raw HEVC stream without the parameter sets that it repeats."""
    start, first, *others = data.split(b"\0\0\1")
    units, seen = [start, first], {first.rstrip(b"\0")}
    for unit in others:
        kind, bare = unit[0] >> 1 & 63, unit.rstrip(b"\0")
        if kind in (32, 33, 34) and bare in seen:
            continue
        seen.add(bare)
        units.append(unit)
    return b"\0\0\1".join(units)


def test_sizes_change_inside_a_stream(clips: Clips) -> None:
    made = {}
    for name, size in (("small", (98, 74)), ("large", (128, 96))):
        whole = clips.make(f"{name}.mp4", *source(*size), *(OPEN + "chroma-qp-offset=0").split())
        # Only the first key frame carries parameter sets.
        made[name] = Path(clips.make(f"{name}.ts", "-i", whole, "-c", "copy")).read_bytes()
    path = clips.folder / "sizes.ts"
    path.write_bytes(made["small"] + made["large"] + made["small"])
    expected = [np.array(frame) for frame in io.Video(path)]
    seams = {i * COUNT + j for i in (1, 2) for j in range(-4, 2)}  # called damaged
    for video in (io.Video(path), io.Video(path, strict=True)):
        chance = random.Random(1)
        for i in chance.sample(sorted(set(range(3 * COUNT)) - seams), 60):
            assert np.array_equal(video[i], expected[i]), f"frame {i}"
    # With a size that does not depend on theirs they can be had together.
    mixed = [COUNT + 20, 5, 2 * COUNT + 9, 20]
    cut = {"size": (32, 40), "crop": "random_resized", "seed": 3, "position": 1, "flip": 0.5}
    for options in ({"size": (32, 40)}, {"size": (24, 24), "crop": "center"}, cut):
        together = io.sample_video(path, indices=mixed, **options)
        for frame, i in zip(together, mixed, strict=True):
            assert np.array_equal(frame, io.sample_video(path, indices=[i], **options)[0])
        assert np.array_equal(np.stack(list(io.Video(path, **options)))[mixed], together)
    with pytest.raises(NotImplementedError, match="change their size from 98 x 74 to 128 x 96"):
        io.sample_video(path, indices=mixed)


def test_an_index_that_was_kept_knows_the_parameter_sets(clips: Clips, tmp_path: Path) -> None:
    for form in ("mp4", "mkv"):
        path = _joined(clips, f"kept.{form}", *_unlike(clips, "offset"))
        moved = tmp_path / path.name
        moved.write_bytes(path.read_bytes())
        expected = decoded(str(path))
        for _ in range(2):
            video = io.Video(moved, keep_index=True)
            for i in (95, 70, 40, 60, 20):
                assert np.array_equal(video[i], expected[i]), f"frame {i}"
        assert moved.with_name(moved.name + ".psidx").exists()


@pytest.mark.parametrize("share", [5, 6, 7, 9])
def test_a_loop_gives_all_frames_before_the_one_that_is_lost(share: int, clips: Clips) -> None:
    expected = decoded(clips("h264.mp4"))
    front = clips.make("tables_in_front.mp4", "-i", clips("h264.mp4"), *FRONT)
    data = Path(front).read_bytes()
    data = data[: len(data) * share // 10]
    there = io.load_video(data, on_error="partial").indices
    lost = next(i for i in range(COUNT) if i not in there)
    seen = []
    with pytest.raises(ValueError, match=f"frame {lost}: the file ends inside it"):
        seen.extend(io.Video(data))
    assert len(seen) == lost > 5
    assert np.array_equal(seen, expected[:lost])
    assert len(list(io.Video(data, on_error="partial"))) == lost


def test_a_stream_without_its_parameters_has_no_frames(clips: Clips) -> None:
    whole = clips.make("once.ts", "-i", _unlike(clips, "offset")[0], "-c", "copy")
    cut = clips.folder / "no_parameters.ts"
    ffmpeg("-ss", "0.9", "-i", whole, "-c", "copy", str(cut))
    with pytest.raises(ValueError, match="not one frame"):
        io.Video(cut)


def test_a_decoder_has_so_many_threads_and_no_more(clips: Clips) -> None:
    before = len(os.listdir("/proc/self/task"))
    video = io.Video(clips("h264.mp4"), ffmpeg_threads=500)
    assert np.array_equal(video[7], decoded(clips("h264.mp4"))[7])
    assert len(os.listdir("/proc/self/task")) <= before + 64


def test_frames_behind_a_packet_that_cannot_be_read(clips: Clips) -> None:
    sound = ("-f", "lavfi", "-i", "sine", "-c:a", "aac", "-shortest")
    how = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 12 -bf 2"
    path = clips.make("with_sound.mp4", *source(), *sound, *how.split())
    data = bytearray(Path(path).read_bytes())
    sizes = data.index(b"stsz", data.index(b"vide")) + 16
    struct.pack_into(">I", data, sizes + 4 * 13, 1 << 28)  # the rest of this chunk is lost
    expected = decoded(path)
    frames = io.load_video(bytes(data), on_error="partial")
    assert frames.error is not None
    assert set(range(12)) <= set(frames.indices)
    assert set(range(COUNT - 8, COUNT)) <= set(frames.indices)
    assert len(frames) < COUNT
    sure = [k for k, i in enumerate(frames.indices) if i not in frames.damaged]
    assert np.array_equal(frames[sure], expected[[frames.indices[k] for k in sure]])


def test_a_container_says_in_the_middle_what_holds_from_there_on(clips: Clips) -> None:
    first, second = _unlike(clips, "dct")
    front = clips.make("front.flv", "-i", first, "-c", "copy")
    late = ("-c", "copy", "-output_ts_offset", "1.6")
    back = clips.make("back.flv", "-i", second, *late)
    path = clips.folder / "headers.flv"
    path.write_bytes(Path(front).read_bytes() + Path(back).read_bytes()[13:])
    assert len(check_frames(path)) == 2 * COUNT
    for i in range(2 * COUNT - 1, -1, -7):
        assert np.array_equal(io.Video(path)[i], decoded(str(path))[i]), f"frame {i}"
