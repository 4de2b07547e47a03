"""DataLoader, CacheDataLoader and cache_iterator, beside the reference's."""

import importlib.util
import inspect
import itertools
import pickle
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import wait_until
from penstock.dataloader import CacheDataLoader, DataLoader
from penstock.pipeline._cache import cache_iterator

needs_spdl = pytest.mark.skipif(
    importlib.util.find_spec("spdl") is None, reason="spdl is not installed"
)


def double(x: int) -> int:
    return 2 * x


def bad_at_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


def twice(x: int) -> Iterator[int]:
    yield x
    yield x


async def later(x: int) -> int:
    return x + 1


PROGRAMS: list[dict[str, Any]] = [
    {},
    {"preprocessor": double},
    {"preprocessor": later},
    {"preprocessor": twice, "num_threads": 1, "output_order": "completion"},
    {"preprocessor": bad_at_three, "batch_size": 2},
    {"batch_size": 4},
    {"batch_size": 4, "drop_last": True},
    {"batch_size": 4, "aggregator": sum},
    {"aggregator": double},
    {"preprocessor": double, "batch_size": 3, "aggregator": sum, "transfer_fn": double},
    {"preprocessor": double, "transfer_fn": double, "buffer_size": 1},
]


@needs_spdl
@pytest.mark.parametrize("options", PROGRAMS, ids=str)
def test_it_gives_what_the_reference_gives(options: dict[str, Any]) -> None:
    import spdl.dataloader

    options = {"num_threads": 3, "output_order": "input", "timeout": 30} | options
    ours = DataLoader(range(10), **options)
    theirs = spdl.dataloader.DataLoader(range(10), **options)
    for _ in range(2):
        assert list(ours) == list(theirs)


@needs_spdl
def test_signatures_are_those_of_the_reference() -> None:
    import spdl.dataloader
    import spdl.pipeline

    def parameters(function: Any) -> list[Any]:
        found = inspect.signature(function).parameters.values()
        return [(one.name, one.kind, one.default) for one in found]

    for ours, theirs in (
        (DataLoader.__init__, spdl.dataloader.DataLoader.__init__),
        (cache_iterator, spdl.pipeline.cache_iterator),
    ):
        assert parameters(ours) == parameters(theirs)
    # This one has `loader` as another name for `dl`: what the reference takes, it takes.
    names = [name for name, *_ in parameters(spdl.dataloader.CacheDataLoader.__init__)][1:]
    numbers = [1, 2, 5]
    by_place = CacheDataLoader(range(3), *numbers)
    by_name = CacheDataLoader(**dict(zip(names, [range(3), *numbers], strict=True)))
    assert list(by_place) == list(by_name)
    assert list(by_name) == list(spdl.dataloader.CacheDataLoader(range(3), *numbers))
    import penstock.dataloader

    assert set(spdl.dataloader.__all__) <= set(penstock.dataloader.__all__)


def test_an_async_source() -> None:
    async def numbers() -> AsyncIterator[int]:
        for i in range(3):
            yield i

    assert list(DataLoader(numbers(), preprocessor=double, num_threads=1)) == [0, 2, 4]


def test_leaving_the_loop_ends_the_run() -> None:
    before = set(threading.enumerate())
    for item in DataLoader(itertools.count(), preprocessor=double):
        if item > 20:
            break
    assert wait_until(lambda: set(threading.enumerate()) <= before), threading.enumerate()


def test_a_timeout_is_raised() -> None:
    gate = threading.Event()
    with pytest.raises(TimeoutError):
        list(DataLoader([1], preprocessor=lambda x: gate.wait(20), timeout=0.05))
    gate.set()


# ---- the cache


@needs_spdl
@given(
    n=st.integers(0, 12),
    kept=st.integers(-1, 8),
    after=st.none() | st.integers(0, 12),
    stop=st.none() | st.integers(0, 30),
)
def test_cached_items_are_those_of_the_reference(
    n: int, kept: int, after: int | None, stop: int | None
) -> None:
    import spdl.pipeline

    def outcome(cached: Any) -> Any:
        try:
            return list(
                itertools.islice(
                    cached(range(n), kept, return_caches_after=after, stop_after=stop), 40
                )
            )
        except ValueError:
            return "refused"

    assert outcome(cache_iterator) == outcome(spdl.pipeline.cache_iterator)


def test_the_source_is_freed_when_it_is_not_needed_any_more() -> None:
    class Source(list):
        pass

    for delete, gone in ((True, True), (False, False)):
        source = Source(range(5))
        alive = weakref.ref(source)
        items = cache_iterator(source, 2, delete_src=delete)
        del source
        assert list(itertools.islice(items, 3)) == [0, 1, 0]
        assert (alive() is None) == gone


def test_a_cached_loader_is_otherwise_the_loader() -> None:
    class Loader:
        epochs = 0

        def __iter__(self) -> Iterator[int]:
            self.epochs += 1
            return iter(range(10))

        def __len__(self) -> int:
            return 10

    loader = Loader()
    cached = CacheDataLoader(loader, num_caches=2, return_caches_after=3, stop_after=6)
    assert [list(cached), list(cached)] == [[0, 1, 2, 0, 1, 0]] * 2
    assert (len(cached), cached.epochs) == (10, 2)
    with pytest.raises(AttributeError):
        cached.nothing  # noqa: B018
    copy = pickle.loads(pickle.dumps(CacheDataLoader([1, 2], 1, 1, 3)))
    assert list(copy) == [1, 1, 1]


def test_cached_items_take_no_time() -> None:
    def slow() -> Iterator[int]:
        for i in range(10):
            time.sleep(0.02)
            yield i

    items = cache_iterator(slow(), 2)
    next(items), next(items)
    asked = iter(items)
    assert [next(asked) for _ in range(100)] == [0, 1] * 50
