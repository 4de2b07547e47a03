"""Datasets: which samples, in which order, what is done to them, and the loader that runs it.

>>> import penstock as ps
>>> ds = ps.from_list(range(100)).shuffle(seed=7).map(lambda sample: {"x": sample["data"] * 2})
>>> sum(int(batch["x"].sum()) for batch in ds.batch(32).loader())
9900
"""

from penstock.data._ledger import Ledger
from penstock.data._output import Ragged
from penstock.data._plan import PlanError
from penstock.data.dataset import Dataset
from penstock.data.loader import Loader, SampleError, TooManyErrors
from penstock.data.sources import from_arrays, from_iterable, from_list, mix, open

__all__ = [
    "Dataset",
    "Ledger",
    "Loader",
    "PlanError",
    "Ragged",
    "SampleError",
    "TooManyErrors",
    "from_arrays",
    "from_iterable",
    "from_list",
    "mix",
    "open",
]
