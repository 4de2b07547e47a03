"""Fields for what else is known of clips: their names, and how damage is counted."""

from pathlib import Path
from typing import Any

import numpy as np
import penstock as ps
import pytest
from penstock import io
from sounds import Sounds


def test_a_field_counts_the_damage_of_sounds(sounds: Sounds) -> None:
    good = Path(sounds("lossless.flac")).read_bytes()
    bad = bytearray(good)
    for at in range(50_000, 50_040):
        bad[at] ^= 0x5A
    cut = Path(sounds("vorbis.ogg")).read_bytes()[:-2000]
    files = [good, bytes(bad), cut]
    clips = ps.from_list([{"sound": data} for data in files])
    ds = clips.decode_audio("sound", damaged="worse", rate="rate")
    batch = next(iter(ds.batch(3, collate={"sound": "list"}).loader(threads=2)))
    assert batch["worse"].dtype == np.int64
    assert batch["worse"].tolist() == [io.load_audio(data).damaged for data in files]
    assert batch["worse"][0] == 0 < min(batch["worse"][1:])
    assert ds[2]["worse"] == 1
    assert sorted(ds.select("worse", "rate")[0]) == ["rate", "worse"]
    part = clips.decode_audio("sound", duration=0.1, damaged="worse")  # which is before all damage
    assert [sample["worse"] for sample in part] == [0, 0, 0]
    chance = clips.decode_audio("sound", start="random", duration=3.9, damaged="worse")
    assert chance[1]["worse"] > 0
    with pytest.raises(ValueError, match="damaged"):
        list(clips.decode_audio("sound", damaged="worse", strict=True).loader())


@pytest.mark.parametrize(
    ("step", "names"),
    [
        ("decode_video", {"indices": "clip"}),
        ("decode_video", {"damaged": "clip"}),
        ("decode_video", {"indices": "x", "damaged": "x"}),
        ("decode_video", {"indices": ""}),
        ("decode_audio", {"rate": "clip"}),
        ("decode_audio", {"damaged": "clip"}),
        ("decode_audio", {"rate": "x", "damaged": "x"}),
        ("decode_audio", {"rate": 3}),
    ],
)
def test_names_of_further_fields_take_no_place_of_another(step: str, names: Any) -> None:
    ds = ps.from_list([{"clip": "clip.mp4"}])
    argument = list(names)[-1]
    with pytest.raises(ps.PlanError, match=rf"{step}: {argument}(=| is ).*; give"):
        getattr(ds, step)("clip", **names)
