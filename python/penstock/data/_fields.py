"""Which fields samples have after each step, as far as that is known without looking at one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from penstock import _core
from penstock.data._plan import (
    Apply,
    Cached,
    Decode,
    DecodeAudio,
    DecodeImage,
    DecodeVideo,
    Filter,
    Items,
    Leaf,
    Map,
    ParseExample,
    PlanError,
    Rename,
    Select,
    Step,
)

Fields = list[str] | None

IMAGES = ("image", "jpg", "jpeg", "png", "webp", "tif", "tiff", "bmp", "gif", "ppm", "pgm", "pnm")
VIDEOS = ("video", "mp4", "mkv", "webm", "mov", "avi", "m4v", "ts", "mpg", "mpeg", "ogv")
SOUNDS = ("audio", "wav", "flac", "mp3", "m4a", "aac", "ogg", "opus", "oga")
EXTENSIONS = {"image": IMAGES, "video": VIDEOS, "audio": SOUNDS}
KINDS = ("cls", "json", "txt", "npy")


def after(fields: Fields, steps: Sequence[Step]) -> Fields:
    """Checks that the fields a step names are there."""
    for step in steps:
        if isinstance(step, Map):
            return None
        if fields is None or isinstance(step, Filter):
            continue
        if isinstance(step, Select):
            need(fields, step.names, "select")
            fields = list(step.names)
        elif isinstance(step, Rename):
            names = dict(step.names)
            need(fields, names, "rename")
            fields = [names.get(name, name) for name in fields]
            twice = [name for name in fields if fields.count(name) > 1]
            if twice:
                raise PlanError(f"rename: there would be two fields '{twice[0]}'")
        elif isinstance(step, ParseExample):
            need(fields, ["data"], "open")
            fields = [name for name, _ in step.fields]
        elif isinstance(step, Decode):
            need(fields, [name for name, _ in step.fields], "decode")
        elif isinstance(step, DecodeImage):
            need(fields, step.fields, "decode_image")
            if step.box is not None and step.box not in fields:
                fields = [*fields, step.box]
        elif isinstance(step, DecodeVideo):
            need(fields, [step.field], "decode_video")
            added = [name for name in (step.damaged, step.indices) if name is not None]
            fields = [*fields, *(name for name in added if name not in fields)]
        elif isinstance(step, Apply):
            need(fields, [step.field], "apply")
        elif isinstance(step, DecodeAudio):
            need(fields, [step.field], "decode_audio")
            added = [name for name in (step.rate, step.damaged) if name is not None]
            fields = [*fields, *(name for name in added if name not in fields)]
    return fields


def pictures(steps: Sequence[Step], before: Set[str] = frozenset()) -> set[str]:
    """The fields with pixels after these steps. What a map does is not known: its names stay."""
    found = set(before)
    for step in steps:
        if isinstance(step, DecodeImage):
            found |= set(step.fields)
        elif isinstance(step, DecodeVideo):
            found.add(step.field)
        elif isinstance(step, Rename):
            found = {dict(step.names).get(name, name) for name in found}
    return found


def of_leaves(
    leaves: Sequence[Leaf], opened: Sequence[_core.Leaf], *, look: bool = False
) -> Fields:
    """The fields of all leaves together. Those of a list are known if one may look at an item."""
    together: list[str] = []
    for leaf, records in zip(leaves, opened, strict=True):
        if isinstance(leaf.source, Items):
            items = leaf.source.items
            there = _names_in(items[0]) if look and len(items) > 0 else None
        else:
            there = list(records.fields)
        before = leaf.source.steps if isinstance(leaf.source, Cached) else ()
        own = after(there, (*before, *leaf.steps))
        if own is None:
            return None
        together += [name for name in own if name not in together]
    return together


def _names_in(item: Any) -> list[str]:
    return [str(name) for name in item] if isinstance(item, Mapping) else ["data"]


def need(fields: Fields, names: object, step: str) -> None:
    for name in names:  # type: ignore[attr-defined]
        if fields is not None and name not in fields:
            raise PlanError(f"{step}: there is no field '{name}'; there are: {', '.join(fields)}")


def field_of(kind: str, fields: Fields) -> str:
    """The one field that holds an image, a video or audio by its name."""
    if fields is None:
        raise PlanError(
            f"decode_{kind}: say which field holds the {kind}: of streams and after a map none is "
            "known"
        )
    if fields == ["data"]:  # a list of bytes, records without names
        return "data"
    found = [
        name
        for name in fields  # "image.bytes": a part of a struct in a table
        if name.removesuffix(".bytes").rsplit(".", 1)[-1].lower() in EXTENSIONS[kind]
    ]
    if len(found) != 1:
        raise PlanError(
            f"decode_{kind}: say which field holds the {kind}: {len(found)} of them look like one "
            f"({', '.join(found) or 'none'} of {', '.join(fields)})"
        )
    return found[0]


def decoded_fields(
    fields: Fields, kinds: Sequence[str], named: dict[str, str]
) -> list[tuple[str, str]]:
    """(field, kind) of decode("cls", label="cls"): by extension, and by name."""
    pairs = []
    for kind in kinds:
        if kind not in KINDS:
            raise PlanError(
                f"decode: '{kind}' is not one of {', '.join(KINDS)}; images have decode_image()"
            )
        found = [name for name in fields or [kind] if name.rsplit(".", 1)[-1] == kind]
        if not found:
            there = ", ".join(fields or [])
            raise PlanError(
                f"decode: there is no field of kind '{kind}'; there are: {there}. "
                f'A field of another name is decoded by decode(name="{kind}")'
            )
        pairs += [(name, kind) for name in found]
    for name, kind in named.items():
        if kind not in KINDS:
            raise PlanError(f"decode: '{kind}' is not one of {', '.join(KINDS)}")
        need(fields, [name], "decode")
        pairs.append((name, kind))
    if not pairs:
        raise PlanError(f"decode: say what to decode: {', '.join(KINDS)}")
    return pairs
