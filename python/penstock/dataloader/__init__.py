"""Loaders people know: a plain one, PyTorch's with threads, and one that answers from a cache.

>>> from penstock.dataloader import DataLoader
>>> loader = DataLoader(range(5), preprocessor=abs, batch_size=2, aggregator=sum, num_threads=1)
>>> list(loader)
[1, 5, 4]
"""

from penstock.dataloader._cache import CacheDataLoader
from penstock.dataloader._plain import DataLoader
from penstock.dataloader._process_loader import get_pytorch_dataloader
from penstock.dataloader._torch_loader import PyTorchDataLoader

__all__ = [
    "CacheDataLoader",
    "DataLoader",
    "PyTorchDataLoader",
    "get_pytorch_dataloader",
]
