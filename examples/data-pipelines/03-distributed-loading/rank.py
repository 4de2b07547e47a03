"""One rank: reads its share of an epoch, from a token if there is one, and notes what it received.

Started by torchrun, which says who this is; the loader finds that by itself.
"""

import json
import sys
from pathlib import Path

import penstock as ps
import torch.distributed as dist


def main(shards: str, folder: str, batches: int) -> None:
    dist.init_process_group("gloo")
    loader = ps.open(shards).shuffle(seed=7).batch(4).loader()
    token = Path(folder) / "token.json"
    if token.exists():
        loader.load_state_dict(json.loads(token.read_text()))
    seen = []
    for number, batch in enumerate(loader, 1):
        seen += [str(key) for key in batch["__key__"]]
        if number == batches:
            break
    everybody: list[list[str]] = [[] for _ in range(dist.get_world_size())]
    dist.all_gather_object(everybody, seen)
    if dist.get_rank() == 0:  # the token of any one rank serves all ranks of the next run
        token.write_text(json.dumps(loader.state_dict()))
        (Path(folder) / f"seen-{dist.get_world_size()}.json").write_text(json.dumps(everybody))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
