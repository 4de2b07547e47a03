"""What there is to work with: cores, memory, limits of the container, libraries of this build."""

from __future__ import annotations

import os
import platform
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import _core

_SIMD = ("sse4_1", "avx2", "avx512bw", "sha_ni", "asimd")
_NO_LIMIT = 1 << 60  # bytes; version 1 of cgroups says so much where there is no limit


def machine() -> dict[str, Any]:
    flags: set[str] = set()
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    flags = set(line.split(":", 1)[1].split())
                    break
    except OSError:
        pass
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count() or 1,
        "cores": len(os.sched_getaffinity(0)),
        "simd": [name for name in _SIMD if name in flags],
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load": os.getloadavg()[0],
    }


def limits() -> dict[str, Any]:
    """None: there is no limit of this kind."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        shared = shutil.disk_usage("/dev/shm").total
    except OSError:
        shared = 0
    memory, cpus = cgroup_limits()
    return {
        "open_files": None if soft == resource.RLIM_INFINITY else soft,
        "shared_memory": shared,
        "cgroup_memory": memory,
        "cgroup_cpus": cpus,
    }


def libraries() -> dict[str, dict[str, Any]]:
    """What reads what, by its name: "there", and "about" it: its version, or what to install."""
    version, why = _core.ffmpeg()
    curl, no_curl = _core.curl()
    flac, no_hdf5 = _core.flac(), _core.why_no_hdf5()
    by_ffmpeg = (
        "FFmpeg reads FLAC files, slower; apt install libflac-dev, then build Penstock again"
    )
    return {
        "images": {"there": True, "about": "jpeg, png, webp, tiff, bmp, gif, pnm"},
        "FFmpeg": {"there": why is None, "about": version or why},
        "libFLAC": {"there": flac is not None, "about": flac or by_ffmpeg},
        "HDF5": {"there": no_hdf5 is None, "about": no_hdf5 or "gzip, lzf, zstd, lz4, blosc"},
        "Zarr": {"there": True, "about": "gzip, zlib, zstd, lz4, blosc"},
        "http(s)": {"there": no_curl is None, "about": curl or no_curl},
    }


def cgroup_limits(
    root: str = "/sys/fs/cgroup", mine: str = "/proc/self/cgroup"
) -> tuple[int | None, float | None]:
    """Bytes of memory and CPUs that the container, or the batch system, lets this process have."""
    memory: list[int] = []
    cpus: list[float] = []
    for folder in _folders(Path(root), Path(mine)):
        for name in ("memory.max", "memory.limit_in_bytes"):
            memory += (int(word) for word in _words(folder / name) if word.isdigit())
        quota = _words(folder / "cpu.max") or [
            *_words(folder / "cpu.cfs_quota_us"),
            *_words(folder / "cpu.cfs_period_us"),
        ]
        if len(quota) == 2 and quota[0].isdigit():
            cpus.append(int(quota[0]) / int(quota[1]))
    least = min(memory, default=_NO_LIMIT)
    return least if least < _NO_LIMIT else None, min(cpus, default=None)


def _folders(root: Path, mine: Path) -> Iterator[Path]:
    """The groups that this process is in, each with all above it."""
    try:
        lines = mine.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        top = root / controllers
        folder = top / path.lstrip("/")
        while folder != top and top in folder.parents:
            yield folder
            folder = folder.parent
        yield top


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
