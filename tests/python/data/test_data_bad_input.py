"""What bad input gets, case by case: a clear error that names it; in a running epoch the policy
decides, and nothing else is lost."""

import contextlib
import gzip
import os
import subprocess
import sys
import threading

import makers
import numpy as np
import penstock as ps
import pytest
from penstock import io


def texts(ds, **options):
    return [text for batch in ds.select("txt").batch(4).loader(**options) for text in batch["txt"]]


def samples(first, count):
    return [
        {"__key__": f"{i:03}".encode(), "txt": f"text {i} ".encode() * 30}
        for i in range(first, first + count)
    ]


def read(ds, **options):
    return [bytes(text).split()[1].decode() for text in texts(ds, **options)]


def test_a_shard_that_is_missing_or_cannot_be_read_is_named(tmp_path):
    makers.write_tar(tmp_path / "a-0.tar", samples(0, 5))
    (tmp_path / "a-1.tar").mkdir()
    with pytest.raises(OSError, match=r"a-2\.tar"):
        ps.open([tmp_path / "a-0.tar", tmp_path / "a-2.tar"])
    with pytest.raises((OSError, ValueError), match=r"a-1\.tar"):
        ps.open([tmp_path / "a-0.tar", tmp_path / "a-1.tar"])


def test_the_second_of_two_samples_with_one_key_is_an_error_that_names_it(tmp_path):
    makers.write_tar(tmp_path / "a.tar", [*samples(0, 5), *samples(2, 1)])
    ds = ps.open(tmp_path / "a.tar")
    with pytest.raises(ValueError, match=r"002.*a\.tar|a\.tar.*002"):
        read(ds)
    assert read(ds, on_error="skip") == ["0", "1", "2", "3", "4"]


def test_a_cut_tar_costs_the_sample_it_was_cut_in(tmp_path):
    makers.write_tar(tmp_path / "a.tar", samples(0, 8))
    whole = (tmp_path / "a.tar").read_bytes()
    place = whole.index(b"text 6")
    (tmp_path / "a.tar").write_bytes(whole[: place + 100])
    makers.write_tar(tmp_path / "b.tar", samples(8, 4))
    ds = ps.open([tmp_path / "a.tar", tmp_path / "b.tar"])
    with pytest.raises(ValueError, match=r"a\.tar"):
        read(ds)
    assert read(ds, on_error="skip") == ["0", "1", "2", "3", "4", "5", "8", "9", "10", "11"]


@pytest.mark.parametrize("name", ["a.tar", "mapped.tar", "a.tar.gz", "a.tfrecord", "a.tfrecord.gz"])
def test_a_member_above_the_limit_costs_its_sample_and_is_not_read(tmp_path, name):
    some = samples(0, 8)
    some[3]["txt"] *= 100
    path = tmp_path / name
    if "tar" in name:
        makers.write_tar(path, some)
    else:
        with io.TFRecordWriter(path) as writer:
            for sample in some:
                writer.write(io.encode_example({"txt": sample["txt"]}))
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    ds = ps.open(path, max_member="1KB", mmap="mapped" in name)
    with pytest.raises(IndexError, match=r"has 2\d{4} bytes.*max_member.* 1000;.*larger") as raised:
        read(ds)
    assert name in str(raised.value)
    assert ("003" if "tar" in name else "3") in str(raised.value)
    loader = ds.select("txt").batch(4).loader(on_error="skip")
    got = [bytes(text).split()[1].decode() for batch in loader for text in batch["txt"]]
    assert got == ["0", "1", "2", "4", "5", "6", "7"]
    assert [(error.position, "max_member" in error.error) for error in loader.errors()] == [
        (3, True)
    ]
    assert len(read(ps.open(path, max_member="1MB"))) == 8


def test_an_image_file_above_the_limit_is_an_error_of_its_sample(tmp_path):
    folder = makers.image_folder(tmp_path / "photos", classes=1, each=4)
    largest = tmp_path / "photos" / "class0" / "002.jpg"
    largest.write_bytes(largest.read_bytes() + bytes(100_000))
    ds = ps.open(folder, max_member=100_000).select("image", "path")
    with pytest.raises(IndexError, match=r"002\.jpg.*max_member|max_member.*002\.jpg"):
        list(ds.batch(2).loader())
    paths = [path for batch in ds.batch(2).loader(on_error="skip") for path in batch["path"]]
    assert [path[-7:] for path in paths] == ["000.jpg", "001.jpg", "003.jpg"]


@pytest.mark.parametrize("limit", [0, "much", -5])
def test_a_limit_that_is_none_is_refused(tmp_path, limit):
    makers.write_tar(tmp_path / "a.tar", samples(0, 2))
    with pytest.raises(ValueError, match="max_member"):
        ps.open(tmp_path / "a.tar", max_member=limit)


def test_a_field_that_one_sample_lacks_is_an_error_of_that_sample(tmp_path):
    some = samples(0, 8)
    del some[3]["txt"]
    some[3]["cls"] = b"1"
    makers.write_tar(tmp_path / "a.tar", some)
    ds = ps.open(tmp_path / "a.tar")
    with pytest.raises(KeyError, match="txt"):
        read(ds)
    loader = ds.select("txt").batch(4).loader(on_error="skip")
    assert [len(batch["txt"]) for batch in loader] == [3, 4]
    (error,) = loader.errors()
    assert error.position == 3
    assert "003" in error.sample
    assert "txt" in error.error


