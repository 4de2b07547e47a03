"""Any Python function, stage by stage, at native speed.

Items move between stages in C++; Python is entered only to call your functions.

>>> from penstock.pipeline import PipelineBuilder
>>> pipeline = PipelineBuilder().add_source(range(4)).pipe(str).add_sink().build()
>>> with pipeline.auto_stop():
...     "".join(pipeline)
'0123'
"""

from penstock.pipeline._build import StageInfo, build_pipeline
from penstock.pipeline._builder import PipelineBuilder
from penstock.pipeline._failure import PipelineFailure
from penstock.pipeline._pipeline import Pipeline
from penstock.pipeline._stats import StageStats

__all__ = [
    "Pipeline",
    "PipelineBuilder",
    "PipelineFailure",
    "StageInfo",
    "StageStats",
    "build_pipeline",
]
