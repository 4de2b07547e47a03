"""Measures reading of formats by Penstock and its peers, in one run, and prints Markdown tables.

    run.py [--rounds N] [case ...]      --install-peers fetches the peers first

Every figure comes from a process of its own; contenders take turns. Each process checks its output:
the number of things, and where there is one a sum over what they hold.
"""

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from common.cached import files_below, read_again
from common.command import options
from common.peers import PEERS, ROOT, install, machine
from common.processes import read_from_disk, spawn, tree_cpu
from common.turns import table, take_turns

HERE = Path(__file__).resolve().parent
FILES = ROOT / "build" / "bench-formats"


@dataclass
class Case:
    title: str
    wanted: str
    things: str
    contenders: dict[str, tuple[str, str]]  # name: (function, folder of packages); ours first


CASES = {
    "sequential": Case(
        "100-byte records, TFRecord, from front to back, each as bytes",
        "3,000,000 records/s, ahead of ArrayRecord",
        "records",
        {
            "Penstock iter_tfrecord": ("penstock_sequential", ""),
            "ArrayRecord, groups of 256": ("array_record_sequential", "array_record"),
            "tf.data, batches of 1000": ("tf_sequential", "tf"),
        },
    ),
    "random": Case(
        "100-byte records, at random, batches of 1024, each as bytes",
        "8 times ArrayRecord (1.5 million/s)",
        "records",
        {
            "Penstock TFRecords, two threads": ("penstock_random", ""),
            "the same with mmap=True": ("penstock_random_mapped", ""),
            "ArrayRecord, two threads": ("array_record_random", "array_record"),
        },
    ),
    "npy": Case(
        ".npy files of 600 KB, two threads, delivered to the loop ten at a time",
        "2 times the best of the others",
        "files",
        {
            "Penstock load_npy": ("penstock_npy", ""),
            "numpy.load": ("numpy_npy", ""),
            "SPDL load_npy": ("spdl_npy", "spdl"),
            "DALI": ("dali_npy", "dali"),
        },
    ),
    "npy-at-once": Case(
        ".npy files of 600 KB, two threads, each dropped by the thread that has read it",
        "nothing: as little as can be, the system's copy",
        "files",
        {
            "Penstock load_npy": ("penstock_npy_at_once", ""),
            "numpy.load": ("numpy_npy_at_once", ""),
            "SPDL load_npy": ("spdl_npy_at_once", "spdl"),
            "bytes only: os.preadv into one buffer": ("preadv_npy", ""),
        },
    ),
    "tokens": Case(
        "random windows of 2048 tokens, batches of 32, as int64",
        "12 times the loop, not behind the sliding window view",
        "tokens",
        {
            "Penstock, two threads": ("penstock_tokens", ""),
            "NumPy, sliding window view": ("sliding_view", ""),
            "NumPy, memmap loop": ("memmap_loop", ""),
            "the usual loop: a memmap for each batch, torch.stack": ("usual_loop", ""),
        },
    ),
    "images": Case(
        "TFRecord of 65 KB images, Examples parsed, from front to back",
        "2 times the best of the others",
        "images",
        {
            "Penstock loader, two threads": ("penstock_images", ""),
            "the same with mmap=True": ("penstock_images_mapped", ""),
            "tf.data, parse_example": ("tf_images", "tf"),
            "DALI, batches of 100": ("dali_images", "dali"),
        },
    ),
    "hdf5": Case(
        "HDF5, gzip and shuffle, rows of 12 KB from front to back, batches of 256",
        "2 times the best of the others",
        "rows",
        {
            "Penstock loader, two threads": ("penstock_hdf5", ""),
            "h5py, two threads": ("h5py_sequential", ""),
            "h5py, two processes": ("h5py_processes_sequential", ""),
        },
    ),
    "hdf5-random": Case(
        "HDF5, gzip and shuffle, rows of 12 KB at random, batches of 256",
        "2 times the best of the others",
        "rows",
        {
            "Penstock loader, two threads": ("penstock_hdf5_random", ""),
            "h5py, two threads": ("h5py_random", ""),
            "h5py, two processes": ("h5py_processes_random", ""),
        },
    ),
    "zarr": Case(
        "Zarr 3, zstd in shards, rows of 12 KB from front to back, batches of 256",
        "1.2 times the best of the others",
        "rows",
        {
            "Penstock loader, two threads": ("penstock_zarr", ""),
            "tensorstore": ("tensorstore_sequential", "tensorstore"),
            "zarr-python, two threads": ("zarr_sequential", ""),
        },
    ),
    "zarr-random": Case(
        "Zarr 3, zstd in shards, rows of 12 KB at random, batches of 256",
        "1.2 times the best of the others",
        "rows",
        {
            "Penstock loader, two threads": ("penstock_zarr_random", ""),
            "tensorstore": ("tensorstore_random", "tensorstore"),
            "zarr-python, two threads": ("zarr_random", ""),
        },
    ),
    "parquet": Case(
        "Parquet, eight columns of numbers from front to back, batches of 1024 as NumPy arrays",
        "not slower than pyarrow's scanner",
        "rows",
        {
            "Penstock loader, two threads": ("penstock_parquet", ""),
            "pyarrow dataset scanner, two threads": ("scanner_parquet", ""),
            "the same, put into batches of 1024": ("scanner_parquet_batches", ""),
        },
    ),
    "parquet-vectors": Case(
        "Parquet, 512 floats a row from front to back, batches of 256 as NumPy arrays",
        "not slower than pyarrow's scanner",
        "rows",
        {
            "Penstock loader, two threads": ("penstock_parquet_wide", ""),
            "pyarrow dataset scanner, two threads": ("scanner_parquet_wide", ""),
            "the same, put into batches of 256": ("scanner_parquet_wide_batches", ""),
        },
    ),
    "cold-images": Case(
        "TFRecord of 65 KB images, out of the system's cache before each pass",
        "the disk is kept busy",
        "images",
        {
            "Penstock loader, in order": ("penstock_images_cold", ""),
            "Penstock loader, shuffled": ("penstock_images_shuffled_cold", ""),
            "the loader in order, warm": ("penstock_images_warm", ""),
            "the loader shuffled, warm": ("penstock_images_shuffled_warm", ""),
            "tf.data, in order": ("tf_images_cold", "tf"),
            "plain reads of 1 MB": ("plain_images", ""),
            "plain reads of 65 KB at random": ("plain_images_shuffled", ""),
        },
    ),
    "cold-zarr": Case(
        "Zarr 3, zstd in shards, out of the system's cache before each pass",
        "cold reads and unpacking at the same time",
        "rows",
        {
            "Penstock loader, in order": ("penstock_zarr_cold", ""),
            "the loader in order, warm": ("penstock_zarr_warm", ""),
            "plain reads of 1 MB": ("plain_zarr", ""),
        },
    ),
    "cold-hdf5": Case(
        "HDF5, gzip and shuffle, out of the system's cache before each pass",
        "cold reads and unpacking at the same time",
        "rows",
        {
            "Penstock loader, in order": ("penstock_hdf5_cold", ""),
            "the loader in order, warm": ("penstock_hdf5_warm", ""),
            "plain reads of 1 MB": ("plain_hdf5", ""),
        },
    ),
    "tar-index": Case(
        "the index of a tar of 10.7 GB, headers only",
        "at the speed of reading the headers",
        "headers",
        {
            "Penstock, opened for the first time": ("penstock_index", ""),
            "the same, headers out of the system's cache": ("penstock_index_cold", ""),
            "os.pread of headers at known places": ("known_headers", ""),
            "a loop over headers in Python": ("python_headers", ""),
            "that loop, headers out of the system's cache": ("python_headers_cold", ""),
        },
    ),
}


