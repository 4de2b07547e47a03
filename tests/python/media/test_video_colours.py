"""Pixels of all kinds of formats are those of ``ffmpeg -pix_fmt``, bit for bit."""

import numpy as np
import pytest
from clips import Clips, ffmpeg, source
from penstock import io

FFV1 = (
    *("gbrp9le", "gbrp10le", "gbrp12le", "gbrp14le", "gbrp16le", "gbrap10le", "gbrap12le"),
    *("gbrap16le", "rgb48le", "rgba64le", "bgra", "gray", "gray10le", "gray16le", "ya8"),
    *("yuv444p", "yuv420p10le", "yuv422p16le", "yuva420p", "yuva444p16le", "yuv410p", "yuv411p"),
)
RAW = ("ya8", "ya16le", "gray", "gray9le", "gray12le", "gbrp", "gbrp10le", "rgb24", "rgb565le")
RAW += ("pal8", "monob", "nv12", "uyvy422", "xyz12le", "p010le", "yuvj420p", "gbrpf32le")
HEVC = ("gbrp", "gbrp10le", "gbrp12le", "yuv420p10le", "yuv444p12le", "gray", "gray10le")
PNG = ("rgb24", "rgba", "rgb48be", "rgba64be", "gray", "ya8", "gray16be", "ya16be", "pal8")
CASES = [
    *(("-c:v ffv1", form, "mkv") for form in FFV1),
    *(("-c:v rawvideo", form, "nut") for form in RAW),
    *(
        ("-c:v libx265 -preset ultrafast -x265-params log-level=error", form, "mp4")
        for form in HEVC
    ),
    *(("-c:v png", form, "nut") for form in PNG),
]


@pytest.mark.parametrize(("how", "form", "kind"), CASES)
def test_pixels_are_those_of_ffmpeg(how: str, form: str, kind: str, clips: Clips) -> None:
    alpha = f"format=rgba,colorchannelmixer=aa=0.7,format={form}"
    made = (*source(64, 48), "-vf", alpha, *how.split(), "-pix_fmt", form)
    path = clips.make(f"{form}_{how.split()[1]}.{kind}", *made, frames=2)
    for mode, wanted, channels in (("RGB", "rgb24", 3), ("RGBA", "rgba", 4), ("BGR", "bgr24", 3)):
        pixels = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", wanted, "-")
        expected = np.frombuffer(pixels, np.uint8).reshape(2, 48, 64, channels)
        assert np.array_equal(io.load_video(path, mode=mode), expected), mode


@pytest.mark.parametrize("tag", ["-color_range pc", "-color_range tv", "-colorspace bt709"])
@pytest.mark.parametrize("form", ["yuv444p", "yuv420p10le", "gray16le", "gbrp10le", "ya8"])
def test_pixels_are_those_of_ffmpeg_where_the_stream_says_more(
    tag: str, form: str, clips: Clips
) -> None:
    how = f"-c:v ffv1 -pix_fmt {form} {tag}"
    name = f"{form}{tag.split()[1]}.mkv"
    path = clips.make(name, *source(64, 48), *how.split(), frames=2)
    pixels = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    expected = np.frombuffer(pixels, np.uint8).reshape(2, 48, 64, 3)
    assert np.array_equal(io.load_video(path), expected)


@pytest.mark.parametrize("form", ["gbrp10le", "gbrp16le", "gbrap10le"])
def test_rgb_of_many_bits_keeps_its_colour(form: str, clips: Clips) -> None:
    colour = ("-f", "lavfi", "-i", "color=c=0xC84020:s=64x48:r=5,format=gbrp")
    how = ("-c:v", "ffv1", "-pix_fmt", form)
    path = clips.make(f"one_colour_{form}.mkv", *colour, *how, frames=2)
    pixel = io.Video(path)[0][5, 5].astype(int)
    assert np.abs(pixel - (0xC8, 0x40, 0x20)).max() <= 1


GREY = [
    *(("-c:v ffv1", form, "mkv") for form in ("yuv420p10le", "yuv444p10le", "yuv420p12le")),
    ("-c:v ffv1", "yuv422p16le", "mkv"),
    ("-c:v libx264 -qp 0", "yuv420p10le", "mp4"),
    ("-c:v libx265 -preset ultrafast -x265-params log-level=error", "yuv420p10le", "mp4"),
    ("-c:v libvpx-vp9 -cpu-used 8", "yuv420p10le", "webm"),
]


@pytest.mark.parametrize("tag", ["pc", "tv"])
@pytest.mark.parametrize(("how", "form", "kind"), GREY)
def test_grey_of_many_bits_has_the_range_of_the_stream(
    how: str, form: str, kind: str, tag: str, clips: Clips
) -> None:
    made = (*source(64, 48), *how.split(), "-pix_fmt", form, "-color_range", tag)
    path = clips.make(f"grey_{form}_{how.split()[1]}_{tag}.{kind}", *made, frames=2)
    pixels = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "gray", "-")
    expected = np.frombuffer(pixels, np.uint8).reshape(2, 48, 64, 1)
    assert np.array_equal(io.load_video(path, mode="L"), expected)


def test_dark_grey_of_full_range_stays_as_bright_as_in_rgb(clips: Clips) -> None:
    colour = ("-f", "lavfi", "-i", "color=0x202020:size=64x48:rate=30")
    how = "-vf scale=out_range=full,format=yuv420p10le -c:v libx264 -qp 0 -color_range pc"
    path = clips.make("dark_grey.mp4", *colour, *how.split(), frames=2)
    for size in (None, (24, 32)):
        assert np.all(io.load_video(path, size=size) == 32)
        grey = io.load_video(path, mode="L", size=size)
        assert np.all((grey == 31) | (grey == 32))
