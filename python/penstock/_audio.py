"""Samples of audio files; :mod:`penstock.io` is where users find this."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock import _core
from penstock._labelled import Labelled, is_number, parts_of
from penstock._whole import as_flag, as_place, as_stream, as_text, as_type, as_whole

SoundLike: TypeAlias = Any  # a path, a URL, bytes, a memoryview, a raw field of a sample
SampleType: TypeAlias = Literal["float32", "int16"] | type[np.generic] | np.dtype[Any]
Layout: TypeAlias = Literal["CT", "TC"]
Coding: TypeAlias = Literal["int16", "int24", "int32", "float32"]


class AudioInfo(NamedTuple):
    """What an audio file's header says."""

    container: str
    """As FFmpeg calls it."""
    codec: str
    sample_rate: int
    channels: int
    layout: str
    """"mono", "stereo", "5.1", ..."""
    bits: int
    """Of a sample in the file; 0 where that has no meaning."""
    duration: float
    """Seconds, as the container says; 0 where it does not."""


class Samples(Labelled):
    """Samples as an array, (channels, samples), that knows what they are."""

    sample_rate: int
    """0 where not all samples were taken: ``[:, ::2]``."""
    start: float | None
    """Of the first sample, in seconds; None where that is not known. Slices know it."""
    damaged: int
    """How often damage was noticed in what was loaded, or that something is missing."""
    error: Exception | None
    """What ended the sound early, with ``on_error="partial"``."""

    _time: int | None
    """The axis of time; None: not known."""

    _labels = dict.fromkeys(("start", "error", "_time"), lambda: None) | dict.fromkeys(
        ("sample_rate", "damaged"), int
    )

    def __array_finalize__(self, made_from: Any) -> None:
        super().__array_finalize__(made_from)
        if isinstance(made_from, Samples):
            self.sample_rate = made_from.sample_rate
            self.damaged, self.error = made_from.damaged, made_from.error

    def __getitem__(self, key: Any) -> Any:
        got = super().__getitem__(key)
        if not isinstance(got, Samples):
            return got
        parts = parts_of(key, self.ndim)
        if parts is None or self._time is None:
            if any(map(_leaves_out, key if isinstance(key, tuple) else [key])):
                got.sample_rate = 0
            return got
        along = parts[self._time]
        if _leaves_out(along):
            got.sample_rate = 0
        elif isinstance(along, slice):
            begin, _, step = along.indices(self.shape[self._time])
            if step == 1:
                got._time = self._time - sum(is_number(part) for part in parts[: self._time])
                if self.start is not None and self.sample_rate > 0:
                    got.start = self.start + begin / self.sample_rate
        return got


def _leaves_out(part: Any) -> bool:
    """May what a key asks of an axis leave out numbers in between?"""
    if isinstance(part, slice):
        return part.step is not None and abs(part.step) != 1
    return isinstance(part, list | np.ndarray) and np.ndim(part) > 0


def audio_info(src: SoundLike, *, stream: int | None = None) -> AudioInfo:
    """Reads what an audio file is; nothing of it is decoded.

    Args:
        src: A path, a URL, or the bytes of a file.
        stream: The number of the stream in the file; None: the best one.

    >>> from penstock import io
    >>> io.audio_info("speech.flac").sample_rate  # doctest: +SKIP
    16000
    """
    return AudioInfo(**_core.audio_info(as_place(src), as_stream(stream)))


def load_audio(
    src: SoundLike,
    start: float | None = None,
    duration: float | None = None,
    sample_rate: int | None = None,
    channels: int | Sequence[int] | None = None,
    dtype: SampleType = "float32",
    *,
    layout: Layout = "CT",
    exact: bool = True,
    strict: bool = False,
    on_error: Literal["raise", "partial"] = "raise",
    stream: int | None = None,
) -> Samples:
    """Decodes a sound, or a part of it: (channels, samples).

    A part is equal to a full decode that is cut at the same place: its first sample is number
    round(start * rate), and it has round(duration * rate) samples of the rate that is asked for,
    wherever it begins; fewer only where the sound ends before. Delay and padding of encoders are
    left out where the file names them.

    Args:
        src: A path, a URL, or the bytes of a file, which are borrowed.
        start, duration: In seconds; None: from the beginning, to the end.
        sample_rate: Resampled to this one by libswresample; the part is cut out first.
        channels: 1: the mean of all (weighted as usual where there are more than two); another
            number: mixed to so many; a list: these channels of the file; None: as they are.
        dtype: "float32", in -1 to 1, or "int16"; NumPy's types will do, too.
        layout: "CT" is (channels, samples), "TC" (samples, channels).
        exact: False lets AAC and Opus begin a little before the part instead of at the beginning
            of the file: faster; sounds that a decoder makes of chance (noise) may differ.
        strict: Damage that is noticed raises, also an end that comes too early; else `damaged`
            counts it.
        on_error: "raise", or "partial": what comes before a place that cannot be read is kept, and
            `error` says what happened.
        stream: The number of the stream in the file; None: the best one.

    >>> from penstock import io
    >>> second = io.load_audio("speech.flac", start=10, duration=1)  # doctest: +SKIP
    >>> second.shape, second.sample_rate  # doctest: +SKIP
    ((1, 16000), 16000)
    """
    if on_error not in ("raise", "partial"):
        raise ValueError(f'on_error must be "raise" or "partial", not {on_error}')
    options = audio_options(
        start, duration, sample_rate, channels, dtype, layout, exact, strict, stream, on_error
    )
    samples, rate, begins, damaged, error = _core.load_audio(as_place(src), options)
    made = samples.view(Samples)
    made.sample_rate, made.start, made.damaged, made.error = rate, begins, damaged, error
    made._time = 1 if layout == "CT" else 0
    return made  # type: ignore[no-any-return]


