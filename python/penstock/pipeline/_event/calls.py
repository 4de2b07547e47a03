"""The threads of a pipeline on the loop, and which calls of user functions are under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.pipeline._failure import describe_item
from penstock.pipeline._stage import StageInfo
from penstock.pipeline._threads import Threads
from penstock.pipeline._usage import Usage


class Calls:
    """``ops`` is shared by all stages; each source has a thread of its own."""

    def __init__(self, num_threads: int) -> None:
        self.usage = Usage()  # of the threads that call Python
        self.ops = Threads(num_threads, "penstock-caller", usage=self.usage)
        self._pools = [self.ops]
        self._under_way: dict[int, tuple[StageInfo, Any]] = {}

    def thread_for(self, info: StageInfo) -> Threads:
        self._pools.append(Threads(1, f"penstock-{info}", usage=self.usage))
        return self._pools[-1]

    def watch(self, info: StageInfo, op: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def run(item: Any) -> Any:
            thread = threading.get_ident()
            self._under_way[thread] = (info, item)
            try:
                return op(item)
            finally:
                del self._under_way[thread]

        return run

    def stop(self, deadline: float) -> str | None:
        """Waits for all calls to return; says which ones have not when it is too late."""
        for pool in self._pools:
            # What waits for a source's thread closes its iterator: that is still done.
            pool.shutdown(wait=False, cancel_futures=pool is self.ops)
        gone = [pool.join(deadline) for pool in self._pools]
        if all(gone):
            return None
        left = [f"{info} on {describe_item(item)}" for info, item in [*self._under_way.values()]]
        where = f"stage {', '.join(left)}" if left else "a source"
        return f"stop: abandoned what is still running in {where}"
