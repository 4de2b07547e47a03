"""``penstock doctor``: what this machine and this build can do, and what would bite.

With a dataset it also measures: a few seconds of reading, and of decoding if it holds encoded
images; what failed, and the verdict.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import penstock
from penstock import _core, _machine, io
from penstock._trial import BATCH, trial
from penstock.data import _fields
from penstock.data.dataset import Dataset

_OPTIONAL = {
    "torch": "output='torch', PyTorchDataLoader: pip install torch",
    "jax": "output='jax': pip install jax",
    "pyarrow": "Parquet: pip install pyarrow",
    "h5py": "nothing of ours needs it; to write HDF5 files: pip install h5py",
    "matplotlib": "headspace plots as .png (.svg needs nothing): pip install matplotlib",
}
_FEW_FILES = 1024
_LITTLE = 1 << 30  # bytes of shared memory
_LITTLE_MEMORY = 4 << 30
_SIZE = (224, 224)
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
    found = Report(_machine.machine(), _build(), _installed(), _machine.limits())
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
        *(_line(name, one["about"], one["there"]) for name, one in build["libraries"].items()),
        _limit_words(found.limits),
    ]
    for name, version in found.optional.items():
        lines.append(_line(name, version or _OPTIONAL[name], version is not None))
    lines += [f"problem: {problem}" for problem in found.problems] or ["no problems found"]
    if found.measured is not None:
        measured = found.measured
        lines += [
            f"{measured['source']}: {_count(measured['samples'])} with "
            f"{', '.join(measured['fields'])}; opened in {measured['open_seconds'] * 1e3:.0f} ms",
            f"{measured['work']}: {measured['rate']:,.0f} samples a second, "
            f"{measured['errors']:,} of the samples failed",
            *(f"failed: {error}" for error in measured["first_errors"]),
            measured["verdict"],
        ]
    return "\n".join(lines)


def _count(samples: int | None) -> str:
    return "samples from front to back," if samples is None else f"{samples:,} samples"


def _line(name: str, about: str, there: bool) -> str:
    return f"{name}: {about}" if there else f"{name}: not there ({about})"


def _limit_words(limits: dict[str, Any]) -> str:
    files, memory, cpus = limits["open_files"], limits["cgroup_memory"], limits["cgroup_cpus"]
    words = [
        f"open files: {'any number' if files is None else format(files, ',')}",
        f"shared memory: {limits['shared_memory'] / 1e9:.1f} GB",
        "memory of the container: "
        + ("no limit" if memory is None else f"{memory / 1e9:.1f} GB at most"),
        "its CPUs: " + ("no limit" if cpus is None else f"{cpus:.1f} at most"),
    ]
    return "; ".join(words)


def _build() -> dict[str, Any]:
    return {
        "version": penstock.__version__,
        **_core.build_info(),
        "libraries": _machine.libraries(),
    }


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


def _problems(found: Report) -> list[str]:
    problems = []
    machine = found.machine
    if machine["load"] > 1.5 * machine["cores"]:
        problems.append(
            f"other programs keep the machine busy (load {machine['load']:.1f} on "
            f"{machine['cores']} cores); measurements will be off"
        )
    limits = found.limits
    if limits["open_files"] is not None and limits["open_files"] < _FEW_FILES:
        problems.append(
            f"only {limits['open_files']} files may be open; raise it with ulimit -n 65536"
        )
    if limits["shared_memory"] < _LITTLE:
        problems.append(
            f"/dev/shm has only {limits['shared_memory'] / 1e6:.0f} MB: process pools pass arrays "
            "through it; in Docker: --shm-size=8g"
        )
    if limits["cgroup_memory"] is not None and limits["cgroup_memory"] < _LITTLE_MEMORY:
        problems.append(
            f"the container may use {limits['cgroup_memory'] / 1e9:.1f} GB of memory, a loader "
            "takes up to 1 GB: raise the limit, or give loader(memory=) less"
        )
    if limits["cgroup_cpus"] is not None and limits["cgroup_cpus"] < machine["cores"]:
        problems.append(
            f"the container may use {limits['cgroup_cpus']:.1f} CPUs, but there seem to be "
            f"{machine['cores']}: threads are stopped again and again; give loader(threads=) as "
            "many, or raise the limit"
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
    if not data.sequential and len(data) == 0:
        raise ValueError(f"{source} has no samples")
    work, plan = _plan(data)
    done = trial(shuffled(data, 0), plan, _SECONDS)
    failed = done.failed
    return {
        "source": source,
        "samples": None if data.sequential else len(data),
        "fields": fields_of(data),
        "open_seconds": opened,
        "work": work,
        "rate": done.rate,
        "errors": len(failed),
        "first_errors": [f"{sample}: {words}" for sample, words in list(failed.items())[:3]],
        "verdict": done.verdict if done.samples else "No sample of it could be read.",
    }


def _plan(data: Dataset) -> tuple[str, Callable[[Dataset], Dataset]]:
    """What is measured: encoded images are decoded, as in the demo; all else is read."""
    order = "in order" if data.sequential else "in shuffled order"
    try:
        field = image_field(data)
    except penstock.PlanError:  # there is no image in it
        return f"read {order}", lambda some: some.batch(BATCH, collate="list")
    return (
        f"read, decoded and cropped to {_SIZE[0]}x{_SIZE[1]} {order}",
        lambda some: images(some, field, _SIZE),
    )


def images(data: Dataset, field: str, size: tuple[int, int]) -> Dataset:
    """Decoded, cropped and batched."""
    return data.decode_image(field, size=size, crop="random_resized", flip=0.5).batch(BATCH)


def fields_of(data: Dataset) -> list[str]:
    """Of what is read from front to back: those of the first sample."""
    return list(_first(data)) if data.sequential else data.fields


def _first(data: Dataset) -> dict[str, Any]:
    if not data.sequential:
        return data[0]
    with data.loader() as loader:
        return next(iter(loader), {})


def image_field(data: Dataset) -> str:
    """The field that holds an encoded image, by its name and by its first value. PlanError if there
    is none."""
    field = _fields.field_of("image", fields_of(data))
    try:
        value = _first(data).get(field)
    except Exception:  # the first sample cannot be read: its name has to do
        return field
    if not _may_be_image(field, value):
        raise penstock.PlanError(f"field '{field}' holds no encoded images")
    return field


def _may_be_image(field: str, value: Any) -> bool:
    """Numbers and texts are none. Bytes are, if the name says so, even broken ones; "data" says
    nothing, so these have to look like one."""
    if not isinstance(value, bytes | memoryview):
        return value is None
    try:
        io.image_info(value)
    except NotImplementedError:  # of no known format
        return field != "data"
    except ValueError:  # damaged
        pass
    return True


def shuffled(data: Dataset, seed: int) -> Dataset:
    """In another order, if it is not one that can only be read from front to back."""
    return data if data.sequential else data.shuffle(seed=seed)
