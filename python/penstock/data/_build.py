"""From a plan to what the native part runs: an order, its leaves, and the steps on rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from penstock import _core
from penstock._image_request import make_request
from penstock.data._arrays import open_npz, open_source, rows_of
from penstock.data._clips import add_audio, add_video
from penstock.data._listed import array_maker
from penstock.data._placing import Placing
from penstock.data._plan import (
    CHANNELS,
    Apply,
    ArrayRows,
    Arrays,
    Batch,
    Cached,
    Concat,
    Decode,
    DecodeAudio,
    DecodeImage,
    DecodeVideo,
    Items,
    Leaf,
    Map,
    Mix,
    Node,
    OpenArrays,
    OpenFiles,
    OpenTables,
    ParseExample,
    PlanError,
    Rename,
    Repeat,
    Sample,
    Select,
    Shuffle,
    Skip,
    Step,
    Stream,
    Subset,
    TableRows,
    TableValues,
    Take,
    Tokens,
    ViewRows,
    WidenTokens,
    Zip,
    is_python,
    leaves,
    sees_arrays,
)
from penstock.data._rows import Call, EventLoop, default_concurrency, wants_rng
from penstock.data._tables import open_source as open_table_source


def open_leaf(leaf: Leaf) -> _core.Leaf:
    source = leaf.source
    if isinstance(source, OpenFiles) and source.format == "npy":
        return _core.Leaf.open_npy(source.names[0], source.window, source.stride)
    if isinstance(source, OpenFiles) and source.format == "npz":
        return open_npz(source)[-1]
    if isinstance(source, OpenArrays):
        return open_source(source)
    if isinstance(source, OpenTables):
        return open_table_source(source)
    if isinstance(source, OpenFiles):
        return _core.Leaf.open(
            list(source.names),
            source.format,
            list(source.fields),
            source.checksums,
            source.verify,
            source.mmap,
            source.max_member,
        )
    if isinstance(source, Tokens):
        return _core.Leaf.open_tokens(
            list(source.names),
            source.dtype,
            source.window,
            source.stride,
            [starts.tolist() for starts in source.documents],
            source.pad,
        )
    if isinstance(source, Arrays):
        return rows_of(source.arrays)[0]
    if isinstance(source, Items):
        return _core.Leaf.elsewhere(len(source.items), [], "item")
    if isinstance(source, Cached):
        return cached_leaf(source, open_leaf(Leaf(source.source)))
    raise PlanError(
        "this plan is sequential: it has no length and no order of its own. For len(), ds[i] and a "
        f"global shuffle {source.fix}"
    )


def cached_leaf(source: Cached, opened: _core.Leaf) -> _core.Leaf:
    plan = RowPlan(_core.RowPlan(), EventLoop(), {}, {})
    for step in source.steps:
        _add(plan, step, _Ordinal(0), 0, None, None, None)
    return opened.cached(plan.native, source.limit)


def make_order(node: Node, opened: Sequence[_core.Leaf]) -> _core.Order:
    """`opened` are the leaves of the tree, from left to right."""
    try:
        return _Orders(opened).make(node)
    except ValueError as error:
        raise PlanError(str(error)) from None


class _Orders:
    """Orders over leaves, which are numbered as they are met.

    (No function inside another: one that calls itself would keep the leaves, and with them files
    and caches, until the garbage is collected.)
    """

    def __init__(self, opened: Sequence[_core.Leaf]) -> None:
        self._opened = opened
        self._met = 0

    def make(self, node: Node) -> _core.Order:
        if isinstance(node, Leaf):
            self._met += 1
            return _core.Order.leaf(self._met - 1, len(self._opened[self._met - 1]))
        if isinstance(node, Concat):
            return _core.Order.concat([self.make(part) for part in node.parts])
        if isinstance(node, Zip):
            return _core.Order.zip([self.make(part) for part in node.parts])
        if isinstance(node, Mix):
            parts = [self.make(part) for part in node.parts]
            return _core.Order.mix(parts, list(node.weights), node.seed, node.endless)
        child = self.make(node.child)
        if isinstance(node, Shuffle):
            if node.window is None:
                return child.shuffle(node.seed)
            # Rows of a chunk stay together, so that it is unpacked once for a window.
            block = self._opened[self._met - 1].block if isinstance(node.child, Leaf) else 0
            return child.shuffle_windows(node.seed, node.window, min(block, node.window))
        if isinstance(node, Take):
            return child.take(node.n)
        if isinstance(node, Skip):
            return child.skip(node.n)
        if isinstance(node, Repeat):
            return child.repeat(node.n)
        if isinstance(node, Sample):
            return child.sample(list(node.weights), node.n, node.seed)
        assert isinstance(node, Subset)
        return child.subset(node.bits, node.size)


def plain_step(sample: dict[str, Any], step: Step) -> dict[str, Any]:
    """Select and rename, for records that Python hands out."""
    if isinstance(step, Select):
        return {name: sample[name] for name in step.names}
    assert isinstance(step, Rename)
    names = dict(step.names)
    return {names.get(name, name): value for name, value in sample.items()}


def fetcher(node: Node) -> Callable[[dict[str, Any], list[tuple[int, int]]], dict[str, Any]]:
    """What fetches the records of leaves that are Python sequences."""
    known = {
        number: (leaf.source.items, leaf.steps)
        for number, leaf in enumerate(leaves(node))
        if isinstance(leaf.source, Items)
    }

    def fetch(sample: dict[str, Any], places: list[tuple[int, int]]) -> dict[str, Any]:
        for leaf, record in places:
            if leaf not in known:
                continue
            items, steps = known[leaf]
            item = items[record]
            fields = dict(item) if isinstance(item, dict) else {"data": item}
            for step in steps:
                fields = plain_step(fields, step)
            for name in fields:
                if name in sample:
                    raise ValueError(
                        f"zip: both samples have a field '{name}'; rename it in one of them"
                    )
            sample.update(fields)
        return sample

    return fetch


@dataclass
class RowPlan:
    native: _core.RowPlan
    loop: EventLoop
    images: dict[str, tuple[int, str, str, list[float], list[float]]]
    """How images that reach the batch as arrays are to lie in it."""
    executors: dict[str, Executor]
    """Of maps that have one, by their names."""


def make_rows(
    node: Node,
    opened: Sequence[_core.Leaf],
    steps: Sequence[Step],
    seed: int,
    threads: int | None,
    batch: Batch | None,
) -> RowPlan:
    """`batch`: images go straight into it where they can; None: rows stand alone."""
    plan = RowPlan(_core.RowPlan(), EventLoop(), {}, {})
    ordinal = _Ordinal(0)
    for number, leaf in enumerate(leaves(node)):
        plan.native.leaf = number
        if not isinstance(leaf.source, Items | Stream):
            for step in leaf.steps:
                _add(plan, step, ordinal, seed, threads, None, batch)
        own = (*(leaf.source.steps if isinstance(leaf.source, Cached) else ()), *leaf.steps)
        for i, step in enumerate(own):
            if isinstance(step, DecodeImage | DecodeVideo):
                _note_images(plan, step, names_after((*own[i + 1 :], *steps), 0), batch)
    plan.native.leaf = None
    last_python = max((i for i, step in enumerate(steps) if is_python(step)), default=-1)
    if any(isinstance(leaf.source, Items) for leaf in leaves(node)):
        first = steps[0] if steps else None
        wanted = first.concurrency if isinstance(first, Map) else None
        fetch = fetcher(node)
        if last_python < 0:
            fetch = _then(fetch, array_maker(batch, names_after(steps, 0)))
        plan.native.fetch(fetch, wanted or default_concurrency(threads))
    last_call = max((i for i, step in enumerate(steps) if sees_arrays(step)), default=-1)
    placing = Placing()
    placing.begin(plan.native, node, opened, steps, batch)
    for i, step in enumerate(steps):
        if isinstance(step, DecodeImage | DecodeVideo):
            _note_images(plan, step, names_after(steps, i + 1), batch)
        final = names_after(steps, i + 1) if i > last_call and batch is not None else None
        left = placing.left(step)
        if left is not None:
            lists = array_maker(batch, names_after(steps, i + 1)) if i == last_python else None
            _add(plan, left, ordinal, seed, threads, final, batch, lists)
    return plan


def _then(function: Callable[..., Any], convert: Callable[[Any], Any] | None) -> Callable[..., Any]:
    return function if convert is None else lambda *given: convert(function(*given))


class _Ordinal:
    """Counts the random operations of a plan."""

    def __init__(self, first: int) -> None:
        self.next = first

    def take(self) -> int:
        self.next += 1
        return self.next - 1


_Names = Callable[[str], str | None]


def names_after(steps: Sequence[Step], first: int) -> _Names:
    """What a field is called after the steps from `first` on; None: it is gone."""

    def final(name: str) -> str | None:
        for step in steps[first:]:
            if isinstance(step, Select) and name not in step.names:
                return None
            if isinstance(step, Rename):
                name = dict(step.names).get(name, name)
        return name

    return final


def _finish(batch: Batch, name: str, mode: str) -> tuple[int, str, str, list[float], list[float]]:
    mean, std = batch.of("mean", name), batch.of("std", name)
    return (
        CHANNELS[mode],
        batch.of("layout", name),
        batch.of("dtype", name),
        list(mean or ()),
        list(std or ()),
    )


def _note_images(
    plan: RowPlan, step: DecodeImage | DecodeVideo, final: _Names, batch: Batch | None
) -> None:
    if batch is None:
        return
    if isinstance(step, DecodeVideo):
        fields: Iterable[tuple[str, str]] = [(step.field, step.mode)]
    else:
        fields = zip(step.fields, step.modes, strict=True)
    for field, mode in fields:
        name = final(field)
        if name is not None and CHANNELS[mode] > 0:
            finish = _finish(batch, name, mode)
            if finish[1:] != ("NHWC", "uint8", [], []):
                plan.images[name] = finish


def _add(
    plan: RowPlan,
    step: Step,
    ordinal: _Ordinal,
    seed: int,
    threads: int | None,
    final: _Names | None,
    batch: Batch | None,
    lists: Callable[[Any], Any] | None = None,
) -> None:
    """`final` says how fields will be called in the batch; None: Python sees them before. `lists`
    is done to what the last Python function returns."""
    native = plan.native
    if isinstance(step, Select):
        native.select(list(step.names))
    elif isinstance(step, Rename):
        native.rename(list(step.names))
    elif isinstance(step, ParseExample):
        native.example(list(step.fields))
    elif isinstance(step, WidenTokens):
        name = final("tokens") if final is not None else None
        stacked = batch is not None and batch.gather(name or "") == "stack"
        native.tokens("tokens", step.dtype, step.window, step.pad, name is not None and stacked)
    elif isinstance(step, ArrayRows):
        for field, dtype, shape in step.fields:
            name = final(field) if final is not None else None
            stacked = batch is not None and batch.gather(name or "") == "stack"
            placed = name is not None and stacked and -1 not in shape
            native.array(field, dtype, list(shape), placed)
    elif isinstance(step, TableRows):
        for field, _, dtype, shape in step.fields:
            native.array(field, dtype, list(shape), False)
    elif isinstance(step, DecodeImage):
        fields = []
        for field, mode, interpolation in zip(
            step.fields, step.modes, step.interpolations, strict=True
        ):
            name = final(field) if final is not None else None
            slot = None
            if name is not None and batch is not None and CHANNELS[mode] > 0:
                listed = batch.gather(name) != "stack"
                slot = None if listed else _finish(batch, name, mode)
            fields.append((field, mode, interpolation, slot))
        options: Any = dict(step.options)
        request = make_request("RGB", step.size, step.crop, step.exact, step.flip, **options)
        native.image(fields, request, ordinal.take() if step.random else 0, step.box or "")
    elif isinstance(step, DecodeVideo):
        name = final(step.field) if final is not None else None
        slot = None
        if name is not None and batch is not None and step.size is not None:
            listed = batch.gather(name) != "stack"
            slot = None if listed else _finish(batch, name, step.mode)
        first = 0
        if step.random:
            first, _ = ordinal.take(), ordinal.take()  # of the crop, and of the choice of frames
        add_video(native, step, first, slot)
    elif isinstance(step, DecodeAudio):
        add_audio(native, step, ordinal.take() if step.random else 0)
    elif isinstance(step, Apply):
        numbers = [ordinal.take() for op in step.ops if op.random]
        _core.add_op_step(native, step.field, list(step.ops), numbers[0] if numbers else 0)
    elif isinstance(step, Decode):
        for field, kind in step.fields:
            native.decode(field, kind)
    else:
        draws = not isinstance(step, ViewRows | TableValues) and wants_rng(step.fn)
        number = ordinal.take() if draws else 0
        call = Call(step, seed, number, plan.loop)
        concurrency = call.concurrency or default_concurrency(threads)
        if isinstance(step, Map) and step.executor is not None:
            plan.executors[call.name] = step.executor
        native.call(_then(call.function, lists), call.name, concurrency, call.with_row)