def save_audio(
    path: str | os.PathLike[str],
    samples: Any,
    sample_rate: int,
    *,
    format: Literal["wav", "flac"] | None = None,
    coding: Coding = "int16",
    layout: Layout = "CT",
) -> None:
    """Writes a sound as WAV or FLAC.

    Args:
        path: Where to; a file that is there is replaced when all of the new one is written.
        samples: float32 in -1 to 1, or int16: (channels, samples), or one channel alone.
        sample_rate: Samples a second.
        format: None: as the name ends.
        coding: Of a sample in the file: "int16", "int24", and for WAV also "int32" and "float32".
            Floats are rounded to the nearest integer; what is louder than 1 is cut off, and NaN
            raises.
        layout: "CT" is (channels, samples), "TC" (samples, channels).

    >>> import numpy as np, tempfile, os
    >>> from penstock import io
    >>> path = os.path.join(tempfile.mkdtemp(), "silence.wav")
    >>> io.save_audio(path, np.zeros((2, 800), np.float32), 16000)
    >>> io.load_audio(path).shape
    (2, 800)
    """
    name = os.fspath(path)
    if format is None:
        ending = os.path.splitext(name)[1].lower()
        if ending not in (".wav", ".flac"):
            raise ValueError(f'{name}: say format="wav" or "flac", or let the name end so')
        format = "flac" if ending == ".flac" else "wav"
    as_text(format, "format")
    rate = as_whole(sample_rate, "sample_rate")
    _core.save_audio(name, samples, rate, format, _coding(coding), _is_first(layout))


def encode_audio(
    samples: Any,
    sample_rate: int,
    format: Literal["wav", "flac"] = "wav",
    *,
    coding: Coding = "int16",
    layout: Layout = "CT",
) -> bytes:
    """A sound as the bytes of a WAV or FLAC file; the arguments are those of `save_audio`.

    >>> import numpy as np
    >>> from penstock import io
    >>> io.load_audio(io.encode_audio(np.ones(3, np.float32) / 2, 8000)).tolist()
    [[0.5, 0.5, 0.5]]
    """
    as_text(format, "format")
    rate = as_whole(sample_rate, "sample_rate")
    made = _core.save_audio(None, samples, rate, format, _coding(coding), _is_first(layout))
    assert made is not None
    return made


def _coding(coding: Any) -> str:
    return as_type(coding, "coding", '"int16", "int24", "int32" or "float32"')


def _is_first(layout: str) -> bool:
    if layout not in ("CT", "TC"):
        raise ValueError(f'layout must be "CT" or "TC", not {layout}')
    return layout == "CT"


def audio_options(
    start: float | None,
    duration: float | None,
    sample_rate: int | None,
    channels: int | Sequence[int] | None,
    dtype: Any,
    layout: str,
    exact: bool,
    strict: bool,
    stream: int | None,
    on_error: str = "raise",
) -> _core.AudioOptions:
    first = _is_first(layout)
    select = None
    if isinstance(channels, Sequence | np.ndarray):
        select = [as_whole(one, "channels") for one in channels]
        if not select:
            raise ValueError("channels is empty; give the numbers of channels, or None for all")
    if sample_rate == 0 or (select is None and channels == 0):
        raise ValueError("channels and sample_rate are 1 or more")
    count = 0 if channels is None or select is not None else as_whole(channels, "channels")
    return _core.AudioOptions(
        start=0.0 if start is None else float(start),
        duration=None if duration is None else float(duration),
        sample_rate=0 if sample_rate is None else as_whole(sample_rate, "sample_rate"),
        channels=count,
        select=select or [],
        dtype=as_type(dtype, "dtype", '"float32" or "int16"'),
        channels_first=first,
        stream=as_stream(stream),
        strict=as_flag(strict, "strict"),
        partial=on_error == "partial",
        exact=as_flag(exact, "exact"),
    )
