"""Raw samples of tar shards: bytes copied out of the files and grouped by key.

A contender is a function of the shards. It sets up what it needs and returns a function that begins
a pass over all of them; a pass gives samples (a dict of fields) or batches (a dict of columns).
"""

from __future__ import annotations

import tarfile as python_tarfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

THREADS = 2
BATCH = 256
Pass = Callable[[], Iterable[dict[str, Any]]]


def penstock(shards: list[str], shuffle: bool = False) -> Pass:
    import penstock as ps

    ds = ps.open(shards)
    if shuffle:
        ds = ds.shuffle(seed=1)
    loader = ds.batch(BATCH).loader(threads=THREADS)
    return lambda: loader


def penstock_shuffled(shards: list[str]) -> Pass:
    return penstock(shards, shuffle=True)


def penstock_mapped(shards: list[str], shuffle: bool = False) -> Pass:
    import penstock as ps

    ds = ps.open(shards, mmap=True)
    if shuffle:
        ds = ds.shuffle(seed=1)
    loader = ds.batch(BATCH).loader(threads=THREADS)
    return lambda: loader


def penstock_mapped_shuffled(shards: list[str]) -> Pass:
    return penstock_mapped(shards, shuffle=True)


def iter_tar(shards: list[str]) -> Pass:
    from penstock import io

    return lambda: io.iter_tar(shards)


def webdataset(shards: list[str], shuffle: int = 0) -> Pass:
    import webdataset as wds

    def begin() -> Iterable[dict[str, Any]]:
        ds = wds.WebDataset(shards, shardshuffle=False)
        return ds.shuffle(shuffle) if shuffle else ds

    return begin


def webdataset_shuffled(shards: list[str]) -> Pass:
    return webdataset(shards, 10_000)


def webdataset_workers(shards: list[str]) -> Pass:
    import torch
    import webdataset as wds

    def begin() -> Iterable[dict[str, Any]]:
        ds = wds.WebDataset(shards, shardshuffle=False)
        return torch.utils.data.DataLoader(ds, batch_size=None, num_workers=2)

    return begin


def dali(shards: list[str], shuffle: bool = False) -> Pass:
    from nvidia.dali import fn, pipeline_def

    fields = fields_of(shards)

    @pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None)
    def graph() -> Any:
        columns = fn.readers.webdataset(
            paths=shards,
            ext=fields,
            name="reader",
            random_shuffle=shuffle,
            initial_fill=10_000 if shuffle else 1024,
        )
        return tuple(columns) if isinstance(columns, list) else columns

    pipe = graph()
    pipe.build()
    size = pipe.epoch_size("reader")
    done = 0

    def begin() -> Iterator[dict[str, Any]]:
        # Batches go on over the end of an epoch: what is beyond it counts for the next.
        nonlocal done
        end = done + size
        while done < end:
            columns = pipe.run()
            rows = min(BATCH, end - done)
            done += rows
            yield {
                name: [column.at(i) for i in range(rows)]
                for name, column in zip(fields, columns, strict=True)
            }
        done = end

    return begin


def dali_shuffled(shards: list[str]) -> Pass:
    return dali(shards, shuffle=True)


def fields_of(shards: list[str]) -> list[str]:
    with python_tarfile.open(shards[0]) as tar:
        names = [next(iter(tar)).name, tar.getmembers()[1].name]
    fields = [name.partition(".")[2] for name in names]
    return list(dict.fromkeys(fields))


def grouped(members: Iterable[tuple[str, bytes]]) -> Iterator[dict[str, Any]]:
    sample: dict[str, Any] = {}
    for name, data in members:
        key, _, field = name.partition(".")
        if sample and sample["__key__"] != key:
            yield sample
            sample = {}
        if not sample:
            sample["__key__"] = key
        sample[field] = data
    if sample:
        yield sample


def spdl(shards: list[str]) -> Pass:
    """iter_tarfile gives members; they are grouped here."""
    return lambda: grouped(spdl_members(shards))


def spdl_ungrouped(shards: list[str]) -> Pass:
    """Members as they come: for shards with one member a sample."""
    return lambda: ({"bin": data} for _, data in spdl_members(shards))


def spdl_members(shards: list[str]) -> Iterator[tuple[str, bytes]]:
    import spdl.io

    for path in shards:
        with open(path, "rb") as file:
            yield from spdl.io.iter_tarfile(file)


def tarfile(shards: list[str]) -> Pass:
    def members() -> Iterator[tuple[str, bytes]]:
        for path in shards:
            with python_tarfile.open(path, "r|") as tar:
                for member in tar:
                    file = tar.extractfile(member)
                    if file is not None:
                        yield member.name, file.read()

    return lambda: grouped(members())
