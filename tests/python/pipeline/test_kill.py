"""Whoever is killed, no memory and no process is left of what ran in another process."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from patience import wait_until

PROGRAM = """
    import os, sys, time
    from functools import partial
    import numpy as np
    from concurrent.futures import ProcessPoolExecutor
    from penstock.pipeline import iterate_in_subprocess, run_pipeline_in_subprocess
    from penstock.pipeline.defs import *

    def work(x):
        return np.full(4_000_000, x, np.float32), os.getpid(), os.getppid()

    def endless():
        i = 0
        while True:
            yield i
            i += 1

    pool = ProcessPoolExecutor(1)
    config = PipelineConfig(SourceConfig(endless()), [Pipe(work, executor=pool)], SinkConfig(2))
    held = []
    for array, worker, pipeline in run_pipeline_in_subprocess(config, mp_context="fork"):
        held.append(array)
        if len(held) == 4:
            print(os.getpid(), pipeline, worker, flush=True)
            time.sleep({here})
"""


# The processes belong to the program itself here.
POOL = """
    import os, time
    import numpy as np
    from penstock.pipeline import PipelineBuilder, PriorityProcessPoolExecutor

    def work(array):
        return array + 1, os.getpid()

    arrays = (np.full(4_000_000, i, np.float32) for i in range(1000))
    pool = PriorityProcessPoolExecutor(1)
    builder = PipelineBuilder().add_source(arrays).pipe(work, executor=pool.get_executor())
    pipeline = builder.add_sink(2).build(max_failures=0)
    held = []
    with pipeline.auto_stop():
        for array, worker in pipeline:
            held.append(array)
            if len(held) == 4:
                print(os.getpid(), worker, worker, flush=True)
                time.sleep({here})
"""


def is_alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def memory_files(*pids):
    """The inodes of the memory files that processes have mapped or opened."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
            found |= {line.split()[4] for line in lines if "/memfd:penstock" in line}
            for file in Path(f"/proc/{pid}/fd").iterdir():
                if "/memfd:penstock" in os.readlink(file):
                    found.add(str(file.stat().st_ino))
    return found


@pytest.mark.parametrize("source", [PROGRAM, POOL], ids=["pipeline", "pool"])
@pytest.mark.parametrize("victim", ["parent", "child", "both"])
def test_nothing_is_left_after_kill_9(source, victim):
    """Neither memory (16 MiB an item, on both sides) nor a process, whoever is killed."""
    named = {one.name for one in Path("/dev/shm").iterdir()}
    program = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(source).format(here=0 if victim == "child" else 60),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        parent, child, worker = map(int, program.stdout.readline().split())
        used = memory_files(parent, child)
        assert used, "arrays do not cross in memory files"
        for pid in {"parent": [parent], "child": [child], "both": [child, parent]}[victim]:
            os.kill(pid, signal.SIGKILL)
        assert program.wait(30) != 0
        assert wait_until(lambda: not any(map(is_alive, (parent, child, worker))))
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
    assert {one.name for one in Path("/dev/shm").iterdir()} <= named
    everybody = [int(one.name) for one in Path("/proc").glob("[0-9]*")]
    assert not used & memory_files(*everybody)
