import pytest
from clips import Clips
from penstock import _core
from sounds import Sounds


def _need_ffmpeg() -> None:
    version, why = _core.ffmpeg()
    if version is None:
        pytest.skip(f"built without FFmpeg: {why}")


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Clips:
    _need_ffmpeg()
    return Clips(tmp_path_factory.mktemp("clips"))


@pytest.fixture(scope="session")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Sounds:
    _need_ffmpeg()
    return Sounds(tmp_path_factory.mktemp("sounds"))
