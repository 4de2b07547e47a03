"""More lines of the contract, each with its own test: where ranks come from, who runs what, what is
read and what is not."""

import asyncio
import io
import json
import sys
import tarfile
import threading
import types

import makers
import numpy as np
import penstock as ps
import pytest
from penstock.data import _early


@pytest.mark.parametrize(
    ("rank", "world", "origin"),
    [
        ("RANK", "WORLD_SIZE", "torchrun"),
        ("SLURM_PROCID", "SLURM_NTASKS", "SLURM"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
        ("PMI_RANK", "PMI_SIZE", "MPI"),
    ],
)
def test_every_launcher_says_which_rank_this_is(monkeypatch, rank, world, origin):
    # api: "left out: taken from the environment (torch.distributed, torchrun, SLURM, MPI)"
    monkeypatch.setenv(rank, "1")
    monkeypatch.setenv(world, "3")
    ds = ps.from_list(range(9)).batch(3)
    loader = ds.loader()
    assert (loader.rank, loader.world) == (1, 3)
    assert f"rank 1 of 3 ({origin})" in ds.explain()
    monkeypatch.setenv(rank, "3")
    with pytest.raises(ValueError, match=f"{rank}=3 is not a rank of {world}=3"):
        ds.loader()


def test_torch_distributed_goes_before_the_launcher(monkeypatch):
    fake = types.SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_rank=lambda: 4,
        get_world_size=lambda: 5,
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", fake)
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    loader = ps.from_list(range(10)).batch(2).loader()
    assert (loader.rank, loader.world) == (4, 5)
    assert [int(x) for batch in loader for x in batch["data"]] == [4, 9]


def test_callers_are_as_many_as_the_maps_may_run_at_once_and_none_is_a_native_worker():
    # 21: "Native workers (threads) never run Python ... in datasets created on demand up to the sum
    # of the maps' concurrency"
    callers = set()
    lock = threading.Lock()

    def note(sample):
        with lock:
            callers.add(threading.get_native_id())
        return sample

    ds = ps.from_list([makers.jpeg(i) for i in range(40)]).map(note, concurrency=2)
    ds = ds.decode_image("data", size=(8, 8)).map(note, concurrency=3).batch(8)
    assert sum(len(batch["data"]) for batch in ds.loader(threads=4)) == 40
    assert 1 <= len(callers) <= 5
    assert threading.get_native_id() not in callers


def test_async_maps_of_one_loader_share_an_event_loop():
    # 21: "One event loop per pipeline with async stages"
    loops = set()

    async def first(sample):
        loops.add(id(asyncio.get_running_loop()))
        return {"x": sample["data"] + 1}

    async def second(sample):
        loops.add(id(asyncio.get_running_loop()))
        return {"x": sample["x"] * 2}

    ds = ps.from_list(range(20)).map(first, concurrency=2).map(second, concurrency=4)
    assert [int(x) for batch in ds.batch(6).loader() for x in batch["x"]] == [
        2 * (i + 1) for i in range(20)
    ]
    assert len(loops) == 1


@pytest.mark.parametrize("output", ["numpy", "torch", "dlpack"])
def test_a_part_of_a_batch_keeps_its_memory_in_every_output(output):
    # 16: "its memory goes back to the pool when the last array or view is gone, never earlier"
    pytest.importorskip("torch" if output == "torch" else "numpy")
    ds = ps.from_list([makers.jpeg(i) for i in range(48)]).decode_image("data", size=(32, 32))
    loader = ds.batch(4).loader(memory="50KB", threads=2, output=output)
    kept, copies = [], []
    for batch in loader:
        whole = np.asarray(batch["data"]) if output == "dlpack" else batch["data"]
        kept.append(whole[2])
        copies.append(np.asarray(whole[2]).copy())
        del batch, whole
    assert all((np.asarray(a) == b).all() for a, b in zip(kept, copies, strict=True))


def test_an_early_filter_tells_how_far_it_is(monkeypatch, caplog):
    # 3: "fn (raw fields) runs once per record in a parallel index pass with progress"
    monkeypatch.setattr(_early, "_CHUNK", 4)
    caplog.set_level("INFO")
    ds = ps.from_list(range(2500)).filter(lambda sample: sample["data"] % 5 == 0)
    assert len(ds) == 500
    assert [record.getMessage() for record in caplog.records] == [
        "filter: 1024 of 2500 records",
        "filter: 2048 of 2500 records",
    ]


def test_an_early_filter_leaves_bad_records_to_the_policy(tmp_path):
    samples = [{"__key__": b"%d" % i, "txt": b"x" * 10} for i in range(6)]
    samples[2]["txt"] = b"x" * 5000
    makers.write_tar(tmp_path / "a.tar", samples)
    ds = ps.open(tmp_path / "a.tar", max_member=1000)
    ds = ds.filter(lambda sample: sample["__key__"] != "4")
    assert len(ds) == 5
    with pytest.raises(IndexError, match="max_member"):
        list(ds.batch(2).loader())
    loader = ds.batch(2).loader(on_error="skip")
    assert [key for batch in loader for key in batch["__key__"]] == ["0", "1", "3", "5"]
    assert len(loader.errors()) == 1


def test_a_token_is_small_however_much_the_plan_holds():
    # api: "a small plain dict (JSON-able, under 4 KB however large the data or the batch)"
    parts = [ps.from_arrays(x=np.arange(10 + i)) for i in range(300)]
    ds = ps.mix(parts, stop="never")
    loader = ds.batch(5000).loader()
    next(iter(loader))
    text = json.dumps(loader.state_dict())
    loader.close()
    assert len(text) < 4096
    ds.batch(7).loader().load_state_dict(json.loads(text))


class Noting:
    """A list that says which of its items were asked for."""

    def __init__(self, n):
        self.n, self.asked = n, set()

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.asked.add(i)
        return i


def test_going_on_reads_nothing_of_what_was_delivered():
    # "Loading takes constant time: no replay of what was read"
    ds = ps.from_list(range(10_000)).batch(10)
    loader = ds.loader()
    batches = iter(loader)
    for _ in range(370):
        next(batches)
    token = loader.state_dict()
    loader.close()
    items = Noting(10_000)
    other = ps.from_list(items).batch(10).loader()
    other.load_state_dict(token)
    assert items.asked == set()
    assert next(iter(other))["data"].tolist() == list(range(3700, 3710))
    other.close()
    assert min(items.asked) == 3700


def test_the_index_reads_headers_only(tmp_path):
    # 19: "The implicit index reads headers only"
    path = tmp_path / "large.tar"
    with open(path, "wb") as file:
        for i in range(8):
            member = tarfile.TarInfo(f"{i}.bin")
            member.size = 64 << 20
            file.write(member.tobuf())
            file.seek(member.size, io.SEEK_CUR)
        file.truncate(file.tell() + 1024)

    def read_so_far():
        with open("/proc/self/io") as counts:
            return int(counts.readline().split()[1])

    before = read_so_far()
    ds = ps.open(path)
    assert len(ds) == 8
    assert read_so_far() - before < 8 << 20, "half a gigabyte is not read"
    with pytest.raises(IndexError, match="67108864 bytes"):
        ps.open(path, max_member="64MB")[3]


def test_fields_of_folders_and_lists_of_files(tmp_path):
    # api: "an image folder (or a list of image files) gives image (bytes), label (int, the
    # sub-folder's index; absent for a flat list), path"
    folder = makers.image_folder(tmp_path / "photos", classes=2, each=3)
    ds = ps.open(folder)
    assert ds.fields == ["image", "label", "path"]
    assert [sample["label"] for sample in ds] == [0, 0, 0, 1, 1, 1]
    assert bytes(ds[4]["image"]) == makers.jpeg(4)
    assert ds[4]["path"].endswith("class1/001.jpg")
    flat = ps.open(tmp_path / "photos" / "class0")
    files = ps.open(sorted((tmp_path / "photos" / "class0").iterdir()))
    for one in (flat, files):
        assert one.fields == ["image", "path"]
        assert [bytes(sample["image"]) for sample in one] == [makers.jpeg(i) for i in range(3)]


def test_the_one_field_that_holds_an_image_is_found_by_its_name(tmp_path):
    # api: "decode_image() without a field name takes the one field that holds an image by its name;
    # the result keeps that name. size without crop is a plain resize to (height, width)"
    tars = ps.open(makers.image_tars(tmp_path))
    assert tars.decode_image(size=(8, 12))[0]["jpg"].shape == (8, 12, 3)
    makers.write_tar(tmp_path / "two.tar", [{"__key__": b"a", "jpg": b"", "png": b""}])
    with pytest.raises(ps.PlanError, match=r"2 of them look like one \(jpg, png"):
        ps.open(tmp_path / "two.tar").decode_image(size=(8, 12))


def test_a_mixs_seed_is_for_the_order_only():
    # 13: "shuffle(seed=) and mix(seed=) key the order only"
    def draw(sample, rng):
        return {"i": sample["data"], "r": int(rng.integers(1 << 40))}

    def rows(seed):
        parts = [ps.from_list(range(40)), ps.from_list(range(100, 140))]
        (batch,) = ps.mix(parts, seed=seed).map(draw).batch(100).loader()
        return batch["i"].tolist(), batch["r"].tolist()

    first, second = rows(1), rows(2)
    assert first[0] != second[0]
    assert first[1][:60] == second[1][:60]


def test_a_torch_iterable_is_a_sequential_plan():
    # 12: "Sequential (from_iterable, compressed tar without index, iterable torch datasets)"
    data = pytest.importorskip("torch.utils.data")

    class Numbers(data.IterableDataset):
        def __iter__(self):
            return iter(range(10))

    ds = ps.from_iterable(Numbers())
    assert ds.sequential
    assert [int(x) for batch in ds.batch(4).loader() for x in batch["data"]] == list(range(10))


def test_a_defect_that_leaves_pixels_follows_strict(tmp_path):
    # "a warning-level JPEG defect (premature end, extraneous bytes) follows strict= ...; the
    # policy of the loader in datasets"
    whole = [makers.jpeg(i) for i in range(6)]
    whole[2] = whole[2][:-60]
    ds = ps.from_list([{"jpg": file, "i": i} for i, file in enumerate(whole)])
    strict = ds.decode_image("jpg", size=(8, 8)).batch(3)
    with pytest.raises(ValueError, match=r"item\[2\]"):
        list(strict.loader())
    rows = [int(i) for batch in strict.loader(on_error="skip") for i in batch["i"]]
    assert rows == [0, 1, 3, 4, 5]
    lenient = ds.decode_image("jpg", size=(8, 8), strict=False).batch(3)
    assert [len(batch["i"]) for batch in lenient.loader()] == [3, 3]


def test_the_limit_on_pixels_holds_in_datasets():
    ds = ps.from_list([makers.jpeg(0)]).decode_image("data", size=(8, 8), max_pixels=2000)
    with pytest.raises(IndexError, match="56 x 40 pixels; max_pixels allows 2000"):
        list(ds.batch(1).loader())
