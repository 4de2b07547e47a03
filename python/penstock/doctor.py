"""``penstock doctor``: what this machine and this build can do, and what would bite.

With a dataset it also measures: a few seconds of reading, and the verdict.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import resource
import shutil
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import penstock
from penstock import _core, insight

_OPTIONAL = {
    "torch": "output='torch', PyTorchDataLoader: pip install torch",
    "jax": "output='jax': pip install jax",
    "pyarrow": "Parquet: pip install pyarrow",
    "h5py": "nothing of ours needs it; to write HDF5 files: pip install h5py",
    "matplotlib": "headspace plots as .png (.svg needs nothing): pip install matplotlib",
}
_SIMD = ("sse4_1", "avx2", "avx512bw", "sha_ni", "asimd")
_FEW_FILES = 1024
_SECONDS = 3.0


@dataclass
class Report:
    """What was found. `problems` are things to see to."""

    machine: dict[str, Any]
    build: dict[str, Any]
    optional: dict[str, str | None]
    limits: dict[str, Any]
    problems: list[str] = field(default_factory=list)
    measured: dict[str, Any] | None = None


def examine(source: str | None = None) -> Report:
    """Looks at the machine and, if one is given, at a dataset.

    >>> from penstock.doctor import examine
    >>> examine().machine["cores"] >= 1
    True
    """
    found = Report(_machine(), _build(), _installed(), _limits())
    found.problems = _problems(found)
    if source is not None:
        found.measured = _measure(source)
    return found


def as_dict(found: Report) -> dict[str, Any]:
    return asdict(found)


def words(found: Report) -> str:
    """The report as text."""
    machine, build = found.machine, found.build
    lines = [
        f"penstock {build['version']}, {build['compiler']}, "
        f"Python {machine['python']} on {machine['system']}",
        f"cores: {machine['cores']} of {machine['cpus']}; SIMD: {' '.join(machine['simd']) or '-'}",
        f"memory: {machine['memory'] / 1e9:.1f} GB; load: {machine['load']:.1f}",
        f"images: {', '.join(build['images'])}",
        f"open files: {found.limits['open_files']:,}; shared memory: "
        f"{found.limits['shared_memory'] / 1e9:.1f} GB",
    ]
    for name, version in found.optional.items():
        lines.append(f"{name}: {version}" if version else f"{name}: not there ({_OPTIONAL[name]})")
    lines += [f"problem: {problem}" for problem in found.problems] or ["no problems found"]
    if found.measured is not None:
        measured = found.measured
        lines += [
            f"{measured['source']}: {measured['samples']:,} samples with "
            f"{', '.join(measured['fields'])}; opened in {measured['open_seconds'] * 1e3:.0f} ms",
            f"read in shuffled order: {measured['rate']:,.0f} samples a second, "
            f"{measured['errors']} errors",
            measured["verdict"],
        ]
    return "\n".join(lines)


def _machine() -> dict[str, Any]:
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


def _build() -> dict[str, Any]:
    images = ["jpeg", "png", "webp", "tiff", "bmp", "gif", "pnm"]
    return {"version": penstock.__version__, **_core.build_info(), "images": images}


def _installed() -> dict[str, str | None]:
    there: dict[str, str | None] = {}
    for name in _OPTIONAL:
        if importlib.util.find_spec(name) is None:
            there[name] = None
            continue
        try:
            there[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            there[name] = "unknown version"
    return there


def _limits() -> dict[str, Any]:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        shared = shutil.disk_usage("/dev/shm").total
    except OSError:
        shared = 0
    return {"open_files": soft, "shared_memory": shared}


def _problems(found: Report) -> list[str]:
    problems = []
    machine = found.machine
    if machine["load"] > 1.5 * machine["cores"]:
        problems.append(
            f"other programs keep the machine busy (load {machine['load']:.1f} on "
            f"{machine['cores']} cores); measurements will be off"
        )
    if found.limits["open_files"] < _FEW_FILES:
        problems.append(
            f"only {found.limits['open_files']} files may be open; raise it with ulimit -n 65536"
        )
    if machine["cores"] < machine["cpus"]:
        problems.append(
            f"this process may use {machine['cores']} of {machine['cpus']} CPUs (taskset, a "
            "container, or the batch system)"
        )
    if found.build["assertions"]:
        problems.append("this is a debug build, which is slow; build with the preset release")
    return problems


def _measure(source: str) -> dict[str, Any]:
    begun = time.perf_counter()
    data = penstock.open(source)
    opened = time.perf_counter() - begun
    if data.sequential:
        raise ValueError(f"{source} can only be read in order; there is nothing to shuffle")
    if len(data) == 0:
        raise ValueError(f"{source} has no samples")
    loader = data.shuffle(seed=0).batch(64, collate="list").loader(on_error="skip")
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < _SECONDS:
        for batch in loader:
            count += len(next(iter(batch.values())))
            if time.perf_counter() - begun > _SECONDS:
                break
    seconds = time.perf_counter() - begun
    verdict = str(insight.bottleneck(loader.stats()["stages"]))
    loader.close()
    return {
        "source": source,
        "samples": len(data),
        "fields": list(data.fields),
        "open_seconds": opened,
        "rate": count / seconds,
        "errors": len(loader.errors()),
        "verdict": verdict,
    }
