"""What tests of arrays share: values of any dtype, and a look at all rows of a dataset."""

from typing import Any

import numpy as np
import penstock as ps

Any_Array = np.ndarray[Any, Any]

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def filled(dtype: Any, shape: tuple[int, ...]) -> Any_Array:
    """Values that depend on nothing but dtype and shape, some of them repeated."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    raw = np.random.default_rng(kind.itemsize).integers(
        0, 2 if kind.kind == "b" else 100, size, "u1"
    )
    return np.frombuffer(raw.tobytes(), kind).reshape(shape).copy()


def texts(dtype: str, shape: tuple[int, ...]) -> Any_Array:
    count = int(np.prod(shape))
    return np.array([str(i % 7) * (i % 3 + 1) for i in range(count)]).astype(dtype).reshape(shape)


def assert_same(got: Any, wanted: Any_Array) -> None:
    """Bit by bit, so that NaNs count; in this machine's byte order."""
    got = np.asarray(got)
    assert got.dtype == wanted.dtype.newbyteorder("=")
    assert got.shape == wanted.shape
    assert got.tobytes() == wanted.astype(got.dtype).tobytes()


def assert_rows(ds: ps.Dataset, **wanted: Any_Array) -> None:
    """Sample by sample, and as batches in both orders."""
    rows = len(next(iter(wanted.values())))
    assert len(ds) == rows
    assert sorted(ds.fields) == sorted(wanted)
    for i in {0, rows // 2, rows - 1} if rows else ():
        for name, array in wanted.items():
            assert_same(ds[i][name], array[i])
    for order in (ds, ds.shuffle(seed=3)):
        where = [order._order().locate(0, p)[0][1] for p in range(rows)]
        batches = list(order.batch(5).loader(threads=2))
        for name, array in wanted.items():
            parts = [part for batch in batches for part in batch[name]]
            assert_same(np.stack(parts) if parts else array, array[where])
