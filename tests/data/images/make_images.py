"""Makes the pictures in this folder and what Pillow reads from them (expected.txt).

Needs Pillow, NumPy, scikit-image and libjpeg-turbo's cjpeg. Run it in this folder. The results are
committed; run it again only to add a file.

Lines of expected.txt, hashes are FNV-1a (64 bits) over the pixels:
    decode FILE MODE HEIGHT WIDTH CHANNELS HASH
    crop FILE MODE X Y WIDTH HEIGHT OUT_WIDTH OUT_HEIGHT FILTER HASH
"""

import io
import random
import struct
import subprocess
import sys
import warnings
import zlib

import numpy as np
from PIL import Image
from skimage import data

warnings.simplefilter("ignore")
files = {}
cat = Image.fromarray(data.chelsea())
small = cat.resize((61, 43), Image.Resampling.LANCZOS)
alpha = small.copy()
alpha.putalpha(small.convert("L"))


def save(image, format, **options):
    memory = io.BytesIO()
    image.save(memory, format, **options)
    return memory.getvalue()


def cjpeg(image, *options):
    command = ["cjpeg", *options]
    return subprocess.run(command, input=save(image, "PPM"), capture_output=True, check=True).stdout


def png(rows, width, height, depth, colour, interlaced=0, palette=None, transparent=None):
    def chunk(name, body):
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    packed = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    out = b"\x89PNG\r\n\x1a\n"
    out += chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    out += chunk(b"PLTE", palette) if palette else b""
    out += chunk(b"tRNS", transparent) if transparent else b""
    half = len(packed) // 2
    return out + chunk(b"IDAT", packed[:half]) + chunk(b"IDAT", packed[half:]) + chunk(b"IEND", b"")


def pack(samples, depth):
    if depth >= 8:
        return samples.astype(">u2" if depth == 16 else np.uint8).tobytes()
    bits = np.unpackbits(samples.astype(np.uint8)[:, None], axis=1)[:, 8 - depth :]
    return np.packbits(bits.reshape(-1)).tobytes()


ADAM7 = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)


def png_of(samples, depth, colour, interlaced=False, **more):
    height, width = samples.shape[:2]
    parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7] if interlaced else [samples]
    rows = [pack(row.reshape(-1), depth) for part in parts if part.size for row in part]
    return png(rows, width, height, depth, colour, int(interlaced), **more)


def jpegs():
    mid = cat.resize((151, 101), Image.Resampling.LANCZOS)
    yield "420.jpg", cjpeg(cat.resize((301, 203), Image.Resampling.LANCZOS), "-quality", "85")
    for name, sampling in (
        ("444", "1x1"),
        ("422", "2x1"),
        ("440", "1x2"),
        ("411", "4x1"),
        ("410", "4x2"),
    ):
        yield f"{name}.jpg", cjpeg(mid, "-quality", "80", "-sample", sampling)
    yield "restart.jpg", cjpeg(mid, "-quality", "80", "-restart", "3B")
    yield "progressive.jpg", cjpeg(mid, "-quality", "80", "-progressive")
    yield "progressive444.jpg", cjpeg(mid, "-quality", "60", "-progressive", "-sample", "1x1")
    yield "arithmetic.jpg", cjpeg(small, "-quality", "80", "-arithmetic")
    yield "rgb.jpg", cjpeg(small, "-quality", "80", "-rgb")
    yield "grey.jpg", save(mid.convert("L"), "JPEG", quality=80)
    yield "cmyk.jpg", save(mid.convert("CMYK"), "JPEG", quality=75)
    yield "cmyk420.jpg", save(small.convert("CMYK"), "JPEG", quality=75, subsampling=2)
    for size in ((1, 1), (7, 5), (17, 15), (66, 9)):
        yield "size{}x{}.jpg".format(*size), cjpeg(cat.resize(size), "-quality", "80")
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        yield f"orientation{orientation}.jpg", save(small, "JPEG", quality=70, exif=exif)


def pngs():
    numbers = np.random.default_rng(0)
    for colour, channels, depths in (
        (0, 1, (1, 2, 4, 8, 16)),
        (2, 3, (8, 16)),
        (3, 1, (1, 2, 4, 8)),
        (4, 2, (8, 16)),
        (6, 4, (8, 16)),
    ):
        for depth in depths:
            samples = numbers.integers(0, 1 << depth, (9, 13, channels))
            more = {}
            if colour == 3:
                more["palette"] = numbers.integers(0, 256, 3 << depth, dtype=np.uint8).tobytes()
            yield f"type{colour}-{depth}.png", png_of(samples, depth, colour, **more)
            yield (
                f"type{colour}-{depth}-interlaced.png",
                png_of(samples, depth, colour, True, **more),
            )
            if colour == 3:
                more["transparent"] = numbers.integers(
                    0, 256, 1 << (depth - 1), dtype=np.uint8
                ).tobytes()
                yield (
                    f"type{colour}-{depth}-transparent.png",
                    png_of(samples, depth, colour, **more),
                )
            if colour in (0, 2) and depth == 8:
                more["transparent"] = samples[0, 0].astype(">u2").tobytes()
                yield (
                    f"type{colour}-{depth}-transparent.png",
                    png_of(samples, depth, colour, **more),
                )
    yield "photo.png", save(small, "PNG", optimize=True)


