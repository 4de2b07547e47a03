"""Transforms of sounds are librosa's, alone and in pipelines."""

from pathlib import Path

import numpy as np
import pytest
from make_sound_goldens import MELS, STFTS, sound
from numpy.typing import NDArray
from penstock import ops
from penstock.pipeline import PipelineBuilder

SOUND = sound()
GOLDENS: dict[str, NDArray[np.float32]] = dict(
    np.load(Path(__file__).with_name("sound_goldens.npz"))
)


@pytest.mark.parametrize("name", STFTS)
def test_stft_is_that_of_librosa(name: str) -> None:
    expected = GOLDENS[f"stft_{name}"]
    got = ops.stft(**STFTS[name])(SOUND)
    assert got.shape == (*expected.shape, 2)
    assert np.abs(got.view(np.complex64)[..., 0] - expected).max() < 1e-6 * np.abs(expected).max()
    power = ops.stft(output="power", **STFTS[name])(SOUND)
    assert np.allclose(power, np.abs(expected) ** 2, rtol=1e-4, atol=1e-6 * power.max())
    magnitude = ops.stft(output="magnitude", **STFTS[name])(SOUND)
    assert np.allclose(magnitude, np.sqrt(power), rtol=1e-6)


@pytest.mark.parametrize("name", MELS)
def test_mel_spectrogram_is_that_of_librosa(name: str) -> None:
    expected = GOLDENS[f"mel_{name}"]
    got = ops.mel_spectrogram(16000, **MELS[name])(np.stack([SOUND, SOUND]))
    assert got.shape == (2, *expected.shape)
    for one in got:
        assert np.allclose(one, expected, rtol=1e-4, atol=1e-7 * expected.max())
    decibels = ops.mel_spectrogram(16000, db=True, **MELS[name])(SOUND)
    assert np.abs(decibels - GOLDENS[f"db_{name}"]).max() < 1e-4


@pytest.mark.parametrize("n_fft", [1, 2, 3, 5, 6, 8, 30, 49, 64, 121, 210])
def test_transforms_of_any_length_are_right(n_fft: int) -> None:
    got = ops.stft(n_fft, n_fft, window="ones", center=False)(SOUND).view(np.complex64)[..., 0]
    frames = SOUND[: len(SOUND) // n_fft * n_fft].reshape(-1, n_fft).astype(np.float64)
    assert np.abs(got.T - np.fft.rfft(frames)).max() < 1e-5


@pytest.mark.parametrize("window", ["hann", "hamming", "ones"])
def test_a_window_of_one_sample_lets_it_through(window: str) -> None:
    got = ops.stft(1, 1, window=window)(SOUND[:50])  # type: ignore[arg-type]
    assert np.array_equal(got[0, :, 0], SOUND[:50])
    middle = ops.stft(16, 4, 1, window=window, center=False)(SOUND[:50])  # type: ignore[arg-type]
    assert np.allclose(middle[0, :, 0], SOUND[7:43:4])


def test_what_is_quiet_beside_a_loud_tone_is_right() -> None:
    tone = np.cos(0.637 * np.arange(4000)).astype(np.float32)
    frames = tone[:3840].reshape(-1, 480).astype(np.float64) * np.hanning(481)[:-1]
    power = np.abs(np.fft.rfft(frames)).T ** 2
    assert power.min() < 1e-12 * power.max()
    got = ops.stft(480, 480, center=False, output="power")(tone)
    assert np.allclose(got, power, rtol=1e-5, atol=1e-18 * power.max())


@pytest.mark.parametrize("samples", [1, 2, 9, 31, 32])
def test_short_sounds_are_mirrored_as_often_as_it_takes(samples: int) -> None:
    got = ops.stft(64, 16, window="ones", pad_mode="reflect")(SOUND[:samples])
    around = np.pad(SOUND[:samples].astype(np.float64), 32, "reflect")
    frames = np.lib.stride_tricks.sliding_window_view(around, 64)[::16]
    assert np.abs(got.view(np.complex64)[..., 0].T - np.fft.rfft(frames)).max() < 1e-5


def test_lengths_and_gains() -> None:
    ramp = np.arange(10, dtype=np.float32)
    both = np.stack([ramp, -ramp])
    assert np.array_equal(ops.fix_length(4, "center")(both), both[:, 3:7])
    assert np.array_equal(ops.fix_length(13, "center", 7.0)(ramp)[:2], [7, 0])
    assert np.array_equal(ops.fix_length(12)(both)[:, 10:], np.zeros((2, 2)))
    drawn = [float(ops.fix_length(3, "random", seed=2)(ramp, position=p)[0]) for p in range(40)]
    assert set(drawn) == set(range(8))
    assert np.allclose(ops.gain(-6)(both), both * 10 ** (-6 / 20))
    assert np.array_equal(ops.gain(0)(both[:, ::2]), both[:, ::2])  # not side by side


def test_they_run_in_pipelines() -> None:
    mel = ops.mel_spectrogram(16000, 400, 160, n_mels=40, db=True)
    pipeline = (
        PipelineBuilder()
        .add_source([SOUND[:500], SOUND])
        .pipe(ops.fix_length(3200), concurrency=2, output_order="input")
        .pipe(mel, concurrency=2, output_order="input")
        .add_sink()
        .build()
    )
    with pipeline.auto_stop():
        made = [np.asarray(one) for one in pipeline]
    assert np.array_equal(made[1], mel(SOUND[:3200]))
    assert [one.shape for one in made] == [(40, 21)] * 2


def test_what_cannot_be_is_refused() -> None:
    silence = np.zeros(100, np.float32)
    with pytest.raises(ValueError, match="fewer than n_fft"):
        ops.stft(400, center=False)(silence)
    with pytest.raises(ValueError, match="float32 array of shape"):
        ops.gain(1)(np.zeros(4, np.int16))
    with pytest.raises(ValueError, match="win_length"):
        ops.stft(100, win_length=200)
    with pytest.raises(ValueError, match="fmax must be more"):
        ops.mel_spectrogram(16000, fmin=9000)
    for slip, message in (
        (lambda: ops.stft(400.0), "n_fft is 400.0; give a whole number"),  # type: ignore[arg-type]
        (lambda: ops.stft(window=None), "window is None; give a str"),  # type: ignore[arg-type]
        (lambda: ops.mel_spectrogram("16000"), "sample_rate is '16000'"),  # type: ignore[arg-type]
        (lambda: ops.fix_length(2.5), "length is 2.5"),  # type: ignore[arg-type]
        (lambda: ops.gain("6"), "decibels is '6'; give a number"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=message):
            slip()