def test_a_shape_that_does_not_fit_costs_its_row_alone():
    def grow(sample):
        return {"x": np.zeros(3 if sample["data"] == 5 else 2), "i": sample["data"]}

    ds = ps.from_list(range(12)).map(grow).batch(4)
    with pytest.raises(ValueError, match=r"\(3,\).*\(2,\).*collate"):
        list(ds.loader())
    loader = ds.loader(on_error="skip")
    assert [batch["i"].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 6, 7], [8, 9, 10, 11]]
    assert [error.position for error in loader.errors()] == [5]


def test_a_token_of_another_dataset_says_what_differs(tmp_path):
    makers.write_tar(tmp_path / "a.tar", samples(0, 8))
    makers.write_tar(tmp_path / "b.tar", samples(0, 9))
    a, b = (ps.open(tmp_path / f"{name}.tar") for name in "ab")
    token = a.shuffle(seed=1).batch(2).loader().state_dict()
    with pytest.raises(ValueError, match="other data"):
        b.shuffle(seed=1).batch(2).loader().load_state_dict(token)
    with pytest.raises(ValueError, match="another order"):
        a.shuffle(seed=2).batch(2).loader().load_state_dict(token)


def test_a_sidecar_of_a_touched_file_is_kept_only_if_reads_are_verified(tmp_path):
    # 19: "A sidecar whose file has the same size but another mtime is kept if it has hashes (every
    # read is verified); any other mismatch is an error that names penstock index --refresh"
    for checksums in (True, False):
        path = tmp_path / f"{checksums}.tar"
        makers.write_tar(path, samples(0, 8))
        assert len(ps.open(path, checksums=checksums)) == 8
        whole = bytearray(path.read_bytes())
        whole[whole.index(b"text 4")] ^= 1
        path.write_bytes(whole)
        os.utime(path, (1_000_000_000, 1_000_000_000))
        if not checksums:
            with pytest.raises(ValueError, match="penstock index --refresh"):
                ps.open(path)
            continue
        with pytest.raises(ValueError, match="004"):
            read(ps.open(path))
        assert read(ps.open(path), on_error="skip") == ["0", "1", "2", "3", "5", "6", "7"]


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path):
    # 20: "a file that shrinks under pread is an error"
    makers.write_tar(tmp_path / "a.tar", samples(0, 40))
    ds = ps.open(tmp_path / "a.tar")
    os.truncate(tmp_path / "a.tar", 5000)
    for policy in ("raise", "skip", "replace"):
        with pytest.raises(OSError, match=r"a\.tar"):
            read(ds, on_error=policy)


def test_a_mix_without_end_has_no_record_twice_within_a_pass_of_its_source():
    # 10: "each source repeats with its own pass number as epoch. No record of a source twice within
    # its pass"
    a = ps.from_list([{"x": i} for i in range(7)]).shuffle(seed=1)
    b = ps.from_list([{"x": 100 + i} for i in range(3)]).shuffle(seed=2)
    ds = ps.mix([a, b], weights=[2, 1], stop="never").take(63)
    got = [int(x) for batch in ds.batch(9).loader() for x in batch["x"]]
    ours, theirs = [x for x in got if x < 100], [x for x in got if x >= 100]
    assert (len(ours), len(theirs)) == (42, 21)
    for values, n in ((ours, 7), (theirs, 3)):
        passes = [values[i : i + n] for i in range(0, len(values), n)]
        assert all(sorted(one) == sorted(values[:n]) for one in passes)
        assert len({tuple(one) for one in passes}) > 1, "each pass has an order of its own"


@pytest.mark.parametrize("memory", ["1B", "200KB"])
@pytest.mark.parametrize("hold", ["nothing", "all", "views"])
def test_no_way_of_holding_batches_ends_in_a_deadlock(tmp_path, memory, hold):
    # 17: "Nothing is charged after admission, so there is no deadlock"
    ds = ps.open(makers.image_tars(tmp_path)).decode_image("jpg", size=(32, 32)).select("jpg")
    kept, rows = [], 0
    with pytest.warns(ResourceWarning) if memory == "1B" else contextlib.nullcontext():
        for batch in ds.batch(7).loader(threads=3, prefetch=4, memory=memory):
            rows += len(batch["jpg"])
            if hold != "nothing":
                kept.append(batch if hold == "all" else batch["jpg"][0])
    assert rows == 50


def test_several_loaders_at_their_ceilings_are_no_deadlock(tmp_path):
    ds = ps.open(makers.image_tars(tmp_path)).decode_image("jpg", size=(32, 32)).select("jpg")
    loaders = [ds.batch(10).loader(memory="100KB") for _ in range(3)]
    rows = [0] * 3

    def run(number):
        for batch in loaders[number]:
            rows[number] += len(batch["jpg"])

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert rows == [50, 50, 50]


def test_io_functions_work_in_a_forked_child():
    # 24: "In a forked child (inside a torch worker, say) penstock.io works"
    program = """if True:
        import os
        import numpy as np
        import penstock as ps
        from penstock import io
        file = io.encode_image(np.zeros((8, 8, 3), np.uint8))
        list(ps.from_list([file] * 8).decode_image("data", size=(4, 4)).batch(4).loader())
        child = os.fork()
        if child == 0:
            assert io.decode_image_batch([file] * 4, (4, 4), threads=2).shape == (4, 4, 4, 3)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50
    )
    assert done.stdout.strip() == "7", done.stdout + done.stderr
