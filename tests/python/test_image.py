"""Images: the pixels are Pillow's, whatever is cut out; what is damaged is refused, by name."""

import io as memory
import struct
import subprocess
import sys
import threading
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peaks import Peak
from penstock import io
from pictures import FILTERS, Pixels, photographs
from PIL import Image, ImageOps

pytest.importorskip("skimage")
pytest.importorskip("sklearn")
FILES = Path(__file__).parent.parent / "data" / "images"
NOT_PICTURES = (".py", ".txt", ".md")
ODD_FILES = [path for path in sorted(FILES.glob("*.*")) if path.suffix not in NOT_PICTURES]


PHOTOGRAPHS = {name: Image.fromarray(pixels) for name, pixels in photographs().items()}


def saved(image: Image.Image, format: str, **options: Any) -> bytes:
    file = memory.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def by_pillow(file: bytes, mode: str = "RGB", upright: bool = False) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = Image.open(memory.BytesIO(file))
        return (ImageOps.exif_transpose(image) if upright else image).convert(mode)


def psnr(a: Pixels, b: Pixels) -> float:
    error = float(((a.astype(float) - b) ** 2).mean())
    return 99.0 if error == 0 else 10 * float(np.log10(255 * 255 / error))


KINDS: dict[str, dict[str, Any]] = {
    "4:4:4": {"format": "JPEG", "quality": 92, "subsampling": 0},
    "4:2:2": {"format": "JPEG", "quality": 85, "subsampling": 1},
    "4:2:0": {"format": "JPEG", "quality": 75, "subsampling": 2},
    "progressive": {"format": "JPEG", "quality": 80, "progressive": True},
    "restart": {"format": "JPEG", "quality": 80, "restart_marker_blocks": 3},
    "png": {"format": "PNG"},
    "webp": {"format": "WEBP", "quality": 80},
    "lossless": {"format": "WEBP", "lossless": True, "method": 0},
    "tiff": {"format": "TIFF", "compression": "tiff_lzw"},
    "bmp": {"format": "BMP"},
    "ppm": {"format": "PPM"},
}
ENCODED = {
    (name, kind): saved(photo, **options)
    for name, photo in PHOTOGRAPHS.items()
    for kind, options in KINDS.items()
    if options["format"] == "JPEG" or name in ("chelsea", "coffee")
}
JPEGS = [key for key in ENCODED if KINDS[key[1]]["format"] == "JPEG"]


@pytest.mark.parametrize("key", ENCODED, ids=" ".join)
def test_photographs_decode_to_pillows_pixels(key: tuple[str, str]) -> None:
    file = ENCODED[key]
    for mode in ("RGB", "RGBA", "L"):
        assert (io.decode_image(file, mode=mode) == np.asarray(by_pillow(file, mode))).all()
    assert (io.decode_image(file, mode="BGR") == np.asarray(by_pillow(file))[:, :, ::-1]).all()


@pytest.mark.parametrize("name", PHOTOGRAPHS)
@pytest.mark.parametrize("alpha", [False, True])
def test_lossy_webp_of_any_size_decodes_to_pillows_pixels(name: str, alpha: bool) -> None:
    photo = PHOTOGRAPHS[name].convert("RGB")
    if alpha:
        photo.putalpha(photo.getchannel("G"))
    for width, height in [*((n, n % 5 + 1) for n in range(1, 70)), (301, 200), (300, 201)]:
        file = saved(photo.crop((9, 9, 9 + width, 9 + height)), "WEBP", quality=90, method=0)
        for mode in ("RGB", "RGBA", "L"):
            assert (io.decode_image(file, mode=mode) == np.asarray(by_pillow(file, mode))).all()


@pytest.mark.parametrize("path", ODD_FILES, ids=lambda path: path.name)
def test_every_odd_file_decodes_to_pillows_pixels(path: Path) -> None:
    for mode in ("RGB", "RGBA", "L"):
        expected = np.asarray(by_pillow(path.read_bytes(), mode))
        assert (io.load_image(path, mode=mode) == expected).all()


