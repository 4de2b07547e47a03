"""The same small programs on the reference and here agree: on what comes out, what is dropped, what
is raised where, and what is logged. They are in the files programs_*.py."""

import gc

import programs_elsewhere
import programs_failures
import programs_hooks
import programs_joins
import programs_mixed
import programs_outputs
import programs_random
import programs_settings
import pytest
from both import outcome, package, reference_needed
from penstock.pipeline import StatsQueue, config

pytestmark = [
    reference_needed,
    # The reference leaves coroutines behind when a pipeline is built and not started.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]


def programs(*modules):
    return [
        one
        for module in modules
        for one in vars(module).values()
        if getattr(one, "is_program", False)
    ]


class QueueOfMyOwn(StatsQueue):
    pass


PIPELINES = programs(
    programs_outputs,
    programs_joins,
    programs_failures,
    programs_hooks,
    programs_mixed,
    programs_settings,
)
PIPELINES += programs_random.PROGRAMS


@pytest.mark.parametrize("path", ["native", "loop"])
@pytest.mark.parametrize("one", PIPELINES, ids=lambda one: one.__name__)
def test_pipelines_behave_as_in_the_reference(one, path):
    if path == "loop":
        config.set_default_queue_class(QueueOfMyOwn)
    try:
        here = outcome(one, package("penstock"))
    finally:
        config.set_default_queue_class()
    there = outcome(one, package("spdl"))
    gc.collect()
    assert here == there


@pytest.mark.parametrize("one", programs(programs_elsewhere), ids=lambda one: one.__name__)
def test_the_rest_behaves_as_in_the_reference(one):
    here, there = outcome(one, package("penstock")), outcome(one, package("spdl"))
    gc.collect()
    assert here == there
