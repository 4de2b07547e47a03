"""Dataset: which samples, in which order, and what is done to them. A plan; nothing runs before
:meth:`Dataset.loader`, ``ds[i]`` or an early filter."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from penstock._core import NativeOp
from penstock.data import _describe, _fields
from penstock.data._base import Plan
from penstock.data._build import cached_leaf
from penstock.data._cache import ALL, cached
from penstock.data._checks import (
    check_field_options,
    checked_collate,
    checked_count,
    checked_seed,
    checked_whole,
)
from penstock.data._clips import audio_step, video_step
from penstock.data._early import evaluate
from penstock.data._explain import explain
from penstock.data._images import image_step
from penstock.data._join import joined
from penstock.data._options import LoaderOptions
from penstock.data._plan import (
    Apply,
    Batch,
    Cached,
    Concat,
    Decode,
    Filter,
    Gather,
    Map,
    PlanError,
    Rename,
    Repeat,
    Sample,
    Select,
    Shuffle,
    Skip,
    Take,
    Zip,
    fix_of,
    is_media,
    is_python,
    is_row_work,
    leaves,
)
from penstock.data._sizes import parse_bytes

if TYPE_CHECKING:
    from penstock.data.loader import Loader

_Names = str | Sequence[str]


class Dataset(Plan):
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
        if position < 0 and order.length is not None:
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
        """The plan as it will run, as text."""
        return explain(self)

    def __repr__(self) -> str:
        steps = "".join(f".{_describe.step(step)}" for step in self._steps)
        batch = f".batch({self._batch.size})" if self._batch is not None else ""
        return f"{_describe.order(self._node)}{steps}{batch}"

    # Order.

    def shuffle(self, seed: int = 0, window: int | str | None = None) -> Dataset:
        """Another order, another one in each epoch.

        Without a window any sample can come at any time. With a window of n samples, or of "64MB",
        records are shuffled in blocks and inside windows of blocks, so that reads stay local.
        """
        samples: int | None = None
        if window is not None:
            if isinstance(window, str):
                samples = self._samples_in(window)
            else:
                samples = checked_whole(window, "shuffle: window", 1)
        elif self.sequential:
            raise PlanError(
                "shuffle: a sequential plan has no global shuffle; shuffle(window=n) reads n and "
                f"permutes them. Or {fix_of(self._node)}"
            )
        return self._reordered(Shuffle(self._node, checked_seed(seed), samples, window))

    def shard(self, rank: int, world: int) -> Dataset:
        """This process is `rank` of `world`. Written before batch(), it applies last."""
        self._before_batch("shard")
        if self._shard is not None:
            raise PlanError(f"shard: this is rank {self._shard[0]} of {self._shard[1]} already")
        rank, world = checked_whole(rank, "shard: rank"), checked_whole(world, "shard: world", 1)
        if rank >= world:
            raise PlanError(f"shard: rank {rank} is not from 0 to {world - 1}")
        return self._like(shard=(rank, world))

    def take(self, n: int) -> Dataset:
        """The first n samples, of all ranks together."""
        return self._reordered(Take(self._node, checked_count(n, "take")))

    def skip(self, n: int) -> Dataset:
        """All but the first n samples."""
        return self._reordered(Skip(self._node, checked_count(n, "skip")))

    def split(self, *fractions: float, seed: int | None = 0) -> tuple[Dataset, ...]:
        """Parts by fraction, and the rest: ``train, test = ds.split(0.9)``.

        Samples are shuffled with `seed` first (None: not at all). The parts never overlap.
        """
        self._before_batch("split")
        if not fractions or not all(part >= 0 for part in fractions) or sum(fractions) > 1 + 1e-9:
            raise PlanError(f"split: fractions {fractions} must be positive and at most 1 together")
        whole = self if seed is None else self.shuffle(seed)
        n = _length(whole, "split")
        parts, start, share = [], 0, 0.0
        for fraction in (*fractions, 1.0):
            share = min(1.0, share + fraction)
            stop = round(n * share)
            parts.append(whole.skip(start).take(stop - start) if start else whole.take(stop))
            start = stop
        return tuple(parts)

    def repeat(self, n: int | None = None) -> Dataset:
        """n passes, or without end; a shuffle before it uses the pass number as the epoch."""
        passes = None if n is None else checked_whole(n, "repeat: n", 1)
        return self._reordered(Repeat(self._node, passes))

    def concat(self, other: Dataset) -> Dataset:
        """The samples of this one, then those of the other."""
        nodes, steps = joined([self, other], "concat")
        return self._reordered(Concat(nodes), steps, [self, other])

    def zip(self, other: Dataset) -> Dataset:
        """Sample i has the fields of both samples i."""
        for part in (self, other):
            part._before_batch("zip")
            if any(is_python(step) for step in part._steps):
                raise PlanError("zip: put map() and filter() after zip()")
        nodes = tuple(part._own_steps()._node for part in (self, other))
        made = self._reordered(Zip(nodes), (), [self, other])
        mine, theirs = self._known_fields(), other._known_fields()
        for name in mine or []:
            if name in (theirs or []):
                raise PlanError(f"zip: both have a field '{name}'; rename it in one of them")
        return made

    def sample(self, weights: Sequence[float], n: int | None = None, seed: int = 0) -> Dataset:
        """n draws with replacement, each in proportion to its weight."""
        self._before_batch("sample")
        n = _length(self, "sample") if n is None else checked_count(n, "sample")
        numbers = tuple(float(weight) for weight in weights)
        return self._reordered(Sample(self._node, numbers, n, checked_seed(seed)))

    # Work on rows.

    def select(self, *names: str) -> Dataset:
        """Keeps these fields."""
        return self._worked(Select(names))

    def rename(self, **names: str) -> Dataset:
        """Other names for fields: ``rename(jpg="image")``."""
        return self._worked(Rename(tuple(names.items())))

    def filter(self, fn: Callable[..., Any]) -> Dataset:
        """Samples for which fn(sample) is true.

        Before any decode or map it is early: `fn` sees raw fields, runs once per record now, and
        the dataset is what is left. After row work it is late: it leaves holes in batches.
        """
        self._before_batch("filter")
        late = any(is_row_work(step) for step in self._steps)
        for leaf in leaves(self._node):  # of parts that were joined
            late = late or any(is_media(step) for step in leaf.steps)
        if self.sequential or late:
            return self._worked(Filter(fn))
        return self._reordered(evaluate(self, fn))

    def decode(self, *kinds: str, **fields: str) -> Dataset:
        """Decodes fields by extension: "cls" an integer, "json", "txt", "npy" an array. Other names
        are given as ``decode(label="cls")``. Nothing of the data is executed."""
        self._before_batch("decode")
        pairs = _fields.decoded_fields(self._known_fields(), kinds, fields)
        return self._worked(Decode(tuple(pairs)))

    def decode_image(
        self,
        field: _Names | None = None,
        size: tuple[int, int] | None = None,
        crop: Literal["random_resized", "center"] | tuple[int, int, int, int] | None = None,
        flip: float = 0.0,
        resize_short: int | None = None,
        mode: str | Mapping[str, str] = "RGB",
        interpolation: str | Mapping[str, str] = "bilinear",
        exact: bool = False,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        box: str | None = None,
        **options: Any,
    ) -> Dataset:
        """Decodes images: uint8, height x width x channels.

        Args:
            field: Which one; left out: the one that holds an image by its name. Several share crop
                and flip: ``decode_image(["image", "mask"], mode={"mask": "P"},
                interpolation={"mask": "nearest"})``.
            size: (height, width) of the result. Without a crop: a plain resize.
            crop: "random_resized" (by `scale` and `ratio`), "center", or a box.
            flip: The probability of being mirrored left to right.
            box: The name of a field for what was cut out: left, top, right, bottom.

        The others, and what else is taken, are those of :func:`penstock.io.decode_image`.
        """
        self._before_batch("decode_image")
        names = [field] if isinstance(field, str) else list(field or ())
        if not names:
            names = [_fields.field_of("image", self._known_fields())]
        options |= {"resize_short": resize_short, "scale": scale, "ratio": ratio}
        return self._worked(
            image_step(names, size, crop, flip, mode, interpolation, exact, box, options)
        )

    def decode_video(
        self,
        field: str | None = None,
        num_frames: int = 8,
        size: tuple[int, int] | None = None,
        crop: Literal["random_resized", "center"] | tuple[int, int, int, int] | None = None,
        flip: float = 0.0,
        *,
        sampling: Literal["uniform", "random", "clip"] = "uniform",
        stride: int = 1,
        mode: str = "RGB",
        indices: str | None = None,
        damaged: str | None = None,
        stream: int | None = None,
        ffmpeg_threads: int = 1,
        **options: Any,
    ) -> Dataset:
        """Takes frames of videos: uint8, frames x height x width x channels.

        Args:
            field: Holds the bytes of a file, or its name; left out: the one that holds a video by
                its name.
            num_frames: How many. A clip that is too short gives frames several times.
            sampling: "uniform": the middles of equal parts; "random": a random frame of each part;
                "clip": neighbours `stride` frames apart, from a random one on.
            size, crop, flip: As for decode_image; all frames of a clip share them.
            indices: The name of a field for the numbers of the frames.
            damaged: The name of a field for how many of them the decoder knows to be damaged; with
                ``strict=True`` such a sample fails instead.

        The others, and what else is taken (``rotate``, ``strict``, ``resize_short``, ...), are
        those of :class:`penstock.io.Video`. With a `size`, batch() gives layout and dtype.
        """
        self._before_batch("decode_video")
        name = field or _fields.field_of("video", self._known_fields())
        return self._worked(
            video_step(
                name,
                num_frames,
                size,
                crop,
                flip,
                sampling,
                stride,
                mode,
                indices,
                damaged,
                stream,
                ffmpeg_threads,
                options,
            )
        )

    def decode_audio(
        self,
        field: str | None = None,
        start: float | Literal["random"] | None = None,
        duration: float | None = None,
        sample_rate: int | None = None,
        channels: int | Sequence[int] | None = None,
        dtype: Literal["float32", "int16"] = "float32",
        *,
        layout: Literal["CT", "TC"] = "CT",
        rate: str | None = None,
        exact: bool = True,
        strict: bool = False,
        stream: int | None = None,
    ) -> Dataset:
        """Decodes audio: channels x samples.

        Args:
            field: Holds the bytes of a file, or its name; left out: the one that holds audio by its
                name.
            start: In seconds; "random": a part of `duration` seconds at a random place.
            rate: The name of a field for the sample rate.

        The others are those of :func:`penstock.io.load_audio`. Sounds of different lengths are
        batched with ``batch(collate={field: "pad"})``, "ragged" or "list".
        """
        self._before_batch("decode_audio")
        name = field or _fields.field_of("audio", self._known_fields())
        options = {
            "duration": duration,
            "sample_rate": sample_rate,
            "channels": channels if channels is None or isinstance(channels, int) else (*channels,),
            "dtype": dtype,
            "layout": layout,
            "exact": exact,
            "strict": strict,
            "stream": stream,
        }
        return self._worked(audio_step(name, start, rate, options))

    def apply(self, field: str, *ops: NativeOp) -> Dataset:
        """Native ops of :mod:`penstock.ops` on the array of a field, one after the other.

        They run on the loader's threads, without Python. Ops that draw ask the loader's seed, the
        epoch and the sample's position; their own `seed` and `epoch` are for pipelines.

        >>> import numpy as np
        >>> import penstock as ps
        >>> sounds = ps.from_arrays(sound=np.ones((4, 1600), np.float32))
        >>> louder = sounds.apply("sound", ps.ops.fix_length(800), ps.ops.gain(20))
        >>> [batch["sound"].shape for batch in louder.batch(2).loader()]
        [(2, 800), (2, 800)]
        """
        self._before_batch("apply")
        for op in ops:
            if not isinstance(op, NativeOp) or not op.on_rows:
                raise PlanError(f"apply: {op!r} is not an op on arrays; functions go to map()")
        if not ops:
            raise PlanError("apply: say which ops")
        return self._worked(Apply(field, ops))

    def map(
        self, fn: Callable[..., Any], concurrency: int | None = None, executor: Any = None
    ) -> Dataset:
        """fn(sample) or fn(sample, rng) on each sample; after batch(): fn(batch).

        `rng` is that sample's own :class:`numpy.random.Generator`. None removes the sample. Async
        functions are awaited. `concurrency` calls run at once; `executor` runs them elsewhere.
        """
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
            layout, dtype, mean, std: Of fields made by decode_image; a dict gives them by field.
            collate: For rows that differ in shape: "pad", "ragged" or "list"; a dict gives it by
                field.
        """
        self._before_batch("batch")
        size = checked_whole(size, "batch: size", 1)
        if ends not in ("pad", "short"):
            raise PlanError(f'batch: ends is {ends!r}; give "pad" or "short"')
        if (mean is None) != (std is None):
            raise PlanError("batch: mean and std go together")
        if mean is not None and dtype == "uint8":
            raise PlanError('batch: mean and std are for dtype="float32" or "float16", not "uint8"')
        gathers = checked_collate(collate)
        made = Batch(size, drop_last, ends, mask, layout, dtype, mean, std, gathers)
        check_field_options(made, self._known_fields())
        return self._like(batch=made)

    def to(self, device: str) -> Dataset:
        """Batches on a device: the CPU. Another one raises: no GPU support is built."""
        if self._batch is None:
            raise PlanError("to: batches go to a device: .batch(n).to(device)")
        if device != "cpu":
            raise NotImplementedError(
                f"to({device!r}): this build has no GPU support; use output='torch' and "
                "batch[...].to(device, non_blocking=True)"
            )
        return self

    def loader(self, **options: Unpack[LoaderOptions]) -> Loader:
        """What runs the plan; the arguments are those of :class:`Loader`."""
        from penstock.data.loader import Loader

        return Loader(self, **options)


def _length(dataset: Dataset, step: str) -> int:
    length = dataset._order().length
    if length is None:
        raise PlanError(f"{step}: the dataset is endless; {step} before repeat()")
    return length
