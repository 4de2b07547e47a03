"""Writes sound_goldens.npz: what librosa makes of a small sound. Run by hand, with librosa 0.11."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STFTS: dict[str, dict[str, Any]] = {
    "default": {"n_fft": 2048},
    "speech": {"n_fft": 400, "hop_length": 160},
    "short_window": {"n_fft": 512, "hop_length": 256, "win_length": 400},
    "odd": {"n_fft": 441, "hop_length": 300},
    "prime": {"n_fft": 97, "hop_length": 200, "win_length": 64},
    "apart": {"n_fft": 256, "hop_length": 250, "center": False},
}
MELS: dict[str, dict[str, Any]] = {
    "default": {"n_fft": 2048},
    "speech": {"n_fft": 400, "hop_length": 160, "n_mels": 80},
    "htk": {"n_fft": 1024, "n_mels": 40, "htk": True},
    "equal_height": {"n_fft": 1024, "n_mels": 40, "norm": None},
    "band": {"n_fft": 1024, "n_mels": 32, "fmin": 100, "fmax": 6000},
    "magnitude": {"n_fft": 512, "n_mels": 32, "power": 1, "pad_mode": "reflect"},
}


def sound() -> NDArray[np.float32]:
    chance = np.random.default_rng(1)
    tone = 0.3 * np.sin(np.arange(4000) * 0.05) + 0.02 * chance.standard_normal(4000)
    return tone.astype(np.float32)


def main() -> None:
    import librosa

    made = {}
    for name, options in STFTS.items():
        made[f"stft_{name}"] = librosa.stft(sound(), **options)
    for name, options in MELS.items():
        mel = librosa.feature.melspectrogram(y=sound(), sr=16000, **options)
        made[f"mel_{name}"] = mel
        made[f"db_{name}"] = librosa.power_to_db(mel)
    np.savez_compressed(Path(__file__).with_name("sound_goldens.npz"), **made)


if __name__ == "__main__":
    main()
