"""The clips and sounds that are measured, made by the ffmpeg command."""

import functools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

SECONDS, RATE, WIDTH, HEIGHT = 60, 30, 1280, 720
SHORT_CLIPS, SHORT_FRAMES = 8, 75
SOUND_SECONDS, SOUND_RATE = 30, 44100
SOUNDS = {
    "wav": "-c:a pcm_s16le",
    "flac": "-c:a flac",
    "mp3": "-c:a libmp3lame -b:a 192k",
    "m4a": "-c:a aac -b:a 128k",
    "opus": "-c:a libopus -b:a 96k -ar 48000",
}
_NOISE = "noise=alls=5:allf=t"
_X264 = "-c:v libx264 -preset veryfast -crf 26 -pix_fmt yuv420p -movflags +faststart"
_TONES = "0.4*sin(2*PI*(200+30*t)*t)+0.005*random(0)|0.3*sin(2*PI*(500-5*t)*t)+0.005*random(1)"


def ffmpeg(*arguments: str) -> bytes:
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def _clip(path: Path, frames: int, group: int, skip: int = 0) -> None:
    if path.exists():
        return
    picture = f"testsrc2=size={WIDTH}x{HEIGHT}:rate={RATE},{_NOISE}"
    made = path.with_suffix(".part.mp4")
    how = [
        *_X264.split(),
        "-g",
        str(group),
        "-keyint_min",
        str(min(group, 25)),
        "-sc_threshold",
        "0",
    ]
    ffmpeg(
        "-ss", str(skip), "-f", "lavfi", "-i", picture, "-frames:v", str(frames), *how, str(made)
    )
    made.rename(path)


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _clip(folder / "gop30.mp4", SECONDS * RATE, 30)
    _clip(folder / "gop250.mp4", SECONDS * RATE, 250)
    for i in range(SHORT_CLIPS):
        _clip(folder / f"short{i}.mp4", SHORT_FRAMES, 1000, skip=i * 3)
    for name, how in SOUNDS.items():
        path = folder / f"sound.{name}"
        if not path.exists():
            tones = f"aevalsrc='{_TONES}':s={SOUND_RATE}:d={SOUND_SECONDS}"
            ffmpeg("-f", "lavfi", "-i", tones, *how.split(), str(path))


@functools.lru_cache(maxsize=4)
def frames(path: Path, numbers: tuple[int, ...]) -> Any:
    """These frames as a decode of all by ffmpeg gives them."""
    chosen = "+".join(f"eq(n\\,{number})" for number in sorted(set(numbers)))
    form = ["-vf", f"select='{chosen}'", "-fps_mode", "passthrough", "-f", "rawvideo"]
    pixels = ffmpeg("-i", str(path), *form, "-pix_fmt", "rgb24", "-")
    there = np.frombuffer(pixels, np.uint8).reshape(-1, HEIGHT, WIDTH, 3)
    places = {number: i for i, number in enumerate(sorted(set(numbers)))}
    return there[[places[number] for number in numbers]]


@functools.lru_cache(maxsize=8)
def sound(path: Path, *form: str, channels: int = 2) -> Any:
    """All samples, (channels, samples), as ffmpeg gives them."""
    samples = np.frombuffer(ffmpeg("-i", str(path), *form, "-f", "f32le", "-"), np.float32)
    return samples.reshape(-1, channels).T
