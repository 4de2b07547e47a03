"""What the processes of this program's group use together: CPU, memory, disk, network."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.pipeline._background import BackgroundTask

_LOG = logging.getLogger("penstock.pipeline")


@dataclass
class ProcessGroupResourceUsage:
    """One look at the group. What the system does not tell is None.

    RSS counts a page that processes share once for each of them, PSS divides it among them, private
    memory leaves it out.
    """

    pid: int
    pgid: int
    cpu_percent: float | None = None
    """Of one core, since the look before: 200 means two cores. None the first time."""
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    private_bytes: int | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    num_procs: int | None = None
    net_rx_bytes: int | None = None
    """Of the whole machine, since the look before. None the first time."""
    net_tx_bytes: int | None = None


class ProcessGroupStatsMonitor(BackgroundTask):
    """Awaits ``callback(usage)`` every ``interval`` seconds, beside a pipeline. Linux only.

    ``mp_context`` is accepted and not used: nothing runs in another process.

    >>> async def show(usage):
    ...     print(usage.num_procs, usage.rss_bytes)
    >>> from penstock.pipeline import config
    >>> config.set_default_background_tasks([lambda: ProcessGroupStatsMonitor(show)])
    >>> config.set_default_background_tasks(None)
    """

    def __init__(
        self,
        callback: Callable[[ProcessGroupResourceUsage], Awaitable[None]],
        interval: float = 60.0,
        mp_context: Any = None,
    ) -> None:
        self._callback = callback
        self._interval = interval

    async def run(self) -> None:
        look = _Look()
        while True:
            try:
                await self._callback(await asyncio.to_thread(look.again))
            except Exception:
                _LOG.exception("A report on the process group failed.")
            await asyncio.sleep(self._interval)


class _Look:
    """Looks at the group; remembers what rates are counted from."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None  # time, CPU seconds
        self._network: tuple[int, int] | None = None

    def again(self) -> ProcessGroupResourceUsage:
        usage = ProcessGroupResourceUsage(os.getpid(), os.getpgrp())
        now, cpu = time.monotonic(), 0.0
        for process, stat in _members(usage.pgid):
            cpu += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
            usage.num_procs = (usage.num_procs or 0) + 1
            usage.rss_bytes = (usage.rss_bytes or 0) + int(stat[21]) * os.sysconf("SC_PAGE_SIZE")
            memory = _numbers(process / "smaps_rollup")
            if "Pss" in memory:
                private = memory.get("Private_Clean", 0) + memory.get("Private_Dirty", 0)
                usage.pss_bytes = (usage.pss_bytes or 0) + 1024 * memory["Pss"]
                usage.private_bytes = (usage.private_bytes or 0) + 1024 * private
            disk = _numbers(process / "io")
            if "read_bytes" in disk:
                usage.disk_read_bytes = (usage.disk_read_bytes or 0) + disk["read_bytes"]
                usage.disk_write_bytes = (usage.disk_write_bytes or 0) + disk["write_bytes"]
        if self._before is not None and now > self._before[0]:
            usage.cpu_percent = 100 * (cpu - self._before[1]) / (now - self._before[0])
        self._before = (now, cpu)
        network = _network()
        if self._network is not None and network is not None:
            usage.net_rx_bytes = network[0] - self._network[0]
            usage.net_tx_bytes = network[1] - self._network[1]
        self._network = network
        return usage


def _read(path: Path) -> str:
    """Empty if there is nothing to read: processes end, and some files are not for everybody."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _members(pgid: int) -> Iterator[tuple[Path, list[str]]]:
    """Processes of a group, each with the fields of its stat file that follow the name."""
    for process in Path("/proc").glob("[0-9]*"):
        fields = _read(process / "stat").rpartition(") ")[2].split()
        if len(fields) > 21 and int(fields[2]) == pgid:
            yield process, fields


def _numbers(path: Path) -> dict[str, int]:
    """The lines "name: number ..." of a file."""
    found = {}
    for line in _read(path).splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            found[name] = int(words[0])
    return found


def _network() -> tuple[int, int] | None:
    """Bytes received and sent so far, without the loopback."""
    received = sent = 0
    lines = _read(Path("/proc/net/dev")).splitlines()[2:]
    for line in lines:
        name, _, rest = line.partition(":")
        words = rest.split()
        if name.strip() != "lo" and len(words) > 8:
            received += int(words[0])
            sent += int(words[8])
    return (received, sent) if lines else None
