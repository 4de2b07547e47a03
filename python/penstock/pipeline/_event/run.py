"""Runs the nodes of a graph together, until all have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.pipeline._event.graph import Node
from penstock.pipeline._failure import PipelineFailure


async def run(nodes: Sequence[Node]) -> PipelineFailure | None:
    """Returns what has failed. Cancelled, it cancels the nodes and returns the same."""
    tasks = {node: asyncio.create_task(node.work(), name=str(node.stage.info)) for node in nodes}
    pending = set(tasks.values())
    stopped: set[Node] = set()
    while pending:
        try:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            for task in pending:
                task.cancel()
        else:
            _cancel_unneeded(nodes, tasks, stopped)
    errors = [
        (task.get_name(), error)
        for task in tasks.values()
        if not task.cancelled() and isinstance(error := task.exception(), Exception)
    ]
    return PipelineFailure(sorted(errors, key=lambda one: one[0])) if errors else None


def _cancel_unneeded(
    nodes: Sequence[Node], tasks: dict[Node, asyncio.Task[None]], stopped: set[Node]
) -> None:
    """Stops what nobody will read: else it would wait for room for ever.

    Everything upstream of a stage that failed, and what has no consumer left because a merge
    returned before its inputs ended.
    """
    broken: set[Node] = set()
    for node in reversed(nodes):  # consumers come before those they read from
        task = tasks[node]
        consumers_stopped = [one in stopped for one in node.consumers]
        orphan = bool(node.consumers) and all(consumers_stopped)
        if any(one in broken for one in node.consumers):
            broken.add(node)
            orphan = True
        if task.done():
            stopped.add(node)
            if not task.cancelled() and task.exception() is not None:
                broken.add(node)
        elif orphan:
            stopped.add(node)
            task.cancel()
