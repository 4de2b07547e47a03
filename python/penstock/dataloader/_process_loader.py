"""get_pytorch_dataloader: a loader with worker processes that leaves out what fails."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from penstock.dataloader._torch_class import is_iterable_dataset
from penstock.dataloader._torch_loader import PyTorchDataLoader


def get_pytorch_dataloader(
    dataset: Any,
    batch_size: int | None = 1,
    shuffle: bool = False,
    sampler: Any = None,
    batch_sampler: Any = None,
    num_workers: int = 1,
    collate_fn: Callable[[list[Any]], Any] | None = None,
    pin_memory: bool = False,
    drop_last: bool = False,
    timeout: float | None = None,
    worker_init_fn: None = None,
    multiprocessing_context: Any = None,
    generator: Any = None,
    *,
    prefetch_factor: int = 2,
    persistent_workers: bool = False,
    pin_memory_device: str | None = None,
    in_order: bool = False,
    worker_init_concurrency: int | None = None,
) -> PyTorchDataLoader[Any]:
    """A :class:`PyTorchDataLoader` with ``num_workers`` processes, for map-style datasets.

    The dataset is pickled here, once, and unpickled in each process, ``worker_init_concurrency`` of
    them at a time. Batches come as they are finished unless ``in_order``. One that fails is logged
    and left out, and so is None: :class:`PyTorchDataLoader` itself raises. ``batch_sampler`` needs
    ``batch_size=None``; ``worker_init_fn``, ``persistent_workers`` and ``pin_memory_device`` are
    refused.

    >>> loader = get_pytorch_dataloader(range(4), batch_size=2, in_order=True)
    >>> [batch.tolist() for batch in loader]
    [[0, 1], [2, 3]]
    """
    if is_iterable_dataset(dataset):
        raise ValueError("IterableDataset is not supported.")
    for name, value in (
        ("worker_init_fn", worker_init_fn),
        ("pin_memory_device", pin_memory_device),
        ("persistent_workers", persistent_workers or None),
    ):
        if value is not None:
            raise ValueError(f"`{name}` is not supported.")
    if timeout is not None and timeout < 0:
        raise ValueError(f"`timeout` must be positive. Found: {timeout}.")
    if num_workers < 0:
        raise ValueError(f"`num_workers` must be greater than 0. Found: {num_workers}")
    if worker_init_concurrency is not None and worker_init_concurrency < 1:
        raise ValueError(
            f"`worker_init_concurrency` must be greater than 0. Found: {worker_init_concurrency}."
        )
    _check_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
    if num_workers == 0:
        warnings.warn(
            "`num_workers` is 0. Setting `num_workers` to 1 for single process dataloading.",
            stacklevel=2,
        )
        num_workers = 1
    if not isinstance(multiprocessing_context, multiprocessing.context.BaseContext):
        multiprocessing_context = multiprocessing.get_context(multiprocessing_context)
    loader: PyTorchDataLoader[Any] = PyTorchDataLoader(
        dataset,
        1 if batch_sampler is not None else batch_size,
        shuffle,
        sampler,
        batch_sampler,
        num_workers,
        collate_fn,
        pin_memory,
        drop_last,
        timeout or 0,
        None,
        multiprocessing_context,
        generator,
        prefetch_factor=prefetch_factor,
        in_order=in_order,
        executor="process",
    )
    loader._skip_failed = True
    loader._pickled = pickle.dumps(dataset)
    loader._begin_at_once = worker_init_concurrency
    return loader


def _check_samplers(
    batch_size: int | None, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    if sampler is not None and batch_sampler is not None:
        raise ValueError("`sampler` and `batch_sampler` are mutually exclusive.")
    if batch_size is not None and batch_sampler is not None:
        raise ValueError("`batch_size` and `batch_sampler` are mutually exclusive.")
    if shuffle and (sampler is not None or batch_sampler is not None):
        raise ValueError("`shuffle` must be False when `batch_sampler` or `sampler` is provided.")
    if drop_last and batch_sampler is not None:
        raise ValueError("`drop_last` must be False when `batch_sampler` is provided.")
    if drop_last and batch_size is None:
        raise ValueError("`drop_last` must be False when `batch_size` is None.")
