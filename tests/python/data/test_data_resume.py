"""Resume: an oracle over ranks, threads, batch sizes and stop points; kill -9; the ledger."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time

import makers
import penstock as ps
import pytest


def plain_plan(n):
    return ps.from_list(range(n)).shuffle(seed=3)


def mixed_plan(n):
    a = ps.from_list(range(n)).shuffle(seed=1)
    b = ps.from_list(range(1000, 1000 + n // 2)).shuffle(seed=2)
    return ps.mix([a, b], weights=[2, 1], seed=7).shuffle(seed=4)


def bad_plan(n):
    def picky(sample):
        if sample["data"] in (13, 31):
            raise ValueError("a bad sample")
        return sample

    return plain_plan(n).map(picky)


def wanted(ds, epoch):
    """Every valid sample of an epoch, as one rank alone has it."""
    loader = ds.shard(0, 1).batch(1).loader(epoch=epoch, on_error="skip")
    return sorted(int(x) for batch in loader for x in batch["data"])


def walk(ds, state, world, batch, threads, steps, **options):
    """`steps` batches on every rank from a token on; what was delivered, and the next token."""
    got, states, over = [], [], []
    for rank in range(world):
        loader = (
            ds.shard(rank, world)
            .batch(batch, mask=True, **options)
            .loader(threads=threads, on_error="skip", prefetch=3)
        )
        if state is not None:
            loader.load_state_dict(json.loads(json.dumps(state)))
        epoch = loader.epoch
        batches = iter(loader)
        for one in itertools.islice(batches, steps):
            got += [int(x) for x, valid in zip(one["data"], one["_valid"], strict=True) if valid]
        states.append(loader.state_dict())
        over.append(loader.state_dict()["epoch"] > epoch)
        loader.close()
    # "the token of any one rank, taken after the same number of batches, serves all ranks"
    positions = {(s["epoch"], s["position"]) for s in states}
    assert len(positions) == 1, positions
    return got, states[random.Random(len(got)).randrange(world)]


@pytest.mark.parametrize("make", [plain_plan, mixed_plan, bad_plan])
@pytest.mark.parametrize("seed", range(4))
def test_every_valid_sample_of_every_epoch_exactly_once(make, seed):
    # 1, 4, 6 and api: "over all ranks no sample of the epoch is lost or seen twice"
    rng = random.Random(seed)
    n = rng.choice([37, 64, 101])
    ds = make(n)
    state, epochs = None, {}
    worlds = itertools.cycle([8, 3, 5, 1])
    while len(epochs) < 3:
        epoch = 0 if state is None else state["epoch"]
        if epoch == 2:
            break
        got, state = walk(
            ds,
            state,
            next(worlds),
            rng.choice([1, 2, 4, 7]),
            rng.choice([1, 3]),
            rng.choice([1, 2, 3]),
        )
        epochs.setdefault(epoch, []).extend(got)
        assert len(json.dumps(state)) < 4096
    for epoch in (0, 1):
        assert sorted(epochs[epoch]) == wanted(ds, epoch)


@pytest.mark.parametrize("seed", range(8))
def test_any_ranks_token_serves_all_also_where_ends_are_short(seed):
    # 1 and 11: "as it falls": a rank may have a batch less than others
    rng = random.Random(seed)
    ds = plain_plan(rng.choice([5, 13, 37]))
    state, epochs = None, {}
    while state is None or state["epoch"] < 2:
        epoch = 0 if state is None else state["epoch"]
        world, batch, steps = rng.choice([1, 2, 3, 5]), rng.choice([1, 2, 4]), rng.choice([1, 2])
        got, state = walk(ds, state, world, batch, 2, steps, ends="short")
        epochs.setdefault(epoch, []).extend(got)
    for epoch in (0, 1):
        assert sorted(epochs[epoch]) == wanted(ds, epoch)


def test_a_rank_that_has_had_its_last_batch_waits_for_the_others():
    plan = ps.from_list(range(5))
    loaders = [plan.shard(r, 2).batch(2, ends="short").loader() for r in range(2)]
    running = [iter(loader) for loader in loaders]
    for one in running:
        next(one)
    tokens = [loader.state_dict() for loader in loaders]
    assert [(t["epoch"], t["position"]) for t in tokens] == [(0, 4), (0, 4)]
    for token in tokens:
        loader = plan.shard(0, 1).batch(2, ends="short").loader()
        loader.load_state_dict(token)
        assert [batch["data"].tolist() for batch in loader] == [[4]]
    assert [len(list(one)) for one in running] == [1, 0]
    tokens = [loader.state_dict() for loader in loaders]
    assert [(t["epoch"], t["position"]) for t in tokens] == [(1, 0), (1, 0)]


def test_resume_inside_the_last_batch_and_at_the_end():
    ds = plain_plan(20)
    # Two ranks, three batches each; the last has one row on rank 0 and a filled one on rank 1.
    first, state = walk(ds, None, 2, 4, 2, 2)
    assert state["position"] == 16
    rest, state = walk(ds, state, 3, 5, 2, 1)
    assert sorted(first + rest) == list(range(20))
    # 5: "At an epoch's end the token is (epoch + 1, 0)"
    assert (state["epoch"], state["position"]) == (1, 0)
    again, _ = walk(ds, state, 1, 20, 1, 1)
    assert sorted(again) == list(range(20))
    assert again != sorted(again)


def test_state_is_what_the_loop_has_received_not_what_was_prefetched():
    loader = plain_plan(100).batch(5).loader(prefetch=10)
    assert loader.state_dict()["position"] == 0
    batches = iter(loader)
    for k in range(1, 5):
        next(batches)
        time.sleep(0.01)
        assert loader.state_dict()["position"] == 5 * k


def test_iteration_starts_at_a_token_that_was_just_loaded_and_then_at_the_beginning():
    # 5: "iter(loader) starts at the token if one was just loaded, else at the beginning"
    ds = ps.from_list(range(10)).batch(2)
    loader = ds.loader()
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    other = ds.loader()
    other.load_state_dict(state)
    assert other.state_dict() == state
    other.set_epoch(0)  # a training loop that always says so
    assert len(list(other)) == 4
    assert len(list(other)) == 5
    loader.load_state_dict(state)
    with pytest.raises(RuntimeError, match="a state was loaded"):
        next(batches)


def test_row_work_batch_size_output_and_threads_are_not_bound_by_the_token(tmp_path):
    # 4: "changing the image size in mid-training is legal"
    ds = ps.open(makers.image_tars(tmp_path)).shuffle(seed=1).decode("cls")
    loader = ds.decode_image(size=(8, 8)).batch(6).loader()
    first = next(iter(loader))["cls"].tolist()
    state = loader.state_dict()
    larger = ds.decode_image(size=(16, 16)).select("jpg", "cls").batch(11).loader(threads=3)
    larger.load_state_dict(state)
    rest = [int(x) for batch in larger for x in batch["cls"]]
    assert sorted(first + rest) == list(range(50))


def test_a_token_that_does_not_fit_is_refused_with_what_differs(tmp_path):
    # api: "A token that does not fit the plan or the data is refused with a message"
    ds = plain_plan(20)
    state = ds.batch(2).loader().state_dict()
    for other, words in (
        (ps.from_list(range(21)).shuffle(seed=3), "it had 20 records, there are 21 now"),
        (ps.from_list(range(20)).shuffle(seed=4), "another order"),
        (plain_plan(20).take(10), "another order"),
    ):
        with pytest.raises(ValueError, match=words):
            other.batch(2).loader().load_state_dict(state)
    loader = ds.batch(2).loader()
    for damaged in (
        {},
        None,
        {**state, "version": 99},
        {**state, "position": -1},
        {**state, "x": 1},
    ):
        with pytest.raises(ValueError, match="load_state_dict"):
            loader.load_state_dict(damaged)
    with pytest.raises(ValueError, match="beyond the end"):
        loader.load_state_dict({**state, "position": 10**9})
    # 4: "no mtime, no absolute path": the same data elsewhere has the same token
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    here = ps.open(makers.image_tars(tmp_path / "a")).batch(4).loader()
    there = ps.open(makers.image_tars(tmp_path / "b")).batch(4).loader()
    there.load_state_dict(here.state_dict())


def test_endless_plans_resume_too():
    ds = ps.from_list(range(10)).shuffle(seed=1).repeat().batch(3)
    loader = ds.loader()
    batches = iter(loader)
    head = [next(batches)["data"].tolist() for _ in range(20)]
    state = loader.state_dict()
    want = [next(batches)["data"].tolist() for _ in range(5)]
    loader.close()
    other = ds.loader()
    other.load_state_dict(state)
    batches = iter(other)
    assert [next(batches)["data"].tolist() for _ in range(5)] == want
    other.close()
    assert len(head) == 20


KILLED = """
import json, os, sys, time
import penstock as ps
state, log = sys.argv[1], sys.argv[2]
ds = ps.from_list(range(3000)).shuffle(seed=5).map(lambda s, rng: {"i": s["data"]})
loader = ds.batch(8).loader()
if os.path.exists(state):
    loader.load_state_dict(json.load(open(state)))
