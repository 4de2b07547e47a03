"""Penstock: a data-loading engine for model training.

>>> import penstock as ps
>>> ds = ps.from_list(range(6)).shuffle(seed=1)
>>> [batch["data"].shape for batch in ds.batch(4).loader()]
[(4,), (2,)]
"""

from penstock import _core
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
]
