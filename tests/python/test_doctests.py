"""The examples in the docstrings of the package are true."""

import doctest
import importlib
import pkgutil

import penstock.pipeline
import pytest

MODULES = ["penstock.io", "penstock.ops", "penstock.pipeline"] + [
    module.name
    for module in pkgutil.walk_packages(penstock.pipeline.__path__, "penstock.pipeline.")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_examples_are_found() -> None:
    names = {test.name for name in MODULES for test in find_examples(name)}
    assert {
        "penstock.pipeline",
        "penstock.pipeline._builder.PipelineBuilder",
        "penstock.pipeline._pipeline.Pipeline",
    } <= names


def find_examples(name: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder().find(importlib.import_module(name))
    return [test for test in found if test.examples]
