"""Stages with several queues: routers, and what joins paths and pipelines again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from penstock.pipeline._convert import AsyncFunction, checked_path
from penstock.pipeline._event.stage import Stage
from penstock.pipeline._queues import AsyncQueue
from penstock.pipeline._stage import EOF, EPOCH_END, StageInfo
from penstock.pipeline._tasks import cancel_all

Queues = Sequence[AsyncQueue]


async def route(stage: Stage, router: AsyncFunction, paths: Queues) -> None:
    """Each item goes to the path that the router names. What it raises ends the pipeline."""
    while (item := await stage.get()) is not EOF:
        if item is EPOCH_END:
            for path in paths:
                await path.put(EPOCH_END)
            continue
        await paths[checked_path(await router(item), len(paths))].put(item)


async def route_batches(stage: Stage, router: AsyncFunction, paths: Queues) -> None:
    """Each list is split: every path gets the list of its elements, though it be empty, so that
    the lists of one batch can be joined again."""
    while (items := await stage.get()) is not EOF:
        if items is EPOCH_END:
            for path in paths:
                await path.put(EPOCH_END)
            continue
        indices = await router(items)
        if len(indices) != len(items):
            raise ValueError(
                f"Batched router returned {len(indices)} indices for a batch of {len(items)} "
                "items; it must return exactly one index per item."
            )
        parts: list[list[Any]] = [[] for _ in paths]
        for item, index in zip(items, indices, strict=True):
            parts[checked_path(index, len(paths))].append(item)
        for path, part in zip(paths, parts, strict=True):
            await path.put(part)


async def merge(info: StageInfo, inputs: Queues, output: AsyncQueue) -> None:
    """Items of all queues as they come; an epoch ends when it has ended in all of them."""
    going = list(inputs)
    while going:
        passing = {asyncio.create_task(_pass(queue, output)): queue for queue in going}
        try:
            await asyncio.wait(passing)
        finally:
            await cancel_all({task for task in passing if not task.done()})
        going = [queue for task, queue in passing.items() if task.result() is EPOCH_END]
        if going:
            await output.put(EPOCH_END)


async def _pass(queue: AsyncQueue, output: AsyncQueue) -> Any:
    """Until a mark comes, which is returned."""
    while (item := await queue.get()) is not EOF and item is not EPOCH_END:
        await output.put(item)
    return item


async def merge_batches(info: StageInfo, inputs: Queues, output: AsyncQueue) -> None:
    """A list from each path makes a list again; empty ones are dropped."""
    while True:
        parts = [await queue.get() for queue in inputs]
        if any(part is EOF for part in parts):
            return
        if any(part is EPOCH_END for part in parts):
            await output.put(EPOCH_END)
            continue
        whole = [item for part in parts for item in part]
        if whole:
            await output.put(whole)
