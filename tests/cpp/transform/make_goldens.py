"""Writes goldens.h: what Pillow makes of the pictures the C++ tests draw for themselves.

Run with the Pillow whose results are the contract (13.0.0): python make_goldens.py > goldens.h
"""

import io

import numpy as np
import PIL
from PIL import Image, ImageEnhance, ImageOps

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBX"}


def picture(width, height, channels):
    """The same bytes as picture() in pictures.h: a 32-bit linear congruential generator."""
    count = width * height * channels
    out = np.empty(count, np.uint8)
    state = 12345
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = state >> 24
    return out.reshape(height, width, channels)


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def image(pixels, mode):
    return Image.frombytes(mode, (pixels.shape[1], pixels.shape[0]), pixels.tobytes())


SIZES = [
    # source, output, box (None: all)
    ((500, 375), (224, 224), None),
    ((300, 280), (224, 224), None),
    ((123, 77), (224, 224), None),
    ((77, 123), (45, 17), None),
    ((64, 48), (64, 20), None),
    ((64, 48), (20, 48), None),
    ((5, 3), (200, 100), None),
    ((333, 41), (7, 90), (10.25, 3.5, 300.125, 40.75)),
    ((97, 89), (31, 33), (1, 2, 90, 80)),
    ((400, 9), (3, 2), (0, 0.5, 399.5, 9)),
    ((1, 1), (9, 4), None),
]


def resize_cases():
    for (w, h), size, box in SIZES:
        for channels in (1, 3, 4):
            source = image(picture(w, h, channels), MODES[channels])
            for name, flt in FILTERS.items():
                result = source.resize(size, flt, box=box)
                yield w, h, channels, *size, box or (0, 0, w, h), name, False, fnv(result.tobytes())
        for channels, mode in ((2, "LA"), (4, "RGBA")):
            source = image(picture(w, h, channels), mode)
            for name in ("nearest", "bilinear", "lanczos"):
                result = source.resize(size, FILTERS[name], box=box)
                yield w, h, channels, *size, box or (0, 0, w, h), name, True, fnv(result.tobytes())


def enhance_cases():
    for channels, mode in ((1, "L"), (3, "RGB"), (4, "RGBA")):
        source = image(picture(61, 37, channels), mode)
        for kind, maker in enumerate(
            (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)
        ):
            for factor in (0.0, 0.3, 0.999, 1.0, 1.7, 3.25, -0.5):
                yield channels, kind, factor, fnv(maker(source).enhance(factor).tobytes())


def colour_cases():
    for kind, (source, target) in {
        "rgb_to_l": ("RGB", "L"),
        "l_to_rgb": ("L", "RGB"),
        "rgba_to_rgb": ("RGBA", "RGB"),
        "cmyk_to_rgb": ("CMYK", "RGB"),
    }.items():
        pixels = picture(61, 37, len(Image.new(source, (1, 1)).getbands()))
        yield kind, fnv(image(pixels, source).convert(target).tobytes())


def orientation_cases():
    for orientation in range(1, 9):
        upright = image(picture(61, 37, 3), "RGB")
        exif = Image.Exif()
        exif[0x0112] = orientation
        buffer = io.BytesIO()
        upright.save(buffer, "png", exif=exif)
        yield orientation, fnv(ImageOps.exif_transpose(Image.open(buffer)).tobytes())


def main():
    print(
        f"// Made by make_goldens.py with Pillow {PIL.__version__}. Hashes are FNV-1a of the bytes."
    )
    print("#pragma once\n\n// clang-format off\nnamespace penstock::goldens {\n")
    print("inline constexpr ResizeCase resizes[] = {")
    for w, h, c, ow, oh, box, name, alpha, digest in resize_cases():
        corners = ", ".join(repr(float(v)) for v in box)
        print(
            f"    {{{w}, {h}, {c}, {ow}, {oh}, {{{corners}}}, Filter::{name}, "
            f"{str(alpha).lower()}, {digest:#x}u}},"
        )
    print("};\n\ninline constexpr EnhanceCase enhancements[] = {")
    for c, kind, factor, digest in enhance_cases():
        print(f"    {{{c}, {kind}, {factor}, {digest:#x}u}},")
    print("};\n\ninline constexpr ColourCase colours[] = {")
    for kind, digest in colour_cases():
        print(f"    {{Colour::{', Colour::'.join(kind.split('_to_'))}, {digest:#x}u}},")
    print("};\n\ninline constexpr OrientationCase orientations[] = {")
    for orientation, digest in orientation_cases():
        print(f"    {{{orientation}, {digest:#x}u}},")
    print("};\n")
    ramp = np.arange(16, dtype=np.uint8).reshape(4, 4) * 16
    for name in ("bilinear", "lanczos"):
        small = np.array(Image.fromarray(ramp).resize((3, 2), FILTERS[name])).ravel()
        print(f"inline constexpr unsigned char ramp_{name}[] = {{{', '.join(map(str, small))}}};")
    print("\n}  // namespace penstock::goldens")


if __name__ == "__main__":
    main()
