"""H.264 that lacks a packet: a read of some frames says of them what a read of all says."""

import numpy as np
import pytest
from clips import Clips, ffmpeg, source
from penstock import io

X264 = "-c:v libx264 -preset veryfast -threads 1 -pix_fmt yuv420p -x264-params slices=4:open-gop=1:"
# Pictures that no other refers to tell the decoder what is missing, or are the first to miss it.
WAYS = {
    "short": "keyint=10:min-keyint=1:bframes=5:b-adapt=2",
    "strict": "keyint=20:bframes=3:b-pyramid=strict:b-adapt=0:bluray-compat=1",
}


def _lost(clips: Clips, way: str, kind: str, packet: int) -> str:
    whole = clips.make(f"lose_{way}.{kind}", *source(), *(X264 + WAYS[way]).split(), frames=70)
    path = clips.folder / f"lost_{way}_{packet}.{kind}"
    if not path.exists():
        drop = f"noise=drop=eq(n\\,{packet})"
        ffmpeg("-i", whole, "-c", "copy", "-copyts", "-bsf:v", drop, str(path))
    return str(path)


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts"])
@pytest.mark.parametrize(
    ("way", "packet"),
    [*(("short", i) for i in (7, 10, 11, 17, 37, 39)), *(("strict", i) for i in (1, 5, 30, 50))],
)
def test_some_frames_are_named_as_all_are(way: str, packet: int, kind: str, clips: Clips) -> None:
    path = _lost(clips, way, kind, packet)
    whole = io.load_video(path)
    video = io.Video(path)
    some = [[i] for i in range(len(whole))]
    some += [list(range(i, i + 4)) for i in range(0, len(whole) - 4, 5)]
    some += [list(range(i, len(whole), 9)) for i in range(9)]
    for indices in some:
        damaged = [i for i in indices if i in whole.damaged]
        frames = video.read(indices)
        assert frames.damaged == damaged
        if damaged:
            assert np.array_equal(frames, whole[indices])


@pytest.mark.parametrize("kind", ["mp4", "mkv", "ts"])
def test_strict_raises_for_one_frame(kind: str, clips: Clips) -> None:
    path = _lost(clips, "short", kind, 10)
    damaged = io.load_video(path).damaged
    assert damaged == list(range(damaged[0], damaged[0] + 9))
    video = io.Video(path, strict=True)
    for i in range(len(video)):
        if i in damaged:
            with pytest.raises(ValueError, match=f"frame {i} .*damaged"):
                video.read([i])
        else:
            assert video.read([i]).damaged == []
