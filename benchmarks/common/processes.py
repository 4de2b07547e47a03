"""Processes: starting one, and what it and its children use."""

import json
import os
import subprocess
import time
from typing import Any


def descendants(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children") as file:
                    waiting += map(int, file.read().split())
        except OSError:
            pass  # it has ended meanwhile
    return found


def tree_cpu(pid: int) -> float:
    """CPU seconds of a process, its children and those it has waited for."""
    ticks = 0
    for one in descendants(pid):
        try:
            with open(f"/proc/{one}/stat") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def read_from_disk() -> int:
    """Bytes that this process has had disks read for it."""
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("read_bytes"))


def peak_memory() -> int:
    """The most that this process has had. (What `resource` tells begins with what started it.)"""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024


def tree_memory(pid: int) -> int:
    pages = 0
    for one in descendants(pid):
        try:
            with open(f"/proc/{one}/statm") as file:
                pages += int(file.read().split()[1])
        except OSError:
            pass
    return pages * os.sysconf("SC_PAGESIZE")


def spawn(command: list[str], packages: str) -> dict[str, Any] | str:
    """What a process printed as JSON, and its peak of memory; or why there is nothing.

    `packages` is a folder that Python looks into first.
    """
    environment = dict(os.environ, OMP_NUM_THREADS="1", TF_ENABLE_ONEDNN_OPTS="0")
    paths = [packages, environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    peak, deadline = 0, time.monotonic() + 300
    while process.poll() is None:
        peak = max(peak, tree_memory(process.pid))
        time.sleep(0.02)
        if time.monotonic() > deadline:
            process.kill()
            return "took over 300 s"
    output, errors = process.communicate()
    if process.returncode != 0:
        return (errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
    return {**json.loads(output.splitlines()[-1]), "peak": peak}
