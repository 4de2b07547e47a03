"""Decode and load functions, usable alone: thread-safe, and without the GIL while they work.

>>> from penstock import io
>>> pixels = io.load_image("photo.jpg", size=(224, 224))  # doctest: +SKIP
>>> pixels.shape  # doctest: +SKIP
(224, 224, 3)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from penstock import _core
from penstock._array_info import array_info
from penstock._audio import AudioInfo, Samples, audio_info, encode_audio, load_audio, save_audio
from penstock._image_request import (
    MAX_PIXELS,
    Box,
    Crop,
    ImageOptions,
    Interpolation,
    Mode,
    as_box,
    as_position,
    make_request,
)
from penstock._npy import load_npy, load_npz
from penstock._tfrecord import (
    TFRecords,
    TFRecordWriter,
    encode_example,
    iter_tfrecord,
    parse_example,
)
from penstock._video import Frames, Video, VideoInfo, load_video, sample_video, video_info
from penstock._whole import as_whole

__all__ = [
    "AudioInfo",
    "Frames",
    "ImageInfo",
    "Samples",
    "TFRecordWriter",
    "TFRecords",
    "Video",
    "VideoInfo",
    "array_info",
    "audio_info",
    "decode_image",
    "decode_image_batch",
    "decode_image_fields",
    "encode_audio",
    "encode_example",
    "encode_image",
    "image_info",
    "iter_tar",
    "iter_tfrecord",
    "load_audio",
    "load_image",
    "load_npy",
    "load_npz",
    "load_video",
    "parse_example",
    "read_range",
    "sample_video",
    "save_audio",
    "video_info",
]

BytesLike: TypeAlias = Any  # bytes, bytearray, memoryview, a uint8 array, a raw field of a sample
Array = TypeVar("Array")


class ImageInfo(NamedTuple):
    """What an image's header says."""

    format: str
    """"jpeg", "png", "webp", "tiff", "bmp", "gif" or "pnm"."""
    width: int
    """As stored, before orientation."""
    height: int
    channels: int
    """Of mode "unchanged"."""
    bits: int
    """Bits per sample in the file: 1, 2, 4, 8 or 16."""
    orientation: int
    """EXIF's 1 to 8; 1 where there is none."""


def image_info(data: BytesLike) -> ImageInfo:
    """Reads an image's header; nothing of the picture is decoded.

    >>> image_info(encode_image(np.zeros((2, 3, 3), np.uint8), "png"))
    ImageInfo(format='png', width=3, height=2, channels=3, bits=8, orientation=1)
    """
    return ImageInfo(**_core.image_info(data))


