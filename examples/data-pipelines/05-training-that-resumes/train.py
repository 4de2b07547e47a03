"""A small network trained on the CPU. It may be killed at any step and goes on where it was.

train.py --data "train-{0..1}.tar" --checkpoint state.pt [--epochs 2] [--stop-after STEPS]
"""

import argparse
import json
import os
from pathlib import Path

import penstock as ps
import torch
from torch import nn

SIZE, BATCH, CLASSES = (32, 32), 16, 5


def make_loader(data: str, **given: int) -> ps.Loader:
    plan = ps.open(data).decode("cls").shuffle(seed=0)
    plan = plan.decode_image("jpg", size=SIZE, crop="random_resized", flip=0.5)
    batch = plan.batch(BATCH, layout="NCHW", dtype="float32", mean=[0.5] * 3, std=[0.25] * 3)
    return batch.loader(output="torch", seed=1, **given)


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, CLASSES),
    )  # fmt: skip


def save(path: Path, **state: object) -> None:
    """All of it or nothing: a kill in the middle leaves the last checkpoint."""
    written = path.with_suffix(".part")
    torch.save(state, written)
    os.replace(written, path)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--losses", type=Path, help="where the losses of all steps go")
    parser.add_argument("--stop-after", type=int, help="steps; as if it had been killed")
    options = parser.parse_args()
    torch.set_num_threads(1)

    loader, model = make_loader(options.data), make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses: list[float] = []
    if options.checkpoint.exists():
        state = torch.load(options.checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        loader.load_state_dict(json.loads(state["loader"]))
        losses = state["losses"]

    while loader.epoch < options.epochs:
        for batch in loader:
            loss = nn.functional.cross_entropy(model(batch["jpg"]), batch["cls"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            save(
                options.checkpoint,
                model=model.state_dict(),
                optimizer=optimizer.state_dict(),
                loader=json.dumps(loader.state_dict()),
                losses=losses,
            )
            if len(losses) == options.stop_after:
                os._exit(9)
    print(f"{len(losses)} steps, last loss {losses[-1]:.3f}")
    if options.losses is not None:
        options.losses.write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
