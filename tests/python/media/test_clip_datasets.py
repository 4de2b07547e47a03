"""decode_video and decode_audio: native steps on rows."""

import io as streams
import tarfile
from pathlib import Path

import numpy as np
import penstock as ps
import pytest
from clips import COUNT, Clips, decoded
from penstock import io, ops
from sounds import SECONDS, Sounds

NAMES = ("h264.mp4", "open_gop.mp4", "hevc.mp4", "vp9.mp4")


@pytest.fixture(scope="module")
def shard(clips: Clips, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("shards") / "clips.tar"
    with tarfile.open(path, "w") as tar:
        for i, name in enumerate(NAMES * 2):
            for extension, data in (
                ("mp4", Path(clips(name)).read_bytes()),
                ("cls", str(i).encode()),
            ):
                member = tarfile.TarInfo(f"{i:04}.{extension}")
                member.size = len(data)
                tar.addfile(member, streams.BytesIO(data))
    return str(path)


def test_frames_of_tar_members_go_into_batches(shard: str, clips: Clips) -> None:
    ds = ps.open(shard).decode("cls").decode_video(num_frames=4, size=(40, 48))
    assert "decode_video(mp4, 4 frames" in ds.batch(4).explain()
    assert "-> slot" in ds.batch(4).explain()
    seen = []
    for batch in ds.batch(4).loader(threads=2):
        assert batch["mp4"].shape == (4, 4, 40, 48, 3)
        for row, label in zip(batch["mp4"], batch["cls"], strict=True):
            path = clips(NAMES[label % len(NAMES)])
            assert np.array_equal(row, io.sample_video(path, 4, size=(40, 48)))
            seen.append(int(label))
    assert seen == list(range(8))
    raw = ps.open(shard)[1]["mp4"]  # a member as it is
    assert np.array_equal(io.sample_video(raw, indices=[7])[0], decoded(clips(NAMES[1]))[7])


def test_layout_and_type_are_those_of_the_batch(shard: str) -> None:
    ds = ps.open(shard).select("mp4").decode_video(num_frames=2, size=(24, 32))
    plain = next(iter(ds.batch(3).loader()))["mp4"]
    form = {"layout": "NCHW", "dtype": "float32", "mean": 0.5, "std": 0.25}
    turned = next(iter(ds.batch(3, **form).loader()))["mp4"]
    assert turned.shape == (3, 2, 3, 24, 32)
    expected = (plain.transpose(0, 1, 4, 2, 3) / 255 - 0.5) / 0.25
    assert np.allclose(turned, expected, atol=1e-5)
    # A Python function between them sees uint8; the batch is the same.
    mapped = next(iter(ds.map(lambda sample: sample).batch(3, **form).loader()))["mp4"]
    assert np.allclose(mapped, turned, atol=1e-6)


def test_chance_depends_on_seed_epoch_and_position_only(shard: str) -> None:
    ds = ps.open(shard).select("mp4")
    for sampling in ("random", "clip"):
        decoded_ds = ds.decode_video(
            num_frames=3,
            size=(20, 20),
            crop="random_resized",
            flip=0.5,
            sampling=sampling,
            stride=2,
            indices="at",
        ).batch(4)

        def epoch(number: int, threads: int, ds: ps.Dataset = decoded_ds) -> list[np.ndarray]:
            loader = ds.loader(threads=threads, seed=3, epoch=number)
            return [np.concatenate([b["mp4"].ravel(), b["at"].ravel()]) for b in loader]

        one, two, other = epoch(0, 1), epoch(0, 3), epoch(1, 2)
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        for batch in decoded_ds.loader(seed=3):
            steps = np.diff(batch["at"], axis=1)
            assert (steps == 2).all() if sampling == "clip" else (steps > 0).all()
            assert batch["at"].max() < COUNT


def test_names_of_files_and_samples_alone(clips: Clips) -> None:
    items = [{"video": clips(name), "label": i} for i, name in enumerate(NAMES)]
    ds = ps.from_list(items).decode_video("video", num_frames=2, indices="at", damaged="bad")
    sample = ds[1]
    assert sample["at"].tolist() == [12, 36]
    assert sample["bad"] == 0
    assert np.array_equal(sample["video"], decoded(clips(NAMES[1]))[[12, 36]])


def test_the_index_of_files_is_kept_on_request(
    clips: Clips, shard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = ["open_gop.mkv", "vp9.webm"]
    for name in names:
        (tmp_path / name).write_bytes(Path(clips(name)).read_bytes())
    items = [{"video": str(tmp_path / name)} for name in names * 3]
    ds = ps.from_list(items).decode_video("video", num_frames=2, size=(16, 16), keep_index=True)
    kept = [tmp_path / f"{name}.psidx" for name in names]
    plain = ps.from_list(items).decode_video("video", num_frames=2, size=(16, 16))
    expected = np.concatenate([batch["video"] for batch in plain.batch(3).loader()])
    assert not any(file.exists() for file in kept)
    for _ in range(2):  # made by two threads at once, then read
        got = np.concatenate([batch["video"] for batch in ds.batch(3).loader(threads=2)])
        assert np.array_equal(got, expected)
        assert all(file.exists() for file in kept)
    kept[0].write_bytes(kept[1].read_bytes())
    with pytest.raises(ValueError, match="index of frames"):  # so it is looked at
        list(ds.batch(3).loader())
    # The bytes of a member have no place of their own.
    before = {file.name for file in Path(shard).parent.iterdir()}
    members = ps.open(shard).select("mp4").decode_video(num_frames=2, keep_index=True)
    assert members[0]["mp4"].shape[0] == 2
    assert {file.name for file in Path(shard).parent.iterdir()} == before
    assert not (tmp_path / "cache" / "penstock" / "index").exists()
    with pytest.raises(ps.PlanError, match="keep_index"):
        ds.decode_video("video", keep_index="refresh")  # type: ignore[arg-type]


def test_bad_clips_fail_with_their_names(clips: Clips) -> None:
    good = Path(clips("h264.mp4")).read_bytes()
    items = [{"video": good}, {"video": b"nonsense" * 50}, {"video": good}]
    ds = ps.from_list(items).decode_video("video", num_frames=2, size=(16, 16)).batch(3)
    with pytest.raises(ValueError, match=r"field video: this is no video.*item\[1\]|field video"):
        list(ds.loader())
    loader = ds.loader(on_error="skip")
    assert [batch["video"].shape[0] for batch in loader] == [2]
    assert len(loader.errors()) == 1


def test_arguments_are_checked_when_they_are_given(shard: str) -> None:
    ds = ps.open(shard)
    for options in (
        {"mode": "P"},
        {"sampling": "middle"},
        {"num_frames": 0},
        {"flip": 2},
        {"crop": "random_resized"},
        {"field": "avi"},
        {"seed": 3},
        {"stream": -2},
    ):
        with pytest.raises(ps.PlanError):
            ds.decode_video(**options)
    with pytest.raises(ps.PlanError, match="say which field"):
        ds.decode_audio()
    with pytest.raises(ps.PlanError, match="needs a duration"):
        ds.decode_audio("mp4", start="random")


def test_sounds_are_padded_cut_or_taken_at_random(sounds: Sounds) -> None:
    names = ["s16.wav", "lossless.flac", "constant.mp3", "vorbis.ogg"]
    items = [{"audio": Path(sounds(name)).read_bytes()} for name in names]
    ds = ps.from_list(items)
    parts = ds.decode_audio("audio", start=1.0, duration=0.5, rate="rate").batch(4)
    batch = next(iter(parts.loader(threads=2)))
    assert batch["audio"].shape == (4, 2, 22050)
    assert batch["rate"].tolist() == [44100] * 4
    for row, name in zip(batch["audio"], names, strict=True):
        assert np.array_equal(row, io.load_audio(sounds(name), 1.0, 0.5))
    mono = ds.decode_audio("audio", sample_rate=16000, channels=1).batch(4, collate="pad")
    assert next(iter(mono.loader()))["audio"].shape[:2] == (4, 1)
    chance = ds.decode_audio("audio", start="random", duration=0.25).batch(4)
    first, again = (next(iter(chance.loader(seed=1, threads=n)))["audio"] for n in (1, 2))
    other = next(iter(chance.loader(seed=1, epoch=1)))["audio"]
    assert first.shape == (4, 2, 11025)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert SECONDS > 2


def _sounds(sounds: Sounds, count: int = 6) -> ps.Dataset:
    names = ("s16.wav", "lossless.flac", "constant.mp3")
    return ps.from_list([{"sound": sounds(names[i % 3]), "label": i} for i in range(count)])


def test_ops_on_sounds_are_native_steps(sounds: Sounds) -> None:
    mel = ops.mel_spectrogram(44100, 1024, 512, n_mels=40, db=True)
    cut = ops.fix_length(22050, "center")
    ds = _sounds(sounds).decode_audio("sound", channels=1).apply("sound", cut, ops.gain(-6), mel)
    said = ds.batch(3).explain()
    assert "apply(sound, fix_length, gain, mel_spectrogram)" in said
    batches = list(ds.batch(3).loader(threads=2))
    assert [batch["sound"].shape for batch in batches] == [(3, 1, 40, 44)] * 2
    for i, row in enumerate(np.concatenate([batch["sound"] for batch in batches])):
        whole = io.load_audio(_sounds(sounds)[i]["sound"], channels=1)
        assert np.array_equal(row, mel(ops.gain(-6)(cut(whole))))
    assert np.array_equal(ds[4]["sound"], batches[1]["sound"][1])


def test_ops_that_draw_depend_on_seed_epoch_and_position(sounds: Sounds) -> None:
    part = ops.fix_length(2000, "random")
    ds = _sounds(sounds).decode_audio("sound", channels=1).apply("sound", part).batch(6)

    def first(**options: int) -> np.ndarray:
        return next(iter(ds.loader(**options)))["sound"]  # type: ignore[arg-type]

    one = first(threads=1, seed=3)
    assert np.array_equal(one, first(threads=2, seed=3))
    assert not np.array_equal(one, first(threads=2, seed=4))
    assert not np.array_equal(one[0], one[3])  # the same file at another position
    arrays = ps.from_arrays(x=np.ones((4, 100), np.float32))
    with pytest.raises(ValueError, match="same in each epoch"):
        arrays.apply("x", part).cache()


def test_ops_on_decoded_images_come_before_the_batch(shard: str) -> None:
    ds = ps.open(shard).select("mp4").decode_video("mp4", num_frames=1, size=(24, 32))
    assert "-> slot" in ds.batch(2).explain()
    pictures = ps.from_arrays(image=np.arange(4 * 8 * 6 * 3, dtype=np.uint8).reshape(4, 8, 6, 3))
    flipped = pictures.apply("image", ops.flip("horizontal"))
    got = np.concatenate([batch["image"] for batch in flipped.batch(2).loader()])
    expected = np.stack([sample["image"][:, ::-1] for sample in pictures])
    assert np.array_equal(got, expected)


def test_what_is_no_op_or_no_array_is_refused(sounds: Sounds) -> None:
    ds = _sounds(sounds)
    with pytest.raises(ValueError, match="not an op on arrays"):
        ds.apply("sound", lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not an op on arrays"):
        ds.apply("sound", ops.decode_image())
    with pytest.raises(ValueError, match="say which ops"):
        ds.apply("sound")
    with pytest.raises(ValueError, match="no field 'x'"):
        ps.from_arrays(y=np.ones((2, 4), np.float32)).apply("x", ops.gain(1)).batch(2).loader()
    with pytest.raises(ValueError, match="field 'sound' holds no array"):
        list(ds.apply("sound", ops.gain(1)).batch(2).loader())
    with pytest.raises(ValueError, match="gain to 'sound'"):
        list(ds.decode_audio("sound", dtype="int16").apply("sound", ops.gain(1)).loader())
