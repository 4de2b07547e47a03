"""Without FFmpeg all else works, and the message says what to install."""

import os
import subprocess
import sys

PROGRAM = """
import numpy as np
from penstock import io
assert io.decode_image(io.encode_image(np.zeros((4, 4), np.uint8), "png")).shape == (4, 4, 3)
try:
    io.video_info(b"anything")
except NotImplementedError as error:
    assert "apt install libavformat-dev" in str(error), error
    print("said what to install")
"""


def test_a_missing_library_is_told_when_a_clip_is_opened() -> None:
    environment = dict(os.environ, PENSTOCK_AV_LIBRARY="/nowhere/libpenstock_av.so")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "said what to install\n"
