"""The end of the interpreter: nothing of ours is left, and daemon threads do no harm."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import threading, time
import numpy as np
from penstock import io, ops

image = np.zeros((600, 800, 3), np.uint8)
picture = io.encode_image(image, "jpeg")
small = ops.resize((50, 50))
works = {
    "decode": lambda: io.decode_image(picture),
    "batch": lambda: io.decode_image_batch([picture] * 4, (64, 64)),
    "encode": lambda: io.encode_image(image, "jpeg"),
    "resize": lambda: small(image),
}
started = threading.Semaphore(0)

def work():
    while True:
        works["WHAT"]()
        started.release()

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(8):
    started.acquire()
"""


@pytest.mark.parametrize("what", ["decode", "batch", "encode", "resize"])
def test_daemon_threads_at_work_do_not_abort_the_process(what):
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.replace("WHAT", what)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")


ALL_ROOMS = """
import numpy as np
import penstock as ps
from penstock import io, ops
from penstock.pipeline import PipelineBuilder

picture = io.encode_image(np.zeros((60, 80, 3), np.uint8), "jpeg")
data = ps.from_list([{"image": picture, "n": i} for i in range(10)])
loader = data.decode_image("image", size=(8, 8)).map(lambda s: s).batch(4).loader(threads=2)
batches = list(loader)
assert batches[0]["image"].shape == (4, 8, 8, 3)
half = iter(data.shuffle(seed=1).batch(2).loader())
next(half)
pipeline = (
    PipelineBuilder().add_source([picture] * 9).pipe(ops.decode_image()).add_sink(3)
    .build(num_threads=2)
)
with pipeline.auto_stop():
    for item in pipeline:
        break
keep = [data, loader, batches, pipeline, item]
"""


def test_a_program_that_ends_leaves_nothing():
    done = subprocess.run(
        [sys.executable, "-c", ALL_ROOMS],
        env={**os.environ, "PENSTOCK_LEAK_WARNINGS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
