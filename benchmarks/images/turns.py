"""Two decoders picture by picture, in one process, for those that are as good as equal.

    turns.py [--rounds N] [webp | png]

Each picture is decoded by Penstock, OpenCV and Pillow in turns; what counts is the CPU time of the
fastest of N rounds, which other work on the machine hardly touches. The figure is the sum over all
pictures.
"""

import argparse
import io as pyio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from common.peers import PEERS, ROOT

sys.path.insert(0, str(PEERS / "cv"))

import corpus
import cv2
import numpy as np
from penstock import io
from PIL import Image

DECODERS: dict[str, Callable[[bytes], Any]] = {
    "Penstock": io.decode_image,
    "OpenCV": lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR),
    "Pillow": lambda data: np.asarray(Image.open(pyio.BytesIO(data)).convert("RGB")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", nargs="?", default="webp", choices=("webp", "png"))
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    corpus.make(ROOT / "build" / "bench-images")
    chosen = corpus.pictures(ROOT / "build" / "bench-images", options.pictures)
    totals = dict.fromkeys(DECODERS, 0)
    for picture in chosen:
        data = Path(picture.path).read_bytes()
        ours, theirs = DECODERS["Penstock"](data), DECODERS["OpenCV"](data)[..., ::-1]
        if np.abs(np.asarray(ours, np.int16) - theirs).max() > 3:
            raise ValueError(f"{picture.path}: other pixels")
        best = dict.fromkeys(DECODERS, 10**12)
        for _ in range(options.rounds):
            for name, decode in DECODERS.items():
                begun = time.thread_time_ns()
                decode(data)
                best[name] = min(best[name], time.thread_time_ns() - begun)
        for name in totals:
            totals[name] += best[name]
    print(f"{len(chosen)} pictures, CPU ms per picture, fastest of {options.rounds} rounds:")
    for name, total in totals.items():
        mean = total / len(chosen) / 1e6
        print(f"{name}: {mean:.3f} ({total / totals['Penstock']:.3f} times us)")


if __name__ == "__main__":
    main()
