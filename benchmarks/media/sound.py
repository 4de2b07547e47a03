"""Samples by Penstock and its peers: whole files, one second of thirty, 16 kHz mono."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import files
import numpy as np


@dataclass(frozen=True)
class Job:
    path: Path
    start: float | None  # one second from here; None: all
    mono16: bool = False


def jobs(case: str, folder: Path) -> list[Job]:
    form, what = case.split("-")
    path = folder / f"sound.{form}"
    if what == "second":
        starts = np.random.default_rng(3).uniform(0, files.SOUND_SECONDS - 1.1, 200)
        return [Job(path, start) for start in starts.tolist()]
    return [Job(path, None, what == "mono16")] * 8


def penstock(job: Job) -> Any:
    from penstock import io

    if job.mono16:
        return io.load_audio(job.path, sample_rate=16000, channels=1)
    return io.load_audio(job.path, job.start, None if job.start is None else 1.0)


def penstock_inexact(job: Job) -> Any:
    from penstock import io

    return io.load_audio(job.path, job.start, 1.0, exact=False)


def penstock_stored(job: Job) -> Any:
    from penstock import io

    duration = None if job.start is None else 1.0
    return io.load_audio(job.path, job.start, duration, dtype="int16", layout="TC")


def spdl_load_wav_stored(job: Job) -> Any:
    """A view into the bytes of the file."""
    import spdl.io

    data = job.path.read_bytes()
    if job.start is None:
        return np.asarray(spdl.io.load_wav(data))
    return np.asarray(spdl.io.load_wav(data, job.start, 1.0))


def spdl_load_wav(job: Job) -> Any:
    """The same as what the others give."""
    return spdl_load_wav_stored(job).T.astype(np.float32) / 32768


def spdl(job: Job) -> Any:
    import spdl.io

    form = spdl.io.get_audio_filter_desc()
    if job.mono16:
        form = spdl.io.get_audio_filter_desc(sample_rate=16000, num_channels=1)
    when = None if job.start is None else (job.start, job.start + 1.0)
    if when is not None:
        form = spdl.io.get_audio_filter_desc(timestamp=when)
    return spdl.io.to_numpy(spdl.io.load_audio(str(job.path), timestamp=when, filter_desc=form))


def torchcodec(job: Job) -> Any:
    from torchcodec.decoders import AudioDecoder

    if job.mono16:
        sound = AudioDecoder(job.path, sample_rate=16000, num_channels=1)
    else:
        sound = AudioDecoder(job.path)
    if job.start is None:
        return sound.get_all_samples().data.numpy()
    return sound.get_samples_played_in_range(job.start, job.start + 1.0).data.numpy()


def soundfile(job: Job) -> Any:
    import soundfile as sf

    if job.start is None:
        return sf.read(job.path, dtype="float32")[0].T
    with sf.SoundFile(job.path) as file:
        file.seek(round(job.start * file.samplerate))
        return file.read(file.samplerate, dtype="float32").T


def librosa(job: Job) -> Any:
    import librosa as lr

    if job.mono16:
        return lr.load(job.path, sr=16000, mono=True)[0][None]
    duration = None if job.start is None else 1.0
    return lr.load(job.path, sr=None, mono=False, offset=job.start or 0.0, duration=duration)[0]


MIXES = {
    "mean": ("-af", "pan=mono|c0=0.5*c0+0.5*c1"),
    "its own mix": ("-ac", "1"),
}


def check(all_jobs: list[Job], load: Callable[[Job], Any]) -> str:
    """Against a full decode by ffmpeg, cut at the same place."""
    if all_jobs[0].mono16:
        return check_mono16(all_jobs[0], load)
    whole = files.sound(all_jobs[0].path)
    rate = 48000 if all_jobs[0].path.suffix == ".opus" else files.SOUND_RATE
    some = all_jobs[:200] if all_jobs[0].start is not None else all_jobs[:1]
    equal, worst = 0, 0.0
    for job in some:
        got = np.asarray(load(job))
        if got.dtype == np.int16:
            got = got.T.astype(np.float32) / 32768
        expected = whole
        if job.start is not None:
            first = round(job.start * rate)
            expected = whole[:, first : first + rate]
        if got.shape[1] < expected.shape[1] - 8:
            return f"{got.shape[1]} samples instead of {expected.shape[1]}"
        count = min(got.shape[1], expected.shape[1])
        off = float(np.abs(got[:, :count] - expected[:, :count]).max())
        worst = max(worst, off)
        equal += got.shape == expected.shape and off < 1e-4
    if all_jobs[0].start is not None:
        return f"{equal} of {len(some)} windows"
    return f"at most {worst:.4f} off ffmpeg"


def check_mono16(job: Job, load: Callable[[Job], Any]) -> str:
    """Some take the mean of both channels, and some what ffmpeg does, which is louder."""
    got = np.asarray(load(job))
    found = []
    for mix in MIXES:
        expected = files.sound(job.path, *MIXES[mix], "-ar", "16000", channels=1)
        if abs(got.shape[1] - expected.shape[1]) > 8:
            return f"{got.shape[1]} samples instead of {expected.shape[1]}"
        count = min(got.shape[1], expected.shape[1])
        found.append((float(np.abs(got[:, :count] - expected[:, :count]).max()), mix))
    worst, mix = min(found)
    return f"at most {worst:.4f} off ffmpeg ({mix})"
