"""What a dataset is made of, as plain immutable values: where records come from, in which order,
and what is done to a row. Everything here pickles if the user's own functions and arrays do;
native ops do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from penstock._core import NativeOp


class PlanError(ValueError):
    """The steps of a dataset do not fit together; the message shows what would."""


# Work on rows.


@dataclass(frozen=True)
class Select:
    names: tuple[str, ...]


@dataclass(frozen=True)
class Rename:
    names: tuple[tuple[str, str], ...]  # (old, new)


@dataclass(frozen=True)
class Decode:
    fields: tuple[tuple[str, str], ...]  # (field, kind)


@dataclass(frozen=True)
class ParseExample:
    """The record in field "data" is a tf.train.Example: its features are the fields from now on."""

    fields: tuple[tuple[str, str], ...]  # (name, "float[4]")


@dataclass(frozen=True)
class WidenTokens:
    """Tokens of a window as int64."""

    dtype: str  # in the file
    window: int
    pad: int


@dataclass(frozen=True)
class ArrayRows:
    """Rows of arrays: their bytes become arrays, in the batch where there is one."""

    fields: tuple[tuple[str, str, tuple[int, ...]], ...]  # (name, dtype, shape)


@dataclass(frozen=True)
class ViewRows:
    """Rows of arrays of types that batches do not have: NumPy's, one by one."""

    # (name, dtype or NumPy's description of it, shape; -1: as many as there are)
    fields: tuple[tuple[str, Any, tuple[int, ...]], ...]