@st.composite
def cuts(draw: st.DrawFn, keys: list[tuple[str, str]]) -> tuple[Any, ...]:
    key = draw(st.sampled_from(keys))
    width, height = by_pillow(ENCODED[key]).size
    left, top = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    right, bottom = draw(st.integers(left + 1, width)), draw(st.integers(top + 1, height))
    size = draw(st.tuples(st.integers(1, 300), st.integers(1, 300)))
    return (
        key,
        (left, top, right, bottom),
        size,
        draw(st.sampled_from(FILTERS)),
        draw(st.booleans()),
    )


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(cuts(list(ENCODED)))
def test_crop_and_resize_give_pillows_pixels(cut: tuple[Any, ...]) -> None:
    key, box, size, filter, flip = cut
    ours = io.decode_image(ENCODED[key], size, box, interpolation=filter, flip=flip)
    image = by_pillow(ENCODED[key]).crop(box)
    expected = np.asarray(image.resize(size[::-1], Image.Resampling[filter.upper()]))
    assert (ours == (expected[:, ::-1] if flip else expected)).all()
    assert (io.decode_image(ENCODED[key], crop=box) == np.asarray(image)).all()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cuts(JPEGS), st.integers(16, 400), st.integers(16, 400))
def test_resize_then_centre_crop_is_torchvisions(
    cut: tuple[Any, ...], short: int, side: int
) -> None:
    key, _, _, filter, _ = cut
    side = min(side, short)
    image = by_pillow(ENCODED[key])
    w, h = image.size
    resized = (short, int(short * h / w)) if w <= h else (int(short * w / h), short)
    image = image.resize(resized, Image.Resampling[filter.upper()])
    left, top = round((resized[0] - side) / 2), round((resized[1] - side) / 2)
    ours = io.decode_image(
        ENCODED[key], (side, side), "center", resize_short=short, interpolation=filter
    )
    assert (ours == np.asarray(image.crop((left, top, left + side, top + side)))).all()


