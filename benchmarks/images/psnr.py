"""How near exact=False comes to exact=True: a row per scale at which a JPEG is decoded.

Ten photographs at quality 85 and 95, in three subsamplings, resized bilinear and bicubic, whole and
cropped: 240 results a row.
"""

import io
import itertools
import math

import corpus
import numpy as np
from penstock.io import decode_image

MIN_LEFT = 1.5
SUBSAMPLINGS = ("4:4:4", "4:2:2", "4:2:0")


def encoded(photo, quality: int, subsampling: str) -> bytes:
    file = io.BytesIO()
    photo.save(file, "jpeg", quality=quality, subsampling=subsampling)
    return file.getvalue()


def compare(photo, scale: int) -> list[tuple[float, int]]:
    """(PSNR, largest difference) of all variants of a photograph."""
    results = []
    whole = (0, 0, photo.width, photo.height)
    part = (photo.width // 9, photo.height // 7, photo.width * 8 // 9, photo.height * 6 // 7)
    options = itertools.product((85, 95), SUBSAMPLINGS, ("bilinear", "bicubic"), (whole, part))
    for quality, subsampling, interpolation, box in options:
        short = min(box[2] - box[0], box[3] - box[1])
        # As large as it may be at this scale; at scale 1 between this and the next one.
        side = int(short / (scale * MIN_LEFT)) if scale > 1 else int(short / 1.7)
        pair = [
            decode_image(
                encoded(photo, quality, subsampling),
                (side, side),
                box,
                exact=exact,
                interpolation=interpolation,
            ).astype(int)
            for exact in (True, False)
        ]
        difference = np.abs(pair[0] - pair[1])
        error = float((difference**2).mean())
        results.append((99.0 if error == 0 else 10 * math.log10(255**2 / error), difference.max()))
    return results


def main() -> None:
    photos = corpus.photographs()[:10]
    print("| decoded at | mean PSNR | worst | largest difference of a pixel |\n|---|---|---|---|")
    for scale in (1, 2, 4, 8):
        results = [one for photo in photos for one in compare(photo, scale)]
        values = [psnr for psnr, _ in results]
        print(
            f"| 1/{scale} | {np.mean(values):.1f} dB | {min(values):.1f} dB "
            f"| {max(largest for _, largest in results)} |"
        )


if __name__ == "__main__":
    main()