def measure_here(function: str) -> None:
    import arrays
    import cold
    import contenders
    import tables

    module = next(one for one in (arrays, tables, cold, contenders) if hasattr(one, function))
    parts = getattr(module, function)(FILES)
    next(parts)
    begun, cpu, disk = time.perf_counter(), tree_cpu(os.getpid()), read_from_disk()
    count = total = 0
    for things, number in parts:
        count += things
        total += number
    ended, cpu_ended = time.perf_counter(), tree_cpu(os.getpid())
    turn = {"seconds": ended - begun, "cpu": cpu_ended - cpu, "count": count, "total": total}
    print(json.dumps({**turn, "disk": read_from_disk() - disk}))


def from_disk(turns: list[dict[str, Any]]) -> str:
    """What came from the disk, and how quickly, in words; nothing if that was little."""
    rates = [one["disk"] / one["seconds"] / 1e6 for one in turns]
    if not rates or statistics.median(one["disk"] for one in turns) < 10e6:
        return ""
    return f"{statistics.median(rates):,.0f} MB/s from the disk"


def run(key: str, rounds: int) -> None:
    case = CASES[key]

    def start(name: str) -> dict[str, Any] | str:
        function, folder = case.contenders[name]
        command = [sys.executable, str(HERE / "run.py"), "--one", function]
        return spawn(command, str(PEERS / folder) if folder else "")

    turns, missing = take_turns(list(case.contenders), rounds, start)
    totals = {name: {one["total"] for one in taken} for name, taken in turns.items() if taken}
    agreed = next(iter(totals.values()), set())
    checks = {name: "as ours" if got == agreed else f"OTHER: {got}" for name, got in totals.items()}
    notes = {name: from_disk(taken) for name, taken in turns.items()}
    print(f"\n### {case.title}\n\nWanted: {case.wanted}.\n")
    table(case.things, turns, next(iter(case.contenders)), notes, checks)
    for name, why in missing.items():
        print(f"\n{name}: no figure: {why}")
    sys.stdout.flush()


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(sys.argv[2])
    chosen = options(__doc__, CASES, rounds=3)
    if chosen.install_peers:
        cases = [CASES[key] for key in chosen.cases]
        install(folder for case in cases for _, folder in case.contenders.values())
    import files

    files.make(FILES)
    read_again(path for path in files_below(FILES) if path.name != "large.tar")  # full of holes
    print(f"{machine()}. {chosen.rounds} rounds, taking turns.")
    for key in chosen.cases:
        run(key, chosen.rounds)


if __name__ == "__main__":
    main()
