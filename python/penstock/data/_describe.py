"""A plan in words, for explain() and for messages."""

from __future__ import annotations

from penstock.data._plan import (
    Apply,
    ArrayRows,
    Arrays,
    Cached,
    Concat,
    Decode,
    DecodeAudio,
    DecodeImage,
    DecodeVideo,
    Filter,
    Items,
    Leaf,
    Map,
    Mix,
    Node,
    OpenArrays,
    OpenFiles,
    OpenTables,
    ParseExample,
    Rename,
    Repeat,
    Sample,
    Select,
    Shuffle,
    Skip,
    Step,
    Subset,
    TableRows,
    TableValues,
    Take,
    Tokens,
    ViewRows,
    WidenTokens,
    Zip,
)
from penstock.data._rows import name_of


def order(node: Node) -> str:
    """The order as the user wrote it, in one line."""
    if isinstance(node, Leaf):
        return leaf(node) + "".join(f".{step(one)}" for one in node.steps)
    if isinstance(node, Concat):
        return f"concat({', '.join(order(part) for part in node.parts)})"
    if isinstance(node, Zip):
        return f"zip({', '.join(order(part) for part in node.parts)})"
    if isinstance(node, Mix):
        stop = "never" if node.endless else "first"
        parts = ", ".join(order(part) for part in node.parts)
        return f"mix([{parts}], weights={list(node.weights)}, seed={node.seed}, stop={stop!r})"
    child = order(node.child)
    if isinstance(node, Shuffle):
        if node.window is None:
            return f"{child}.shuffle(seed={node.seed})"
        asked = "" if node.asked == node.window else f" samples, for {node.asked}"
        return f"{child}.shuffle(seed={node.seed}, window={node.window}{asked})"
    if isinstance(node, Take):
        return f"{child}.take({node.n})"
    if isinstance(node, Skip):
        return f"{child}.skip({node.n})"
    if isinstance(node, Repeat):
        return f"{child}.repeat({'' if node.n is None else node.n})"
    if isinstance(node, Sample):
        return f"{child}.sample(n={node.n}, seed={node.seed})"
    assert isinstance(node, Subset)
    return f"{child}.filter(...)"


def leaf(node: Leaf) -> str:
    source = node.source
    if isinstance(source, OpenFiles):
        names = source.names[0] if len(source.names) == 1 else f"{len(source.names)} names"
        return f"open({names}{_windows(source)})"
    if isinstance(source, OpenArrays):
        return f"open({source.name}{_windows(source)})"
    if isinstance(source, OpenTables):
        names = source.names[0] if len(source.names) == 1 else f"{len(source.names)} names"
        return f"open({names}{'' if source.filter is None else f', filter={source.filter}'})"
    if isinstance(source, Tokens):
        names = source.names[0] if len(source.names) == 1 else f"{len(source.names)} names"
        return f"open({names}, window={source.window}, stride={source.stride or source.window})"
    if isinstance(source, Items):
        return f"from_list({len(source.items)} items)"
    if isinstance(source, Arrays):
        return f"from_arrays({', '.join(source.arrays)})"
    if isinstance(source, Cached):
        work = "".join(f".{step(one)}" for one in source.steps)
        return f"{leaf(Leaf(source.source))}{work}.cache()"
    if source.names:  # of a sequential plan this text is the order's digest: no folders in it
        first = source.names[0].rsplit("/", 1)[-1]
        return f"open({first if len(source.names) == 1 else f'{len(source.names)} names'})"
    return "from_iterable(...)"


def _windows(source: OpenFiles | OpenArrays) -> str:
    return f", window={source.window}, stride={source.stride}" if source.window else ""


def step(one: Step) -> str:
    if isinstance(one, Select):
        return f"select({', '.join(one.names)})"
    if isinstance(one, Rename):
        return f"rename({', '.join(f'{old} -> {new}' for old, new in one.names)})"
    if isinstance(one, Decode):
        return f"decode({', '.join(f'{name} as {kind}' for name, kind in one.fields)})"
    if isinstance(one, ParseExample):
        return f"parse_example({', '.join(f'{name}: {kind}' for name, kind in one.fields)})"
    if isinstance(one, WidenTokens):
        return "as int64"
    if isinstance(one, ArrayRows | ViewRows):
        kinds = (f"{name}: {kind}{list(shape)}" for name, kind, shape in one.fields)
        return f"rows({', '.join(kinds)})"
    if isinstance(one, TableValues):
        return f"values({', '.join(one.names)})"
    if isinstance(one, TableRows):
        columns = (f"{name}: {kind}{list(shape)}" for name, _, kind, shape in one.fields)
        return f"rows({', '.join(columns)})"
    if isinstance(one, DecodeImage):
        size = "" if one.size is None else f", size={one.size}"
        crop = "" if one.crop is None else f", crop={one.crop}"
        flip = "" if one.flip == 0 else f", flip={one.flip}"
        return f"decode_image({', '.join(one.fields)}{size}{crop}{flip})"
    if isinstance(one, DecodeVideo):
        size = "" if one.size is None else f", size={one.size}"
        crop = "" if one.crop is None else f", crop={one.crop}"
        return f"decode_video({one.field}, {one.num_frames} frames, {one.sampling}{size}{crop})"
    if isinstance(one, DecodeAudio):
        said = [(name, value) for name, value in one.options if value is not None]
        return f"decode_audio({', '.join([one.field, *(f'{k}={v}' for k, v in said)])})"
    if isinstance(one, Apply):
        return f"apply({', '.join([one.field, *(op.name for op in one.ops)])})"
    if isinstance(one, Map):
        return f"map({name_of(one.fn)})"
    assert isinstance(one, Filter)
    return f"filter({name_of(one.fn)})"
