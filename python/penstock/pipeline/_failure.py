"""What is raised when a pipeline fails."""

from __future__ import annotations

from typing import Any


class PipelineFailure(ExceptionGroup):
    """A pipeline has failed: one exception for each stage that did.

    Each has notes that name the stage and, where there is one, the item.

    >>> import logging
    >>> from penstock.pipeline import PipelineBuilder, PipelineFailure
    >>> logging.disable()  # it is in the log, too
    >>> pipeline = PipelineBuilder().add_source([0]).pipe(lambda x: 1 / x).add_sink(1)
    >>> try:
    ...     list(pipeline.build(max_failures=0))
    ... except PipelineFailure as failure:
    ...     print(failure.exceptions[0].__cause__)
    division by zero
    >>> logging.disable(logging.NOTSET)
    """

    def __new__(cls, errs: list[tuple[str, Exception]]) -> PipelineFailure:
        self = super().__new__(cls, "pipeline stages failed", [error for _, error in errs])
        for stage, error in errs:
            note = f"Pipeline stage: {stage}"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        self._errs = errs  # type: ignore[attr-defined]
        return self

    def __init__(self, errs: list[tuple[str, Exception]]) -> None:
        pass

    def derive(self, excs: Any, /) -> Any:
        return ExceptionGroup(self.message, excs)

    def __reduce__(self) -> tuple[Any, ...]:
        return PipelineFailure, (self._errs,)  # type: ignore[attr-defined]


def describe_item(item: Any) -> str:
    """An item in a line of a message: short, and never an exception of its own."""
    try:
        text = repr(item)
    except Exception as error:
        text = f"<{type(item).__name__}, whose repr failed: {type(error).__name__}>"
    return text if len(text) <= 200 else text[:197] + "..."
