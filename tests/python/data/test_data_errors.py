"""Bad samples: when they are noticed, what becomes of them, what is said."""

import array
import gc
import itertools
import subprocess
import sys

import makers
import numpy as np
import penstock as ps
import pytest


def images(tmp_path, bad=(7, 30)):
    return ps.open(makers.image_tars(tmp_path, bad=bad)).decode("cls")


def test_raise_throws_when_its_batch_is_due_after_all_earlier_ones(tmp_path):
    # 18: "raise throws when its batch is due, after all earlier batches"
    ds = images(tmp_path).decode_image(size=(8, 8)).batch(5)
    for threads in (1, 4):
        loader = ds.loader(threads=threads)
        batches = iter(loader)
        assert next(batches)["cls"].tolist() == [0, 1, 2, 3, 4]
        state = loader.state_dict()
        with pytest.raises((ValueError, NotImplementedError), match="00007") as caught:
            next(batches)
        assert "field jpg" in str(caught.value)
        assert loader.state_dict() == state, "what failed was not received"
        assert loader.errors() == []
        assert next(batches, None) is None


@pytest.mark.parametrize(
    "ds",
    [
        ps.from_list(range(5)).repeat(),
        ps.from_list(range(5)).repeat().map(dict),
        ps.from_arrays(x=np.arange(5)).repeat(),
        ps.mix([ps.from_list(range(5))], stop="never"),
        ps.from_iterable(itertools.count()),
        ps.from_list([b""]).repeat().decode_image("data", size=(224, 224)),
    ],
)
@pytest.mark.parametrize("rows", [10**15, 2**62])
def test_a_batch_that_no_memory_can_hold_is_refused_by_name(ds, rows):
    with pytest.raises(MemoryError, match=f"batch: .* a batch of {rows} rows.* a smaller size"):
        next(iter(ds.batch(rows).loader()))


def test_a_batch_larger_than_the_dataset_is_all_of_it():
    for ds in (ps.from_list(range(5)), ps.from_arrays(data=np.arange(5))):
        (batch,) = ds.batch(10**15).loader()
        assert batch["data"].tolist() == [0, 1, 2, 3, 4]


