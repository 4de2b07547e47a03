"""The same flow on four engines: source, stages, a sink of 64, a consumer in the main thread.

Each flow is a context manager that gives an iterator over the results and stops everything at the
end. Nothing of a flow runs before it is entered, so that a clock around it sees all of it.
"""

import asyncio
import contextlib
import itertools
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any

SINK = 64
END = object()


def build(package: Any, source: Iterable[Any], op: Any, stages: int, concurrency: int) -> Any:
    """A pipeline of Penstock or SPDL: their builders are alike."""
    builder = package.PipelineBuilder().add_source(source)
    for _ in range(stages):
        builder = builder.pipe(op, concurrency=concurrency)
    # An async op runs on the event loop and needs no thread of the pool.
    threads = 1 if asyncio.iscoroutinefunction(op) else stages * concurrency
    return builder.add_sink(SINK).build(num_threads=threads)


@contextlib.contextmanager
def penstock(source: Iterable[Any], op: Any, stages: int = 1, concurrency: int = 1) -> Any:
    import penstock.pipeline

    pipeline = build(penstock.pipeline, source, op, stages, concurrency)
    with pipeline.auto_stop():
        yield iter(pipeline)


@contextlib.contextmanager
def spdl(source: Iterable[Any], op: Any, stages: int = 1, concurrency: int = 1) -> Any:
    import spdl.pipeline

    pipeline = build(spdl.pipeline, source, op, stages, concurrency)
    with pipeline.auto_stop():
        yield iter(pipeline)


class Threads:
    """Plain threads with a queue.Queue of 64 between two stages."""

    def __init__(self, source: Iterable[Any], op: Any, stages: int, concurrency: int) -> None:
        self.queues = [queue.Queue(SINK) for _ in range(stages + 1)]
        self.stopped = False
        self.threads = [threading.Thread(target=self._feed, args=(source,), daemon=True)]
        for place in range(stages):
            left = itertools.count(concurrency - 1, -1)  # the last worker hands on the end
            self.threads += [
                threading.Thread(target=self._work, args=(place, op, left), daemon=True)
                for _ in range(concurrency)
            ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.stopped = True
        while any(thread.is_alive() for thread in self.threads):
            for one in self.queues:  # room for whoever waits to put, an end for whoever gets
                with contextlib.suppress(queue.Empty):
                    while True:
                        one.get_nowait()
                with contextlib.suppress(queue.Full):
                    one.put_nowait(END)
            for thread in self.threads:
                thread.join(0.0005)

    def _feed(self, source: Iterable[Any]) -> None:
        put = self.queues[0].put
        for item in source:
            if self.stopped:
                return
            put(item)
        put(END)

    def _work(self, place: int, op: Any, left: Iterator[int]) -> None:
        get, put = self.queues[place].get, self.queues[place + 1].put
        while (item := get()) is not END and not self.stopped:
            put(op(item))
        self.queues[place].put(END) if next(left) else put(END)


@contextlib.contextmanager
def threads(source: Iterable[Any], op: Any, stages: int = 1, concurrency: int = 1) -> Any:
    flow = Threads(source, op, stages, concurrency)
    flow.start()
    try:
        yield iter(flow.queues[-1].get, END)
    finally:
        flow.stop()


def asyncio_queues(source: Iterable[Any], op: Any, stages: int) -> tuple[int, int]:
    """No-op stages as coroutines with an asyncio.Queue of 64 between them, all in one thread."""

    async def main() -> tuple[int, int]:
        queues = [asyncio.Queue(SINK) for _ in range(stages + 1)]

        async def feed() -> None:
            for item in source:
                await queues[0].put(item)
            await queues[0].put(END)

        async def work(place: int) -> None:
            while (item := await queues[place].get()) is not END:
                await queues[place + 1].put(op(item))
            await queues[place + 1].put(END)

        tasks = [asyncio.create_task(work(i)) for i in range(stages)]
        tasks.append(asyncio.create_task(feed()))
        count = total = 0
        while (item := await queues[-1].get()) is not END:
            count += 1
            total += item
        await asyncio.gather(*tasks)
        return count, total

    return asyncio.run(main())


def asyncio_workers(source: Iterable[Any], op: Any, workers: int) -> tuple[int, int]:
    """Workers that share one iterator and nothing else: what asyncio itself can do."""

    async def main() -> tuple[int, int]:
        items = iter(source)
        count = total = 0

        async def work() -> None:
            nonlocal count, total
            for item in items:
                result = await op(item)
                total += result
                count += 1

        await asyncio.gather(*(work() for _ in range(workers)))
        return count, total

    return asyncio.run(main())
