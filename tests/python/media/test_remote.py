"""Clips and sounds on a server: only the bytes that are needed come over."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from clips import Clips, decoded, ffmpeg, source
from numpy.typing import NDArray
from patience import wait_until
from penstock import io
from servers import NGINX, nginx
from sounds import Sounds

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")


class Served:
    """A folder on a server, and what was sent of it."""

    def __init__(self, port: int, root: Path, log: Path) -> None:
        self.port, self.root, self._log = port, root, log
        self._asked = 0

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def sent(self, name: str) -> int:
        """Bytes of bodies, as the server has logged them: in turn, each after its body was sent."""
        self._asked += 1
        last = f"/asked-{self._asked}"
        with pytest.raises(FileNotFoundError):
            io.read_range(self.url(last[1:]), 0, 1)
        assert wait_until(lambda: f"{last} " in self._log.read_text())
        lines = [line for line in self._log.read_text().splitlines() if f"/{name} " in line]
        return sum(int(line.split('" ')[1].split()[1]) for line in lines)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root, folder = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("nginx")
    with nginx(root, folder) as port:
        yield Served(port, root, folder / "access.log")


@pytest.fixture(scope="module")
def long(served: Served, clips: Clips) -> dict[str, Path]:
    """Ten seconds of large frames: tables in front, tables at the end, none."""
    front = served.root / "front.mp4"
    form = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "8", "-pix_fmt", "yuv420p"]
    made = ["-frames:v", "300", *form, "-g", "30", "-movflags", "+faststart"]
    ffmpeg(*source(320, 240), *made, str(front))
    others = [served.root / name for name in ("back.mp4", "long.mkv")]
    for other in others:
        ffmpeg("-i", str(front), "-c", "copy", str(other))
    assert front.stat().st_size > 8 << 20
    return {path.name: path for path in (front, *others)}


@pytest.fixture(scope="module")
def expected(long: dict[str, Path]) -> NDArray[np.uint8]:
    return decoded(str(long["front.mp4"]), 320, 240)[[5, 150]]


@pytest.mark.parametrize("name", ["front.mp4", "back.mp4"])
def test_a_few_frames_of_a_long_clip_cost_a_part_of_it(
    name: str, served: Served, long: dict[str, Path], expected: NDArray[np.uint8]
) -> None:
    got = io.sample_video(served.url(name), indices=[5, 150])
    assert np.array_equal(got, expected)
    assert 0 < served.sent(name) < long[name].stat().st_size // 2


@pytest.mark.parametrize(
    ("name", "share"), [("front.mp4", 0.8), ("long.mkv", 1.6), ("long.ts", 1.6), ("long.mpg", 1.7)]
)
def test_frames_spread_over_a_clip_cost_little_more_than_reading_it_once(
    name: str, share: float, served: Served, long: dict[str, Path]
) -> None:
    path, indices = long.get(name, served.root / name), list(range(20, 300, 40))
    if name == "long.ts":
        ffmpeg("-i", str(long["front.mp4"]), "-c", "copy", str(path))
    if name == "long.mpg":
        form = ["-c:v", "mpeg2video", "-q:v", "2", "-g", "30"]
        ffmpeg("-i", str(long["front.mp4"]), *form, str(path))
    before, size = served.sent(name), path.stat().st_size
    assert size > 8 << 20
    got = io.sample_video(served.url(name), indices=indices)
    assert np.array_equal(got, io.sample_video(path, indices=indices))
    assert 0 < served.sent(name) - before < share * size


def test_names_in_datasets_may_be_urls(served: Served, long: dict[str, Path]) -> None:
    items = [{"video": served.url("front.mp4")}] * 2
    ds = ps.from_list(items).decode_video("video", num_frames=2, size=(24, 32))
    batch = next(iter(ds.batch(2).loader(threads=2)))
    there = io.sample_video(long["front.mp4"], 2, size=(24, 32))
    assert np.array_equal(batch["video"], np.stack([there, there]))


def test_a_kept_index_saves_reading_a_container_without_tables(
    served: Served,
    long: dict[str, Path],
    expected: NDArray[np.uint8],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    url, size = served.url("long.mkv"), long["long.mkv"].stat().st_size
    first = io.sample_video(url, indices=[5, 150], keep_index=True)
    assert np.array_equal(first, expected)
    once = served.sent("long.mkv")
    assert once >= size  # there was no other way to find the frames
    again = io.sample_video(url, indices=[5, 150], keep_index=True)
    assert np.array_equal(again, expected)
    assert served.sent("long.mkv") - once < size // 2


def test_a_second_of_a_wav_costs_its_own_bytes(served: Served, sounds: Sounds) -> None:
    whole = np.zeros((2, 44100 * 30), np.float32)
    whole[:, ::7] = 0.25
    io.save_audio(served.root / "long.wav", whole, 44100)
    got = io.load_audio(served.url("long.wav"), 20, 1)
    assert np.array_equal(got, whole[:, 882000:926100])
    assert served.sent("long.wav") < 44100 * 4 + 200_000