with open(log, "a") as out:
    for batch in loader:
        token = loader.state_dict()
        line = [token["epoch"], token["position"], batch["i"].tolist()]
        print(json.dumps(line), file=out, flush=True)
        if token["position"] % 56 == 0 or token["epoch"] == 1:
            with open(state + ".new", "w") as file:
                json.dump(token, file)
            os.replace(state + ".new", state)
        time.sleep(0.001)
"""


def test_after_kill_9_each_sample_is_delivered_exactly_once(tmp_path):
    # 6: "samples delivered before the saved token plus those delivered after resuming from it are
    # each exactly once"
    state, log = tmp_path / "state.json", tmp_path / "log"
    rng = random.Random(1)
    delivered = []
    for attempt in range(12):
        log.write_text("")
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(state), str(log)])
        try:
            process.wait(timeout=60 if attempt == 11 else rng.uniform(0.3, 0.9))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        saved = json.loads(state.read_text()) if state.exists() else {"epoch": 0, "position": 0}
        for line in log.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                continue
            epoch, position, numbers = json.loads(line)
            if (epoch, position) <= (saved["epoch"], saved["position"]):
                delivered += numbers
        if saved["epoch"] == 1:
            break
    assert sorted(delivered) == list(range(3000))


def test_ledgers_of_ranks_prove_that_an_epoch_was_complete():
    ledgers = []
    ds = plain_plan(50)
    for rank in range(3):
        loader = ds.shard(rank, 3).batch(4).loader()
        for _ in itertools.islice(loader, 3):
            pass
        state = loader.state_dict()
        ledgers.append(loader.ledger().to_dict())
        loader.close()
    part = ps.Ledger.merge(ledgers)
    assert part.missing(0, 50) == [(36, 50)]
    for rank in range(2):
        loader = ds.shard(rank, 2).batch(3).loader()
        loader.load_state_dict(state)
        list(loader)
        ledgers.append(json.loads(json.dumps(loader.ledger().to_dict())))
    whole = ps.Ledger.merge(ledgers)
    assert whole.complete(0, 50)
    assert whole.missing(0, 50) == []
    assert whole.repeated(0) == []
    twice = ps.Ledger.merge([whole, ledgers[0]])
    assert twice.repeated(0)[0] == (0, 1)
    assert not twice.complete(0, 50)


@pytest.mark.parametrize(
    "damage",
    [
        {"position": "3"},
        {"position": 1.5},
        {"position": None},
        {"position": True},
        {"position": -1},
        {"epoch": "last"},
        {"epoch": 10**30},
        {"errors": None},
        {"records": []},
    ],
)
def test_a_damaged_token_is_refused_and_the_loader_stays_as_it_was(damage):
    loader = ps.from_list(range(10)).batch(4).loader()
    (name,) = damage
    with pytest.raises(ValueError, match=f"the token is damaged: {name} is"):
        loader.load_state_dict({**loader.state_dict(), **damage})
    assert [len(batch["data"]) for batch in loader] == [4, 4, 2]


def test_another_epoch_ends_the_iteration_so_that_tokens_stay_true():
    loader = ps.from_list(range(10)).shuffle(seed=1).batch(2).loader()
    batches = iter(loader)
    next(batches)
    loader.set_epoch(0)
    next(batches)
    assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (0, 4)
    loader.set_epoch(5)
    with pytest.raises(RuntimeError, match="set_epoch"):
        next(batches)
    assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (5, 0)
    assert len(list(loader)) == 5
    assert loader.epoch == 6


def test_a_ledger_of_a_huge_epoch_is_counted_in_pieces(monkeypatch):
    from penstock.data import _ledger

    rng = random.Random(1)
    monkeypatch.setattr(_ledger, "_PIECE", 7)
    for _ in range(50):
        ledger, counts = _ledger.Ledger(), [0] * 60
        for _ in range(rng.randrange(5)):
            start, stride, many = rng.randrange(40), rng.randrange(1, 9), rng.randrange(1, 20)
            ledger.add(0, start, stride, many)
            for p in range(start, start + stride * many, stride):
                counts += [0] * (p + 1 - len(counts))
                counts[p] += 1
        missing = {p for first, last in ledger.missing(0, 50) for p in range(first, last)}
        assert missing == {p for p in range(50) if counts[p] == 0}
        repeated = ledger.repeated(0)
        assert {p for first, last in repeated for p in range(first, last)} == {
            p for p, n in enumerate(counts) if n > 1
        }
        assert all(a[1] < b[0] for a, b in itertools.pairwise(repeated))
        assert ledger.complete(0, 50) == all(n == 1 for n in counts[:50])
