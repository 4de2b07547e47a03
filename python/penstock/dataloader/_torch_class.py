"""A class of ours that becomes a subclass of torch's DataLoader when torch is first needed."""

from __future__ import annotations

from typing import Any

_made: dict[type[Any], type[Any]] = {}


def with_torch(cls: type[Any]) -> type[Any]:
    """The class with torch's DataLoader as a base, so that others take its objects for one."""
    try:
        from torch.utils.data import DataLoader
    except ImportError:
        raise ImportError(f"{cls.__name__} needs PyTorch: pip install torch") from None
    if issubclass(cls, DataLoader):
        return cls
    if cls not in _made:
        names = {name: getattr(cls, name) for name in ("__module__", "__qualname__", "__doc__")}
        _made[cls] = type(cls.__name__, (cls, DataLoader), names | {"_declared_as": cls})
    return _made[cls]


def declared(cls: type[Any]) -> type[Any]:
    """The class as it can be imported."""
    found: type[Any] = vars(cls).get("_declared_as", cls)
    return found


def is_iterable_dataset(dataset: Any) -> bool:
    from torch.utils.data import IterableDataset

    return isinstance(dataset, IterableDataset)