@pytest.mark.parametrize("factor", [1, 3, 6, 12])
def test_inexact_is_at_least_35_decibels_from_exact_on_average(factor: int) -> None:
    values = []
    for key in JPEGS:
        info = io.image_info(ENCODED[key])
        size = (info.height // factor, info.width // factor)
        exact = io.decode_image(ENCODED[key], size)
        values.append(psnr(exact, io.decode_image(ENCODED[key], size, exact=False)))
    assert np.mean(values) >= 35
    assert min(values) >= 30


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_on_request(orientation: int) -> None:
    file = (FILES / f"orientation{orientation}.jpg").read_bytes()
    assert io.image_info(file).orientation == orientation
    upright = by_pillow(file, upright=True)
    assert (io.decode_image(file, orientation=True) == np.asarray(upright)).all()
    box = (3, 5, 30, 38)
    expected = np.asarray(upright.crop(box).resize((20, 10), Image.Resampling.BICUBIC))
    ours = io.decode_image(file, (10, 20), box, orientation=True, interpolation="bicubic")
    assert (ours == expected).all()
    assert (io.decode_image(file) == np.asarray(by_pillow(file))).all()


def test_masks_keep_their_indices() -> None:
    mask = PHOTOGRAPHS["coffee"].quantize(21)
    file = saved(mask, "PNG")
    assert (io.decode_image(file, mode="P") == np.asarray(mask)).all()
    box = (10, 20, 333, 222)
    expected = np.asarray(mask.crop(box).resize((64, 48), Image.Resampling.NEAREST))
    ours = io.decode_image(file, (48, 64), box, mode="P", interpolation="nearest")
    assert (ours == expected).all()


def test_sixteen_bits_stay_sixteen_bits_when_unchanged() -> None:
    deep = np.arange(12 * 9, dtype=np.uint16).reshape(12, 9) * 601
    ours = io.decode_image(saved(Image.fromarray(deep), "PNG"), mode="unchanged")
    assert ours.dtype == np.uint16
    assert (ours == deep).all()


def test_out_receives_the_pixels_and_must_fit() -> None:
    file = ENCODED["china", "4:2:0"]
    batch = np.zeros((2, 32, 48, 3), np.uint8)
    returned = io.decode_image(file, (32, 48), out=batch[1])
    assert np.shares_memory(returned, batch)
    assert (batch[1] == io.decode_image(file, (32, 48))).all()
    assert not batch[0].any()
    for wrong in (np.zeros((32, 47, 3), np.uint8), np.zeros((32, 48, 3), np.float32)):
        with pytest.raises(ValueError, match="out must be a uint8 array of shape"):
            io.decode_image(file, (32, 48), out=wrong)
    with pytest.raises(ValueError, match="side by side"):
        io.decode_image(file, (32, 48), out=np.zeros((48, 32, 3), np.uint8).transpose(1, 0, 2))


def test_bytes_may_come_in_any_dress() -> None:
    file = ENCODED["flower", "4:2:2"]
    expected = io.decode_image(file)
    for dress in (bytearray(file), memoryview(file), np.frombuffer(file, np.uint8)):
        assert (io.decode_image(dress) == expected).all()


# ---- bad images


def test_damage_is_refused_with_a_reason() -> None:
    file = ENCODED["chelsea", "4:2:0"]
    with pytest.raises(ValueError, match=r"ends|Premature"):
        io.decode_image(file[: len(file) // 2])
    half = io.decode_image(file[: len(file) // 2], strict=False)
    assert (half[:80] == io.decode_image(file)[:80]).all()
    with pytest.raises(ValueError, match="no bytes"):
        io.decode_image(b"")
    with pytest.raises(NotImplementedError, match="not a known image format"):
        io.decode_image(b"just some text")
    with pytest.raises(IndexError, match="max_pixels"):
        io.decode_image(file, max_pixels=1000)
    with pytest.raises(ValueError, match="does not fit"):
        io.decode_image(file, crop=(0, 0, 10_000, 10))
    with pytest.raises(ValueError, match="mode must be one of"):
        io.decode_image(file, mode="CMY")  # type: ignore[arg-type]


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(ENCODED["chelsea", "png"][:1000])
    with pytest.raises(ValueError, match=r"broken\.png"):
        io.load_image(path)
    with pytest.raises(FileNotFoundError):
        io.load_image(tmp_path / "absent.jpg")


def test_a_wrong_suffix_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "really_a_png.jpg"
    path.write_bytes(ENCODED["chelsea", "png"])
    assert (io.load_image(path) == np.asarray(PHOTOGRAPHS["chelsea"])).all()


def patched(file: bytes, at: int, value: bytes) -> bytes:
    return file[:at] + value + file[at + len(value) :]


def resized_header(kind: str, side: int) -> bytes:
    """A small file whose header claims to be side x side."""
    file = ENCODED["chelsea", kind]
    if kind == "png":
        chunk = b"IHDR" + struct.pack(">II", side, side) + file[24:29]
        return patched(file, 12, chunk + struct.pack(">I", zlib.crc32(chunk)))
    if kind == "4:2:0":
        return patched(file, file.index(b"\xff\xc0") + 5, struct.pack(">HH", side, side))
    if kind == "bmp":
        return patched(file, 18, struct.pack("<ii", side, side))
    return b"P6 %d %d 255\n" % (side, side) + file[-100:]


SOF = ENCODED["chelsea", "4:2:0"].index(b"\xff\xc0")
BAD: dict[str, tuple[bytes, type[Exception], str]] = {
    f"{share} of {kind}": (file[: int(len(file) * share)], ValueError, ".")
    for (name, kind), file in ENCODED.items()
    if name == "chelsea"
    for share in (0.3, 0.999)
} | {
    "empty": (b"", ValueError, "no bytes"),
    "one byte": (b"\xff", NotImplementedError, "not a known image format"),
    "text": (b"just some text", NotImplementedError, "begins with 6a 75 73 74"),
    "header only": (ENCODED["chelsea", "png"][:8], ValueError, "."),
    "flipped bits in a PNG": (
        patched(ENCODED["chelsea", "png"], 5000, b"\x55\xaa\x55"),
        ValueError,
        "PNG",
    ),
    "flipped bits in a marker": (
        patched(ENCODED["chelsea", "4:2:0"], SOF + 2, b"\x00\x03"),
        ValueError,
        "JPEG",
    ),
    "absurd jpeg": (resized_header("4:2:0", 65500), IndexError, "65500 x 65500.*max_pixels"),
    "absurd png": (resized_header("png", 2**31 - 1), IndexError, "max_pixels"),
    "absurd bmp": (resized_header("bmp", 2**30), IndexError, "max_pixels"),
    "absurd ppm": (resized_header("ppm", 10**8), IndexError, "max_pixels"),
    "nothing by nothing": (resized_header("png", 0), ValueError, "0 x 0"),
    "12-bit jpeg": (
        patched(ENCODED["chelsea", "4:2:0"], SOF + 4, b"\x0c"),
        NotImplementedError,
        "JPEG",
    ),
    "lossless jpeg": (
        patched(ENCODED["chelsea", "4:2:0"], SOF + 1, b"\xc3"),
        NotImplementedError,
        "JPEG",
    ),
    "an AVIF": (b"\0\0\0 ftypavif" + bytes(64), NotImplementedError, "not a known image format"),
}


@pytest.mark.parametrize("name", BAD)
def test_every_bad_image_gets_its_error_alone_and_in_a_batch(name: str, tmp_path: Path) -> None:
    file, kind, words = BAD[name]
    size: tuple[int, int] | None
    for size in (None, (20, 30)):
        with pytest.raises(kind, match=words) as alone:
            io.decode_image(file, size)
        assert type(alone.value) is kind
    path = tmp_path / "picture.jpg"  # whatever it is
    path.write_bytes(file)
    with pytest.raises(kind, match=r"picture\.jpg"):
        io.load_image(path)
    good = ENCODED["china", "4:2:0"]
    with pytest.raises(kind, match=f"^image 1 of 3: .*{words}") as batch:
        io.decode_image_batch([good, file, good], (20, 30))
    assert type(batch.value) is kind
    failed: list[tuple[int, str]] = []
    kept = io.decode_image_batch([good, file, good], (20, 30), on_error="skip", errors=failed)
    assert (kept == io.decode_image(good, (20, 30))).all()
    assert failed == [(1, str(alone.value))]


def test_nothing_is_allocated_for_an_absurd_size() -> None:
    with Peak() as peak:
        for name, (file, kind, _) in BAD.items():
            if name.startswith("absurd"):
                with pytest.raises(kind):
                    io.decode_image(file)
    assert peak.grown < 50_000_000


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([key for key in ENCODED if key[0] == "chelsea"]),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 7)), min_size=1, max_size=8),
    st.booleans(),
)
def test_flipped_bits_give_pixels_or_a_typed_error(
    key: tuple[str, str], flips: list[tuple[float, int]], strict: bool
) -> None:
    file = bytearray(ENCODED[key])
    for place, bit in flips:
        file[int(place * (len(file) - 1))] ^= 1 << bit
    try:
        pixels = io.decode_image(bytes(file), strict=strict, max_pixels=10**6)
    except (ValueError, NotImplementedError, IndexError):
        return
    assert pixels.dtype == np.uint8


def test_huge_and_broken_exif_does_no_harm() -> None:
    plain = ENCODED["coffee", "4:2:0"]
    expected = io.decode_image(plain)

    def with_segments(*segments: bytes) -> bytes:
        chunks = [b"\xff\xe1" + struct.pack(">H", len(s) + 2) + s for s in segments]
        return plain[:2] + b"".join(chunks) + plain[2:]

    head = b"Exif\0\0MM\0*\0\0\0\x08"
    endless = struct.pack(">H", 5000) + bytes(12 * 5000)
    for segments in (
        [b"Exif\0\0" + bytes(65000)] * 40,  # 2.6 MB before the first pixel
        [head + endless],
        [head[:-4] + b"\xff\xff\xff\xff"],  # points outside
        [head + struct.pack(">HHHIHH", 1, 0x0112, 3, 1, 99, 0)],  # orientation 99
        [b"Exif\0\0"],
        [b""],
    ):
        file = with_segments(*segments)
        assert io.image_info(file).orientation == 1
        assert (io.decode_image(file, orientation=True) == expected).all()


# ---- chance, and several fields


def test_a_random_crop_is_pillows_crop_of_the_drawn_box() -> None:
    for key in [*JPEGS[:4], ("chelsea", "png"), ("coffee", "webp")]:
        file = ENCODED[key]
        seen = set()
        for position in range(12):
            options: dict[str, Any] = {"crop": "random_resized", "flip": 0.5, "seed": 3}
            sample = io.decode_image_fields(
                {"x": file},
                ["x"],
                (40, 50),
                position=position,
                box="box",
                flipped="flip",
                **options,
            )
            box = tuple(int(edge) for edge in sample["box"])
            assert (np.float32(box) == sample["box"]).all()
            image = by_pillow(file).crop(box).resize((50, 40), Image.Resampling.BILINEAR)
            expected = np.asarray(image)[:, ::-1] if sample["flip"] else np.asarray(image)
            assert (sample["x"] == expected).all()
            alone = io.decode_image(file, (40, 50), position=position, **options)
            assert (alone == expected).all()
            seen.add((box, sample["flip"]))
        assert len(seen) == 12
        assert len({flip for _, flip in seen}) == 2


def test_a_batch_draws_for_each_image_by_its_position() -> None:
    file = ENCODED["china", "4:2:0"]
    options: dict[str, Any] = {"crop": "random_resized", "flip": 0.5, "seed": 3, "epoch": 2}
    expected = [io.decode_image(file, (40, 50), position=7 + i, **options) for i in range(9)]
    for threads in (1, 4):
        batch = io.decode_image_batch([file] * 9, (40, 50), position=7, threads=threads, **options)
        assert (batch == expected).all()
    with pytest.raises(ValueError, match="position="):
        io.decode_image_batch([file], (40, 50), **options)
    with pytest.raises(ValueError, match="position="):
        io.decode_image(file, flip=0.5)


def test_batches_in_a_forked_child_and_at_exit() -> None:
    """The threads that help with batches are kept: not by a child, and the end waits for none."""
    code = f"""
import os, penstock.io as io
file = open({str(FILES / "420.jpg")!r}, "rb").read()
here = io.decode_image_batch([file] * 16, (8, 8), threads=4)
child = os.fork()
there = io.decode_image_batch([file] * 16, (8, 8), threads=4)
assert (here == there).all()
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("same")
"""
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "same\n", "")
    assert time.monotonic() - begun < 30


