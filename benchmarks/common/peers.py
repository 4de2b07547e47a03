"""The peers' packages, and the machine that all run on."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "bench-peers"
PACKAGES = {
    "array_record": ["array_record==0.8.6"],
    "cv": ["opencv-python-headless==5.0.0.93", "simplejpeg==1.9.0"],
    "dali": ["nvidia-dali-cuda130==2.4.0"],
    "decord": ["decord"],
    # Built here, which needs the development files of OpenCV. Torch is there already.
    "ffcv": [
        "--no-deps",
        "ffcv==1.0.2",
        "numba==0.68.1",
        "llvmlite==0.50.0",
        "opencv-python-headless==5.0.0.93",
        "assertpy==1.1",
        "fastargs==1.2.0",
        "pytorch-pfn-extras==0.9.0",
        "terminaltables==3.1.10",
    ],
    "librosa": ["librosa"],
    "mlx": ["mlx-data==0.1.0"],
    "pillow-simd": ["pillow-simd==12.1.1.post0"],
    "pyav": ["av"],
    "remote": ["aiohttp", "webdataset==1.0.2"],
    "soundfile": ["soundfile"],
    "spdl": ["spdl==0.8.0", "spdl-io==0.8.0"],
    "tensorstore": ["tensorstore"],
    "tf": ["tensorflow-cpu==2.21.0"],
    "torchcodec": ["--no-deps", "torchcodec==0.13.0"],
}


def install(names: Iterable[str]) -> None:
    """What the tests use is used here, too. Each further peer has a folder of its own: they do not
    agree on versions of what they share."""
    subprocess.run([str(ROOT / "scripts" / "install-deps"), "test"], check=True)
    subprocess.run([str(ROOT / "scripts" / "setup-venv"), "dev", "test"], check=True)
    for name in sorted({one for one in names if one}):
        folder, packages = PEERS / name, PACKAGES[name]
        stamp = folder / "requirements.txt"
        if stamp.exists() and stamp.read_text().split() == packages:
            continue
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--upgrade", "--target", str(folder), *packages])
        if done.returncode == 0:
            stamp.write_text("\n".join(packages) + "\n")
        else:
            print(f"{name} could not be installed; it is left out")


def machine() -> str:
    with open("/proc/cpuinfo") as file:
        lines = file.read().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    widest = next((one for one in ("avx512bw", "avx2", "sse4_1") if one in flags), "")
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{len(os.sched_getaffinity(0))} cores ({platform.machine()}, {widest}), Linux, Python "
        f"{platform.python_version()}; load at the start {load}"
    )
