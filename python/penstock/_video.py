"""Frames of videos by their numbers; :mod:`penstock.io` is where users find this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._image_request import MAX_PIXELS, Crop, Interpolation, make_request
from penstock._labelled import Labelled, is_number, parts_of, places_of
from penstock._whole import as_place, as_stream, as_whole

ClipLike: TypeAlias = Any  # a path, a URL, bytes, a memoryview, a raw field of a sample
VideoMode: TypeAlias = Literal["RGB", "RGBA", "BGR", "L"]
OnError: TypeAlias = Literal["raise", "partial"]


class VideoInfo(NamedTuple):
    """What is known of a video without decoding it."""

    container: str
    """As FFmpeg calls it: "mov,mp4,m4a,3gp,3g2,mj2"."""
    codec: str
    width: int
    """As stored, before rotation."""
    height: int
    frames: int
    rate: float
    """Frames a second, on the average."""
    duration: float
    """Seconds, from the first frame to the end of the last."""
    start: float
    """Of the first frame, as the file counts; all other times here count from it."""
    rotation: int
    """Degrees that pictures have to be turned clockwise: 0, 90, 180 or 270."""
    mirrored: bool
    """Before that they have to be mirrored, left to right, as some front cameras ask for."""
    pixel_format: str
    """As FFmpeg calls it: "yuv420p"."""
    bits: int
    """Of a sample."""
    alpha: bool
    key_frames: list[int]
    """The numbers of the key frames."""
    damage: str
    """What the container is damaged by, in words; empty: nothing was found."""


class Frames(Labelled):
    """Frames as an array, (frames, height, width, channels), that knows which ones they are.

    Slices of it know that of their frames, copies all of it, and results of arithmetic nothing.
    ``frames[0]`` is a plain array.
    """

    indices: list[int]
    """The numbers of the frames in the video; empty: not known."""
    times: list[float]
    """Of the frames, in seconds from the first of the video."""
    damaged: list[int]
    """Numbers of frames that the decoder knows to be damaged, or to follow damage."""
    error: Exception | None
    """Why frames are missing, with ``on_error="partial"``."""

    _labels = dict.fromkeys(("indices", "times", "damaged"), list[Any]) | {"error": lambda: None}

    def __getitem__(self, key: Any) -> Any:
        got = super().__getitem__(key)
        parts = parts_of(key, self.ndim)
        if parts and is_number(parts[0]):
            return got.view(np.ndarray) if isinstance(got, Frames) else got
        if not isinstance(got, Frames) or not parts or len(self.indices) != len(self):
            return got
        places = places_of(parts[0], len(self))
        got.indices = [self.indices[place] for place in places]
        got.times = [self.times[place] for place in places]
        there = set(got.indices)
        got.damaged = [number for number in self.damaged if number in there]
        got.error = self.error if places == list(range(len(self))) else None
        return got


class FrameOptions(TypedDict, total=False):
    """What the functions that give frames have in common."""

    size: tuple[int, int] | None
    crop: Crop | None
    mode: VideoMode
    resize_short: int | None
    interpolation: Interpolation
    flip: float
    scale: tuple[float, float]
    ratio: tuple[float, float]
    seed: int
    epoch: int
    position: int | None
    rotate: bool
    strict: bool
    on_error: OnError
    stream: int | None
    ffmpeg_threads: int
    max_pixels: int
    keep_index: bool | Literal["refresh"]


class Video:
    """A video whose frames are taken by number: ``len``, ``[i]``, ``[a:b:c]``, ``[[...]]``.

    Frame i is the i-th picture that a decode of the whole stream gives, in order of presentation.
    A loop over the video decodes it from front to back. One object may be used by several threads;
    they wait for one another.

    Args:
        src: A path, a URL, or the bytes of a file, which are borrowed.
        size: (height, width) of frames. Without a crop: a plain resize.
        crop: A box (left, top, right, bottom), "center", or "random_resized": the same one for all
            frames of a call.
        mode: "RGB", "RGBA" (alpha is 255 where the video has none), "BGR" or "L".
        rotate: Mirror and turn frames as the file's metadata says.
        strict: A frame that the decoder knows to be damaged raises; else `damaged` names it.
        on_error: "raise", or "partial": frames that cannot be had are left out, and `error` says
            why; a loop ends before the first of them.
        stream: The number of the stream in the file; None: the best one.
        ffmpeg_threads: Threads that the decoder may use; more than 64 count as 64.
        max_pixels: Larger pictures are refused.
        keep_index: Keep the index of frames in a file beside the video, ``clip.mkv.psidx`` (or in
            ``~/.cache/penstock/index``, where that cannot be written), and use it the next time.
            One that is damaged or of another version of the video raises; "refresh" makes it anew.

    The others are those of :func:`penstock.io.decode_image`.

    >>> from penstock import io
    >>> video = io.Video("clip.mp4", size=(224, 224))  # doctest: +SKIP
    >>> len(video), video[10].shape, video[::30].shape  # doctest: +SKIP
    (300, (224, 224, 3), (10, 224, 224, 3))
    """

    def __init__(self, src: ClipLike, **options: Unpack[FrameOptions]) -> None:
        self._request, own = _request(options)
        self._options = options
        self._src = as_place(src)
        self._where = (
            as_stream(own.get("stream")),
            own.get("ffmpeg_threads", 1),
            own.get("max_pixels", MAX_PIXELS),
        )
        self._position = own.get("position")
        self._partial = _is_partial(own.get("on_error", "raise"))
        kept = own.get("keep_index", False)
        if kept not in (True, False, "refresh"):
            raise ValueError(f'keep_index is True, False or "refresh", not {kept!r}')
        words = "keep" if kept is True else kept or ""
        self._clip = _core.Clip(self._src, *self._where, words)
        self._times: list[float] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy opens the source again; an index that was made anew is not made once more."""
        if not isinstance(self._src, str | bytes):
            raise TypeError(
                f"a Video of a {type(self._src).__name__} cannot be pickled or copied, for its "
                "memory is borrowed; one of a path, a URL or bytes can"
            )
        options = dict(self._options)
        if options.get("keep_index") == "refresh":
            options["keep_index"] = True
        return _opened, (self._src, options)

    @property
    def info(self) -> VideoInfo:
        return VideoInfo(**self._clip.info())

    @property
    def times(self) -> list[float]:
        """Of all frames, in seconds from the first."""
        if self._times is None:
            self._times = self._clip.times
        return self._times

    def __len__(self) -> int:
        return len(self._clip)

    @overload
    def __getitem__(self, which: int) -> NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, which: slice | Sequence[int]) -> Frames: ...
    def __getitem__(self, which: int | slice | Sequence[int]) -> NDArray[np.uint8] | Frames:
        if isinstance(which, slice):
            return self.read(range(*which.indices(len(self))))
        if isinstance(which, Sequence | np.ndarray):
            return self.read(which)
        return np.asarray(self.read([which])[0])

    def at(self, times: Sequence[float]) -> Frames:
        """The frames that are shown at these times, in seconds from the first frame."""
        return self.read(self._clip.frames_at([float(time) for time in times]))

    def read(self, indices: Sequence[int]) -> Frames:
        """Frames in the order given; negative numbers count from the end."""
        total = len(self)
        asked = [as_whole(one, "indices") for one in indices]
        for one in asked:
            if abs(one) >= 1 << 62:  # C++ cannot even be asked for it
                raise IndexError(f"there is no frame {one}: it has {total}")
        numbers = [one + total if -total <= one < 0 else one for one in asked]
        pixels, there, damaged, error = self._clip.read(
            numbers, self._request, self._position, self._partial
        )
        frames = pixels.view(Frames)
        times = self.times
        frames.indices, frames.damaged, frames.error = there, damaged, error
        frames.times = [times[number] for number in there]
        return frames  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        frames: Iterator[NDArray[np.uint8]] = _core.ClipIterator(
            self._clip, self._src, *self._where, self._request, self._position, self._partial
        )
        return frames


