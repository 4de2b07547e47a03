"""Measures video and audio by Penstock and its peers, in one run, and prints Markdown tables.

    run.py [--rounds N] [case ...]      --install-peers fetches the peers first

Every figure comes from a process of its own; contenders take turns. In the first round each has its
output compared with a decode of the whole file by ffmpeg. Two threads, one of each decoder; "full",
"memory" and "first" have one.
"""

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from common.command import options
from common.peers import PEERS, ROOT, install, machine
from common.processes import spawn, tree_cpu
from common.turns import table, take_turns

HERE = Path(__file__).resolve().parent
FILES = ROOT / "build" / "bench-media"
LEAST = 1.0  # seconds that a process measures
VIDEO = {
    "Penstock": ("penstock", ""),
    "torchcodec, exact": ("torchcodec", "torchcodec"),
    "decord": ("decord", "decord"),
    "SPDL": ("spdl", "spdl"),
    "PyAV, seeks": ("pyav", "pyav"),
}
SOUND = {
    "Penstock": ("penstock", ""),
    "soundfile": ("soundfile", "soundfile"),
    "torchcodec": ("torchcodec", "torchcodec"),
    "SPDL load_audio": ("spdl", "spdl"),
    "librosa": ("librosa", "librosa"),
}
WAV = {
    "Penstock, to int16 as stored": ("penstock_stored", ""),
    "SPDL load_wav, to int16 as stored": ("spdl_load_wav_stored", "spdl"),
    "SPDL load_wav, to float32": ("spdl_load_wav", "spdl"),
}
INEXACT = {"Penstock, exact=False": ("penstock_inexact", "")}
# Title, what is wanted, who takes part (ours first).
CASES: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "uniform-30": ("8 frames at 224x224 of 60 s, 720p, GOP 30", "1.2 times the best exact", VIDEO),
    "uniform-250": ("the same, GOP 250", "1.3 times the best exact", VIDEO),
    "short": ("8 frames at 224x224 of clips of one GOP", "1.2 times the best", VIDEO),
    "consecutive": ("16 frames in a row at a random place", "1.1 times the best", VIDEO),
    "full": ("all frames as RGB, one thread", "not slower than PyAV", VIDEO),
    "memory": (
        "all frames of 60 s as RGB, one at a time, GOP 250; nothing is compared",
        "peak memory bounded by one group of frames",
        {name: one for name, one in VIDEO.items() if name != "SPDL"},  # it takes all at once
    ),
    "first": ("opening, and the first frame, GOP 250, one thread", "not slower", VIDEO),
}
for _form in ("wav", "flac", "mp3", "m4a", "opus"):
    _who = {
        name: one
        for name, one in SOUND.items()
        if not (_form == "m4a" and name in ("soundfile", "librosa"))
    }
    _whole = _who | WAV if _form == "wav" else _who
    _part = _whole | INEXACT if _form in ("m4a", "opus") else _whole
    CASES[f"{_form}-whole"] = (f"30 s of {_form}, whole", "not slower", _whole)
    CASES[f"{_form}-second"] = (f"one second of 30, {_form}", "not slower", _part)
    _mono = {name: one for name, one in _who.items() if name != "soundfile"}
    CASES[f"{_form}-mono16"] = (f"30 s of {_form} as 16 kHz mono", "not slower", _mono)


def measure_here(case: str, function: str, compare: bool) -> None:
    import sound
    import video

    module: Any = sound if "-" in case and case.split("-")[0] in sound.files.SOUNDS else video
    load = getattr(module, function)
    jobs = module.jobs(case, FILES)
    if case == "memory" or not compare:
        checked = "-"
    elif module is sound:
        checked = sound.check(jobs, load)
    else:
        checked = video.check(jobs[0], load(jobs[0]))

    def work(job: Any) -> int:
        got = load(job)
        if getattr(job, "numbers", ()) is None:
            return sum(1 for _ in got)
        return 1

    with ThreadPoolExecutor(1 if case in ("full", "first", "memory") else 2) as pool:
        if case != "memory":
            list(pool.map(work, jobs[:2]))
        begun, cpu = time.perf_counter(), tree_cpu(os.getpid())
        count = 0
        while time.perf_counter() < begun + LEAST:
            count += sum(pool.map(work, jobs))
        ended, cpu_ended = time.perf_counter(), tree_cpu(os.getpid())
    figures = {"seconds": ended - begun, "cpu": cpu_ended - cpu, "count": count}
    print(json.dumps({**figures, "checked": checked}))


def run(key: str, rounds: int) -> None:
    title, wanted, contenders = CASES[key]
    compared: set[str] = set()

    def start(name: str) -> dict[str, Any] | str:
        function, folder = contenders[name]
        command = [sys.executable, str(HERE / "run.py"), "--one", key, function]
        command += [] if name in compared else ["--compare"]
        got = spawn(command, str(PEERS / folder) if folder else "")
        if not isinstance(got, str):
            compared.add(name)
        return got

    turns, missing = take_turns(list(contenders), rounds, start)
    checks = {name: taken[0]["checked"] for name, taken in turns.items() if taken}
    print(f"\n### {key}: {title}\n\nWanted: {wanted}.\n")
    table(
        "frames" if key in ("full", "memory") else "clips",
        turns,
        next(iter(contenders)),
        {},
        checks,
    )
    for name, why in missing.items():
        print(f"\n{name}: no figure: {why}")
    sys.stdout.flush()


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        return measure_here(sys.argv[2], sys.argv[3], "--compare" in sys.argv)
    chosen = options(__doc__, CASES)
    if chosen.install_peers:
        install(folder for key in chosen.cases for _, folder in CASES[key][2].values())
    import files

    files.make(FILES)
    print(f"{machine()}. {chosen.rounds} rounds, taking turns.")
    for key in chosen.cases:
        run(key, chosen.rounds)


if __name__ == "__main__":
    main()
