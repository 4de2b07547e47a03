"""Small clips, made by the ffmpeg command, and what it makes of them in turn."""

import functools
import shutil
import struct
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
_STRICT = "open-gop=1:keyint=20:bframes=3:b-pyramid=strict:b-adapt=0:bluray-compat=1"
_VPX = "-g 15 -auto-alt-ref 1 -lag-in-frames 12 -cpu-used 8 -b:v 100k -pix_fmt yuv420p"
_VFR = "-vf select='not(mod(n\\,3))+not(mod(n\\,7))' -fps_mode vfr"
_JUMP = "gte(N\\,17)*9000000"

# How clips are made. Of "<name options | options": from another one, without encoding it again.
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
    # A decoder that begins inside of it complains of pictures that it has not seen.
    "strict_pyramid.mp4": f"{_X264} -x264-params {_STRICT}",
    "begins_in_open_gop.mkv": "<open_gop.mkv -ss 0.8",
    "begins_in_open_gop.ts": "<open_gop.ts -ss 0.8",
    "edit_list.mp4": "<h264.mp4 -ss 0.9",
    "edit_list_open_gop.mp4": "<open_gop.mp4 -ss 0.9",
    "late.mp4": "<open_gop.mp4 -itsoffset 1.5",
    "hevc_edit_list.mp4": "<hevc_open_gop.mp4 -ss 0.9",
    "vfr.mp4": f"{_VFR} {_X264} -g 15 -bf 2",
    "vfr.mkv": f"{_VFR} {_X264} -g 15 -bf 2",
    "hevc_vfr.mp4": f"{_VFR} {_X265}:keyint=15:bframes=3",
    "vp9_vfr.webm": f"{_VFR} -c:v libvpx-vp9 {_VPX}",
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
    "mpeg1.mp4": "-c:v mpeg1video -g 12 -bf 2",
    "mpeg2.ts": "-c:v mpeg2video -g 12 -bf 2",
    "mpeg2.mpg": "-c:v mpeg2video -g 12 -bf 2",
    # Larger than the container's packets: what comes first after a seek is the rest of another one.
    "fine.vob": "-c:v mpeg2video -g 12 -q:v 1",
    "fine_mpeg1.mpg": "-c:v mpeg1video -g 12 -bf 2 -q:v 2",
    "mjpeg.avi": "-c:v mjpeg -pix_fmt yuvj420p",
    "mjpeg.mov": "-c:v mjpeg -pix_fmt yuvj422p",
    # Every packet is called a key frame, and is none.
    "h263.avi": "-vf scale=128:96 -c:v h263 -g 12",
    "gif.mkv": "-c:v gif -pix_fmt rgb8",
    # Its times jump, though its pictures never change places.
    "theora.ogg": "-c:v libtheora -g 12",
    "theora_cut.ogg": "<theora.ogg -ss 0.9",
    "prores.mov": "-c:v prores_ks -pix_fmt yuv422p10le",
    "alpha.mov": "-c:v qtrle -pix_fmt argb",
    # Times that turn over, or jump, where pictures wait for others.
    "negative_times.flv": "<h264.mp4 -itsoffset -0.5 | -avoid_negative_ts disabled",
    "jump.ts": f"<h264.mp4 | -bsf:v setts=pts=PTS+{_JUMP}:dts=DTS+{_JUMP}",
    # Times of packets in the place of those of pictures.
    "untrue_h264.mp4": "<h264.mp4 | -bsf:v setts=pts=DTS",
    "untrue_h264.mkv": "<open_gop.mp4 | -bsf:v setts=pts=DTS",
    "untrue_raw.mp4": "<h264.h264",
    "untrue_hevc.mp4": "<hevc.mp4 | -bsf:v setts=pts=DTS",
    "untrue_mpeg4.mkv": "<mpeg4.mp4 | -bsf:v setts=pts=DTS",
    "untrue_mpeg2.mkv": "<mpeg2.ts | -bsf:v setts=pts=DTS",
    "untrue_packed.mp4": "<packed.avi -fflags +genpts",
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
                begin, _, end = how[1:].partition("|")
                before, *cut = begin.split()
                ffmpeg(*cut, "-i", self(before), "-c", "copy", *end.split(), str(path))
            else:
                ffmpeg(*source(), "-frames:v", str(COUNT), *how.replace("'", "").split(), str(path))
        return str(path)

    def make(self, name: str, *arguments: str, frames: int = COUNT) -> str:
        path = self.folder / name
        if not path.exists():
            ffmpeg(*arguments, "-frames:v", str(frames), str(path))
        return str(path)


def patched(data: bytes, box: bytes, at: int, words: list[int]) -> bytes:
    """With other 32-bit words, `at` bytes behind the name of each box of this kind."""
    assert box in data
    made, begin = bytearray(data), data.find(box)
    while begin >= 0:
        struct.pack_into(f">{len(words)}I", made, begin + 4 + at, *words)
        begin = data.find(box, begin + 4)
    return bytes(made)


@functools.lru_cache(maxsize=64)
def decoded(path: str, width: int = WIDTH, height: int = HEIGHT) -> NDArray[np.uint8]:
    """All frames as ffmpeg gives them, from front to back."""
    form = ["-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    # Of interlaced MPEG-4 it makes something else each time with more threads.
    pixels = ffmpeg("-threads", "1", "-noautorotate", "-i", path, *form)
    return np.frombuffer(pixels, np.uint8).reshape(-1, height, width, 3)
