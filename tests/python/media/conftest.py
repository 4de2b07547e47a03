import pytest
from clips import Clips
from penstock import _core


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Clips:
    version, why = _core.ffmpeg()
    if version is None:
        pytest.skip(f"built without FFmpeg: {why}")
    return Clips(tmp_path_factory.mktemp("clips"))