def test_image_and_mask_share_crop_and_flip() -> None:
    image = PHOTOGRAPHS["coffee"]
    mask = image.quantize(21)
    sample = {"jpg": ENCODED["coffee", "4:2:0"], "png": saved(mask, "PNG"), "cls": 7}
    mirrored = set()
    for position in range(20):
        both = io.decode_image_fields(
            sample,
            ["jpg", "png"],
            (48, 64),
            "random_resized",
            exact=False,
            flip=0.5,
            position=position,
            box="box",
            flipped="flip",
        )
        box = tuple(int(edge) for edge in both["box"])
        expected = np.asarray(mask.crop(box).resize((64, 48), Image.Resampling.NEAREST))
        assert (both["png"] == (expected[:, ::-1] if both["flip"] else expected)).all()
        pixels = np.asarray(image.crop(box).resize((64, 48), Image.Resampling.BILINEAR))
        assert psnr(both["jpg"], pixels[:, ::-1] if both["flip"] else pixels) > 25
        mirrored.add(both["flip"])
    assert both["cls"] == 7
    assert mirrored == {True, False}
    assert isinstance(sample["jpg"], bytes)


def test_the_box_of_a_centre_crop_may_lie_between_pixels() -> None:
    sample = {"image": ENCODED["china", "4:2:0"]}  # 640 x 427
    made = io.decode_image_fields(
        sample, ["image"], (224, 224), "center", resize_short=256, box="box", flipped="flip"
    )
    across, down = 640 / 383, 427 / 256
    expected = [80 * across, 16 * down, 304 * across, 240 * down]
    assert made["box"] == pytest.approx(expected, rel=1e-6)
    assert made["flip"] is False
    assert made["image"].shape == (224, 224, 3)


