"""Who is measured on tables: Parquet from front to back, every column of a batch as a NumPy array.
Each gives (0, 0) when it is ready, then for each batch how many rows and a sum that checks them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import files
import numpy as np

Parts = Iterator[tuple[int, int]]
PASSES = 4


def checked(batch: dict[str, Any], column: str) -> tuple[int, int]:
    assert all(isinstance(value, np.ndarray) for value in batch.values())
    return len(batch[column]), int(batch[column].sum())


def passes(once: Callable[[], Parts]) -> Parts:
    """One that is not timed, then some that are."""
    for _ in once():
        pass
    yield 0, 0
    for _ in range(PASSES):
        yield from once()


def penstock_scan(path: Path, batch: int) -> Parts:
    import penstock as ps

    loader = ps.open(path).batch(batch).loader(threads=2)
    yield from passes(lambda: (checked(one, "c0") for one in loader))


def scanner_scan(path: Path, batch: int) -> Parts:
    import pyarrow as pa
    import pyarrow.dataset

    pa.set_cpu_count(2)
    scanner = pyarrow.dataset.dataset(path).scanner(batch_size=batch)

    def once() -> Parts:
        for one in scanner.to_batches():
            yield checked({name: as_numpy(one.column(name)) for name in one.schema.names}, "c0")

    yield from passes(once)


def scanner_batches(path: Path, batch: int) -> Parts:
    """What the scanner gives ends where groups of rows do, and cannot be written to: these are
    batches as loaders give them."""
    import pyarrow as pa
    import pyarrow.dataset

    pa.set_cpu_count(2)
    scanner = pyarrow.dataset.dataset(path).scanner(batch_size=batch)

    def once() -> Parts:
        made: dict[str, Any] = {}
        filled = 0
        for one in scanner.to_batches():
            pieces = {name: as_numpy(one.column(name)) for name in one.schema.names}
            taken = 0
            while taken < len(one):
                if filled == 0:
                    made = {k: np.empty((batch, *v.shape[1:]), v.dtype) for k, v in pieces.items()}
                count = min(batch - filled, len(one) - taken)
                for name, piece in pieces.items():
                    made[name][filled : filled + count] = piece[taken : taken + count]
                filled, taken = filled + count, taken + count
                if filled == batch:
                    yield checked(made, "c0")
                    filled = 0
        if filled:
            yield checked({name: values[:filled] for name, values in made.items()}, "c0")

    yield from passes(once)


def as_numpy(column: Any) -> Any:
    """Lists of a fixed size have rows, too."""
    if hasattr(column, "flatten") and hasattr(column.type, "list_size"):
        return column.flatten().to_numpy().reshape(-1, column.type.list_size)
    return column.to_numpy(zero_copy_only=False)


def penstock_parquet(folder: Path) -> Parts:
    yield from penstock_scan(files.make_parquet(folder), 1024)


def scanner_parquet_batches(folder: Path) -> Parts:
    yield from scanner_batches(files.make_parquet(folder), 1024)


def scanner_parquet(folder: Path) -> Parts:
    yield from scanner_scan(files.make_parquet(folder), 1024)


def penstock_parquet_wide(folder: Path) -> Parts:
    yield from penstock_scan(files.make_parquet_wide(folder), 256)


def scanner_parquet_wide(folder: Path) -> Parts:
    yield from scanner_scan(files.make_parquet_wide(folder), 256)


def scanner_parquet_wide_batches(folder: Path) -> Parts:
    yield from scanner_batches(files.make_parquet_wide(folder), 256)