def others():
    yield "lossy.webp", save(small, "WEBP", quality=70)
    yield "lossless.webp", save(small.resize((21, 15)), "WEBP", lossless=True)
    yield "alpha.webp", save(alpha, "WEBP", quality=60)
    turned = [small.resize((21, 15)).rotate(90)]
    yield "animated.webp", save(small.resize((21, 15)), "WEBP", save_all=True, append_images=turned)
    for mode in ("1", "L", "LA", "RGB", "RGBA", "CMYK"):
        source = alpha if "A" in mode else small
        compression = "tiff_lzw" if mode in ("L", "RGB") else "tiff_adobe_deflate"
        yield (
            f"{mode}.tif",
            save(source.resize((31, 23)).convert(mode), "TIFF", compression=compression),
        )
    yield "palette.tif", save(small.resize((31, 23)).quantize(20), "TIFF")
    yield "group4.tif", save(small.convert("1"), "TIFF", compression="group4")
    yield "jpeg.tif", save(small, "TIFF", compression="jpeg")
    deep = np.asarray(small.resize((31, 23)).convert("L")).astype(np.uint16) * 3
    yield "deep.tif", save(Image.fromarray(deep), "TIFF")
    yield (
        "orientation6.tif",
        save(small.resize((31, 23)), "TIFF", tiffinfo={274: 6}, compression="packbits"),
    )
    for mode in ("1", "L", "RGB"):
        yield f"{mode}.bmp", save(small.resize((31, 23)).convert(mode), "BMP")
    yield "RGBA.bmp", save(alpha.resize((31, 23)), "BMP")
    yield "palette.bmp", save(small.resize((31, 23)).quantize(30), "BMP")
    yield "palette.gif", save(small.quantize(60), "GIF", interlace=0)
    yield "interlaced.gif", save(small.quantize(60), "GIF", interlace=1)
    yield "grey.gif", save(small.convert("L").resize((31, 23)), "GIF")
    yield "transparent.gif", save(small.resize((31, 23)).quantize(9), "GIF", transparency=3)
    pixels = np.asarray(small.resize((11, 7)))
    text = b" ".join(b"%d" % v for v in pixels.reshape(-1))
    grey = pixels[:, :, 0]
    yield "plain.pbm", b"P1 # comment\n11 7\n" + b"".join(b"%d" % (v & 1) for v in grey.reshape(-1))
    yield "plain.pgm", b"P2\n11 7\n255\n" + b"\n".join(b"%d" % v for v in grey.reshape(-1))
    yield "plain.ppm", b"P3\n11 7 #\n255\n" + text
    yield "raw.pbm", save(small.convert("1"), "PPM")
    yield "raw.pgm", save(small.resize((31, 23)).convert("L"), "PPM")
    yield "raw.ppm", save(small.resize((31, 23)), "PPM")
    yield "maxval31.ppm", b"P6\n11 7\n31\n" + (pixels // 8).tobytes()
    yield "deep.ppm", b"P6\n11 7\n65535\n" + (pixels.astype(">u2") * 251).astype(">u2").tobytes()
    yield "deep.pgm", b"P5\n11 7\n1023\n" + (grey.astype(">u2") * 3).astype(">u2").tobytes()


def fnv(array):
    value = 0xCBF29CE484222325
    for byte in array.tobytes():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def expected(name, memory, rng):
    image = Image.open(io.BytesIO(memory))
    for mode in ("RGB", "RGBA", "L"):
        pixels = np.asarray(image.convert(mode))
        shape = [*pixels.shape, 1][:3]
        yield "decode {} {} {} {} {} {}".format(name, mode, *shape, fnv(pixels))
    for filter in ("bilinear", "bicubic") if name.endswith(".jpg") else ("bilinear",):
        width, height = image.size
        x, y = rng.randrange(width), rng.randrange(height)
        w, h = rng.randint(1, width - x), rng.randint(1, height - y)
        out = (24, 17)
        resized = image.convert("RGB").crop((x, y, x + w, y + h))
        resized = resized.resize(out, Image.Resampling[filter.upper()])
        hash = fnv(np.asarray(resized))
        yield f"crop {name} RGB {x} {y} {w} {h} {out[0]} {out[1]} {filter} {hash}"


def main():
    rng = random.Random(0)
    lines = []
    total = 0
    for name, memory in (*jpegs(), *pngs(), *others()):
        with open(name, "wb") as file:
            file.write(memory)
        total += len(memory)
        lines += expected(name, memory, rng)
    with open("expected.txt", "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{len(lines)} lines, {total} bytes of pictures", file=sys.stderr)


if __name__ == "__main__":
    main()
