"""The arguments of decode_video and decode_audio, checked, and how C++ gets them."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._audio import audio_options
from penstock._image_request import make_request
from penstock._whole import as_stream, as_type
from penstock.data._checks import checked_whole
from penstock.data._plan import DecodeAudio, DecodeVideo, PlanError

MODES = ("RGB", "RGBA", "BGR", "L")
SAMPLINGS = ("uniform", "random", "clip")

Finish = tuple[int, str, str, list[float], list[float]]


def _need_own_names(step: str, field: str, **extra: str | None) -> None:
    """Fields for what else is known of a clip must not take the place of it, or of each other."""
    taken = {field: "is the name of the clip"}
    for argument, name in extra.items():
        if name is None:
            continue
        if not isinstance(name, str) or not name:
            raise PlanError(f"{step}: {argument} is {name!r}; give the name of a field")
        if name in taken:
            raise PlanError(f"{step}: {argument}={name!r} {taken[name]}; give another one")
        taken[name] = f"is that of {argument}, too"


def video_step(
    field: str,
    num_frames: int,
    size: Any,
    crop: Any,
    flip: float,
    sampling: str,
    stride: int,
    mode: str,
    indices: str | None,
    damaged: str | None,
    stream: int | None,
    ffmpeg_threads: int,
    keep_index: bool,
    options: dict[str, Any],
) -> DecodeVideo:
    _need_own_names("decode_video", field, indices=indices, damaged=damaged)
    if mode not in MODES:
        raise PlanError(f"decode_video: mode {mode!r} is not one of {', '.join(MODES)}")
    if sampling not in SAMPLINGS:
        raise PlanError(f"decode_video: sampling {sampling!r} is not one of {', '.join(SAMPLINGS)}")
    if not 0 <= flip <= 1:
        raise PlanError(f"decode_video: flip is {flip}; it is a probability")
    for reserved in ("seed", "epoch"):
        if reserved in options:
            raise PlanError(f"decode_video: {reserved} is an argument of loader()")
    if keep_index not in (True, False):
        raise PlanError(
            f"decode_video: keep_index is {keep_index!r}; it is True or False here. "
            'io.Video(name, keep_index="refresh") makes the index of a file anew'
        )
    step = DecodeVideo(
        field=field,
        num_frames=checked_whole(num_frames, "decode_video: num_frames", 1),
        size=size,
        crop=crop,
        flip=float(flip),
        sampling=sampling,
        stride=checked_whole(stride, "decode_video: stride", 1),
        mode=mode,
        indices=indices,
        damaged=damaged,
        stream=stream,
        ffmpeg_threads=ffmpeg_threads,
        keep_index=bool(keep_index),
        options=tuple(sorted(options.items())),
    )
    try:
        _request(step)
        as_stream(stream)
    except (TypeError, ValueError) as error:
        raise PlanError(f"decode_video: {error}") from None
    return step


def _request(step: DecodeVideo) -> _core.ImageRequest:
    options: Any = {"strict": False} | dict(step.options)
    if "rotate" in options:
        options["orientation"] = options.pop("rotate")
    mode: Any = step.mode
    return make_request(mode, step.size, step.crop, True, step.flip, **options)


def add_video(plan: _core.RowPlan, step: DecodeVideo, ordinal: int, finish: Finish | None) -> None:
    _core.add_video_step(
        plan,
        step.field,
        _request(step),
        step.num_frames,
        step.sampling,
        step.stride,
        ordinal,
        as_stream(step.stream),
        step.ffmpeg_threads,
        step.keep_index,
        step.indices or "",
        step.damaged or "",
        finish,
    )


def audio_step(
    field: str, start: Any, rate: str | None, damaged: str | None, options: dict[str, Any]
) -> DecodeAudio:
    _need_own_names("decode_audio", field, rate=rate, damaged=damaged)
    if isinstance(start, str) and start != "random":
        raise PlanError(f'decode_audio: start is {start!r}; give seconds, or "random"')
    if start == "random" and options.get("duration") is None:
        raise PlanError('decode_audio: start="random" needs a duration')
    try:
        dtype = as_type(options["dtype"], "dtype", '"float32" or "int16"')
        form = tuple(sorted({**options, "dtype": dtype}.items()))
        step = DecodeAudio(field, start, rate, damaged, form)
        _audio_options(step)
    except (TypeError, ValueError) as error:
        raise PlanError(f"decode_audio: {error}") from None
    return step


def _audio_options(step: DecodeAudio) -> _core.AudioOptions:
    options: Any = dict(step.options)
    return audio_options(None if step.random else step.start, **options)


def add_audio(plan: _core.RowPlan, step: DecodeAudio, ordinal: int) -> None:
    _core.add_audio_step(
        plan,
        step.field,
        _audio_options(step),
        step.random,
        ordinal,
        step.rate or "",
        step.damaged or "",
    )