def test_a_batch_that_the_system_has_no_memory_for_is_an_error_too():
    # The machine may have enough; this process may not have it.
    program = """if True:
        import resource
        import numpy as np
        import penstock as ps
        wide = np.zeros(200 << 20, np.uint8)
        images = ps.from_list([b""] * 4).decode_image("data", size=(10_000, 10_000))
        for ds in (images, ps.from_list(range(4)).map(lambda _: {"wide": wide})):
            loader = ds.batch(4).loader(threads=1)
            with open("/proc/self/statm") as file:
                limit = int(file.read().split()[0]) * resource.getpagesize() + (700 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            try:
                next(iter(loader))
            except MemoryError as error:
                print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50
    )
    said = done.stdout.splitlines()
    assert len(said) == 2, done.stdout + done.stderr
    assert "no memory for a batch of 4 rows" in said[0]
    assert "field 'wide' of 4 rows" in said[1]
    assert all("a smaller size" in line for line in said)


def test_skip_leaves_a_hole_and_nothing_is_pulled_forward(tmp_path):
    # 2: "its batch comes out shorter, remaining rows in position order; nothing is pulled forward"
    loader = images(tmp_path).decode_image(size=(8, 8), exact=True).batch(5).loader(on_error="skip")
    batches = list(loader)
    assert [batch["cls"].tolist() for batch in batches[:3]] == [
        [0, 1, 2, 3, 4],
        [5, 6, 8, 9],
        [10, 11, 12, 13, 14],
    ]
    assert len(batches) == len(loader) == 10
    assert [(error.position, error.epoch) for error in loader.errors()] == [(7, 0), (30, 0)]
    assert "00007" in loader.errors()[0].sample
    assert loader.stats()["errors"] == 2


def test_the_rows_that_are_left_keep_their_own_pixels(tmp_path):
    ds = images(tmp_path).decode_image(size=(8, 8))
    for batch in ds.batch(6).loader(on_error="skip", threads=3):
        for i, label in enumerate(batch["cls"].tolist()):
            assert np.array_equal(batch["jpg"][i], ds[label]["jpg"])


def test_errors_cover_delivered_batches_only(tmp_path):
    # 18: "errors() and max_errors ... cover delivered batches"
    loader = images(tmp_path).decode_image(size=(8, 8)).batch(5).loader(on_error="skip", prefetch=8)
    batches = iter(loader)
    next(batches)
    assert loader.errors() == []
    next(batches)
    assert len(loader.errors()) == 1


def test_max_errors_counts_over_restarts(tmp_path):
    # 18: "max_errors (per rank; the count is in the token, the list is not)"
    ds = images(tmp_path).decode_image(size=(8, 8)).batch(5)
    loader = ds.loader(on_error="skip", max_errors=1)
    batches = iter(loader)
    next(batches)
    next(batches)
    state = loader.state_dict()
    assert state["errors"] == 1
    with pytest.raises(ps.TooManyErrors, match="max_errors is 1"):
        list(batches)
    again = ds.loader(on_error="skip", max_errors=1)
    again.load_state_dict(state)
    assert again.errors() == []
    with pytest.raises(ps.TooManyErrors, match="2 samples have failed"):
        list(again)


def test_replace_draws_another_sample_of_the_same_source(tmp_path):
    # 18: "replace draws a substitute from the same leaf source with key (seed, epoch, position, k)"
    tar = images(tmp_path).select("jpg", "cls").rename(jpg="image", cls="label")
    folder = ps.open(makers.image_folder(tmp_path / "folder")).select("image", "label")
    ds = ps.mix([tar, folder.take(20)], seed=1).decode_image(size=(8, 8))
    loader = ds.batch(5).loader(on_error="replace")
    batches = list(loader)
    assert all(len(batch["label"]) == 5 for batch in batches)
    # "what becomes of them" is told: errors() names what was replaced, and why
    assert [(one.sample[-5:], "field image" in one.error) for one in loader.errors()] == [
        ("00007", True)
    ]
    assert loader.stats()["errors"] == 1
    with pytest.raises(ps.TooManyErrors, match="00007"):
        list(ds.batch(5).loader(on_error="replace", max_errors=0))
    raw = [sample["label"] for sample in ps.mix([tar, folder.take(20)], seed=1)]
    got = [int(label) for batch in batches for label in batch["label"]]
    changed = [(i, a, b) for i, (a, b) in enumerate(zip(raw, got, strict=False)) if a != b]
    assert [a for _, a, _ in changed] == [7]
    assert makers.whole_epoch(ds.batch(5).loader(on_error="replace", threads=3)) == [
        makers.plain(batch) for batch in batches
    ]


def test_replace_gives_up_after_eight_draws(tmp_path):
    # 18: "k up to 8, then raises"
    source = makers.image_tars(tmp_path, bad=tuple(range(50)))
    ds = ps.open(source).decode_image(size=(8, 8)).batch(5)
    with pytest.raises((ValueError, NotImplementedError), match="field jpg"):
        list(ds.loader(on_error="replace"))


def test_replace_works_with_python_maps_and_late_native_steps():
    def picky(sample):
        if sample["data"] % 5 == 0:
            raise RuntimeError("no fives")
        return {"jpg": makers.jpeg(sample["data"]), "n": sample["data"]}

    ds = ps.from_list(range(40)).map(picky).decode_image("jpg", size=(8, 8)).batch(8)
    batches = list(ds.loader(on_error="replace", threads=2))
    got = [int(n) for batch in batches for n in batch["n"]]
    assert len(got) == 40
    assert all(n % 5 for n in got)
    assert [n for i, n in enumerate(got) if i % 5] == [i for i in range(40) if i % 5]
    mapped = ds.map(lambda batch: batch["n"].tolist()).loader(on_error="replace")
    assert [n for batch in mapped for n in batch] == got, "a map on batches sees them as well"
    assert [one.position for one in mapped.errors()] == list(range(0, 40, 5))


def misfits(rows):
    return [{"x": np.full(3 if i in rows else 2, i)} for i in range(12)]


@pytest.mark.parametrize("with_map", [False, True])
def test_replace_replaces_rows_that_do_not_fit_their_batch(with_map):
    # 18: "replace draws a substitute from the same leaf source"
    def plan(rows):
        ds = ps.from_list(misfits(rows))
        return (ds.map(lambda sample: sample) if with_map else ds).batch(4)

    loader = plan({5, 6, 9}).loader(on_error="replace")
    batches = [batch["x"] for batch in loader]
    assert [batch.shape for batch in batches] == [(4, 2)] * 3
    got = [int(row[0]) for batch in batches for row in batch]
    for i, value in enumerate(got):
        assert value == i if i not in (5, 6, 9) else value not in (5, 6, 9)
    assert [e.position for e in loader.errors()] == [5, 6, 9]
    assert all("collate=" in e.error for e in loader.errors())
    again = plan({5, 6, 9}).loader(on_error="replace", threads=1)
    assert [int(row[0]) for batch in again for row in batch["x"]] == got
    with pytest.raises(ValueError, match="schema"):  # "k up to 8, then raises"
        list(plan(set(range(1, 12))).loader(on_error="replace"))


def test_a_replacement_that_does_not_fit_is_not_taken():
    def picky(sample):
        if sample["x"][0] == 5:
            raise ValueError("five")
        return sample

    loader = ps.from_list(misfits(set(range(6, 11)))).take(11).map(picky).batch(6)
    loader = loader.loader(on_error="replace")
    first = next(iter(loader))["x"]
    assert first.shape == (6, 2)
    assert first[5, 0] in range(5)
    assert [(e.position, e.error) for e in loader.errors()] == [(5, "ValueError: five")]


def test_a_stream_says_that_it_cannot_replace():
    rows = iter([{"x": 1}, {"x": "text"}])
    with pytest.raises(ValueError, match="schema") as raised:
        list(ps.from_iterable(rows).batch(2).loader(on_error="replace"))
    assert any("sequential plan" in note for note in raised.value.__notes__)


def test_a_python_exception_is_the_users_own():
    class Own(Exception):
        pass

    def fail(sample):
        if sample["data"] == 11:
            raise Own("eleven")
        return sample

    ds = ps.from_list(range(20)).map(fail).batch(4)
    batches = iter(ds.loader())
    assert len([next(batches), next(batches)]) == 2
    with pytest.raises(Own, match="eleven") as caught:
        next(batches)
    assert "item[11]" in "".join(caught.value.__notes__)
    loader = ds.loader(on_error="skip")
    assert sum(len(batch["data"]) for batch in loader) == 19
    assert loader.errors()[0].error == "Own: eleven"
    with pytest.raises(Own):
        ps.from_list(range(20)).map(fail)[11]


def test_an_empty_batch_is_passed_over_alone_and_an_error_among_ranks():
    # 2: "A batch with no row left is passed over when W = 1; when W > 1 it raises and says to use
    # on_error="replace" or an early filter"
    ds = ps.from_list(range(12)).map(lambda s: s if s["data"] >= 4 else None)
    assert [batch["data"].tolist() for batch in ds.batch(2).loader()] == [
        [4, 5],
        [6, 7],
        [8, 9],
        [10, 11],
    ]
    with pytest.raises(RuntimeError, match='on_error="replace" or an early filter'):
        list(ds.shard(0, 2).batch(2).loader())


def test_a_map_returning_none_is_no_error():
    # 2: "a map returning None removes, leaves a hole"
    loader = ps.from_list(range(6)).map(lambda s: s if s["data"] % 2 else None).batch(3).loader()
    assert [batch["data"].tolist() for batch in loader] == [[1], [3, 5]]
    assert loader.errors() == []


def test_io_errors_are_raised_whatever_the_policy(tmp_path):
    # 18: "I/O errors are retried, then raised whatever the policy"
    source = makers.image_tars(tmp_path, shards=1)
    ds = ps.open(source).batch(5)
    ds._order()
    file = tmp_path / "train-000.tar"
    with open(file, "r+b") as tar:
        tar.truncate(20_000)
    for policy in ("skip", "raise"):
        with pytest.raises((OSError, ValueError), match=r"train-000\.tar"):
            list(ds.loader(on_error=policy, max_errors=0))


def test_a_failing_batch_map_is_raised_in_its_turn():
    def fail(batch):
        if 8 in batch["data"]:
            raise RuntimeError("batch with 8")
        return batch["data"].tolist()

    batches = iter(ps.from_list(range(20)).batch(4).map(fail).loader(on_error="skip"))
    assert [next(batches), next(batches)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(RuntimeError, match="batch with 8"):
        next(batches)


def test_missing_files_and_bad_patterns(tmp_path):
    with pytest.raises((FileNotFoundError, ValueError), match="nothing-here"):
        ps.open(tmp_path / "nothing-here-*.tar")
    with pytest.raises((FileNotFoundError, OSError), match="absent"):
        ps.open(tmp_path / "absent.tar")


def raising(error):
    def fail(sample):
        if sample["data"] == 3:
            raise error
        return sample

    return fail


@pytest.mark.parametrize("policy", ["raise", "skip"])
def test_stop_iteration_of_a_function_does_not_end_the_loop_in_silence(policy):
    ds = ps.from_list(range(6)).map(raising(StopIteration("enough")))
    loader = ds.batch(2).loader(on_error=policy)
    if policy == "raise":
        with pytest.raises(RuntimeError, match="StopIteration: enough"):
            list(loader)
    else:
        assert [batch["data"].tolist() for batch in loader] == [[0, 1], [2], [4, 5]]

    def on_batch(batch):
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        list(ps.from_list(range(6)).batch(2).map(on_batch).loader())


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_is_no_exception_of_a_sample_is_raised_whatever_the_policy(policy, error):
    loader = ps.from_list(range(6)).map(raising(error)).batch(2).loader(on_error=policy)
    batches = iter(loader)
    assert next(batches)["data"].tolist() == [0, 1]
    with pytest.raises(type(error)):
        next(batches)
    assert next(batches, None) is None, "nothing is delivered behind a batch that was lost"
    assert loader.state_dict()["position"] == 2


def test_a_sample_of_an_iterable_that_cannot_be_taken_costs_no_other():
    class Odd:
        def __array__(self, *args, **kwargs):
            raise ValueError("no array")

    samples = [{"a": 0}, {"a": Odd()}, {1: 1}, {"\ud800": 2}, {"a": 4}]
    loader = ps.from_iterable(samples).batch(2).loader(on_error="skip")
    assert [batch["a"].tolist() for batch in loader] == [[0], [4]]
    assert [one.position for one in loader.errors()] == [1, 2, 3]


def test_a_batch_that_raises_adds_nothing_to_the_errors():
    # 18: "errors() and max_errors (...; the count is in the token ...) cover delivered batches"
    def fail(sample):
        if sample["data"] in (1, 5):
            raise ValueError("bad")
        if sample["data"] == 6:
            raise SystemExit
        return sample

    loader = ps.from_list(range(8)).map(fail).batch(4).loader(on_error="skip")
    with pytest.raises(SystemExit):
        list(loader)
    assert [one.position for one in loader.errors()] == [1]
    assert loader.state_dict()["errors"] == 1
    limited = ps.from_list(range(8)).map(fail).batch(4).loader(on_error="skip", max_errors=1)
    with pytest.raises(ps.TooManyErrors, match="2 samples have failed"):
        list(limited)
    assert limited.state_dict()["errors"] == 1


def test_a_file_that_goes_away_is_raised_whatever_the_policy(tmp_path):
    # 18: "I/O errors are retried, then raised whatever the policy"
    for i in range(4):
        (tmp_path / f"{i}.png").write_bytes(b"not decoded")
    ds = ps.open([tmp_path / f"{i}.png" for i in range(4)])
    (tmp_path / "2.png").unlink()
    with pytest.raises(OSError, match=r"was there when .*2\.png"):
        list(ds.batch(4).loader(on_error="skip"))


def test_memory_that_a_sample_is_made_of_stays_where_it_is():
    memory = bytearray(b"x" * 100)
    numbers = array.array("i", range(100))
    ds = ps.from_iterable([{"a": memory, "b": numbers}])
    (batch,) = ds.batch(1, collate="list").loader()
    for one in (memory, numbers):
        with pytest.raises(BufferError):
            one.extend(one)
    assert bytes(batch["a"][0]) == b"x" * 100
    assert batch["b"][0].tolist() == list(range(100))
    del batch
    gc.collect()
    memory.extend(memory)
    numbers.extend(numbers)