def test_bad_fields_are_named() -> None:
    sample = {"jpg": ENCODED["coffee", "4:2:0"], "small": ENCODED["chelsea", "png"], "bad": b"x"}
    with pytest.raises(
        ValueError, match=r"field small: it is 451 x 300 .* first field is 600 x 400"
    ):
        io.decode_image_fields(sample, ["jpg", "small"], (20, 20), mask_mode="L")
    with pytest.raises(NotImplementedError, match="field bad: not a known"):
        io.decode_image_fields(sample, ["jpg", "bad"], (20, 20))
    with pytest.raises(ValueError, match=r"field jpg: .* no indices"):
        io.decode_image_fields(sample, ["jpg", "jpg"], (20, 20))
    with pytest.raises(KeyError):
        io.decode_image_fields(sample, ["absent"], (20, 20))
    with pytest.raises(ValueError, match="at least one"):
        io.decode_image_fields(sample, [])


# ---- batches


def test_one_bad_image_costs_the_others_nothing() -> None:
    good = [ENCODED["china", "4:2:0"], ENCODED["chelsea", "png"], ENCODED["coffee", "webp"]]
    files = [good[0], b"garbage", good[1], good[0][:5000], good[2]]
    size = (40, 50)
    expected = [io.decode_image(file, size) for file in good]
    with pytest.raises(NotImplementedError, match="image 1 of 5"):
        io.decode_image_batch(files, size)
    failed: list[tuple[int, str]] = []
    kept = io.decode_image_batch(files, size, on_error="skip", errors=failed, threads=3)
    assert (kept == expected).all()
    assert [index for index, _ in failed] == [1, 3]
    replaced = io.decode_image_batch(files, size, on_error="replace")
    assert (replaced[[0, 2, 4]] == expected).all()
    assert not replaced[[1, 3]].any()
    assert io.decode_image_batch([], size).shape == (0, 40, 50, 3)


