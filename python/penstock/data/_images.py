"""The arguments of decode_image, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock._image_request import as_pair, make_request
from penstock.data._plan import CHANNELS, DecodeImage, PlanError


def image_step(
    names: Sequence[str],
    size: Any,
    crop: Any,
    flip: float,
    mode: str | Mapping[str, str],
    interpolation: str | Mapping[str, str],
    exact: bool,
    box: str | None,
    options: dict[str, Any],
) -> DecodeImage:
    # The first is the image, the others are masks: indices, which cannot be mixed.
    modes = _each(names, mode, "RGB", "P")
    filters = _each(names, interpolation, "bilinear", "nearest")
    for one in modes:
        if one not in CHANNELS:
            raise PlanError(f"decode_image: mode {one!r} is not one of {', '.join(CHANNELS)}")
    options = dict(options) | {"interpolation": filters[0]}
    if not isinstance(flip, int | float) or not 0 <= flip <= 1:
        raise PlanError(f"decode_image: flip is {flip!r}; it is a probability")
    if box in names:
        raise PlanError(f"decode_image: box={box!r} is the name of the image; give another one")
    for reserved in ("seed", "epoch"):
        if reserved in options:
            raise PlanError(f"decode_image: {reserved} is an argument of loader()")
    try:
        make_request("RGB", size, crop, exact, flip, **options)
    except (TypeError, ValueError) as error:
        raise PlanError(f"decode_image: {error}") from None
    return DecodeImage(
        fields=tuple(names),
        size=None if size is None else as_pair(size),
        crop=crop,
        flip=float(flip),
        modes=tuple(modes),
        interpolations=tuple(filters),
        exact=exact,
        box=box,
        options=tuple(sorted(options.items())),
    )


def _each(names: Sequence[str], given: str | Mapping[str, str], first: str, rest: str) -> list[str]:
    """What is given for each field: a word is for the first one."""
    if isinstance(given, str):
        return [given] + [rest] * (len(names) - 1)
    for name in given:
        if name not in names:
            raise PlanError(f"decode_image: there is no field {name!r} among {', '.join(names)}")
    return [given.get(name, rest if i else first) for i, name in enumerate(names)]
