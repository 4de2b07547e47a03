"""Dataset: which samples, in which order, and what is done to them. A plan; nothing runs before
:meth:`Dataset.loader`, ``ds[i]`` or an early filter."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from penstock.data import _describe
from penstock.data._build import cached_leaf
from penstock.data._cache import ALL, cached
from penstock.data._checks import (
    check_field_options,
    checked_channels,
    checked_collate,
    checked_dtype,
    checked_function,
    checked_whole,
)
from penstock.data._decoding import Decoding
from penstock.data._early import evaluate
from penstock.data._explain import explain
from penstock.data._options import LoaderOptions
from penstock.data._ordering import Ordering
from penstock.data._plan import (
    Batch,
    Cached,
    Filter,
    Gather,
    Map,
    PlanError,
    Rename,
    Select,
    fix_of,
    is_media,
    is_row_work,
    leaves,
)
from penstock.data._sizes import parse_bytes

if TYPE_CHECKING:
    from penstock.data.loader import Loader


class Dataset(Ordering, Decoding):
    """Samples in an order, with work to be done on them. Immutable: each method gives a new one.

    >>> import penstock as ps
    >>> ds = ps.from_list([{"x": i} for i in range(10)]).shuffle(seed=1).take(4)
    >>> len(ds), sorted(ds[0])
    (4, ['x'])
    >>> [batch["x"].shape for batch in ds.batch(3).loader()]
    [(3,), (1,)]
    """

    # What there is.

    @property
    def fields(self) -> list[str]:
        """The names of a sample's fields. After a map they are those of the first sample."""
        known = self._known_fields()
        return list(self[0]) if known is None else known

    def __len__(self) -> int:
        if self.sequential:
            raise TypeError(f"this plan is sequential and has no length; {fix_of(self._node)}")
        if any(isinstance(step, Filter) for step in self._steps):
            raise TypeError(
                "a dataset with a late filter has no length: which samples are left is only known "
                "when they are made. len(loader) counts batches by position; a filter before any "
                "decode or map is an early one, and then len() is exact"
            )
        length = self._order().length
        if length is None:
            raise TypeError("an endless dataset has no length; take(n) ends it")
        if self._batch is not None:
            raise TypeError("len(ds.loader()) counts batches; take len() of samples before batch()")
        return length

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: Sequence[int] | slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | Sequence[int] | slice) -> Any:
        """One sample, or a list of them (``ds[[5, 1]]``, ``ds[100:200]``), as epoch 0 has them."""
        if isinstance(index, slice):
            length = self._order().length
            if length is None:
                raise TypeError("an endless dataset has no slices; take(n) ends it")
            return [self[one] for one in range(length)[index]]
        try:
            position = operator.index(index)  # type: ignore[arg-type]
        except TypeError:
            if isinstance(index, str) or not hasattr(index, "__iter__"):
                raise TypeError(
                    f"ds[{index!r}]: give the number of a sample, a slice or a list of numbers; "
                    "ds.skip(a).take(n) is a part of a dataset"
                ) from None
            return [self[one] for one in index]  # type: ignore[union-attr]
        order = self._order()
        if position < 0:
            if order.length is None:
                raise IndexError(f"sample {index}: an endless dataset has no end to count from")
            position += order.length
        if position < 0:
            raise IndexError(f"sample {index} of a dataset of {order.length}")
        sample = self._sample(position)
        if sample is None:
            raise LookupError(f"sample {index} is removed by a filter, or by a map returning None")
        return sample

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All samples, of all ranks, as epoch 0 has them."""
        if self.sequential:
            yield from self._like(shard=(0, 1)).loader()
            return
        length = self._order().length
        position = 0
        while length is None or position < length:
            sample = self._sample(position)
            position += 1
            if sample is not None:
                yield sample

    def explain(self) -> str:
        """The plan as it will run, as text.

        >>> import penstock as ps
        >>> "from_list(9 items)" in ps.from_list(range(9)).batch(3).explain()
        True
        """
        return explain(self)

    def __repr__(self) -> str:
        steps = "".join(f".{_describe.step(step)}" for step in self._steps)
        batch = f".batch({self._batch.size})" if self._batch is not None else ""
        return f"{_describe.order(self._node)}{steps}{batch}"

    # Work on rows.

    def select(self, *names: str) -> Dataset:
        """Keeps these fields.

        >>> import penstock as ps
        >>> ps.from_list([{"x": 1, "y": 2}]).select("y")[0]
        {'y': 2}
        """
        return self._worked(Select(names))

    def rename(self, **names: str) -> Dataset:
        """Other names for fields: ``rename(jpg="image")``.

        >>> import penstock as ps
        >>> ps.from_list([{"x": 1}]).rename(x="label")[0]
        {'label': 1}
        """
        return self._worked(Rename(tuple(names.items())))

    def filter(
        self, fn: Callable[..., Any], *, sidecar: str | os.PathLike[str] | None = None
    ) -> Dataset:
        """Samples for which fn(sample) is true.

        Before any decode or map it is early: `fn` sees raw fields, runs once per record now, and
        the dataset is what is left. After row work it is late: it leaves holes in batches.

        With `sidecar` what an early filter has kept, one bit for each record, goes into that file,
        and comes from there next time if it is of the same data. The function is not compared: name
        the file after it.

        >>> import penstock as ps
        >>> odd = ps.from_list(range(6)).filter(lambda sample: sample["data"] % 2)
        >>> len(odd), odd[1]["data"]
        (3, 3)
        """
        self._before_batch("filter")
        checked_function(fn, "filter")
        late = any(is_row_work(step) for step in self._steps)
        for leaf in leaves(self._node):  # of parts that were joined
            late = late or any(is_media(step) for step in leaf.steps)
        if self.sequential or late:
            if sidecar is not None:
                raise PlanError("filter: sidecar= is for early filters; this one is late")
            return self._worked(Filter(fn))
        return self._reordered(evaluate(self, fn, None if sidecar is None else os.fspath(sidecar)))

    def map(
        self, fn: Callable[..., Any], concurrency: int | None = None, executor: Any = None
    ) -> Dataset:
        """fn(sample) or fn(sample, rng) on each sample; after batch(): fn(batch).

        `rng` is that sample's own :class:`numpy.random.Generator`. None removes the sample. Async
        functions are awaited. `concurrency` calls run at once; `executor` runs them elsewhere.

        >>> import penstock as ps
        >>> squares = ps.from_list(range(4)).map(lambda sample: {"x": sample["data"] ** 2})
        >>> doubled = squares.batch(4).map(lambda batch: 2 * batch["x"])
        >>> [batch.tolist() for batch in doubled.loader()]
        [[0, 2, 8, 18]]
        """
        checked_function(fn, "map")
        if self._batch is not None:
            if concurrency not in (None, 1) or executor is not None:
                raise PlanError("map: on batches it runs in order, one at a time")
            return self._like(batch=replace(self._batch, maps=(*self._batch.maps, fn)))
        if concurrency is not None:
            concurrency = checked_whole(concurrency, "map: concurrency", 1)
        return self._worked(Map(fn, concurrency, executor))

    def cache(self, memory: int | str | None = None) -> Dataset:
        """Keeps samples in memory as they are here, up to `memory` ("4GB"; None: all of them).

        What does not fit is read again in each epoch. Datasets and loaders made of this one share
        what it keeps. Random work comes after it.

        >>> import numpy as np, penstock as ps
        >>> ds = ps.from_arrays(x=np.arange(8)).cache(memory="1MB").shuffle(seed=1)
        >>> [sum(b["x"].sum() for b in ds.batch(4).loader(epoch=e)) for e in range(2)]
        [np.int64(28), np.int64(28)]
        """
        self._before_batch("cache")
        if self.sequential:
            raise PlanError(f"cache: not for a sequential plan; {fix_of(self._node)}")
        limit = ALL if memory is None else parse_bytes(memory, "memory")
        made = Dataset(cached(self, limit), (), self._shard)
        made._opened = [
            cached_leaf(leaf.source, opened)
            for leaf, opened in zip(leaves(made._node), self._leaves(), strict=True)
            if isinstance(leaf.source, Cached)
        ]
        return made

    # Batches.

    def batch(
        self,
        size: int,
        drop_last: bool = False,
        ends: Literal["pad", "short"] = "pad",
        mask: bool = False,
        layout: Any = "NHWC",
        dtype: Any = "uint8",
        mean: Any = None,
        std: Any = None,
        collate: Gather | Mapping[str, Gather] | None = None,
    ) -> Dataset:
        """Batches of `size` rows, per rank.

        Args:
            drop_last: Leave out the last round if it is not full on all ranks.
            ends: "pad": ranks with fewer rows in the last round are filled up from the beginning;
                "short": as it falls.
            mask: Add a bool field ``_valid``: false for rows that only fill up.
            layout, dtype, mean, std: Of fields made by decode_image or decode_video; a dict gives
                them by field. Pixels go from 0 to 255; with `mean` and `std` they are
                ``(x / 255 - mean) / std``: ``mean=0, std=1`` gives 0 to 1.
            collate: For rows that differ in shape: "pad", "ragged" or "list"; a dict gives it by
                field.

        >>> import penstock as ps
        >>> texts = ps.from_list([{"x": [1, 2]}, {"x": [3]}])
        >>> [batch["x"] for batch in texts.batch(2, collate="list").loader()]
        [[[1, 2], [3]]]
        """
        self._before_batch("batch")
        size = checked_whole(size, "batch: size", 1)
        if ends not in ("pad", "short"):
            raise PlanError(f'batch: ends is {ends!r}; give "pad" or "short"')
        if (mean is None) != (std is None):
            raise PlanError("batch: mean and std go together")
        gathers = checked_collate(collate)
        dtype = checked_dtype(dtype)
        mean, std = checked_channels(mean, "mean"), checked_channels(std, "std")
        made = Batch(size, drop_last, ends, mask, layout, dtype, mean, std, gathers)
        check_field_options(made, self._known_fields(), self._pictures())
        return self._like(batch=made)

    def to(self, device: str) -> Dataset:
        """Batches on a device: the CPU. Another one raises: no GPU support is built.

        >>> import penstock as ps
        >>> on_cpu = ps.from_list(range(4)).batch(2).to("cpu")
        """
        if self._batch is None:
            raise PlanError("to: batches go to a device: .batch(n).to(device)")
        if device != "cpu":
            raise NotImplementedError(
                f"to({device!r}): this build has no GPU support; use output='torch' and "
                "batch[...].to(device, non_blocking=True)"
            )
        return self

    def loader(self, **options: Unpack[LoaderOptions]) -> Loader:
        """What runs the plan; the arguments are those of :class:`Loader`.

        >>> import penstock as ps
        >>> loader = ps.from_list(range(5)).batch(2).loader(threads=1)
        >>> len(loader)
        3
        """
        from penstock.data.loader import Loader

        return Loader(self, **options)