def test_a_batch_has_its_final_layout_and_type() -> None:
    file = ENCODED["rocket", "4:4:4"]
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    pixels = io.decode_image(file, (32, 32))
    batch = io.decode_image_batch(
        [file, file], (32, 32), layout="NCHW", dtype="float32", mean=mean, std=std
    )
    expected = ((pixels / 255 - mean) / std).transpose(2, 0, 1)
    assert batch.dtype == np.float32
    assert batch.shape == (2, 3, 32, 32)
    assert np.abs(batch - expected).max() < 1e-5


def test_each_image_of_a_batch_may_have_its_own_crop_and_flip() -> None:
    files = [ENCODED["china", "4:2:0"], ENCODED["chelsea", "png"], ENCODED["coffee", "webp"]]
    boxes = [(10, 20, 210, 180), (0, 0, 451, 300), (33, 7, 300, 301)]
    flips = [True, False, True]
    expected = [
        io.decode_image(file, (40, 50), box, flip=flip)
        for file, box, flip in zip(files, boxes, flips, strict=True)
    ]
    assert (io.decode_image_batch(files, (40, 50), boxes, flip=flips) == expected).all()
    as_arrays = io.decode_image_batch(files, (40, 50), np.array(boxes), flip=np.array(flips))
    assert (as_arrays == expected).all()
    wrong: list[dict[str, Any]] = [{"crop": boxes[:2]}, {"flip": flips[:2]}, {"flip": []}]
    for options in wrong:
        with pytest.raises(ValueError, match="there are 3 images"):
            io.decode_image_batch(files, (40, 50), **options)


