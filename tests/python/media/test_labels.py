"""Frames and Samples say what they are as long as it is true; a Video can be sent elsewhere."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from clips import Clips
from penstock import io
from sounds import Sounds


def test_slices_of_frames_say_which_ones_they_are(clips: Clips) -> None:
    video = io.Video(clips("h264.mp4"))
    frames = video[10:30]
    times = video.times
    for key, places in (
        (slice(1, None), range(1, 20)),
        (slice(None, None, -3), range(19, -1, -3)),
        ([3, 1, 3], [3, 1, 3]),
        (np.arange(20) % 2 == 0, range(0, 20, 2)),
        ((slice(2, 5), 3), range(2, 5)),
        ((..., 0), range(20)),
        ([], []),
    ):
        got = frames[key]
        assert got.indices == [10 + place for place in places]
        assert got.times == [times[10 + place] for place in places]
    assert type(frames[0]) is type(next(iter(frames))) is np.ndarray
    for other in (
        frames / 255,
        np.roll(frames, 1, 0),
        frames.reshape(10, -1),
        frames[None],
        frames[:, [1, 2], :, [0, 1]],
        frames.transpose(3, 0, 1, 2),
        np.sort(frames, axis=0),
        np.partition(frames, 2, axis=0),
    ):
        assert isinstance(other, io.Frames)
        assert other.indices == other.times == []


def test_slices_of_frames_know_their_damage(clips: Clips) -> None:
    frames = io.load_video(clips("h264.mp4"))
    frames.damaged, frames.error = [3, 4, 40], ValueError("why")
    assert frames[:4].damaged == [3]
    assert frames[:4].error is None
    assert frames[:, :10].damaged == [3, 4, 40]
    assert frames[:, :10].error is frames.error


def test_copies_of_frames_know_what_the_original_knew(clips: Clips) -> None:
    frames = io.Video(clips("h264.mp4"))[[5, 2, 9]]
    frames.damaged, frames.error = [9], ValueError("why")
    for got in (
        frames.copy(),
        copy.copy(frames),
        copy.deepcopy(frames),
        pickle.loads(pickle.dumps(frames)),
        pickle.loads(pickle.dumps(frames, protocol=5)),
        frames.astype("float32"),
    ):
        assert isinstance(got, io.Frames)
        assert np.array_equal(got, frames)
        assert (got.indices, got.times, got.damaged) == ([5, 2, 9], frames.times, [9])
        assert str(got.error) == "why"
        got.indices.append(1)
    assert frames.indices == [5, 2, 9]


def test_samples_know_what_they_are(sounds: Sounds) -> None:
    data = Path(sounds("vorbis.ogg")).read_bytes()[:-2000]  # which was cut off
    sound = io.load_audio(data, start=1)
    assert sound.damaged == 1
    for got in (
        sound.copy(),
        copy.deepcopy(sound),
        pickle.loads(pickle.dumps(sound)),
        sound[0],
        sound[[1]],
        sound[..., :100],
    ):
        assert isinstance(got, io.Samples)
        assert (got.sample_rate, got.start, got.damaged) == (44100, 1, 1)
    assert sound[:, 4410:].start == pytest.approx(1.1)
    assert sound[:, 4410:][0][:-100][441:].start == pytest.approx(1.11)
    assert sound[:, -441:].start == pytest.approx(1 + sound.shape[1] / 44100 - 0.01)
    turned = io.load_audio(data, start=1, layout="TC", sample_rate=16000)
    assert turned[1600:].start == pytest.approx(1.1)
    assert turned[:, 1].start == 1
    for other in (sound * 0.5, np.roll(sound, 9), sound[:, ::-1], sound.T, sound[None][:, 0]):
        assert (other.sample_rate, other.start) == (44100, None)
    for fewer in (
        sound[:, ::2],
        (sound * 0.5)[:, ::2],
        sound.mean(0)[::2],
        sound.T[::2],
        sound[None][:, :, ::2],
        sound[:, sound[0] > 0],
        sound[:, [5, 9]],
    ):
        assert (fewer.sample_rate, fewer.start) == (0, None)


def test_a_video_is_opened_again_where_it_is_unpickled(clips: Clips, tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(Path(clips("h264.mp4")).read_bytes())
    options = {"size": (20, 30), "mode": "L", "on_error": "partial", "keep_index": "refresh"}
    for video in (io.Video(path, **options), io.Video(path.read_bytes(), size=(20, 30))):  # type: ignore[arg-type]
        expected = video[5:9]
        for got in (pickle.loads(pickle.dumps(video)), copy.deepcopy(video), copy.copy(video)):
            assert np.array_equal(got[5:9], expected)
            assert got.info == video.info
    with pytest.raises(TypeError, match="Video of a memoryview cannot be pickled"):
        pickle.dumps(io.Video(memoryview(path.read_bytes())))
    packed = pickle.dumps(io.Video(path))
    path.unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(packed)
