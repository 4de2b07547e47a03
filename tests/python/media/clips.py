"""Small clips, made by the ffmpeg command, and what it makes of them in turn."""

import functools
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

FFMPEG = shutil.which("ffmpeg")
WIDTH, HEIGHT, COUNT = 98, 74, 48

_X264 = "-c:v libx264 -preset veryfast -pix_fmt yuv420p"
_X265 = "-c:v libx265 -preset ultrafast -pix_fmt yuv420p -x265-params log-level=error"
_OPEN = "open-gop=1:keyint=12:min-keyint=4:bframes=3:b-pyramid=normal:b-adapt=0:scenecut=0"
_VPX = "-g 15 -auto-alt-ref 1 -lag-in-frames 12 -cpu-used 8 -b:v 100k -pix_fmt yuv420p"
_VFR = "-vf select='not(mod(n\\,3))+not(mod(n\\,7))' -fps_mode vfr"

# How clips are made. Of "<name": from another one, without encoding it again.
CLIPS = {
    "h264.mp4": f"{_X264} -g 15 -bf 3",
    "h264.avi": f"{_X264} -g 15 -bf 2",
    "h264.h264": f"{_X264} -g 15 -bf 2",
    "fragments.mp4": f"{_X264} -g 15 -bf 3 -movflags frag_keyframe+empty_moov",
    "one_gop.mp4": f"{_X264} -g 1000",
    "intra_refresh.mp4": f"{_X264} -x264-params intra-refresh=1:keyint=15:bframes=0",
    "open_gop.mp4": f"{_X264} -x264-params {_OPEN}",
    "open_gop.mkv": f"{_X264} -x264-params {_OPEN}",
    "open_gop.ts": f"{_X264} -x264-params {_OPEN}",
    "begins_in_open_gop.mkv": "<open_gop.mkv -ss 0.8",
    "begins_in_open_gop.ts": "<open_gop.ts -ss 0.8",
    "edit_list.mp4": "<h264.mp4 -ss 0.9",
    "edit_list_open_gop.mp4": "<open_gop.mp4 -ss 0.9",
    "vfr.mp4": f"{_VFR} {_X264} -g 15 -bf 2",
    "vfr.mkv": f"{_VFR} {_X264} -g 15 -bf 2",
    "interlaced.ts": f"-vf scale=96:64 {_X264} -flags +ildct+ilme -x264-params tff=1:keyint=15",
    "444.mp4": "-c:v libx264 -preset veryfast -pix_fmt yuv444p -g 15",
    "hevc.mp4": f"{_X265}:keyint=15:open-gop=0:bframes=3",
    "hevc_open_gop.mp4": f"{_X265}:keyint=12:min-keyint=12:open-gop=1:bframes=3:b-adapt=0",
    "hevc_open_gop.mkv": f"{_X265}:keyint=12:min-keyint=12:open-gop=1:bframes=3:b-adapt=0",
    "hevc_open_gop.ts": f"{_X265}:keyint=12:min-keyint=12:open-gop=1:bframes=3:b-adapt=0",
    "hevc_begins_in_open_gop.mkv": "<hevc_open_gop.mkv -ss 0.8",
    "hevc_layers.mp4": f"{_X265}:keyint=24:temporal-layers=3:bframes=4:b-adapt=0",
    "hevc_10_bit.mp4": f"{_X265}:keyint=15 -pix_fmt yuv420p10le",
    "vp8.webm": f"-c:v libvpx {_VPX}",
    "vp9.webm": f"-c:v libvpx-vp9 {_VPX}",
    "vp9.mp4": "-c:v libvpx-vp9 -g 15 -cpu-used 8 -pix_fmt yuv420p -deadline realtime",
    "av1.mp4": "-c:v libaom-av1 -usage realtime -cpu-used 8 -g 15 -pix_fmt yuv420p",
    "av1.webm": "-c:v libaom-av1 -usage realtime -cpu-used 8 -g 15 -pix_fmt yuv420p",
    "mpeg4.mp4": "-c:v mpeg4 -g 12 -bf 2",
    "mpeg4.avi": "-c:v mpeg4 -g 12 -bf 2",
    "packed.avi": "-c:v libxvid -g 12 -bf 2",
    "mpeg2.ts": "-c:v mpeg2video -g 12 -bf 2",
    "mpeg2.mpg": "-c:v mpeg2video -g 12 -bf 2",
    "mjpeg.avi": "-c:v mjpeg -pix_fmt yuvj420p",
    "mjpeg.mov": "-c:v mjpeg -pix_fmt yuvj422p",
    "prores.mov": "-c:v prores_ks -pix_fmt yuv422p10le",
    "alpha.mov": "-c:v qtrle -pix_fmt argb",
}


def ffmpeg(*arguments: str) -> bytes:
    if FFMPEG is None:
        pytest.skip("there is no ffmpeg command")
    command = [FFMPEG, "-v", "error", "-nostdin", "-y", *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


def source(width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    """No two frames of it are alike."""
    return ["-f", "lavfi", "-i", f"testsrc2=size={width}x{height}:rate=30,noise=alls=20:allf=t"]


class Clips:
    """Makes clips when they are first asked for, and keeps them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> str:
        path = self.folder / name
        if not path.exists():
            how = CLIPS[name]
            if how.startswith("<"):
                before, *cut = how[1:].split()
                ffmpeg(*cut, "-i", self(before), "-c", "copy", str(path))
            else:
                ffmpeg(*source(), "-frames:v", str(COUNT), *how.replace("'", "").split(), str(path))
        return str(path)

    def make(self, name: str, *arguments: str, frames: int = COUNT) -> str:
        path = self.folder / name
        if not path.exists():
            ffmpeg(*arguments, "-frames:v", str(frames), str(path))
        return str(path)


@functools.lru_cache(maxsize=64)
def decoded(path: str, width: int = WIDTH, height: int = HEIGHT) -> NDArray[np.uint8]:
    """All frames as ffmpeg gives them, from front to back."""
    form = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    pixels = ffmpeg("-noautorotate", "-i", path, *form)
    return np.frombuffer(pixels, np.uint8).reshape(-1, height, width, 3)