@dataclass(frozen=True)
class TableValues:
    """Values of tables that are Python's: lists of lists or of text, maps."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class TableRows:
    """Numbers in rows of tables: straight into the batch where there is one."""

    fields: tuple[tuple[str, int, str, tuple[int, ...]], ...]  # (name, column, dtype, shape)


@dataclass(frozen=True)
class DecodeImage:
    fields: tuple[str, ...]
    size: tuple[int, int] | None
    crop: Any
    flip: float
    modes: tuple[str, ...]
    interpolations: tuple[str | None, ...]
    exact: bool
    box: str | None
    options: tuple[tuple[str, Any], ...]  # the rest, as penstock.io.decode_image takes it

    @property
    def random(self) -> bool:
        return self.crop == "random_resized" or 0 < self.flip < 1


@dataclass(frozen=True)
class DecodeVideo:
    field: str
    num_frames: int
    size: tuple[int, int] | None
    crop: Any
    flip: float
    sampling: str
    stride: int
    mode: str
    indices: str | None
    damaged: str | None
    stream: int | None
    ffmpeg_threads: int
    keep_index: bool
    options: tuple[tuple[str, Any], ...]

    @property
    def random(self) -> bool:
        chance = self.crop == "random_resized" or 0 < self.flip < 1
        return chance or self.sampling != "uniform"


@dataclass(frozen=True)
class DecodeAudio:
    field: str
    start: Any
    rate: str | None
    damaged: str | None
    options: tuple[tuple[str, Any], ...]

    @property
    def random(self) -> bool:
        return isinstance(self.start, str)


@dataclass(frozen=True)
class Apply:
    field: str
    ops: tuple[NativeOp, ...]

    @property
    def random(self) -> bool:
        return any(op.random for op in self.ops)


@dataclass(frozen=True)
class Map:
    fn: Callable[..., Any]
    concurrency: int | None = None
    executor: Any = None


@dataclass(frozen=True)
class Filter:
    fn: Callable[..., Any]


Step: TypeAlias = (
    Select
    | Rename
    | Decode
    | ParseExample
    | WidenTokens
    | ArrayRows
    | ViewRows
    | TableRows
    | TableValues
    | DecodeImage
    | DecodeVideo
    | DecodeAudio
    | Apply
    | Map
    | Filter
)

CHANNELS = {"RGB": 3, "BGR": 3, "RGBA": 4, "L": 1, "P": 1, "unchanged": 0}


def is_python(step: Step) -> bool:
    """Does the step call Python? Then it splits the chain of native work."""
    return isinstance(step, Map | Filter | ViewRows | TableValues)


def sees_arrays(step: Step) -> bool:
    """What comes before it must be in the row, not in the batch already."""
    return is_python(step) or isinstance(step, Apply)


def is_row_work(step: Step) -> bool:
    """A filter after row work is a late one."""
    given = Select | Rename | WidenTokens | ArrayRows | ViewRows | TableRows | TableValues
    return not isinstance(step, given)


def is_media(step: Step) -> bool:
    return isinstance(step, DecodeImage | DecodeVideo | DecodeAudio | Apply)


# Where records come from.


@dataclass(frozen=True)
class OpenFiles:
    names: tuple[str, ...]
    format: str
    fields: tuple[str, ...]
    checksums: bool
    verify: bool = True
    mmap: bool = False
    max_member: int = 2**30
    window: int = 0  # rows of an array in a sample; 0: one, without a dimension for it
    stride: int = 1


@dataclass(frozen=True)
class OpenArrays:
    """Rows of arrays in chunks."""

    name: str
    format: str
    fields: tuple[str, ...]
    window: int  # as above
    stride: int
    cache: int  # bytes of unpacked chunks that are kept


@dataclass(frozen=True)
class OpenTables:
    """Rows of Parquet and Arrow files."""

    names: tuple[str, ...]
    format: str
    fields: tuple[str, ...]
    casts: tuple[tuple[str, str], ...]  # (column, type)
    filter: Any  # as pyarrow takes it
    nulls: tuple[tuple[str, Any], ...]  # (column, value)
    verify: bool
    cache: int  # bytes of groups of rows that are kept


@dataclass(frozen=True, eq=False)
class Tokens:
    names: tuple[str, ...]
    dtype: str
    window: int
    stride: int
    documents: tuple[Any, ...]  # for each file the tokens at which documents begin; or none
    pad: int


@dataclass(frozen=True, eq=False)
class Items:
    items: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Arrays:
    arrays: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Stream:
    """An iterable: read from front to back, by every rank."""

    iterable: Any
    resume: str | None
    fix: str = "make a list of the iterable: from_list(list(iterable))"
    """What gives it a length, samples by number and a global shuffle."""
    names: tuple[str, ...] = ()
    """Of the files it is read from."""


@dataclass(frozen=True)
class Cached:
    """Another source whose records are kept in memory, with this work done."""

    source: Source
    steps: tuple[Step, ...]
    limit: int  # bytes


Source: TypeAlias = OpenFiles | OpenArrays | OpenTables | Tokens | Items | Arrays | Stream | Cached

# The order.


@dataclass(frozen=True)
class Leaf:
    source: Source
    steps: tuple[Step, ...] = ()  # work that belongs to this source alone


@dataclass(frozen=True)
class Shuffle:
    child: Node
    seed: int
    window: int | None = None
    asked: str | int | None = None  # the window as the user gave it


@dataclass(frozen=True)
class Take:
    child: Node
    n: int


@dataclass(frozen=True)
class Skip:
    child: Node
    n: int


@dataclass(frozen=True)
class Repeat:
    child: Node
    n: int | None


@dataclass(frozen=True)
class Concat:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Zip:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Mix:
    parts: tuple[Node, ...]
    weights: tuple[float, ...]
    seed: int
    endless: bool


@dataclass(frozen=True)
class Sample:
    child: Node
    weights: tuple[float, ...]
    n: int
    seed: int


@dataclass(frozen=True)
class Subset:
    child: Node
    bits: bytes
    size: int


Node: TypeAlias = Leaf | Shuffle | Take | Skip | Repeat | Concat | Zip | Mix | Sample | Subset


def leaves(node: Node) -> list[Leaf]:
    """The leaves of a tree, from left to right: their place is their number."""
    if isinstance(node, Leaf):
        return [node]
    if isinstance(node, Concat | Zip | Mix):
        return [leaf for part in node.parts for leaf in leaves(part)]
    return leaves(node.child)


def fix_of(node: Node) -> str:
    """What makes a sequential plan an indexed one, in words."""
    return next(leaf.source.fix for leaf in leaves(node) if isinstance(leaf.source, Stream))


def over_leaves(node: Node, change: Callable[[Leaf], Leaf]) -> Node:
    """The tree with each leaf changed."""
    if isinstance(node, Leaf):
        return change(node)
    if isinstance(node, Concat | Zip | Mix):
        return replace(node, parts=tuple(over_leaves(part, change) for part in node.parts))
    return replace(node, child=over_leaves(node.child, change))


# Batches.

Gather = Literal["list", "pad", "ragged", "stack"]
ALL_FIELDS = "*"  # in collate: those that are not named


@dataclass(frozen=True)
class Batch:
    size: int
    drop_last: bool
    ends: str
    mask: bool
    layout: Any
    dtype: Any
    mean: Any
    std: Any
    collate: tuple[tuple[str, str], ...] = ()
    maps: tuple[Callable[..., Any], ...] = field(default=())
    device: str | None = None

    def gather(self, name: str) -> str:
        """How the rows of a field become one value."""
        collate = dict(self.collate)
        return collate.get(name, collate.get(ALL_FIELDS, "stack"))

    def of(self, option: str, name: str) -> Any:
        """layout, dtype, mean or std of a field: one for all, or a dict by field."""
        value = getattr(self, option)
        if isinstance(value, dict):
            return value.get(name, {"layout": "NHWC", "dtype": "uint8"}.get(option))
        return value
