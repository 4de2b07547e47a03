"""Frames by Penstock and its peers, each in the manner its own documentation suggests.

A contender takes a job (the clip, the frames wanted, the size or None) and gives what NumPy takes
for an array of frames, in any layout. Decoders have one thread each; jobs run on two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import files
import numpy as np

SIZE = (224, 224)


@dataclass(frozen=True)
class Job:
    path: Path
    numbers: tuple[int, ...] | None  # None: all, one after the other
    size: tuple[int, int] | None


def uniform(total: int) -> tuple[int, ...]:
    return tuple((2 * k + 1) * total // 16 for k in range(8))


def jobs(case: str, folder: Path) -> list[Job]:
    total = files.SECONDS * files.RATE
    if case in ("uniform-30", "uniform-250"):
        path = folder / f"gop{case.removeprefix('uniform-')}.mp4"
        return [Job(path, uniform(total), SIZE)] * (8 if case == "uniform-30" else 4)
    if case == "short":
        clips = [folder / f"short{i % files.SHORT_CLIPS}.mp4" for i in range(24)]
        return [Job(path, uniform(files.SHORT_FRAMES), SIZE) for path in clips]
    if case == "consecutive":
        starts = np.random.default_rng(2).integers(0, total - 16, 24)
        return [Job(folder / "gop30.mp4", tuple(range(s, s + 16)), SIZE) for s in starts.tolist()]
    if case == "first":
        return [Job(folder / "gop250.mp4", (0,), None)] * 40
    if case == "memory":
        return [Job(folder / "gop250.mp4", None, None)]
    return [Job(folder / "short0.mp4", None, None)] * 4  # full


# ---- contenders


def penstock(job: Job) -> Any:
    from penstock import io

    if job.numbers is None:
        return io.Video(job.path)
    return io.sample_video(job.path, indices=job.numbers, size=job.size)


def torchcodec(job: Job) -> Any:
    from torchcodec.decoders import VideoDecoder
    from torchcodec.transforms import Resize

    scaled = [Resize(job.size)] if job.size else None
    video = VideoDecoder(job.path, seek_mode="exact", transforms=scaled, num_ffmpeg_threads=1)
    if job.numbers is None:
        return (frame.permute(1, 2, 0) for frame in video)
    return video.get_frames_at(list(job.numbers)).data.permute(0, 2, 3, 1)


def decord(job: Job) -> Any:
    from decord import VideoReader, cpu

    height, width = job.size or (-1, -1)
    video = VideoReader(str(job.path), ctx=cpu(0), width=width, height=height, num_threads=1)
    if job.numbers is None:
        return (frame.asnumpy() for frame in video)
    return video.get_batch(list(job.numbers)).asnumpy()


def spdl(job: Job) -> Any:
    import spdl.io

    height, width = job.size or (None, None)
    form = spdl.io.get_video_filter_desc(
        scale_width=width, scale_height=height, scale_mode=None, scale_algo="bilinear"
    )
    one_thread = spdl.io.decode_config(decoder_options={"threads": "1"})
    if job.numbers is None:
        packets = spdl.io.demux_video(str(job.path))
        frames = spdl.io.decode_packets(packets, decode_config=one_thread, filter_desc=form)
        return spdl.io.to_numpy(spdl.io.convert_frames(frames))
    packets = spdl.io.demux_video(str(job.path))
    images = spdl.io.sample_decode_video(
        packets, list(job.numbers), decode_config=one_thread, filter_desc=form
    )
    return spdl.io.to_numpy(spdl.io.convert_frames(images))


def pyav(job: Job) -> Any:
    import av

    container = av.open(str(job.path))
    stream = container.streams.video[0]
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    if job.numbers is None:
        return _to_rgb(container)
    height, width = job.size or (None, None)
    tick, rate = float(stream.time_base), float(stream.average_rate)
    start = stream.start_time or 0
    found = {}
    ahead = 0
    frames: Iterator[Any] = iter(())
    for number in job.numbers:
        if number > ahead + 30 or number == job.numbers[0]:
            container.seek(int(number / rate / tick) + start, stream=stream)
            frames = container.decode(stream)
        for frame in frames:
            ahead = round(float(frame.pts - start) * tick * rate)
            if ahead >= number:
                scaled = frame.reformat(width, height, "rgb24", interpolation="BILINEAR", threads=1)
                found[number] = scaled.to_ndarray()
                break
    container.close()
    return np.stack([found[number] for number in job.numbers])


def _to_rgb(container: Any) -> Iterator[Any]:
    for frame in container.decode(video=0):
        yield frame.to_ndarray(format="rgb24", threads=1)
    container.close()


# ---- what came out


def check(job: Job, got: Any) -> str:
    """How many frames are nearer to the wanted one than to its neighbours, and how near."""
    from PIL import Image

    if job.numbers is None:
        expected = files.frames(job.path, tuple(range(files.SHORT_FRAMES)))
        frames = [np.array(frame) for frame in got]
        if len(frames) != len(expected):
            return f"{len(frames)} frames of {len(expected)}"
        off = max(
            float(np.abs(a.astype(int) - b).mean()) for a, b in zip(frames, expected, strict=True)
        )
        return f"all frames, at most {off:.2f} off ffmpeg"
    last = (files.SHORT_FRAMES if "short" in job.path.name else files.SECONDS * files.RATE) - 1
    near = sorted({min(max(n + d, 0), last) for n in job.numbers for d in (-1, 0, 1)})
    sources = files.frames(job.path, tuple(near))
    right, total = 0, 0.0
    height, width = job.size or (files.HEIGHT, files.WIDTH)

    def distance(frame: np.ndarray, number: int) -> float:
        picture = Image.fromarray(sources[near.index(number)])
        other = np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))
        return float(np.abs(frame.astype(int) - other).mean())

    for number, frame in zip(job.numbers, np.asarray(got), strict=True):
        around = sorted({min(max(number + d, 0), last) for d in (-1, 0, 1)})
        off = {one: distance(frame, one) for one in around}
        right += off[number] == min(off.values())
        total += off[number]
    return f"{right} of {len(job.numbers)} frames, {total / len(job.numbers):.2f} off Pillow"