def decode_image(
    data: BytesLike,
    size: tuple[int, int] | None = None,
    crop: Crop | None = None,
    mode: Mode = "RGB",
    exact: bool = True,
    *,
    resize_short: int | None = None,
    interpolation: Interpolation = "bilinear",
    flip: float = False,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    seed: int = 0,
    epoch: int = 0,
    position: int | None = None,
    orientation: bool = False,
    strict: bool = True,
    min_left: float = 1.5,
    max_pixels: int = MAX_PIXELS,
    out: Array | None = None,
) -> NDArray[Any] | Array:
    """Decodes an image of any known format; the format is found from the bytes.

    The pixels are those of Pillow's `Image.open(...).convert(mode)`, then `crop` and `resize`,
    bit for bit. A JPEG is decoded only where the crop is.

    Args:
        data: The file's bytes: `bytes`, `memoryview`, a uint8 array, ...
        size: (height, width) of the result. Without `crop="center"`: the crop is resized to it.
        crop: A box (left, top, right, bottom) in pixels, cut out first; "random_resized": a box of
            random area and shape; or "center": `size` is cut out of the middle at the end.
        mode: "RGB", "RGBA", "L" (grey), "BGR", "P" (palette indices, for masks) or "unchanged"
            (the file's own channels; 16 bits stay 16 bits).
        exact: False lets a JPEG be decoded at 1/2, 1/4 or 1/8 where at least `min_left` times the
            resolution of the result remains, and be resized before colours are made: faster,
            nearly the same.
        resize_short: Resize so that the short side has this length.
        interpolation: Pillow's filters by name.
        flip: Mirror left to right: True, False, or a probability.
        scale: The random box's share of the area, from and to.
        ratio: The random box's width / height, from and to.
        seed, epoch, position: What chance depends on, and all it depends on: `position` is where
            the image stands among all. The same three give the same crop and flip, on any thread
            and machine.
        orientation: Turn upright by EXIF; boxes then refer to the upright picture.
        strict: Refuse files that a decoder would only warn about, such as a JPEG that ends early.
        min_left: See `exact`.
        max_pixels: Refuse larger images before anything is allocated.
        out: A uint8 array of the result's shape to write into; it is also returned.

    Returns:
        A uint8 array, (height, width, channels), or (height, width) for one channel; uint16 for
        16-bit files in mode "unchanged".

    Raises:
        ValueError: The data is damaged, or an argument cannot work.
        NotImplementedError: Not an image format, or a variant, that we can read.
        IndexError: The image is larger than `max_pixels`.

    >>> picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    >>> decode_image(encode_image(picture, "png"), crop=(1, 0, 3, 4)).shape
    (4, 2, 3)
    >>> file = encode_image(picture, "png")
    >>> random = {"size": (2, 2), "crop": "random_resized", "flip": 0.5, "seed": 7}
    >>> once, again = (decode_image(file, **random, position=5) for _ in range(2))
    >>> (once == again).all()
    np.True_
    """
    request = make_request(
        mode,
        size,
        crop,
        exact,
        flip,
        resize_short=resize_short,
        interpolation=interpolation,
        scale=scale,
        ratio=ratio,
        seed=seed,
        epoch=epoch,
        orientation=orientation,
        strict=strict,
        min_left=min_left,
        max_pixels=max_pixels,
    )
    result: NDArray[Any] = _core.decode_image(data, request, as_position(position), out)
    return result


def load_image(path: str | os.PathLike[str], *args: Any, **options: Any) -> NDArray[Any]:
    """Reads an image from a file or a URL and decodes it; without the GIL while it comes.

    Further arguments are those of `decode_image`. An error names the file.

    >>> load_image("photo.jpg", crop="center", resize_short=256, size=(224, 224))  # doctest: +SKIP
    """
    name = os.fspath(path)
    if isinstance(name, str) and "://" in name:
        source = _core.ByteSource(name)
        data = source.read(0, source.size)
    else:
        with open(path, "rb") as file:
            data = file.read()
    try:
        result: NDArray[Any] = decode_image(data, *args, **options)
    except (ValueError, NotImplementedError, IndexError) as error:
        raise type(error)(f"{error} (file {os.fspath(path)})") from None
    return result


