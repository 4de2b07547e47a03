"""What a thread has decoded before shows in no picture: neither tables nor memory are handed on."""

import io as memory
import struct
import zlib

import numpy as np
import pytest
from penstock import io
from pictures import Pixels, photographs
from PIL import Image

PHOTO = photographs()["coffee"]
DHT, DQT = 0xC4, 0xDB


def without(file: bytes, marker: int) -> bytes:
    """A JPEG without the segments of a kind."""
    kept, at = file[:2], 2
    while file[at + 1] != 0xDA:
        end = at + 2 + struct.unpack(">H", file[at + 2 : at + 4])[0]
        if file[at + 1] != marker:
            kept += file[at:end]
        at = end
    return kept + file[at:]


def jpeg(optimize: bool) -> bytes:
    file = memory.BytesIO()
    Image.fromarray(PHOTO).save(file, "JPEG", quality=80, optimize=optimize)
    return file.getvalue()


@pytest.mark.parametrize("exact", [True, False])
def test_a_jpeg_without_huffman_tables_has_the_standard_ones_whatever_came_before(
    exact: bool,
) -> None:
    frame = without(jpeg(optimize=False), DHT)  # as in Motion JPEG
    expected = np.asarray(Image.open(memory.BytesIO(frame)))
    sizes = io.decode_image(jpeg(optimize=False), (60, 90), exact=exact)
    for _ in range(2):
        io.decode_image(jpeg(optimize=True))
        assert (io.decode_image(frame) == expected).all()
        io.decode_image(jpeg(optimize=True), (20, 20), exact=exact)
        assert (io.decode_image(frame, (60, 90), exact=exact) == sizes).all()


def test_a_jpeg_without_quantisation_tables_is_refused_whatever_came_before() -> None:
    bare = without(jpeg(optimize=False), DQT)
    for size in (None, (20, 20)):
        for exact in (True, False):
            io.decode_image(jpeg(optimize=False))
            with pytest.raises(ValueError, match="Quantization table 0x00 was not defined"):
                io.decode_image(bare, size, exact=exact)


def tiff(strips: list[bytes], rows: int, shape: tuple[int, int]) -> bytes:
    """Grey, deflated; the strips may have any length."""
    packed = [zlib.compress(strip, 9) for strip in strips]
    offsets = [8 + sum(map(len, packed[:i])) for i in range(len(packed))]
    height, width = shape
    tags = [
        (256, [width]),
        (257, [height]),
        (258, [8]),
        (259, [8]),
        (262, [1]),
        (273, offsets),
        (277, [1]),
        (278, [rows]),
        (279, [len(strip) for strip in packed]),
    ]
    body = b"".join(packed)
    after = 8 + len(body) + 2 + 12 * len(tags) + 4
    directory, extra = struct.pack("<H", len(tags)), b""
    for tag, values in tags:
        data = struct.pack(f"<{len(values)}I", *values)
        if len(values) > 1:
            data, extra = struct.pack("<I", after + len(extra)), extra + data
        directory += struct.pack("<HHI", tag, 4, len(values)) + data
    head = struct.pack("<2sHI", b"II", 42, 8 + len(body))
    return head + body + directory + bytes(4) + extra


def bars(height: int, width: int) -> Pixels:
    """Long matches for the compressor."""
    return (np.add.outer(np.arange(height) // 7, np.arange(width) // 40) % 3 * 40 + 40).astype("u1")


def test_a_tiffs_last_strip_may_go_on_below_the_picture() -> None:
    for width in range(300, 400, 7):
        for height, rows in ((50, 32), (50, 64)):
            picture = bars(height, width)
            padded = np.vstack([picture, picture[:14]])
            strips = [padded[top : top + rows].tobytes() for top in range(0, height, rows)]
            file = tiff(strips, rows, picture.shape)
            assert (np.asarray(Image.open(memory.BytesIO(file))) == picture).all()
            assert (io.decode_image(file, mode="L") == picture).all()


@pytest.mark.parametrize("width", range(300, 400, 14))
def test_what_a_damaged_strip_leaves_out_is_not_what_was_there_before(width: int) -> None:
    picture = bars(64, width)
    long = np.vstack([picture[:32], picture[31:32], picture[31:32]]).tobytes()
    damaged = tiff([long, picture[32:].tobytes()], 32, picture.shape)
    results = []
    for value in (0, 99, 255):
        other = np.full((64, width), value, np.uint8)
        whole = tiff([other[:32].tobytes(), other[32:].tobytes()], 32, other.shape)
        assert (io.decode_image(whole, mode="L") == value).all()
        results.append(io.decode_image(damaged, mode="L").tobytes())
    assert len(set(results)) == 1


def test_a_tiff_whose_palette_is_cut_off_is_refused() -> None:
    file = memory.BytesIO()
    Image.fromarray(PHOTO).quantize(64).save(file, "TIFF", compression="tiff_deflate")
    whole = file.getvalue()
    at = struct.unpack("<I", whole[4:8])[0]
    assert at + 300 < len(whole)  # the palette comes last
    for end in (len(whole) - 1, len(whole) - 700):
        for mode in ("RGB", "P"):
            with pytest.raises(ValueError, match="ColorMap"):
                io.decode_image(whole[:end], mode=mode)  # type: ignore[arg-type]
