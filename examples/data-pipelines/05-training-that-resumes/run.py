"""Trains once without a stop and once killed twice: the losses are the same, bit for bit."""

import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import train
from samples import make_shards, options


def run(arguments: list[str]) -> None:
    sys.argv = ["train.py", *arguments]
    train.main()


def trained(data: str, folder: Path, name: str, *arguments: str) -> list[float] | None:
    """The losses, or nothing if it was killed. Each run is a process of its own."""
    checkpoint, losses = folder / f"{name}.pt", folder / f"{name}.json"
    given = ["--data", data, "--checkpoint", str(checkpoint), "--losses", str(losses), *arguments]
    process = multiprocessing.get_context("fork").Process(target=run, args=(given,))
    process.start()
    process.join()
    assert process.exitcode in (0, 9)
    return json.loads(losses.read_text()) if process.exitcode == 0 else None


def main() -> None:
    count = 64 if options(__doc__).small else 400
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make_shards(folder, count)
        begun = time.perf_counter()
        straight = trained(data, folder, "straight")
        assert straight is not None
        print(f"{len(straight)} steps in {time.perf_counter() - begun:.1f} s, without a stop")
        stops = (3,) if len(straight) < 20 else (7, 31)
        for stop in stops:
            assert trained(data, folder, "stopped", "--stop-after", str(stop)) is None
            print(f"killed after step {stop}")
        resumed = trained(data, folder, "stopped")
    print(f"first loss {straight[0]:.3f}, last {straight[-1]:.3f}; the same: {resumed == straight}")
    assert resumed == straight


if __name__ == "__main__":
    main()
