"""Every frame of every clip is the one that a decode from the beginning gives."""

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from clips import CLIPS, COUNT, HEIGHT, WIDTH, Clips, decoded, ffmpeg, patched, source
from penstock import io


@pytest.mark.parametrize("name", CLIPS)
def test_every_index_is_the_frame_of_a_linear_decode(name: str, clips: Clips) -> None:
    path = clips(name)
    video = io.Video(path)
    info = video.info
    expected = decoded(path, info.width, info.height)
    assert len(video) == len(expected) > 10
    for i in range(len(video)):
        frames = video[[i]]
        assert np.array_equal(frames[0], expected[i]), f"frame {i}"
        assert frames.damaged == [], f"frame {i}"
    assert np.array_equal(video[:], expected)
    mixed = [len(video) - 1, 0, len(video) // 2, 0, 3]
    assert np.array_equal(video[mixed], expected[mixed])
    assert np.array_equal(video[20:2:-5], expected[20:2:-5])
    if name not in ("h264.h264", "h264.avi", "theora_cut.ogg"):  # their times are not in the file
        assert np.all(np.diff(video.times) > 0)


def test_edit_lists_hold_whatever_the_decoder_makes_of_them(clips: Clips) -> None:
    # FFmpeg 5.1 shows all pictures of AV1, from the key frame before the first one on.
    path = clips.make("edit_list_av1.mp4", "-ss", "0.9", "-i", clips("av1.mp4"), "-c", "copy")
    video = io.Video(path)
    assert len(video) == COUNT - 27
    expected = decoded(clips("av1.mp4"))[27:]
    assert np.array_equal(io.load_video(path), expected)
    for frame, other in zip(video, expected, strict=True):
        assert np.array_equal(frame, other)


def test_an_edit_list_that_ends_early_leaves_out_the_rest_of_mjpeg(clips: Clips) -> None:
    # FFmpeg 5.1 shows one picture more.
    data = patched(Path(clips("mjpeg.mov")).read_bytes(), b"elst", 8, [500])
    expected = decoded(clips("mjpeg.mov"))[:15]
    assert np.array_equal(io.load_video(data), expected)
    assert np.array_equal(np.stack(list(io.Video(data))), expected)


@pytest.mark.parametrize("form", ["ts", "h264", "flv"])
def test_what_a_stream_shows_before_it_has_recovered_is_no_frame(form: str, clips: Clips) -> None:
    refresh = "-c:v libx264 -preset veryfast -x264-params intra-refresh=1:keyint=15:bframes=2"
    whole = clips.make("refresh.ts", *source(), *refresh.split())
    path = clips.make(f"begins_in_refresh.{form}", "-ss", "0.37", "-i", whole, "-c", "copy")
    expected = decoded(path)
    video = io.Video(path)
    assert COUNT / 4 < len(video) == len(expected) < COUNT - 15
    for i in reversed(range(len(video))):
        assert np.array_equal(video[i], expected[i]), f"frame {i}"
    assert np.array_equal(io.load_video(path), expected)


@pytest.mark.parametrize("name", ["h264.mp4", "open_gop.mkv", "vp9.webm", "begins_in_open_gop.ts"])
def test_a_loop_gives_all_frames_in_order(name: str, clips: Clips) -> None:
    path = clips(name)
    expected = decoded(path)
    count = 0
    for frame, other in zip(io.Video(path), expected, strict=True):
        assert np.array_equal(frame, other)
        count += 1
    assert count == len(expected)


def test_bytes_and_memoryviews_are_read_in_place(clips: Clips) -> None:
    path = clips("open_gop.mp4")
    data = Path(path).read_bytes()
    expected = decoded(path)
    for src in (Path(path), data, memoryview(data), np.frombuffer(data, np.uint8)):
        assert np.array_equal(io.sample_video(src, indices=[7, 40]), expected[[7, 40]])


def test_info_says_what_the_clip_is(clips: Clips) -> None:
    info = io.video_info(clips("h264.mp4"))
    assert (info.codec, info.pixel_format, info.bits, info.alpha) == ("h264", "yuv420p", 8, False)
    assert (info.width, info.height, info.frames) == (WIDTH, HEIGHT, COUNT)
    assert info.rate == pytest.approx(30)
    assert info.duration == pytest.approx(COUNT / 30)
    assert info.key_frames[0] == 0
    assert len(info.key_frames) >= 3
    assert info.damage == ""
    assert io.video_info(clips("open_gop.ts")).start > 1
    deep = io.video_info(clips("hevc_10_bit.mp4"))
    assert (deep.pixel_format, deep.bits) == ("yuv420p10le", 10)
    assert io.video_info(clips("alpha.mov")).alpha


def test_uniform_frames_are_the_middles_of_equal_parts(clips: Clips) -> None:
    frames = io.sample_video(clips("h264.mp4"), num_frames=4)
    assert frames.indices == [6, 18, 30, 42]
    assert frames.times == pytest.approx([0.2, 0.6, 1.0, 1.4])
    assert np.array_equal(frames, decoded(clips("h264.mp4"))[[6, 18, 30, 42]])
    assert len(io.sample_video(clips("h264.mp4"))) == 8
    assert io.sample_video(clips("h264.mp4"), 2 * COUNT).indices[:4] == [0, 0, 1, 1]


def test_a_time_gives_the_frame_that_is_shown_then(clips: Clips) -> None:
    path = clips("vfr.mp4")
    video = io.Video(path)
    assert len(set(np.round(np.diff(video.times), 3))) > 1
    times = [0.0, video.times[5], (video.times[5] + video.times[6]) / 2, video.times[-1] + 0.001]
    frames = io.sample_video(path, times=times)
    assert frames.indices == [0, 5, 5, len(video) - 1]
    with pytest.raises(IndexError, match="no frame is shown at"):
        io.sample_video(path, times=[1000.0])


def test_size_and_crop_are_those_of_images(clips: Clips) -> None:
    path = clips("h264.mp4")
    whole = decoded(path)[11]

    def image(**options: object) -> np.ndarray:
        return io.decode_image(io.encode_image(whole, "png"), **options)  # type: ignore[arg-type]

    for options in (
        {"size": (32, 40)},
        {"crop": (10, 4, 70, 60)},
        {"crop": (11, 5, 70, 60), "size": (20, 20)},
        {"crop": "center", "size": (30, 30)},
        {"crop": "center", "resize_short": 40, "size": (36, 36)},
        {"crop": "random_resized", "size": (24, 24), "seed": 5, "position": 9, "flip": 0.5},
        {"size": (200, 300), "interpolation": "bicubic"},
        {"flip": 1.0},
    ):
        frame = io.sample_video(path, indices=[11], **options)[0]  # type: ignore[arg-type]
        other = image(**options)
        assert frame.shape == other.shape
        # Luma and chroma are resized apart from one another, which rounds differently.
        difference = np.abs(frame.astype(int) - other.astype(int))
        assert difference.mean() < 2.5, options


def test_modes(clips: Clips) -> None:
    path = clips("h264.mp4")
    rgb = io.load_video(path, stop=3)
    assert np.array_equal(io.load_video(path, stop=3, mode="BGR"), rgb[..., ::-1])
    rgba = io.load_video(path, stop=3, mode="RGBA")
    assert rgba.shape[-1] == 4
    assert (rgba[..., 3] == 255).all()
    grey = io.load_video(path, stop=3, mode="L")
    assert grey.shape == (3, HEIGHT, WIDTH, 1)
    weights = rgb @ np.array([0.299, 0.587, 0.114])
    assert np.abs(grey[..., 0] - weights).mean() < 6
    with pytest.raises(ValueError, match="mode must be"):
        io.load_video(path, mode="P")  # type: ignore[arg-type]


def test_alpha_is_kept(clips: Clips) -> None:
    picture = "color=red@0.25:size=64x48:rate=10,format=argb"
    path = clips.make("glass.mov", "-f", "lavfi", "-i", picture, "-c:v", "qtrle", frames=5)
    frames = io.load_video(path, mode="RGBA")
    assert frames.shape == (5, 48, 64, 4)
    assert (frames[..., 0] > 200).all()
    assert np.abs(frames[..., 3].astype(int) - 64).max() <= 1


# Where the picture changes at once, it has a key frame and its alpha has none.
_GLASS = (
    "color=blue:size=96x64:rate=25,noise=alls=20:allf=t,"
    "drawbox=enable='gte(n,7)':color=yellow:t=fill:x=0:y=0:w=96:h=64[p];"
    "testsrc2=size=96x64:rate=25,format=gray[a];[p][a]alphamerge,format=yuva420p"
)


@pytest.mark.parametrize("coder", ["libvpx", "libvpx-vp9"])
def test_alpha_beside_the_pictures_is_that_of_libvpx(coder: str, clips: Clips) -> None:
    how = ["-f", "lavfi", "-i", _GLASS, "-c:v", coder, "-g", "10", "-auto-alt-ref", "0"]
    path = clips.make(f"glass_{coder}.webm", *how, "-cpu-used", "8", frames=30)
    shown = ffmpeg("-c:v", coder, "-i", path, "-f", "rawvideo", "-pix_fmt", "rgba", "-")
    expected = np.frombuffer(shown, np.uint8).reshape(-1, 64, 96, 4)
    assert io.video_info(path).alpha
    assert np.ptp(expected[..., 3]) > 100
    video = io.Video(path, mode="RGBA")
    for i in reversed(range(30)):
        assert np.array_equal(video[i], expected[i]), f"frame {i}"
    assert np.array_equal(np.stack(list(video)), expected)
    assert np.array_equal(io.load_video(path), decoded(path, 96, 64))
    # A decoder of the same thread that knows no alpha is not used for it, nor the other way round.
    bare = clips.make(f"glass_{coder}_bare.mkv", "-i", path, "-c:v", coder, frames=5)
    assert (io.load_video(bare, mode="RGBA")[..., 3] == 255).all()
    assert np.array_equal(io.load_video(path, mode="RGBA"), expected)


@pytest.mark.parametrize(
    ("name", "matrix", "range_", "colour"),
    [
        ("601", "smpte170m", "tv", (200, 60, 20)),
        ("709", "bt709", "tv", (200, 60, 20)),
        ("full", "bt709", "pc", (200, 60, 20)),
        ("601full", "smpte170m", "pc", (20, 220, 90)),
    ],
)
def test_matrix_and_range_give_the_colour_back(
    name: str, matrix: str, range_: str, colour: tuple[int, int, int], clips: Clips
) -> None:
    hexed = "0x" + "".join(f"{c:02x}" for c in colour)
    how = f"color={hexed}:size=64x48:rate=10,format=gbrp,"
    how += f"scale=out_color_matrix={matrix}:out_range={range_},format=yuv420p"
    tags = ["-colorspace", matrix, "-color_range", range_, "-c:v", "libx264", "-qp", "0"]
    path = clips.make(f"colour_{name}.mp4", "-f", "lavfi", "-i", how, *tags, frames=3)
    for size in (None, (20, 30)):
        frames = io.load_video(path, size=size)
        assert np.abs(frames.astype(int) - np.array(colour)).max() <= 3


@pytest.mark.parametrize(("angle", "turns"), [(90, 3), (180, 2), (270, 1)])
def test_rotation_is_applied_on_request(
    angle: int, turns: int, clips: Clips, tmp_path: Path
) -> None:
    turned = str(tmp_path / "turned.mp4")
    cos, sin = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[angle]
    matrix = [cos << 16, sin << 16, 0, -sin << 16, cos << 16, 0]
    data = patched(Path(clips("h264.mp4")).read_bytes(), b"tkhd", 40, [x % 2**32 for x in matrix])
    Path(turned).write_bytes(data)
    info = io.video_info(turned)
    assert (info.rotation, info.width, info.height) == (angle, WIDTH, HEIGHT)
    stored = io.sample_video(turned, indices=[9])
    upright = io.sample_video(turned, indices=[9], rotate=True)
    assert np.array_equal(upright[0], np.rot90(stored[0], turns))
    for frame in io.Video(turned, rotate=True):
        assert frame.shape == upright[0].shape
    shown = ffmpeg("-i", turned, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")  # turns by itself
    expected = np.frombuffer(shown, np.uint8).reshape(-1, *upright[0].shape)
    assert np.abs(upright[0].astype(int) - expected[9]).mean() < 3


@pytest.mark.parametrize(
    ("matrix", "rotation", "mirrored"),
    [
        ((-1, 0, 0, 1), 0, True),  # a front camera
        ((1, 0, 0, -1), 180, True),
        ((0, 1, 1, 0), 270, True),
        ((0, -1, -1, 0), 90, True),
        ((0, 1, -1, 0), 90, False),
    ],
)
def test_mirrored_pictures_are_turned_as_ffmpeg_turns_them(
    matrix: tuple[int, ...], rotation: int, mirrored: bool, clips: Clips
) -> None:
    lossless = ["-c:v", "libx264", "-qp", "0", "-pix_fmt", "yuv444p"]  # turned chroma is the same
    whole = Path(clips.make("lossless.mp4", *source(), *lossless, frames=5)).read_bytes()
    a, b, c, d = ((x << 16) % 2**32 for x in matrix)
    name = "".join(map(str, matrix))
    path = clips.folder / f"mirrored_{name}.mp4"
    path.write_bytes(patched(whole, b"tkhd", 40, [a, b, 0, c, d, 0]))
    info = io.video_info(path)
    assert (info.rotation, info.mirrored) == (rotation, mirrored)
    upright = io.load_video(path, rotate=True)
    shown = ffmpeg("-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    assert np.array_equal(upright, np.frombuffer(shown, np.uint8).reshape(upright.shape))
    assert np.array_equal(np.stack(list(io.Video(path, rotate=True))), upright)
    if matrix == (-1, 0, 0, 1):
        assert np.array_equal(upright, io.load_video(path)[:, :, ::-1])


def test_a_loop_draws_what_frames_by_number_draw(clips: Clips) -> None:
    path = clips("h264.mp4")
    for position in range(4):
        video = io.Video(
            path, crop="random_resized", size=(32, 32), flip=0.5, seed=1, position=position
        )
        assert np.array_equal(np.stack(list(video)), video[:])
    nowhere = io.Video(path, crop="random_resized", size=(32, 32))
    for ask in (lambda: nowhere[0], lambda: next(iter(nowhere))):
        with pytest.raises(ValueError, match="give position="):
            ask()


def test_one_object_serves_many_threads(clips: Clips) -> None:
    video = io.Video(clips("open_gop.mp4"))
    expected = decoded(clips("open_gop.mp4"))
    with ThreadPoolExecutor(4) as pool:
        for i, frame in enumerate(pool.map(video.__getitem__, range(len(video)))):
            assert np.array_equal(frame, expected[i])


def test_more_ffmpeg_threads_change_no_pixel(clips: Clips) -> None:
    path = clips("open_gop.mp4")
    assert np.array_equal(io.Video(path, ffmpeg_threads=2)[5:45:7], decoded(path)[5:45:7])


def _threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def test_a_clip_decodes_on_the_thread_that_asks(clips: Clips) -> None:
    before = _threads()
    video = io.Video(clips("open_gop.mp4"))
    assert len(video[:]) == COUNT
    assert _threads() <= before
    more = io.Video(clips("open_gop.mp4"), ffmpeg_threads=3)
    assert len(more[:]) == COUNT
    assert _threads() - before  # so these would have been seen


def test_indices_that_are_not_there_are_refused(clips: Clips) -> None:
    video = io.Video(clips("h264.mp4"))
    assert np.array_equal(video[-1], video[COUNT - 1])
    for wrong in (COUNT, -COUNT - 1):
        with pytest.raises(IndexError, match=f"it has {COUNT}"):
            video[wrong]
    assert video[[]].shape == video[5:2].shape == (0, HEIGHT, WIDTH, 3)
    assert io.Video(clips("h264.mp4"), size=(20, 30))[[]].shape == (0, 20, 30, 3)
    with pytest.raises(ValueError, match="stream is -2"):
        io.Video(clips("h264.mp4"), stream=-2)


@pytest.mark.parametrize("name", ["h264.mp4", "open_gop.mp4", "hevc.mp4", "vp9.mp4", "vp8.webm"])
def test_a_decoder_that_has_seen_another_clip_gives_the_same_frames(
    name: str, clips: Clips
) -> None:
    expected = decoded(clips(name))
    data = Path(clips(name)).read_bytes()
    for other in ("h264.mp4", name):
        io.sample_video(clips(other), indices=[len(expected) // 2, 3])
        with contextlib.suppress(ValueError):
            io.load_video(data[: len(data) * 2 // 3])
        with contextlib.suppress(ValueError):
            io.load_video(data[:2000] + bytes(300) + data[2300:])
        assert np.array_equal(io.load_video(clips(name)), expected)
        assert np.array_equal(io.sample_video(clips(name), indices=[7])[0], expected[7])
