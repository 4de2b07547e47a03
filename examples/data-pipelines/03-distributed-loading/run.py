"""Two ranks read a part of an epoch and stop; three read the rest. Nothing is lost or doubled."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rank
from samples import make_shards, options
from torch.distributed.launcher.api import LaunchConfig, elastic_launch


def launch(ranks: int, small: bool, shards: str, folder: str, batches: int) -> None:
    """torchrun --standalone --nproc-per-node=RANKS rank.py SHARDS FOLDER BATCHES"""
    if small:  # the same without starting Python and loading torch for every rank
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=ranks,
            run_id="course",
            rdzv_backend="c10d",
            rdzv_endpoint="localhost:0",
            start_method="fork",
        )
        elastic_launch(config, rank.main)(shards, folder, batches)
        return
    program = str(Path(__file__).with_name("rank.py"))
    command = ["torchrun", "--standalone", f"--nproc-per-node={ranks}", program]
    command[0] = str(Path(sys.executable).with_name("torchrun"))
    subprocess.run([*command, shards, folder, str(batches)], check=True)


def main() -> None:
    small = options(__doc__).small
    count = 60 if small else 600
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shards = make_shards(folder, count)
        launch(2, small, shards, name, 3)
        print(f"token after 3 batches on 2 ranks: {(folder / 'token.json').read_text()}")
        launch(3, small, shards, name, 1_000_000)
        two, three = (json.loads((folder / f"seen-{n}.json").read_text()) for n in (2, 3))
    for seen in (two, three):
        print(f"{len(seen)} ranks: {[len(of_rank) for of_rank in seen]} samples")
    received = Counter(key for seen in (two, three) for of_rank in seen for key in of_rank)
    filling = (
        sum(received.values()) - count
    )  # rows that fill up the last round, so that ranks agree
    print(f"{len(received)} of {count} samples received, {filling} of them again in the last round")
    assert len(received) == count
    assert 0 <= filling < 3 * 4


if __name__ == "__main__":
    main()
