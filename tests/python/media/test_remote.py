"""Clips and sounds on a server: only the bytes that are needed come over."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from clips import Clips, decoded, ffmpeg, source
from penstock import io
from servers import NGINX, nginx
from sounds import Sounds

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (nginx-light)")


class Served:
    """A folder on a server, and what was sent of it."""

    def __init__(self, port: int, root: Path, log: Path) -> None:
        self.port, self.root, self._log = port, root, log

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def sent(self, name: str) -> int:
        """Bytes of bodies, as the server has logged them."""
        lines = [line for line in self._log.read_text().splitlines() if f"/{name} " in line]
        return sum(int(line.split('" ')[1].split()[1]) for line in lines)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root, folder = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("nginx")
    with nginx(root, folder) as port:
        yield Served(port, root, folder / "access.log")


@pytest.mark.parametrize("front", [True, False])
def test_a_few_frames_of_a_long_clip_cost_a_part_of_it(
    front: bool, served: Served, clips: Clips
) -> None:
    name = "front.mp4" if front else "back.mp4"
    path = served.root / name
    lossless = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "8", "-pix_fmt", "yuv420p"]
    tables = ["-movflags", "+faststart"] if front else []
    ffmpeg(*source(320, 240), "-frames:v", "300", *lossless, "-g", "30", *tables, str(path))
    size = path.stat().st_size
    assert size > 8 << 20
    got = io.sample_video(served.url(name), indices=[5, 150])
    assert np.array_equal(got, decoded(str(path), 320, 240)[[5, 150]])
    assert 0 < served.sent(name) < size // 2


def test_a_second_of_a_wav_costs_its_own_bytes(served: Served, sounds: Sounds) -> None:
    whole = np.zeros((2, 44100 * 30), np.float32)
    whole[:, ::7] = 0.25
    io.save_audio(served.root / "long.wav", whole, 44100)
    got = io.load_audio(served.url("long.wav"), 20, 1)
    assert np.array_equal(got, whole[:, 882000:926100])
    assert served.sent("long.wav") < 44100 * 4 + 200_000