def decode_image_batch(
    data: Sequence[BytesLike],
    size: tuple[int, int],
    crop: Crop | Sequence[Box] | NDArray[Any] | None = None,
    mode: Mode = "RGB",
    exact: bool = True,
    *,
    on_error: Literal["raise", "skip", "replace"] = "raise",
    errors: list[tuple[int, str]] | None = None,
    layout: Literal["NHWC", "NCHW"] = "NHWC",
    dtype: Literal["uint8", "float32", "float16"] = "uint8",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    threads: int | None = None,
    flip: float | Sequence[float] | NDArray[Any] = False,
    position: int | None = None,
    out: NDArray[Any] | None = None,
    **options: Unpack[ImageOptions],
) -> NDArray[Any]:
    """Decodes many images, on several threads that end with the call, into one array.

    One bad image costs the others nothing. What became of it is up to `on_error`: "raise" raises
    what `decode_image` would, for the first of them and with its number; "skip" leaves it out;
    "replace" leaves its slot black (zeros). `errors`, if given, receives (index, reason) for each.

    Args:
        data: The files' bytes.
        size: (height, width) of each slot.
        crop: One for all images, or a list of boxes, one per image.
        flip: One for all images, or a list, one per image.
        position: Of the first image; the others follow.
        layout: "NHWC" or "NCHW"; always four dimensions.
        dtype: Of the result. Floating point values are 0 to 255, or normalised if `mean` and `std`
            are given: (x / 255 - mean) / std.
        threads: How many work; None: one per core.
        out: A contiguous array of the result's shape and type to write into; it is also returned.
            It does not go with on_error="skip".

    The other arguments are those of `decode_image`.

    >>> file = encode_image(np.zeros((4, 6, 3), np.uint8), "png")
    >>> decode_image_batch([file, file], size=(2, 2)).shape
    (2, 2, 2, 3)
    >>> failed = []
    >>> decode_image_batch([file, b""], (2, 2), on_error="skip", errors=failed).shape
    (1, 2, 2, 3)
    >>> failed
    [(1, 'corrupt: the image has no bytes')]
    """
    if on_error not in ("raise", "skip", "replace"):
        raise ValueError(f"on_error must be raise, skip or replace, not {on_error}")
    if (mean is None) != (std is None):
        raise ValueError("mean and std go together")
    if on_error == "skip" and out is not None:
        raise ValueError('on_error="skip" makes a smaller array, so it cannot go with out')
    if size is None:
        raise ValueError("a batch needs size=(height, width): all its images have one")
    files = list(data)
    boxes = None if _is_one_crop(crop) else [as_box(each) for each in _per_image(crop, len(files))]
    flips = None
    if isinstance(flip, (Sequence, np.ndarray)):
        flips, flip = [float(each) for each in _per_image(flip, len(files))], False
    one_crop = crop if boxes is None else None
    request = make_request(mode, size, one_crop, exact, flip, **options)
    slots, outcomes = _core.decode_image_batch(
        files,
        request,
        boxes,
        flips,
        as_position(position),
        layout,
        dtype,
        [] if mean is None else list(mean),
        [] if std is None else list(std),
        as_whole(threads or os.cpu_count() or 1, "threads"),
        out,
    )
    failed = [(i, error) for i, error in enumerate(outcomes) if error is not None]
    if errors is not None:
        errors.extend((i, str(error)) for i, error in failed)
    if failed and on_error == "raise":
        index, error = failed[0]
        raise type(error)(f"image {index} of {len(outcomes)}: {error}")
    batch: NDArray[Any] = np.asarray(slots)
    if failed and on_error == "skip":
        return np.delete(batch, [index for index, _ in failed], axis=0)
    return batch


def decode_image_fields(
    sample: Mapping[str, Any],
    fields: Sequence[str],
    size: tuple[int, int] | None = None,
    crop: Crop | None = None,
    mode: Mode = "RGB",
    exact: bool = True,
    *,
    mask_mode: Mode = "P",
    box: str | None = None,
    flipped: str | None = None,
    flip: float = False,
    position: int | None = None,
    **options: Unpack[ImageOptions],
) -> dict[str, Any]:
    """Decodes an image and its masks with one crop and one flip.

    Args:
        sample: A dict that holds files' bytes, and whatever else.
        fields: Which of its fields to decode. The first is the image; the others are masks, which
            are resized by nearest neighbour. All must have the same size.
        mask_mode: The mode of the masks.
        box: The name of a field to add: (left, top, right, bottom) of what the result shows, in
            pixels of the image.
        flipped: The name of a field to add: whether the result is mirrored.

    The other arguments are those of `decode_image`.

    Returns:
        The sample with arrays in place of the files.

    >>> image, mask = np.zeros((40, 60, 3), np.uint8), np.ones((40, 60), np.uint8)
    >>> sample = {"jpg": encode_image(image), "png": encode_image(mask, "png"), "cls": 3}
    >>> random = {"crop": "random_resized", "flip": 0.5, "position": 0}
    >>> both = decode_image_fields(sample, ["jpg", "png"], (8, 8), **random, box="crop")
    >>> both["jpg"].shape, both["png"].shape, both["crop"].shape, both["cls"]
    ((8, 8, 3), (8, 8), (4,), 3)
    """
    request = make_request(mode, size, crop, exact, flip, **options)
    names = list(fields)
    if not names:
        raise ValueError("fields must name at least one field")
    files = [sample[name] for name in names]
    where = as_position(position)
    arrays, shown = _core.decode_image_fields(names, files, request, mask_mode, where)
    result = {
        **sample,
        **{name: np.asarray(array) for name, array in zip(names, arrays, strict=True)},
    }
    if box is not None:
        result[box] = np.array(shown[:4], np.float32)
    if flipped is not None:
        result[flipped] = shown[4]
    return result


