"""The words of a dataset for native work on fields: decoding, and ops on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from penstock._audio import SampleType
from penstock._core import NativeOp
from penstock.data import _fields
from penstock.data._base import Plan
from penstock.data._clips import audio_step, video_step
from penstock.data._images import image_step
from penstock.data._plan import Apply, Decode, PlanError

_Names = str | Sequence[str]


class Decoding(Plan):
    def decode(self, *kinds: str, **fields: str) -> Self:
        """Decodes fields by extension: "cls" an integer, "json", "txt", "npy" an array. Other names
        are given as ``decode(label="cls")``. Nothing of the data is executed.

        >>> import penstock as ps
        >>> raw = ps.from_list([{"cls": b"3", "json": b'{"size": [4, 5]}'}])
        >>> raw.decode("cls", "json")[0]
        {'cls': 3, 'json': {'size': [4, 5]}}
        """
        self._before_batch("decode")
        pairs = _fields.decoded_fields(self._known_fields(), kinds, fields)
        return self._worked(Decode(tuple(pairs)))

    def decode_image(
        self,
        field: _Names | None = None,
        size: tuple[int, int] | None = None,
        crop: Literal["random_resized", "center"] | tuple[int, int, int, int] | None = None,
        flip: float = 0.0,
        resize_short: int | None = None,
        mode: str | Mapping[str, str] = "RGB",
        interpolation: str | Mapping[str, str] = "bilinear",
        exact: bool = False,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        box: str | None = None,
        **options: Any,
    ) -> Self:
        """Decodes images: uint8, height x width x channels.

        Args:
            field: Which one; left out: the one that holds an image by its name. Several share crop
                and flip: the first is the image, the others are masks, that is palette indices or
                grey, resized by nearest neighbour. Two pictures that share them:
                ``decode_image(["left", "right"], mode={"right": "RGB"},
                interpolation={"right": "bilinear"})``.
            size: (height, width) of the result. Without a crop: a plain resize.
            crop: "random_resized" (by `scale` and `ratio`), "center", or a box.
            flip: The probability of being mirrored left to right.
            box: The name of a field for what was cut out: left, top, right, bottom.

        The others, and what else is taken, are those of :func:`penstock.io.decode_image`.

        >>> import numpy as np, penstock as ps
        >>> picture = ps.io.encode_image(np.zeros((60, 80, 3), np.uint8), "jpeg")
        >>> ds = ps.from_list([{"jpg": picture}] * 4)
        >>> crops = ds.decode_image("jpg", size=(32, 32), crop="random_resized", flip=0.5)
        >>> [batch["jpg"].shape for batch in crops.batch(4).loader()]
        [(4, 32, 32, 3)]
        """
        self._before_batch("decode_image")
        names = [field] if isinstance(field, str) else list(field or ())
        if not names:
            names = [_fields.field_of("image", self._known_fields(look=True))]
        options |= {"resize_short": resize_short, "scale": scale, "ratio": ratio}
        return self._worked(
            image_step(names, size, crop, flip, mode, interpolation, exact, box, options)
        )

    def decode_video(
        self,
        field: str | None = None,
        num_frames: int = 8,
        size: tuple[int, int] | None = None,
        crop: Literal["random_resized", "center"] | tuple[int, int, int, int] | None = None,
        flip: float = 0.0,
        *,
        sampling: Literal["uniform", "random", "clip"] = "uniform",
        stride: int = 1,
        mode: str = "RGB",
        indices: str | None = None,
        damaged: str | None = None,
        stream: int | None = None,
        ffmpeg_threads: int = 1,
        keep_index: bool = False,
        **options: Any,
    ) -> Self:
        """Takes frames of videos: uint8, frames x height x width x channels.

        Args:
            field: Holds the bytes of a file, or its name; left out: the one that holds a video by
                its name.
            num_frames: How many. A clip that is too short gives frames several times.
            sampling: "uniform": the middles of equal parts; "random": a random frame of each part;
                "clip": neighbours `stride` frames apart, from a random one on.
            size, crop, flip: As for decode_image; all frames of a clip share them.
            indices: The name of a field for the numbers of the frames.
            damaged: The name of a field for how many of them the decoder knows to be damaged; with
                ``strict=True`` such a sample fails instead.
            keep_index: Keep the index of frames of each file in one beside it, and use it in later
                epochs and runs. It is for fields that hold names: the bytes of a tar's member have
                no place of their own, so nothing is kept of them.

        The others, and what else is taken (``rotate``, ``strict``, ``resize_short``, ...), are
        those of :class:`penstock.io.Video`. With a `size`, batch() gives layout and dtype.

        >>> import penstock as ps
        >>> clips = ps.from_list([{"video": "a.mp4"}, {"video": "b.mp4"}])
        >>> frames = clips.decode_video("video", num_frames=4, size=(112, 112), sampling="random")
        """
        self._before_batch("decode_video")
        name = field or _fields.field_of("video", self._known_fields(look=True))
        return self._worked(
            video_step(
                name,
                num_frames,
                size,
                crop,
                flip,
                sampling,
                stride,
                mode,
                indices,
                damaged,
                stream,
                ffmpeg_threads,
                keep_index,
                options,
            )
        )

    def decode_audio(
        self,
        field: str | None = None,
        start: float | Literal["random"] | None = None,
        duration: float | None = None,
        sample_rate: int | None = None,
        channels: int | Sequence[int] | None = None,
        dtype: SampleType = "float32",
        *,
        layout: Literal["CT", "TC"] = "CT",
        rate: str | None = None,
        damaged: str | None = None,
        exact: bool = True,
        strict: bool = False,
        stream: int | None = None,
    ) -> Self:
        """Decodes audio: channels x samples.

        Args:
            field: Holds the bytes of a file, or its name; left out: the one that holds audio by its
                name.
            start: In seconds; "random": a part of `duration` seconds at a random place, all of one
                length; a sound that is shorter is taken whole (``ops.fix_length`` fills it up).
            rate: The name of a field for the sample rate.
            damaged: The name of a field for how often the decoder noticed damage, or that something
                is missing; with ``strict=True`` such a sample fails instead.

        The others are those of :func:`penstock.io.load_audio`. Sounds of different lengths are
        batched with ``batch(collate={field: "pad"})``, "ragged" or "list".

        >>> import numpy as np, penstock as ps
        >>> tone = ps.io.encode_audio(np.zeros((2, 8000), np.float32), 8000, "wav")
        >>> sounds = ps.from_list([{"wav": tone}]).decode_audio("wav", duration=0.5, channels=1)
        >>> sounds[0]["wav"].shape
        (1, 4000)
        """
        self._before_batch("decode_audio")
        name = field or _fields.field_of("audio", self._known_fields(look=True))
        options = {
            "duration": duration,
            "sample_rate": sample_rate,
            "channels": channels if channels is None or isinstance(channels, int) else (*channels,),
            "dtype": dtype,
            "layout": layout,
            "exact": exact,
            "strict": strict,
            "stream": stream,
        }
        return self._worked(audio_step(name, start, rate, damaged, options))

    def apply(self, field: str, *ops: NativeOp) -> Self:
        """Native ops of :mod:`penstock.ops` on the array of a field, one after the other.

        They run on the loader's threads, without Python. Ops that draw ask the loader's seed, the
        epoch and the sample's position; their own `seed` and `epoch` are for pipelines.

        >>> import numpy as np
        >>> import penstock as ps
        >>> sounds = ps.from_arrays(sound=np.ones((4, 1600), np.float32))
        >>> louder = sounds.apply("sound", ps.ops.fix_length(800), ps.ops.gain(20))
        >>> [batch["sound"].shape for batch in louder.batch(2).loader()]
        [(2, 800), (2, 800)]
        """
        self._before_batch("apply")
        for op in ops:
            if not isinstance(op, NativeOp) or not op.on_rows:
                raise PlanError(f"apply: {op!r} is not an op on arrays; functions go to map()")
        if not ops:
            raise PlanError("apply: say which ops")
        return self._worked(Apply(field, ops))