def _opened(src: ClipLike, options: FrameOptions) -> Video:
    return Video(src, **options)


def video_info(
    src: ClipLike, *, stream: int | None = None, max_pixels: int = MAX_PIXELS
) -> VideoInfo:
    """Reads what a video is: the container's tables, and the headers of its first picture.

    Args:
        src: A path, a URL, or the bytes of a file.
        stream: The number of the stream in the file; None: the best one.

    >>> from penstock import io
    >>> io.video_info("clip.mp4").frames  # doctest: +SKIP
    300
    """
    return Video(src, stream=stream, max_pixels=max_pixels).info


def load_video(
    src: ClipLike,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
    **options: Unpack[FrameOptions],
) -> Frames:
    """The frames from number `start` to `stop`, every `step`-th: by default all of them.

    A file whose container is damaged (one that was cut off) raises, unless ``on_error="partial"``.
    The others are the arguments of :class:`Video`.

    >>> from penstock import io
    >>> io.load_video("clip.mp4", stop=30).shape  # doctest: +SKIP
    (30, 720, 1280, 3)
    """
    video = Video(src, **options)
    damage = _damage_of(video) if stop is None else None
    return _noting(damage, video[slice(start, stop, step)])


def sample_video(
    src: ClipLike,
    num_frames: int | None = None,
    *,
    indices: Sequence[int] | None = None,
    times: Sequence[float] | None = None,
    **options: Unpack[FrameOptions],
) -> Frames:
    """Some frames of a video, decoding as little of it as they need.

    Args:
        src: A path, a URL, or the bytes of a file.
        num_frames: So many, spread evenly: the clip is cut into that many equal parts, and the
            frame in the middle of each is taken; a clip that is shorter gives frames twice. 8 if
            nothing else is asked for.
        indices: These frames; negative numbers count from the end.
        times: The frames shown at these times, in seconds from the first frame.

    The others are the arguments of :class:`Video`.

    >>> from penstock import io
    >>> io.sample_video("clip.mp4", num_frames=8, size=(224, 224)).shape  # doctest: +SKIP
    (8, 224, 224, 3)
    """
    if sum(one is not None for one in (num_frames, indices, times)) > 1:
        raise ValueError("give one of num_frames, indices and times")
    video = Video(src, **options)
    if indices is not None:
        return video.read(indices)
    if times is not None:
        return video.at(times)
    damage = _damage_of(video)
    return _noting(damage, video.read(spread(len(video), 8 if num_frames is None else num_frames)))


