"""The same program on the reference and here: what is compared, and how."""

import asyncio
import importlib
import logging
import re
from types import SimpleNamespace

import pytest

try:
    import spdl.pipeline  # noqa: F401

    THERE = True
except ImportError:
    THERE = False

reference_needed = pytest.mark.skipif(
    not THERE, reason="spdl is not installed: pip install -r requirements/test.txt"
)


def package(name):
    """The pipeline package of the reference or of Penstock, as one namespace."""
    modules = [
        importlib.import_module(f"{name}.{part}")
        for part in ("pipeline", "pipeline.defs", "pipeline.config")
    ]
    names = {key: value for module in modules for key, value in vars(module).items()}
    return SimpleNamespace(**names, name=name)


def plain(text):
    """Without what may differ: the number of the pipeline, and the item in our log lines."""
    text = re.sub(r"\b\d+:(\d+:)", r"N:\1", str(text))
    return re.sub(r" Item: .*", "", text)


def shape(error):
    """An exception as plain values: type, text, notes, cause, and those inside it."""
    if error is None:
        return None
    notes = [plain(note) for note in getattr(error, "__notes__", ())]
    return {
        "type": type(error).__name__,
        "text": plain(error).split("\n")[0],
        "notes": [note for note in notes if note.startswith("Pipeline stage:")],
        "cause": None if error.__cause__ is None else repr(error.__cause__),
        "inside": [shape(one) for one in getattr(error, "exceptions", ())],
    }


# What ends a pipeline is raised. The reference logs it, too: for the stage and for the whole. We do
# for the item, where there is one.
_RAISED_ANYWAY = re.compile(
    r"Task \[(Pipeline::main|N:\d+:[^:]*|N:\d+:(src|path_variants|aggregate.*):\d+)\](:| failed)"
)


class _Lines(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        line = plain(record.getMessage())
        if not _RAISED_ANYWAY.match(line):
            self.lines.append((record.levelname, line))


def outcome(program, where):
    """What a program returns or raises, and what it logs."""
    lines = _Lines()
    logger = logging.getLogger(where.name)
    logger.addHandler(lines)
    logger.propagate = False
    try:
        returned, raised = program(where), None
    except Exception as error:
        returned, raised = None, shape(error)
    finally:
        logger.removeHandler(lines)
        logger.propagate = True
    log = sorted(lines.lines) if getattr(program, "logs", True) else None
    return {"returned": returned, "raised": raised, "log": log}


def unlogged(program):
    """Marks a program whose log lines differ; the page on moving from spdl says why."""
    program.logs = False
    return program


def drain(pipeline, **options):
    """All items, and then what was raised: in the loop, and at the end of the block."""
    items, raised = [], []
    try:
        with pipeline.auto_stop(**options):
            try:
                for item in pipeline.get_iterator(timeout=20):
                    items.append(item)
            except Exception as error:
                raised.append(shape(error))
    except Exception as error:
        raised.append(shape(error))
    return {"items": items, "raised": raised}


def program(function):
    """Marks a program that runs on both. It gets the package, and uses nothing else of it."""
    function.is_program = True
    return function


def built(p, stages, source=range(10), sink=3, **options):
    definition = p.PipelineConfig(p.SourceConfig(source), stages, p.SinkConfig(sink))
    return p.build_pipeline(definition, **{"num_threads": 2, **options})


def odd_fails(x):
    if x % 2:
        raise ValueError(f"odd {x}")
    return x


def always_fails(x):
    raise KeyError(x)


async def odd_fails_later(x):
    await asyncio.sleep(0)
    return odd_fails(x)


def twice(x):
    yield x
    yield x


async def twice_later(x):
    yield x
    await asyncio.sleep(0)
    yield x


def part(p, items, *stages):
    """A pipeline to be merged."""
    return p.PipelineConfig(p.SourceConfig(items), stages, p.SinkConfig(1))