def iter_tar(
    src: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | BytesLike,
    *,
    fields: Sequence[str] = (),
    max_member: int = 1 << 30,
    on_error: Literal["raise", "skip"] = "raise",
    errors: list[str] | None = None,
) -> _core.TarIterator:
    """Samples of tars, from front to back, as WebDataset groups them; no index is needed.

    Neighbours whose names are the same up to the first dot are a sample: a dict with "__key__" (a
    str) and a field per extension (bytes). Reading goes on without the GIL. One bad sample costs no
    other: after an exception the iterator goes on with the next one. Its method `findings()` tells
    what was passed over so far, as a dict of counts.

    Args:
        src: A path, a pattern such as "train-{000..146}.tar" or "train-*.tar", a list of these, or
            the bytes of a tar. gzip and zstd are unpacked on the way.
        fields: Give these only; empty: all.
        max_member: Larger members make their sample an error.
        on_error: "raise" raises for a bad sample, "skip" passes over it.
        errors: Receives the reason for each one that was skipped.

    Raises:
        ValueError: A sample is damaged, or was cut off.
        IndexError: A member is larger than `max_member`.
        OSError: A file cannot be read.

    >>> import io, tarfile
    >>> file = io.BytesIO()
    >>> with tarfile.open(fileobj=file, mode="w") as tar:
    ...     for name, data in [("7.txt", b"seven"), ("7.cls", b"3"), ("8.txt", b"eight")]:
    ...         member = tarfile.TarInfo(name)
    ...         member.size = len(data)
    ...         tar.addfile(member, io.BytesIO(data))
    >>> for sample in iter_tar(file.getvalue()):
    ...     print(sample)
    {'__key__': '7', 'txt': b'seven', 'cls': b'3'}
    {'__key__': '8', 'txt': b'eight'}
    """
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error must be raise or skip, not {on_error}")
    skipped = None
    if on_error == "skip":
        skipped = [] if errors is None else errors
    source: Any = src
    if isinstance(src, str | os.PathLike):
        source = [os.fspath(src)]
    elif isinstance(src, list | tuple):
        source = [os.fspath(path) for path in src]
    return _core.iter_tar(source, list(fields), max_member, skipped)


def read_range(url: str | os.PathLike[str], offset: int, size: int) -> bytes:
    """Bytes of a file or of a URL (http, https), without the GIL while they come.

    From a server by a range request: connections are used again, what fails in passing is tried
    again, and a file that changes meanwhile is an error.

    Raises:
        IndexError: The range goes beyond the end.
        OSError: It cannot be read.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"0123456789")
    ...     file.flush()
    ...     print(read_range(file.name, 3, 4))
    b'3456'
    """
    return _core.read_range(os.fspath(url), as_whole(offset, "offset"), as_whole(size, "size"))


def encode_image(
    array: Any,
    format: Literal["jpeg", "png", "webp"] = "jpeg",
    quality: int = 75,
    *,
    subsampling: Literal["4:4:4", "4:2:2", "4:2:0"] = "4:2:0",
    progressive: bool = False,
    level: int = 6,
    lossless: bool = False,
) -> bytes:
    """Writes an image file.

    Args:
        array: uint8, (height, width) or (height, width, channels): grey, RGB or, not for JPEG,
            RGBA; for PNG also grey with alpha.
        format: "jpeg", "png" or "webp".
        quality: 1 to 100, for JPEG and WebP.
        subsampling: Of a JPEG's colours.
        progressive: A progressive JPEG.
        level: 0 (stored) to 12 (slowest), for PNG.
        lossless: A lossless WebP.

    >>> encode_image(np.zeros((2, 3), np.uint8), "png")[:4]
    b'\\x89PNG'
    """
    pixels = np.ascontiguousarray(array)
    quality, level = as_whole(quality, "quality"), as_whole(level, "level")
    return _core.encode_image(pixels, format, quality, subsampling, progressive, level, lossless)


def _is_one_crop(crop: Any) -> bool:
    return crop is None or isinstance(crop, str) or np.ndim(crop) == 1


def _per_image(values: Any, count: int) -> Sequence[Any]:
    if len(values) != count:
        raise ValueError(f"there are {count} images, but {len(values)} crops or flips")
    return list(values)
