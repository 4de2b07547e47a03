"""The examples in the docstrings of the package are true."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import penstock.convert
import penstock.data
import penstock.dataloader
import penstock.insight
import penstock.pipeline
import penstock.source
import pytest

PACKAGES = [
    penstock.pipeline,
    penstock.source,
    penstock.dataloader,
    penstock.insight,
    penstock.data,
    penstock.convert,
]
ALONE = [
    f"penstock.{name}"
    for name in ("io", "ops", "inspection", "bench", "doctor", "_whole", "_labelled")
]
MODULES = ["penstock", *ALONE, *(package.__name__ for package in PACKAGES)] + [
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


PUBLIC = [
    *("penstock", "penstock.io", "penstock.ops", "penstock.insight", "penstock.convert"),
    *("penstock.source", "penstock.source.utils", "penstock.dataloader"),
    *("penstock.pipeline", "penstock.pipeline.defs", "penstock.pipeline.config"),
]
CLASSES = [penstock.Dataset, penstock.Loader]
NOT_THERE = {"iterate_in_subinterpreter", "run_pipeline_in_subinterpreter"}  # they say so


def test_every_public_function_has_an_example() -> None:
    places = {name: importlib.import_module(name) for name in PUBLIC}
    functions = {
        f"{place}.{name}": getattr(module, name)
        for place, module in places.items()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name)) and name not in NOT_THERE
    }
    for one in CLASSES:
        for name, method in inspect.getmembers(one, inspect.isfunction):
            if not name.startswith("_"):
                functions[f"{one.__name__}.{name}"] = method
    lacking = [
        name for name, function in functions.items() if ">>>" not in (function.__doc__ or "")
    ]
    assert lacking == []


def find_examples(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder().find(importlib.import_module(name))
    return [test for test in found if test.examples]