def test_a_batch_can_be_written_into_a_given_array() -> None:
    files = [ENCODED["china", "4:2:0"], ENCODED["chelsea", "png"]]
    room = np.full((4, 3, 20, 30), -1, np.float32)
    options: dict[str, Any] = {"layout": "NCHW", "dtype": "float32"}
    assert io.decode_image_batch(files, (20, 30), out=room[1:3], **options).base is room
    assert (room[1:3] == io.decode_image_batch(files, (20, 30), **options)).all()
    assert (room[[0, 3]] == -1).all()
    for wrong in (room, room[1:3].astype(np.float16), room[1:3, :, :, :29]):
        with pytest.raises((ValueError, BufferError)):
            io.decode_image_batch(files, (20, 30), out=wrong, **options)
    with pytest.raises(ValueError, match="contiguous float32 array of shape"):
        io.decode_image_batch(files, (20, 30), out=room, **options)
    with pytest.raises(ValueError, match="skip"):
        io.decode_image_batch(files, (20, 30), out=room[1:3], on_error="skip", **options)


def test_threads_do_not_disturb_each_other() -> None:
    expected = {key: io.decode_image(file, (50, 60)) for key, file in ENCODED.items()}
    wrong: list[tuple[str, str]] = []

    def work() -> None:
        wrong.extend(
            key
            for key, file in ENCODED.items()
            if (io.decode_image(file, (50, 60)) != expected[key]).any()
        )

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- encoding


@pytest.mark.parametrize("format", ["png", "webp"])
def test_lossless_files_come_back_in_pillow_and_here(format: Any) -> None:
    rgb = np.asarray(PHOTOGRAPHS["chelsea"])
    rgba = np.dstack([rgb, rgb[:, :, 0]])
    for pixels in (rgb, rgba, rgb[:, :, 1], rgb[::2, ::3]):
        file = io.encode_image(pixels, format, lossless=True)
        mode: Any = "L" if pixels.ndim == 2 else "RGBA" if pixels.shape[2] == 4 else "RGB"
        assert (np.asarray(by_pillow(file, mode)) == pixels).all()
        assert (io.decode_image(file, mode=mode) == pixels).all()


def test_jpeg_quality_and_subsampling_are_obeyed() -> None:
    pixels = np.asarray(PHOTOGRAPHS["coffee"])
    low, high = (io.encode_image(pixels, "jpeg", quality) for quality in (30, 95))
    assert len(low) < len(high)
    assert psnr(pixels, io.decode_image(low)) < psnr(pixels, io.decode_image(high))
    full = io.encode_image(pixels, "jpeg", 95, subsampling="4:4:4")
    assert len(full) > len(high)
    assert Image.open(memory.BytesIO(io.encode_image(pixels, progressive=True))).info["progressive"]
    with pytest.raises(ValueError, match="uint8"):
        io.encode_image(pixels.astype(np.float32))
    with pytest.raises(ValueError, match="JPEG holds"):
        io.encode_image(np.dstack([pixels, pixels[:, :, 0]]), "jpeg")
