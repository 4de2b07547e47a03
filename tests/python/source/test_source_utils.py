"""Merged, shuffled and repeated sources, and folders, beside the reference's."""

import importlib.util
import itertools
import logging
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.source import IterableWithShuffle, SizedIterable, SizedIterableWithShuffle
from penstock.source.imagenet import ImageNet, get_mappings, parse_wnid
from penstock.source.local_directory import LocalDirectory
from penstock.source.utils import MergeIterator, embed_shuffle, repeat_source

needs_spdl = pytest.mark.skipif(
    importlib.util.find_spec("spdl") is None, reason="spdl is not installed"
)


class Numbers:
    """A source that notes how it was shuffled; the seed is part of what it gives."""

    def __init__(self, n: int = 3) -> None:
        self.n, self.seeds = n, [-1]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((self.seeds[-1], i) for i in range(self.n))

    def __len__(self) -> int:
        return self.n

    def shuffle(self, seed: int) -> None:
        self.seeds.append(seed)


def test_protocols_ask_for_methods_not_for_bases() -> None:
    assert isinstance(Numbers(), IterableWithShuffle)
    assert isinstance(Numbers(), SizedIterableWithShuffle)
    assert isinstance([1], SizedIterable)
    assert not isinstance([1], IterableWithShuffle)


# ---- MergeIterator

parts = st.lists(st.lists(st.integers(), max_size=6), min_size=1, max_size=5)


@needs_spdl
@given(parts=parts, stop=st.integers(-1, 20))
def test_in_turn_as_the_reference(parts: list[list[int]], stop: int) -> None:
    import spdl.source.utils

    ours = MergeIterator(parts, stop_after=stop)
    assert list(ours) == list(spdl.source.utils.MergeIterator(parts, stop_after=stop))
    assert list(ours) == list(ours)


@needs_spdl
@given(parts=parts, stop=st.integers(-1, 20), seed=st.integers(0, 99), data=st.data())
def test_at_random_as_the_reference(
    parts: list[list[int]], stop: int, seed: int, data: st.DataObject
) -> None:
    import spdl.source.utils

    some = st.sampled_from([0.0, 1.0, 3.0, 0.1, 2.5, 1e-300, 1e300])
    weights = data.draw(st.lists(some, min_size=len(parts), max_size=len(parts)))
    if sum(weights) <= 0:
        return
    options = {"weights": weights, "stop_after": stop, "seed": seed}
    assert list(MergeIterator(parts, **options)) == list(
        spdl.source.utils.MergeIterator(parts, **options)
    )


