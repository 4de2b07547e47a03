"""Who is measured on tables: Parquet from front to back, every column of a batch as a NumPy array.
Each gives (0, 0) when it is ready, then for each batch how many rows and a sum that checks them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import files
import numpy as np

Parts = Iterator[tuple[int, int]]


def checked(batch: dict[str, Any], column: str) -> tuple[int, int]:
    assert all(isinstance(value, np.ndarray) for value in batch.values())
    return len(batch[column]), int(batch[column].sum())


def penstock_scan(path: Path, batch: int) -> Parts:
    import penstock as ps

    loader = ps.open(path).batch(batch).loader(threads=2)
    yield 0, 0
    for one in loader:
        yield checked(one, "c0")


def scanner_scan(path: Path, batch: int) -> Parts:
    import pyarrow as pa
    import pyarrow.dataset

    pa.set_cpu_count(2)
    scanner = pyarrow.dataset.dataset(path).scanner(batch_size=batch)
    yield 0, 0
    for one in scanner.to_batches():
        yield checked({name: as_numpy(one.column(name)) for name in one.schema.names}, "c0")


def as_numpy(column: Any) -> Any:
    """Lists of a fixed size have rows, too."""
    if hasattr(column, "flatten") and hasattr(column.type, "list_size"):
        return column.flatten().to_numpy().reshape(-1, column.type.list_size)
    return column.to_numpy(zero_copy_only=False)


def penstock_parquet(folder: Path) -> Parts:
    yield from penstock_scan(files.make_parquet(folder), 1024)


def scanner_parquet(folder: Path) -> Parts:
    yield from scanner_scan(files.make_parquet(folder), 1024)


def penstock_parquet_wide(folder: Path) -> Parts:
    yield from penstock_scan(files.make_parquet_wide(folder), 256)


def scanner_parquet_wide(folder: Path) -> Parts:
    yield from scanner_scan(files.make_parquet_wide(folder), 256)
