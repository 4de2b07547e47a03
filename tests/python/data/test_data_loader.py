"""The loader's life: determinism, epochs, memory, several at once."""

import asyncio
import concurrent.futures
import gc
import subprocess
import sys
import threading
import time
import warnings

import makers
import numpy as np
import penstock as ps
import pytest
from patience import wait_until


def augmented(source):
    """Random crops, a Python map with random numbers, and bad samples."""

    def jitter(sample, rng):
        noise = rng.integers(0, 100, 4)
        return {"x": sample["jpg"], "noise": noise, "label": sample["cls"]}

    ds = ps.open(source).shuffle(seed=5).decode("cls").select("jpg", "cls")
    return ds.decode_image(size=(24, 24), crop="random_resized", flip=0.5).map(jitter).batch(7)


def test_same_bytes_for_any_threads_prefetch_and_memory(tmp_path):
    # promise 2, and 13: "Equal bytes for any thread count"
    source = makers.image_tars(tmp_path, bad=(3, 17, 44))
    want = makers.whole_epoch(augmented(source).loader(threads=1, on_error="skip", epoch=2))
    assert sum(len(batch["noise"][2]) for batch in want) > 0
    for threads in (1, 2, 3, 8):
        for prefetch, memory in ((1, "10KB"), (2, "1GB"), (9, "200KB")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                loader = augmented(source).loader(
                    threads=threads, prefetch=prefetch, memory=memory, on_error="skip", epoch=2
                )
                assert makers.whole_epoch(loader) == want
                assert len(loader.errors()) == 3


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_same_bytes_on_the_native_path(tmp_path, policy):
    source = makers.image_tars(tmp_path, bad=(3, 17, 44))
    ds = ps.open(source).shuffle(seed=1).decode("cls")
    ds = ds.decode_image(size=(24, 24), crop="random_resized", flip=0.5).batch(8)
    want = makers.whole_epoch(ds.loader(threads=1, on_error=policy))
    for threads in (2, 3, 8):
        assert makers.whole_epoch(ds.loader(threads=threads, on_error=policy)) == want
    assert makers.whole_epoch(ds.loader(seed=1, on_error=policy)) != want
    assert makers.whole_epoch(ds.loader(epoch=1, on_error=policy)) != want


def test_random_numbers_belong_to_positions_not_to_ranks():
    # 13: "Philox key (seed, epoch); counter (global position, ordinal of the random op in the
    # plan)"
    ds = ps.from_list(range(24)).map(lambda s, rng: {"i": s["data"], "r": rng.integers(1 << 40)})
    ds = ds.map(lambda sample, rng: {**sample, "second": rng.integers(1 << 40)})

    def drawn(world):
        all_ranks = {}
        for rank in range(world):
            for batch in ds.shard(rank, world).batch(3).loader(seed=9):
                rows = zip(batch["r"].tolist(), batch["second"].tolist(), strict=True)
                all_ranks.update(zip(batch["i"].tolist(), rows, strict=True))
        return all_ranks

    alone = drawn(1)
    assert drawn(3) == alone
    assert drawn(8) == alone
    assert len({r for r, _ in alone.values()}) == 24
    assert all(first != second for first, second in alone.values())


def test_exhaustion_adds_one_to_epoch_and_break_restarts_it():
    # 5: "Exhaustion adds one to epoch. Iterating again after a break restarts the same epoch"
    loader = ps.from_list(range(10)).shuffle(seed=1).batch(4).loader()
    first = makers.whole_epoch(loader)
    assert loader.epoch == 1
    for _ in loader:
        break
    assert loader.epoch == 1
    second = makers.whole_epoch(loader)
    assert second != first
    assert loader.epoch == 2
    loader.set_epoch(0)
    assert makers.whole_epoch(loader) == first


def test_threads_that_share_an_iterator_end_one_epoch():
    n = 400
    for _ in range(5):
        loader = ps.from_list(range(n)).batch(1).loader(prefetch=4)
        batches, got, positions = iter(loader), [], []

        def take(batches=batches, got=got, positions=positions, loader=loader):
            for batch in batches:
                got.append(int(batch["data"][0]))
                positions.append(loader.state_dict()["position"])

        threads = [threading.Thread(target=take) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(got) == list(range(n))
        assert loader.epoch == 1
        assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (1, 0)
        assert loader.ledger().complete(epoch=0, length=n)


def test_a_second_iterator_invalidates_the_first():
    # 5: "One live iterator per loader: a second one invalidates the first with an error"
    loader = ps.from_list(range(10)).batch(2).loader()
    first = iter(loader)
    next(first)
    second = iter(loader)
    with pytest.raises(RuntimeError, match="another iteration"):
        next(first)
    assert len(list(second)) == 5


def test_close_and_context_manager():
    with ps.from_list(range(1000)).batch(2).loader() as loader:
        batches = iter(loader)
        next(batches)
    with pytest.raises(RuntimeError, match="closed"):
        next(batches)
    with pytest.raises(RuntimeError, match="closed"):
        iter(loader)
    loader.close()


def test_several_loaders_at_once_share_one_pool():
    ds = ps.from_list(range(200)).map(lambda sample: sample).batch(8)
    loaders = [iter(ds.loader()) for _ in range(5)]
    total = [0] * 5
    done = False
    while not done:
        done = True
        for i, loader in enumerate(loaders):
            batch = next(loader, None)
            if batch is not None:
                total[i] += int(batch["data"].sum())
                done = False
    assert total == [199 * 100] * 5


def test_loader_properties():
    ds = ps.from_list(range(10)).batch(4)
    loader = ds.loader(epoch=3)
    assert len(loader) == 3
    assert (loader.epoch, loader.rank, loader.world, loader.batch_size) == (3, 0, 1, 4)
    assert loader.dataset is ds
    list(loader)
    assert loader.stats()["memory"]["peak"] >= 0
    for wrong in (
        {"threads": 0},
        {"prefetch": 0},
        {"on_error": "x"},
        {"memory": "lots"},
        {"output": "x"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ds.loader(**wrong)
    with pytest.raises(TypeError, match="endless"):
        len(ps.from_list([1]).repeat().batch(1).loader())


def test_memory_stays_under_the_ceiling(tmp_path):
    # 17: "Memory is reserved per batch at admission"
    ds = ps.open(makers.image_tars(tmp_path)).select("jpg").repeat(6)
    ds = ds.decode_image(size=(64, 64)).batch(4)
    budget = 4 * 64 * 64 * 3 * 3
    loader = ds.loader(memory=budget, threads=4, prefetch=8)
    for _ in loader:
        assert loader.stats()["memory"]["in_use"] <= budget
    assert loader.stats()["memory"]["peak"] <= budget
    assert loader.stats()["memory"]["over_budget"] == 0


def test_a_batch_larger_than_the_ceiling_is_admitted_alone_with_a_warning(tmp_path):
    # 17: "The oldest batch is always admitted, even alone above the ceiling (one warning,
    # over_budget in the statistics)"
    ds = ps.open(makers.image_tars(tmp_path)).select("jpg").decode_image(size=(64, 64)).batch(16)
    loader = ds.loader(memory="10KB", threads=3)
    with pytest.warns(ResourceWarning, match="admitted alone") as caught:
        assert len(list(loader)) == 4
    assert len(caught) == 1
    assert loader.stats()["memory"]["over_budget"] >= 1


def test_holding_all_batches_is_no_deadlock(tmp_path):
    # 17: "A batch in the user's hands leaves the budget and is shown as held by the user"
    ds = ps.open(makers.image_tars(tmp_path)).select("jpg").decode_image(size=(64, 64)).batch(4)
    loader = ds.loader(memory=4 * 64 * 64 * 3 * 2)
    everything = list(loader)
    assert len(everything) == 13
    assert loader.stats()["memory"]["held_by_user"] >= 50 * 64 * 64 * 3


def test_a_slow_oldest_batch_is_no_deadlock():
    def slow(sample):
        time.sleep(0.1 if sample["data"] == 0 else 0)
        return {"x": np.zeros(1000)}

    ds = ps.from_list(range(100)).map(slow, concurrency=4).batch(3)
    assert len(list(ds.loader(memory="30KB", threads=2, prefetch=4))) == 34


def test_maps_run_at_once_up_to_their_concurrency():
    # 21: "in datasets created on demand up to the sum of the maps' concurrency"
    running, most, changed = 0, 0, threading.Condition()

    def wait(sample):
        nonlocal running, most
        with changed:
            running += 1
            most = max(most, running)
            changed.notify_all()
            changed.wait_for(lambda: most >= 6, 20)
        time.sleep(0.02)  # more may come
        with changed:
            running -= 1
        return sample

    list(ps.from_list(range(40)).map(wait, concurrency=6).batch(5).loader())
    assert most == 6


def test_async_maps_and_executors():
    # 21: "map accepts async functions"
    async def double(sample):
        await asyncio.sleep(0.001)
        return {"x": sample["data"] * 2}

    ds = ps.from_list(range(20)).map(double, concurrency=4)
    assert [int(x) for batch in ds.batch(6).loader() for x in batch["x"]] == list(range(0, 40, 2))
    assert ds[3] == {"x": 6}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ds = ps.from_list(range(9)).map(lambda s: {"x": s["data"] + 1}, executor=pool)
        assert [int(x) for batch in ds.batch(4).loader() for x in batch["x"]] == list(range(1, 10))


def test_loaders_that_are_dropped_end_quietly():
    threads = threading.active_count()
    for _ in range(5):
        loader = ps.from_list(range(10_000)).map(lambda sample: sample).batch(4).loader(threads=2)
        next(iter(loader))
        del loader
        gc.collect()
    assert wait_until(lambda: threading.active_count() <= threads)


def run_script(script, **options):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=50, **options
    )


def test_a_program_ends_with_a_loader_under_way():
    # 23: "does not keep the process from exiting with code 0 within 3 s"
    script = """
import time, penstock as ps
def slow(sample):
    if sample["data"] == 9: time.sleep(60)
    return sample
loader = ps.from_list(range(100)).map(slow).batch(4).loader()
batches = iter(loader)
next(batches)
"""
    start = time.monotonic()
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - start < 30, "it does not wait for the minute to be over"


def test_a_program_that_stops_in_mid_epoch_says_nothing():
    script = """
import penstock as ps
ds = ps.from_list(range(100)).map(lambda sample: sample)
one = ds[3]
batches = iter(ds.batch(4).map(lambda batch: batch).loader())
batch = next(batches)
"""
    done = run_script(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_closing_from_another_thread_ends_the_loop_and_not_the_epoch():
    working = threading.Event()

    def slow(sample):
        working.set()
        time.sleep(0.05)
        return sample

    def close():
        working.wait(20)
        loader.close()

    loader = ps.from_list(range(10_000)).map(slow).batch(50).loader()
    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(RuntimeError, match="closed"):
        list(loader)
    closer.join()
    assert loader.epoch == 0


def test_a_forked_child_gets_an_error_and_the_parent_goes_on():
    # 24: "pipelines and loaders of the parent raise a clear error; nothing joins or deadlocks"
    script = """
import os, penstock as ps
loader = ps.from_list(range(1000)).batch(2).loader()
batches = iter(loader)
next(batches)
child = os.fork()
if child == 0:
    try:
        for _ in batches: pass
    except RuntimeError as error:
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(9)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, sum(1 for _ in batches))
"""
    done = run_script(script)
    assert done.stdout.split() == ["7", "499"], done.stderr


def test_ctrl_c_while_waiting_reaches_the_loop():
    script = """
import os, signal, threading, time, penstock as ps
def slow(sample):
    time.sleep(1)
    return sample
try:
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    list(ps.from_list(range(100)).map(slow).batch(50).loader())
except KeyboardInterrupt:
    print("interrupted")
"""
    done = run_script(script)
    assert done.stdout.strip() == "interrupted", done.stderr


def test_a_loader_needs_neither_an_event_loop_nor_the_pipeline_package():
    # They would add ten megabytes, and a third to the time of the import.
    program = """if True:
        import sys
        import penstock as ps
        list(ps.from_list([1, 2]).shuffle().map(dict).batch(2).loader())
        large = ("asyncio", "hashlib", "concurrent.futures.thread", "penstock.pipeline")
        print([name for name in large if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
