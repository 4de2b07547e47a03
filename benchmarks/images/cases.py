"""What is measured, and by whom."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contender:
    """Where it is, where its packages are (below PEERS), which package it is named after."""

    place: str
    folder: str = ""
    package: str = ""
    note: str = ""


CONTENDERS = {
    "penstock": Contender("contenders.penstock", note="exact=False, antialiased"),
    "penstock exact": Contender("contenders.penstock_exact", note="exact=True, antialiased"),
    "penstock loader": Contender("contenders.penstock_loader", note="a dataset, exact=False"),
    "mlx-data": Contender("frameworks.mlx_data", "mlx", "mlx-data"),
    "tf.data": Contender("frameworks.tf_data", "tf", "tensorflow-cpu"),
    "DALI": Contender("frameworks.dali", "dali", "nvidia-dali-cuda130"),
    "DALI antialiased": Contender("frameworks.dali_antialias", "dali", note="antialiased"),
    "threads + simplejpeg + OpenCV": Contender("contenders.thread_pool", "cv", "simplejpeg"),
    "the same, fast": Contender("contenders.thread_pool_fast", "cv"),
    "torch workers + OpenCV": Contender("contenders.torch_opencv", "cv", "torch"),
    "torch workers + Pillow": Contender("contenders.torch_pillow", note="antialiased"),
    "SPDL": Contender("frameworks.spdl", "spdl", "spdl"),
    "FFCV": Contender("frameworks.ffcv", "ffcv", "ffcv"),
    "Pillow": Contender("alone.pillow", package="pillow"),
    "pillow-simd": Contender("alone.pillow", "pillow-simd", "pillow-simd"),
    "OpenCV": Contender("alone.opencv", "cv", "opencv-python-headless"),
    "penstock alone": Contender("alone.penstock"),
}
LOADERS = [
    "penstock",
    "penstock exact",
    "penstock loader",
    "mlx-data",
    "tf.data",
    "DALI",
    "DALI antialiased",
    "threads + simplejpeg + OpenCV",
    "the same, fast",
    "torch workers + OpenCV",
    "torch workers + Pillow",
    "SPDL",
]
CROPPERS = [*LOADERS, "FFCV"]  # it has no plain resize


@dataclass(frozen=True)
class Case:
    """A job, how many images of it, and who takes part; the first one is us."""

    title: str
    wanted: str
    work: dict[str, Any]
    images: int
    contenders: list[str] = field(default_factory=lambda: LOADERS)


CASES = {
    "random": Case(
        "Random-resized-crop 224 and flip, uint8 NHWC, batches of 256",
        "1.4 times the best peer (exact=False), 1.25 times (exact=True)",
        {"kind": "random", "pictures": "small", "batch": 256},
        3072,
        CROPPERS,
    ),
    "float": Case(
        "The same, float32 NCHW normalised",
        "2 times the best peer",
        {"kind": "random", "pictures": "small", "batch": 256, "float32": True},
        3072,
        CROPPERS,
    ),
    "centre": Case(
        "Resize to 256 and centre crop 224, uint8 NHWC, batches of 256",
        "1.8 times the best peer, 1.3 times the hand-made thread pool",
        {"kind": "centre", "pictures": "small", "batch": 256},
        3072,
    ),
    "large": Case(
        "1920x1080 to 224x224, uint8 NHWC, batches of 128",
        "1.1 times the best peer",
        {"kind": "whole", "pictures": "large", "batch": 128},
        768,
    ),
    "resize": Case(
        "Resize alone, bicubic, 500x375 to 224x224, one thread",
        "3 times Pillow",
        {"kind": "resize", "pictures": "png", "batch": 1},
        3000,
        ["penstock alone", "Pillow", "pillow-simd"],
    ),
    "png": Case(
        "PNG decode, 500x375, one thread",
        "not slower than Pillow and OpenCV",
        {"kind": "decode", "pictures": "png", "batch": 1},
        480,
        ["penstock alone", "Pillow", "OpenCV"],
    ),
    "webp": Case(
        "WebP decode, 500x375, one thread",
        "not slower than Pillow and OpenCV",
        {"kind": "decode", "pictures": "webp", "batch": 1},
        480,
        ["penstock alone", "Pillow", "OpenCV"],
    ),
}
