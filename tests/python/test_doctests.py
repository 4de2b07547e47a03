"""The examples in the docstrings of the package are true."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import penstock.dataloader
import penstock.insight
import penstock.pipeline
import penstock.source
import pytest

PACKAGES = [penstock.pipeline, penstock.source, penstock.dataloader, penstock.insight]
MODULES = ["penstock.io", "penstock.ops", *(package.__name__ for package in PACKAGES)] + [
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]
NEED_TORCH = ["penstock.dataloader._torch_loader", "penstock.dataloader._process_loader"]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    if name in NEED_TORCH:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_examples_are_found() -> None:
    names = {test.name for name in MODULES for test in find_examples(name)}
    assert {
        "penstock.pipeline",
        "penstock.pipeline._builder.PipelineBuilder",
        "penstock.pipeline._pipeline.Pipeline",
        "penstock.dataloader._torch_loader.PyTorchDataLoader",
        "penstock.source._samplers.DistributedRandomSampler",
    } <= names


def find_examples(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder().find(importlib.import_module(name))
    return [test for test in found if test.examples]
