"""PyTorchDataLoader under Hugging Face Accelerate and Lightning."""

from pathlib import Path
from typing import Any

import pytest

# ruff: noqa: E402
torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from penstock.dataloader import PyTorchDataLoader
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs

NUMBERS = torch.arange(20.0)


def make(kind: Any = PyTorchDataLoader, **options: Any) -> Any:
    options = {"batch_size": 4, "shuffle": True, "num_workers": 2} | options
    generator = torch.Generator().manual_seed(1)
    return kind(TensorDataset(NUMBERS), generator=generator, **options)


def numbers(batches: Any) -> list[list[float]]:
    return [batch[0].tolist() for batch in batches]


@pytest.fixture
def accelerator() -> Any:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    return accelerate.Accelerator(cpu=True)


def test_accelerate_prepares_it_as_a_torch_loader(accelerator: Any) -> None:
    prepared = accelerator.prepare(make())
    assert type(prepared.base_dataloader) is DataLoader  # it makes a new one, with torch's workers
    assert numbers(prepared) == numbers(accelerator.prepare(make(DataLoader)))


def test_from_torch_gives_accelerate_our_workers_back(accelerator: Any) -> None:
    expected = numbers(accelerator.prepare(make(DataLoader)))
    prepared = accelerator.prepare(make(DataLoader))
    prepared.base_dataloader = PyTorchDataLoader.from_torch(prepared.base_dataloader)
    got = []
    states = []
    for batch in prepared:
        got += numbers([batch])
        states.append(prepared.state_dict())
    assert got == expected
    for received, state in enumerate(states[:-1], 1):
        other = accelerator.prepare(make(DataLoader))
        other.base_dataloader = PyTorchDataLoader.from_torch(other.base_dataloader)
        other.load_state_dict(state)
        assert numbers(other) == expected[received:]


@pytest.fixture
def trainer() -> Any:
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.seen: list[list[float]] = []

        def training_step(self, batch: Any, number: int) -> Any:
            self.seen += numbers([batch])
            return self.layer(batch[0][:, None]).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 1e-6)

    class Save(lightning.Callback):
        def __init__(self, path: Path) -> None:
            self.path = path

        def on_train_batch_end(self, trainer: Any, *args: Any) -> None:
            trainer.save_checkpoint(self.path / f"{trainer.global_step}.ckpt")

    def fit(loader: Any, save: Path | None = None, resume: Path | None = None) -> Any:
        model = Model()
        made = lightning.Trainer(
            max_epochs=2,
            accelerator="cpu",
            devices=1,
            logger=False,
            callbacks=[] if save is None else [Save(save)],
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        made.fit(model, loader, ckpt_path=resume)
        assert isinstance(made.train_dataloader, type(loader))
        return model.seen

    return fit


def test_lightning_trains_with_it_and_resumes_exactly(trainer: Any, tmp_path: Path) -> None:
    expected = trainer(make(DataLoader))
    assert trainer(make(), save=tmp_path) == expected
    for step in (1, 3, 7):
        assert trainer(make(), resume=tmp_path / f"{step}.ckpt") == expected[step:]


def test_lightning_makes_a_loader_of_the_same_kind_for_several_ranks() -> None:
    data = pytest.importorskip("lightning.fabric.utilities.data", reason="no lightning")
    sampler = DistributedSampler(TensorDataset(NUMBERS), 2, 1, shuffle=False)
    made = data._update_dataloader(make(timeout=3), sampler)
    assert isinstance(made, PyTorchDataLoader)
    assert (made.num_workers, made.timeout) == (2, 3)
    assert sum(numbers(made), []) == NUMBERS[1::2].tolist()  # noqa: RUF017
