"""Pictures that hardly anybody writes: Pillow's pixels, or a refusal that costs little."""

import io as memory
import shutil
import struct
import subprocess
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import penstock as ps
import pytest
from peaks import Peak
from penstock import io
from pictures import photographs
from PIL import Image

RGBA = np.random.default_rng(4).integers(0, 256, (1, 20_000, 4), np.uint8)


def by_pillow(file: bytes, mode: str) -> Image.Image:
    return Image.open(memory.BytesIO(file)).convert(mode)


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(rows: bytes, width: int, height: int, colour: int, before: bytes, after: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(rows))
    return b"\x89PNG\r\n\x1a\n" + header + before + data + after + chunk(b"IEND", b"")


SHORT, LONG = 3, 4


def tiff(
    width: int,
    height: int,
    bits: int,
    samples: int,
    photometric: int,
    data: bytes,
    compression: int = 1,
    *more: tuple[int, Sequence[int]],
) -> bytes:
    tags: list[tuple[int, int, Sequence[int]]] = [
        (256, LONG, [width]),
        (257, LONG, [height]),
        (258, SHORT, [bits] * samples),
        (259, SHORT, [compression]),
        (262, SHORT, [photometric]),
        (273, LONG, [8]),  # the strip is behind the header
        (277, SHORT, [samples]),
        (278, LONG, [height]),
        (279, LONG, [len(data)]),
        *((tag, SHORT, values) for tag, values in more),
    ]
    data += b"\0" * (len(data) % 2)
    at = 8 + len(data)
    entries, values_behind = b"", b""
    behind = at + 2 + 12 * len(tags) + 4
    for tag, kind, values in sorted(tags):
        form = "<" + ("H" if kind == SHORT else "I") * len(values)
        value = struct.pack(form, *values)
        if len(value) > 4:
            place = struct.pack("<I", behind + len(values_behind))
            values_behind += value
            value = place
        entries += struct.pack("<HHI", tag, kind, len(values)) + value.ljust(4, b"\0")
    directory = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    return b"II*\0" + struct.pack("<I", at) + data + directory + values_behind


def test_a_long_strip_with_alpha_costs_only_what_is_kept_of_it() -> None:
    file = io.encode_image(RGBA, "png")
    with Peak() as peak:
        got = io.decode_image(file, (224, 224), "center", mode="RGBA", resize_short=256)
    assert peak.grown < 64 << 20  # the whole would be 5 GB
    assert got.shape == (224, 224, 4)


@pytest.mark.parametrize("mirror", [False, True])
def test_alpha_is_resized_as_pillow_does_it_whatever_is_kept(mirror: bool) -> None:
    picture = np.random.default_rng(1).integers(0, 256, (41, 60, 4), np.uint8)
    picture[5:20, 5:20, 3] = 0
    file = io.encode_image(picture, "png")
    whole = np.asarray(Image.fromarray(picture).resize((93, 64), Image.Resampling.BILINEAR))
    expected = whole[17:47, 32:62, :]
    if mirror:
        expected = expected[:, ::-1]
    got = io.decode_image(
        file, (30, 30), "center", mode="RGBA", resize_short=64, flip=float(mirror), position=0
    )
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("compression", [1, 5, 8, 32773, 32946, 50000, 34925])
def test_a_small_tiff_cannot_claim_gigabytes(compression: int) -> None:
    file = tiff(13_000, 13_000, 16, 8, 2, bytes(16), compression, (338, [0] * 5))
    with Peak() as peak, pytest.raises((ValueError, NotImplementedError), match="TIFF"):
        io.decode_image(file)
    assert peak.grown < 64 << 20


def test_tiff_samples_with_a_sign_are_refused() -> None:
    samples = np.arange(-15, 15, dtype=np.int16)
    with pytest.raises(NotImplementedError, match="samples with a sign"):
        io.decode_image(tiff(6, 5, 16, 1, 1, samples.tobytes(), 1, (339, [2])))


