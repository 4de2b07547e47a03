"""The peers' packages, and the machine that all run on."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "bench-peers"


def install(below: str, requirements: Mapping[str, list[str]]) -> None:
    """Each peer has a folder of its own: they do not agree on versions of what they share."""
    for name, packages in requirements.items():
        folder = PEERS / below / name
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