def test_weights_are_the_ratio_of_draws() -> None:
    merged = MergeIterator(
        [itertools.repeat("a"), itertools.repeat("b")], weights=[1, 3], stop_after=20_000
    )
    drawn = list(merged)
    assert drawn.count("b") / drawn.count("a") == pytest.approx(3, rel=0.1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"iterables": []}, "cannot be empty"),
        ({"iterables": [[1]], "stop_after": -2}, "`stop_after` must be"),
        ({"iterables": [[1]], "weights": [1, 2]}, "must match"),
        ({"iterables": [[1]], "weights": [-1]}, "finite and non-negative"),
        ({"iterables": [[1]], "weights": ["x"]}, "finite and non-negative"),
        ({"iterables": [[1]], "weights": [float("inf")]}, "finite and non-negative"),
        ({"iterables": [[1]], "weights": [0]}, "positive and finite"),
        ({"iterables": [[1], [2]], "weights": [1e308, 1e308]}, "positive and finite"),
    ],
    ids=str,
)
def test_merge_refuses_what_makes_no_sense(given: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MergeIterator(**given)


# ---- embed_shuffle, repeat_source


def test_embed_shuffle_counts_epochs() -> None:
    source = embed_shuffle(Numbers(2), epoch=5)
    assert [list(source), list(source)] == [[(5, 0), (5, 1)], [(6, 0), (6, 1)]]
    assert len(source) == 2


def test_embed_shuffle_last_shuffles_also_after_a_break() -> None:
    numbers = Numbers()
    source = embed_shuffle(numbers, shuffle_last=True)
    for _ in source:
        break
    assert numbers.seeds == [-1, 0]
    assert list(source) == [(0, 0), (0, 1), (0, 2)]
    assert numbers.seeds == [-1, 0, 1]


def test_embed_shuffle_has_no_length_where_its_source_has_none() -> None:
    class Endless:
        def __iter__(self) -> Iterator[int]:
            return itertools.count()

        def shuffle(self, seed: int) -> None: ...

    with pytest.raises(TypeError, match="does not support length"):
        len(embed_shuffle(Endless()))


@needs_spdl
def test_shuffled_and_repeated_as_the_reference() -> None:
    import spdl.source.utils

    for last in (False, True):
        ours, theirs = (
            make(Numbers(), shuffle_last=last, epoch=3)
            for make in (embed_shuffle, spdl.source.utils.embed_shuffle)
        )
        assert [list(ours) for _ in range(3)] == [list(theirs) for _ in range(3)]
    for source in (Numbers, lambda: [1, 2]):
        ours, theirs = (
            make(source(), epoch=2) for make in (repeat_source, spdl.source.utils.repeat_source)
        )
        assert list(itertools.islice(ours, 8)) == list(itertools.islice(theirs, 8))


def test_repeat_source_pickles_until_it_is_read() -> None:
    repeated = repeat_source([1, 2])
    copy = pickle.loads(pickle.dumps(repeated))
    assert list(itertools.islice(copy, 3)) == [1, 2, 1]
    with pytest.raises(ValueError, match="after iteration is started"):
        pickle.dumps(copy)


def test_repeat_source_logs_its_epochs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.source"):
        list(itertools.islice(repeat_source([1, 2]), 3))
    assert [record.getMessage()[:24] for record in caplog.records] == [
        "Starting source epoch 0.",
        "Finished source epoch 0.",
        "Starting source epoch 1.",
    ]


# ---- folders


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    for split, wnid, count in (("val", "n01443537", 3), ("val", "n01440764", 2), ("train", "x", 1)):
        folder = tmp_path / split / wnid
        folder.mkdir(parents=True)
        for number in range(count):
            (folder / f"{number}.JPEG").touch()
    return tmp_path


def test_local_directory_is_sorted_and_shuffles_in_place(imagenet: Path) -> None:
    files = LocalDirectory(imagenet, "val/*/*.JPEG")
    before = list(files)
    assert before == sorted(imagenet.glob("val/*/*.JPEG"))
    files.shuffle(seed=1)
    assert list(files) != before
    assert sorted(files) == before


def test_imagenet_gives_paths_and_classes(imagenet: Path) -> None:
    found = [(path.name, label) for path, label in ImageNet(str(imagenet))]
    assert found == [("0.JPEG", 0), ("1.JPEG", 0), ("0.JPEG", 1), ("1.JPEG", 1), ("2.JPEG", 1)]
    with pytest.raises(ValueError, match="does not contain WNID"):
        list(ImageNet(imagenet, "train"))
    with pytest.raises(ValueError, match="must be one of"):
        ImageNet(imagenet, "test")


@needs_spdl
def test_folders_as_the_reference(imagenet: Path) -> None:
    import spdl.source.imagenet
    import spdl.source.local_directory

    assert get_mappings() == spdl.source.imagenet.get_mappings()
    assert parse_wnid("a/n01440764_n01443537") == "n01440764"
    pairs = [
        (ImageNet(imagenet), spdl.source.imagenet.ImageNet(imagenet)),
        (
            LocalDirectory(imagenet, "**/*"),
            spdl.source.local_directory.LocalDirectory(imagenet, "**/*"),
        ),
    ]
    for ours, theirs in pairs:
        assert list(ours) == list(theirs)
        for seed in (1, 2):
            ours.shuffle(seed=seed)
            theirs.shuffle(seed=seed)
            assert list(ours) == list(theirs)
