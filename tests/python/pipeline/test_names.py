"""Programs move over by changing an import: every public name is where the reference has it."""

import importlib
import inspect
from types import FunctionType

import pytest

try:
    import spdl.pipeline
except ImportError:
    spdl = None

# Of spdl 0.8.0.
NAMES = {
    "pipeline": """AsyncQueue BackgroundTask BackgroundTaskFactory Pipeline PipelineBuilder
        PipelineFailure PriorityExecutorEntrypoint PriorityInterpreterPoolExecutor
        PriorityProcessPoolExecutor PriorityThreadPoolExecutor ProcessGroupResourceUsage
        ProcessGroupStatsMonitor ProfileHook ProfileResult QueuePerfStats SharedMemoryRingBuffer
        SharedMemorySegmentPool StageInfo StatsQueue TaskHook TaskPerfStats TaskStatsHook
        build_pipeline cache_iterator create_task is_eof is_epoch_end iterate_in_subinterpreter
        iterate_in_subprocess profile_pipeline run_pipeline_in_subinterpreter
        run_pipeline_in_subprocess""",
    "pipeline.defs": """Aggregate AggregateConfig Aggregator Collate Disaggregate
        DisaggregateConfig ExecutorConfig InterpreterPoolExecutorConfig MAIN_PROCESS Merge
        MergeConfig PathVariants PathVariantsConfig Pipe PipeConfig PipelineConfig PlacementConfig
        ProcessPoolExecutorConfig SinkConfig SourceConfig _MainProcess _PipeArgs _PipeType
        _SubprocessPipelineConfig _TAsyncCallables _TCallables _TPipeInputs""",
    "pipeline.config": """diagnostic_mode_num_sources get_default_background_tasks
        get_default_build_callback get_default_hook_class get_default_profile_callback
        get_default_profile_hook get_default_queue_class is_diagnostic_mode_enabled set_compact_log
        set_default_background_tasks set_default_build_callback set_default_hook_class
        set_default_profile_callback set_default_profile_hook set_default_queue_class""",
}


@pytest.mark.parametrize("module", NAMES)
def test_every_name_can_be_imported_from_the_same_path(module):
    ours = importlib.import_module(f"penstock.{module}")
    assert [name for name in NAMES[module].split() if not hasattr(ours, name)] == []
    assert set(NAMES[module].split()) <= set(ours.__all__)


@pytest.mark.skipif(spdl is None, reason="spdl is not installed")
@pytest.mark.parametrize("module", NAMES)
def test_the_saved_list_is_that_of_the_reference(module):
    theirs = importlib.import_module(f"spdl.{module}")
    assert sorted(theirs.__all__) == sorted(NAMES[module].split())


@pytest.mark.parametrize("module", NAMES)
def test_all_names_have_a_docstring(module):
    ours = importlib.import_module(f"penstock.{module}")
    public = [getattr(ours, name) for name in ours.__all__ if not name.startswith("_")]
    bare = [one for one in public if isinstance(one, type | FunctionType) and not one.__doc__]
    assert bare == []


def test_annotations_with_parameters_are_accepted():
    from penstock.pipeline import Pipeline, PipelineBuilder
    from penstock.pipeline.defs import AggregateConfig, PipeConfig, PipelineConfig, SinkConfig

    def program(
        builder: PipelineBuilder[int, str], config: PipelineConfig[str], pipe: PipeConfig[int, str]
    ) -> Pipeline[str]: ...

    assert program.__annotations__["return"].__origin__ is Pipeline
    assert AggregateConfig[int] is not None
    assert SinkConfig[int](3).buffer_size == 3


# What is made by builders only, and names whose things are not there or not needed here.
OTHER = {"Pipeline", "PyTorchDataLoader", "SharedMemoryRingBuffer", "SharedMemorySegmentPool"}


def functions(thing):
    """A callable and its public methods, by name."""
    yield "", thing
    if isinstance(thing, type):
        for name, method in vars(thing).items():
            if isinstance(method, FunctionType) and not name.startswith("_"):
                yield name, method


def arguments(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


@pytest.mark.skipif(spdl is None, reason="spdl is not installed")
@pytest.mark.parametrize(
    "module",
    [*NAMES, "source", "source.utils", "source.local_directory", "source.imagenet", "dataloader"],
)
def test_arguments_and_methods_have_the_same_names(module):
    theirs, ours = (importlib.import_module(f"{name}.{module}") for name in ("spdl", "penstock"))
    missing = []
    for name in set(theirs.__all__) - OTHER:
        thing = getattr(theirs, name, None)
        if not callable(thing) or name.endswith("subinterpreter"):
            continue
        for method, function in functions(thing):
            here = getattr(ours, name)
            here = getattr(here, method, None) if method else here
            given = arguments(here)
            takes_all = any(one.kind is one.VAR_KEYWORD for one in given.values())
            if here is None:
                missing.append(f"{name}.{method}")
            elif not takes_all:
                missing += [
                    f"{name}.{method}({one})" for one in set(arguments(function)) - set(given)
                ]
    assert missing == []