def test_tiff_colours_multiplied_by_16_bits_of_alpha() -> None:
    pixels = np.random.default_rng(2).integers(0, 65536, (7, 9, 4)).astype(np.uint16)
    pixels[0, 0, 3] = 0
    pixels[..., :3] = np.minimum(pixels[..., :3], pixels[..., 3:])
    file = tiff(9, 7, 16, 4, 2, pixels.tobytes(), 1, (338, [1]))
    for mode in ("RGB", "RGBA", "L"):
        assert np.array_equal(io.decode_image(file, mode=mode), by_pillow(file, mode)), mode
    divided = io.decode_image(file, mode="unchanged")
    alpha = np.maximum(pixels[..., 3:].astype(np.uint64), 1)
    assert np.array_equal(divided[..., :3], pixels[..., :3] * np.uint64(65535) // alpha)
    assert np.array_equal(divided[..., 3], pixels[..., 3])


def test_png_orientation_behind_the_picture() -> None:
    exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    file = png(bytes((1 + 4 * 3) * 5), 4, 5, 2, b"", chunk(b"eXIf", exif))
    assert io.image_info(file).orientation == 6
    assert io.decode_image(file, orientation=True).shape == (4, 5, 3)


def indexed_bmp(colours: bytes) -> bytes:
    palette = b"".join(colours[i : i + 3][::-1] + b"\0" for i in range(0, len(colours), 3))
    pixels = bytes([0, 3, 9, 207] * 4)
    at = 54 + len(palette)
    core = struct.pack("<IiiHHIIiiII", 40, 4, 4, 1, 8, 0, len(pixels), 0, 0, len(colours) // 3, 0)
    return b"BM" + struct.pack("<IHHI", at + len(pixels), 0, 0, at) + core + palette + pixels


def test_indices_without_a_colour_are_black() -> None:
    colours = bytes(range(40, 70))
    rows = bytes([0, 0, 3, 9, 207]) * 4
    files = [png(rows, 4, 4, 3, chunk(b"PLTE", colours), b""), indexed_bmp(colours)]
    for file in files:
        for mode in ("RGB", "RGBA", "L"):
            assert np.array_equal(io.decode_image(file, mode=mode), by_pillow(file, mode)), mode
        assert not io.decode_image(file)[:, 3].any()


@pytest.mark.parametrize("sampling", ["2x4", "4x2", "1x4", "4x1", "1x2", "2x2"])
@pytest.mark.parametrize("kind", ["-progressive", "-arithmetic"])
def test_quick_crops_of_oddly_sampled_jpegs(sampling: str, kind: str) -> None:
    if shutil.which("cjpeg") is None:
        pytest.skip("cjpeg is not installed (libjpeg-turbo-progs)")
    picture = np.ascontiguousarray(photographs()["china"][:389, :337])
    file = subprocess.run(
        ["cjpeg", "-quality", "90", "-sample", sampling, kind],
        input=b"P6 337 389 255\n" + picture.tobytes(),
        capture_output=True,
        check=True,
    ).stdout
    for top in (0, 1, 5, 8, 16, 33):
        box = (120, top, 241, top + 204)
        exact = io.decode_image(file, (63, 30), box)
        quick = io.decode_image(file, (63, 30), box, exact=False)
        error = float(((exact.astype(float) - quick) ** 2).mean())
        assert 10 * np.log10(255 * 255 / error) > 33, top


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"position": -1}, "position is -1; give 0 to"),
        ({"seed": 2**64}, "seed is 18446744073709551616; give 0 to"),
        ({"max_pixels": 2**70}, "max_pixels is"),
        ({"crop": (-(2**63), 0, 2**63 - 1, 5)}, "crop is -9223372036854775808"),
        ({"min_left": 0.5}, "min_left must be at least 1"),
        ({"size": (0, 4)}, "size is 0; give 1 to"),
    ],
)
def test_numbers_that_cannot_be_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    file = io.encode_image(RGBA[:, :8], "png")
    with pytest.raises(ValueError, match=words):
        io.decode_image(file, **options)
    with pytest.raises(TypeError, match="strict is 'no'; give True or False"):
        io.decode_image(file, strict="no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a batch needs size"):
        io.decode_image_batch([file], None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bytes"):
        io.decode_image(None)  # type: ignore[arg-type]


def test_masks_in_datasets_keep_their_numbers() -> None:
    numbers = np.zeros((100, 100), np.uint8)
    numbers[:, 50:] = 200
    image = io.encode_image(np.zeros((100, 100, 3), np.uint8))
    ds = ps.from_list([{"image": image, "mask": io.encode_image(numbers, "png")}])
    (batch,) = ds.decode_image(["image", "mask"], size=(33, 33)).batch(1).loader()
    assert batch["image"].shape == (1, 33, 33, 3)
    assert batch["mask"].shape == (1, 33, 33, 1)
    assert set(np.unique(batch["mask"])) == {0, 200}
    mixed = ds.decode_image(
        ["image", "mask"], (33, 33), mode={"mask": "L"}, interpolation={"mask": "bilinear"}
    )
    assert len(np.unique(mixed[0]["mask"])) > 2
    with pytest.raises(ValueError, match="no field 'msk' among image, mask"):
        ds.decode_image(["image", "mask"], (33, 33), mode={"msk": "L"})
