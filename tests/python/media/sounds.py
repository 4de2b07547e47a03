"""Small sounds, made by the ffmpeg command, and what it makes of them in turn."""

from pathlib import Path

import numpy as np
from clips import ffmpeg
from numpy.typing import NDArray

_TONES = (
    "aevalsrc='0.4*sin(2*PI*(300+40*t)*t)+0.1*random(0)|0.3*sin(2*PI*(500-20*t)*t)+0.1*random(1)'"
)
SECONDS = 4

SOUNDS = {
    "s16.wav": "-c:a pcm_s16le",
    "s24.wav": "-c:a pcm_s24le",
    "float.wav": "-c:a pcm_f32le",
    "u8.wav": "-c:a pcm_u8",
    "lossless.flac": "",
    "lossless.mkv": "-c:a flac",
    "constant.mp3": "-b:a 128k",
    "variable.mp3": "-q:a 5",
    "mp3.mkv": "-c:a libmp3lame",
    "aac.m4a": "-c:a aac -b:a 96k",
    "alac.m4a": "-c:a alac",
    "stream.aac": "-c:a aac",
    "aac.ts": "-c:a aac",
    "opus.opus": "-c:a libopus -b:a 64k -ar 48000",
    "silk.opus": "-c:a libopus -b:a 20k -application voip -ar 48000",
    "opus.webm": "-c:a libopus -ar 48000",
    "vorbis.ogg": "-c:a libvorbis -q:a 3",
    "vorbis.webm": "-c:a libvorbis",
}


class Sounds:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> str:
        path = self.folder / name
        if not path.exists():
            tones = ["-f", "lavfi", "-i", f"{_TONES}:s=44100:d={SECONDS}"]
            ffmpeg(*tones, *SOUNDS[name].split(), str(path))
        return str(path)


def decoded(path: str, channels: int = 2, *form: str) -> NDArray[np.float32]:
    """All samples as ffmpeg gives them."""
    samples = np.frombuffer(ffmpeg("-i", path, *form, "-f", "f32le", "-"), np.float32)
    return samples.reshape(-1, channels).T
