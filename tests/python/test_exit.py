"""The end of the interpreter: nothing of ours is left, and daemon threads do no harm."""

import os
import subprocess
import sys
import time

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


# The program ends while a call of a user's function runs. Whatever that does next, the process
# ends soon, in silence, with 0.
BUSY = """
import time
import penstock as ps
from penstock.dataloader import PyTorchDataLoader

def busy():
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        pass

def row(sample):
    if sample["data"] >= 4:
        busy()
    return sample

def batch(columns):
    if columns["data"][0] >= 4:
        busy()
    return columns

class Items:
    def __len__(self):
        return 100

    def __getitem__(self, i):
        if i >= 4:
            busy()
        return i

def samples():
    for i in range(100):  # the first batch is handed out when the next sample has come
        yield row({"data": i - 1})

data = ps.from_list(range(100))
loaders = {
    "row map": lambda: data.map(row).batch(4).loader(),
    "row map with an rng": lambda: data.map(lambda s, rng: row(s)).batch(4).loader(),
    "batch map": lambda: data.batch(4).map(batch).loader(),
    "stream": lambda: ps.from_iterable(samples()).batch(4).loader(),
    "dataset": lambda: PyTorchDataLoader(Items(), 4, num_workers=2),
}
iterator = iter(loaders["WHAT"]())
next(iterator)
time.sleep(0.1)
"""


@pytest.mark.parametrize("seconds", ["1.5", "float('inf')"])
@pytest.mark.parametrize(
    "what", ["row map", "row map with an rng", "batch map", "stream", "dataset"]
)
def test_a_busy_function_does_not_abort_the_process(what, seconds):
    done = subprocess.run(
        [sys.executable, "-c", BUSY.replace("WHAT", what).replace("SECONDS", seconds)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    told = ("while a call was running", "stop: abandoned what is still running")
    errors = [line for line in done.stderr.splitlines() if not any(one in line for one in told)]
    assert (done.returncode, errors) == (0, [])


# The interpreter is gone, and the process waits for a line: a call returns only now.
LATE = """
import ctypes, time
from penstock.pipeline import PipelineBuilder

libc = ctypes.CDLL(None)
ctypes.pythonapi.Py_AtExit(ctypes.cast(libc.getchar, ctypes.c_void_p))
seconds = (2 + i / 64 for i in range(9))  # floats that only the calls hold
pipeline = PipelineBuilder().add_source(seconds).pipe(time.sleep).add_sink(3).build(num_threads=2)
pipeline.start()
time.sleep(0.3)
"""


def test_a_call_that_returns_after_the_interpreter_has_ended_does_no_harm():
    with subprocess.Popen(
        [sys.executable, "-c", LATE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        time.sleep(4)
        _, errors = program.communicate("\n", timeout=60)
    assert program.returncode == 0, errors
    assert "Fatal" not in errors
