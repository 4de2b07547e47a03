"""The native module's names and types change on purpose only.

After a change on purpose: cp build/release/python/penstock/_core.pyi tests/python/golden/
"""

import importlib.resources
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden" / "_core.pyi"


def test_stub_of_the_native_module_is_as_recorded() -> None:
    built = importlib.resources.files("penstock") / "_core.pyi"
    assert built.read_text() == GOLDEN.read_text(), (
        "the stub changed; if on purpose:"
        " cp build/release/python/penstock/_core.pyi tests/python/golden/"
    )


def test_package_says_that_it_is_typed() -> None:
    assert (importlib.resources.files("penstock") / "py.typed").is_file()