def spread(total: int, count: int) -> list[int]:
    """The middles of `count` equal parts of `total` frames."""
    if as_whole(count, "num_frames") < 1:
        raise ValueError(f"num_frames is {count}; give 1 or more")
    return [(2 * k + 1) * total // (2 * count) for k in range(count)]


def _damage_of(video: Video) -> Exception | None:
    """Why there may be fewer frames than there were; raised unless partial."""
    damage = video._clip.damage
    if not damage:
        return None
    error = ValueError(
        f"corrupt: the file is damaged after frame {len(video) - 1} "
        f"({video.times[-1]:.3f} s): {damage}"
    )
    if not video._partial:
        raise ValueError(f'{error}; on_error="partial" takes what is there')
    return error


def _noting(damage: Exception | None, frames: Frames) -> Frames:
    frames.error = frames.error or damage
    return frames


def _is_partial(on_error: str) -> bool:
    if on_error not in ("raise", "partial"):
        raise ValueError(f'on_error must be "raise" or "partial", not {on_error}')
    return on_error == "partial"


def _request(options: FrameOptions) -> tuple[_core.ImageRequest, FrameOptions]:
    """What C++ takes for all frames, and the options as they are."""
    known = set(FrameOptions.__annotations__)
    for name in options:
        if name not in known:
            raise TypeError(f"there is no option {name!r}; there are: {', '.join(sorted(known))}")
    mode = options.get("mode", "RGB")
    if mode not in ("RGB", "RGBA", "BGR", "L"):
        raise ValueError(f'mode must be "RGB", "RGBA", "BGR" or "L", not {mode}')
    request = make_request(
        mode,
        options.get("size"),
        options.get("crop"),
        True,
        options.get("flip", 0.0),
        resize_short=options.get("resize_short"),
        interpolation=options.get("interpolation", "bilinear"),
        scale=options.get("scale", (0.08, 1.0)),
        ratio=options.get("ratio", (3 / 4, 4 / 3)),
        seed=options.get("seed", 0),
        epoch=options.get("epoch", 0),
        orientation=options.get("rotate", False),
        strict=options.get("strict", False),
    )
    return request, options
