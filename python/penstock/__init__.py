"""Penstock: a data-loading engine for model training.

>>> import penstock as ps
>>> ps.__version__  # doctest: +SKIP
'0.1.0'
"""

from penstock import _core

__version__: str = _core.version()

__all__ = ["__version__"]
