"""Penstock: a data-loading engine for model training.

>>> import penstock as ps
>>> ds = ps.from_list(range(6)).shuffle(seed=1)
>>> [batch["data"].shape for batch in ds.batch(4).loader()]
[(4,), (2,)]
"""

import importlib
from typing import TYPE_CHECKING, Any

from penstock import _core

if TYPE_CHECKING:
    from penstock.data import (
        Dataset,
        Ledger,
        Loader,
        PlanError,
        Ragged,
        SampleError,
        TooManyErrors,
        from_arrays,
        from_iterable,
        from_list,
        mix,
        open,
    )
    from penstock.insight import progress

__version__: str = _core.version()

__all__ = [
    "Dataset",
    "Ledger",
    "Loader",
    "PlanError",
    "Ragged",
    "SampleError",
    "TooManyErrors",
    "__version__",
    "from_arrays",
    "from_iterable",
    "from_list",
    "mix",
    "open",
    "progress",
]


def __getattr__(name: str) -> Any:
    """Datasets, and NumPy with them, are loaded when first used: pipelines need neither."""
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    room = "penstock.insight" if name == "progress" else "penstock.data"
    value = getattr(importlib.import_module(room), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
