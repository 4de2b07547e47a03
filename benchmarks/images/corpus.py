"""The pictures of the benchmark, made once from the photographs in scikit-image and scikit-learn.

They carry few photographs, so each file is a cut of its own: another place, size, brightness and
side, saved with another quality and chroma subsampling, as files from the wild are. A large picture
is a mosaic of nine such cuts, because enlarging a photograph would leave nothing to decode.
"""

import io
import json
import random
from dataclasses import dataclass
from pathlib import Path

VERSION = 1
SMALL, LARGE, OTHER = 1536, 128, 96
SIZES = [(500, 375)] * 6 + [(375, 500)] * 2 + [(500, 333), (480, 360)]
SUBSAMPLINGS = ["4:2:0"] * 12 + ["4:4:4"] * 5 + ["4:2:2"] * 3
QUALITIES = range(90, 97)


@dataclass(frozen=True)
class Picture:
    """A file, and the crop and flip that everybody makes of it."""

    path: str
    width: int
    height: int
    box: tuple[int, int, int, int]
    flip: bool


def pictures(folder: Path, name: str) -> list[Picture]:
    """The pictures of a set: small, large, png or webp."""
    sets = json.loads((folder / "corpus.json").read_text())["sets"]
    return [
        Picture(str(folder / name / file), width, height, tuple(box), flip)
        for file, width, height, box, flip in sets[name]
    ]


def make(folder: Path) -> None:
    """Writes the corpus unless this version of it is there."""
    index = folder / "corpus.json"
    if index.exists() and json.loads(index.read_text())["version"] == VERSION:
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    originals = photographs()
    sets = {
        "small": [(cut(originals, rng, *rng.choice(SIZES)), "jpg") for _ in range(SMALL)],
        "large": [(mosaic(originals, rng), "jpg") for _ in range(LARGE)],
        "png": [(cut(originals, rng, 500, 375), "png") for _ in range(OTHER)],
        "webp": [(cut(originals, rng, 500, 375), "webp") for _ in range(OTHER)],
    }
    rows = {
        name: [save(folder / name, i, *one, rng) for i, one in enumerate(made)]
        for name, made in sets.items()
    }
    index.write_text(json.dumps({"version": VERSION, "sets": rows}))


def photographs():
    import skimage.data
    from PIL import Image
    from sklearn.datasets import load_sample_images

    data = skimage.data
    from_skimage = (
        data.astronaut,
        data.chelsea,
        data.coffee,
        data.hubble_deep_field,
        data.immunohistochemistry,
        data.retina,
        data.rocket,
    )
    arrays = [load() for load in from_skimage]
    arrays += data.stereo_motorcycle()[:2]
    arrays += load_sample_images().images
    return [Image.fromarray(array) for array in arrays]


def cut(originals, rng, width, height):
    """A part of a photograph, at its own scale where it is large enough."""
    from PIL import Image, ImageEnhance, ImageOps

    photo = rng.choice(originals)
    scale = max(width / photo.width, height / photo.height, rng.uniform(0.75, 1.0))
    w, h = min(width / scale, photo.width), min(height / scale, photo.height)
    x, y = rng.uniform(0, photo.width - w), rng.uniform(0, photo.height - h)
    part = photo.resize((width, height), Image.Resampling.BICUBIC, (x, y, x + w, y + h))
    if rng.random() < 0.5:
        part = ImageOps.mirror(part)
    return ImageEnhance.Brightness(part).enhance(rng.uniform(0.8, 1.2))


def mosaic(originals, rng):
    from PIL import Image

    whole = Image.new("RGB", (1920, 1080))
    for i in range(9):
        whole.paste(cut(originals, rng, 640, 360), (i % 3 * 640, i // 3 * 360))
    return whole


def save(folder: Path, number: int, picture, suffix: str, rng):
    """Writes one file; its row in the index says which crop everybody makes of it."""
    file = io.BytesIO()
    if suffix == "jpg":
        picture.save(
            file,
            "jpeg",
            quality=rng.choice(QUALITIES),
            subsampling=rng.choice(SUBSAMPLINGS),
            progressive=rng.random() < 0.03,
        )
    else:
        picture.save(file, {"png": "png", "webp": "webp"}[suffix], quality=85)
    folder.mkdir(exist_ok=True)
    name = f"{number:04}.{suffix}"
    (folder / name).write_bytes(file.getvalue())
    width, height = picture.size
    return name, width, height, resized_crop(rng, width, height), rng.random() < 0.5


def resized_crop(rng, width: int, height: int) -> tuple[int, int, int, int]:
    """RandomResizedCrop as torchvision draws it: 8 to 100% of the area, ratio 3/4 to 4/3."""
    import math

    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1.0)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = rng.randint(0, width - w), rng.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height
