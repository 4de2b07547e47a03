"""Native ops on sounds; :mod:`penstock.ops` is where users find these."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock import _core
from penstock._core import NativeOp
from penstock._whole import as_flag, as_number, as_real, as_text, as_whole

Window: TypeAlias = Literal["hann", "hamming", "ones"]
PadMode: TypeAlias = Literal["constant", "reflect"]


def stft(
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Window = "hann",
    *,
    center: bool = True,
    pad_mode: PadMode = "constant",
    output: Literal["complex", "magnitude", "power"] = "complex",
) -> NativeOp:
    """The short-time Fourier transform of a sound, as ``librosa.stft``.

    Sounds are float32 arrays of shape (samples,) or (channels, samples), as `io.load_audio` gives
    them; the result is (bins, frames), or (channels, bins, frames).

    Args:
        n_fft: Samples of a frame; any number, fastest where its prime factors are 2, 3 and 5.
        hop_length: Samples from frame to frame; None: a quarter of the window.
        win_length: Samples of the window, in the middle of the frame; None: n_fft.
        window: "hann", "hamming" (both periodic) or "ones".
        center: Frame t is centred at sample t * hop_length; the ends are filled up by `pad_mode`:
            with zeros ("constant") or mirrored ("reflect").
        output: "complex" adds a last dimension of two, the real and the imaginary part;
            "magnitude" and "power" are |z| and |z| squared.

    >>> import numpy as np
    >>> made = stft(400, 160)(np.ones(1600, np.float32))
    >>> made.shape, made.view(np.complex64)[..., 0].shape
    ((201, 11, 2), (201, 11))
    """
    frames = _frames(n_fft, win_length, hop_length, window, center, pad_mode)
    return _core.stft_op(*frames, as_text(output, "output"))


def mel_spectrogram(
    sample_rate: float,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    *,
    center: bool = True,
    pad_mode: PadMode = "constant",
    power: Literal[1, 2] = 2,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: Literal["slaney"] | None = "slaney",
    db: bool = False,
    ref: float = 1.0,
    amin: float = 1e-10,
    top_db: float | None = 80.0,
) -> NativeOp:
    """The mel spectrogram of a sound, as ``librosa.feature.melspectrogram``.

    The result is (n_mels, frames), or (channels, n_mels, frames), float32.

    Args:
        sample_rate: Of the sounds.
        n_fft, hop_length, win_length, window, center, pad_mode: Those of `stft`.
        power: 2: of the power, 1: of the magnitude.
        n_mels: Filters, from `fmin` to `fmax` Hz (None: half the sample rate).
        htk: HTK's mel scale in place of Slaney's.
        norm: "slaney": filters of equal area; None: of equal height.
        db: In decibels, as ``librosa.power_to_db`` with `ref`, `amin` and `top_db`, channel by
            channel.

    >>> import numpy as np
    >>> mel_spectrogram(16000, 400, 160, n_mels=80, db=True)(np.ones(1600, np.float32)).shape
    (80, 11)
    """
    frames = _frames(n_fft, win_length, hop_length, window, center, pad_mode)
    rate = as_real(sample_rate, "sample_rate")
    if power not in (1, 2):
        raise ValueError(f"power is 1 or 2, not {power}")
    if norm not in ("slaney", None):
        raise ValueError(f'norm is "slaney" or None, not {norm!r}')
    return _core.mel_spectrogram_op(
        *frames,
        "power" if power == 2 else "magnitude",
        rate,
        as_whole(n_mels, "n_mels"),
        as_real(fmin, "fmin"),
        rate / 2 if fmax is None else as_real(fmax, "fmax"),
        as_flag(htk, "htk"),
        norm == "slaney",
        as_flag(db, "db"),
        as_real(ref, "ref"),
        as_real(amin, "amin"),
        None if top_db is None else as_real(top_db, "top_db"),
    )


def fix_length(
    length: int,
    place: Literal["start", "center", "end", "random"] = "start",
    fill: float = 0.0,
    *,
    seed: int = 0,
    epoch: int = 0,
) -> NativeOp:
    """Sounds of one length: what is longer is cut, what is shorter is filled up.

    Args:
        length: In samples.
        place: Which part of a longer sound is kept. A shorter one is filled up at its end; with
            "center" at both ends.
        fill: What it is filled up with.
        seed, epoch: What chance depends on; see the module's description.

    >>> import numpy as np
    >>> fix_length(4)(np.ones(2, np.float32)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    >>> fix_length(2, "end")(np.arange(4, dtype=np.float32)).tolist()
    [2.0, 3.0]
    """
    return _core.fix_length_op(
        as_whole(length, "length"),
        as_text(place, "place"),
        as_real(fill, "fill"),
        as_number(seed, "seed", 0, 2**64 - 1),
        as_number(epoch, "epoch", 0, 2**64 - 1),
    )


def gain(decibels: float) -> NativeOp:
    """Makes sounds louder, or with less than 0 softer; nothing is clipped.

    >>> import numpy as np
    >>> gain(20)(np.full(2, 0.05, np.float32)).tolist()
    [0.5, 0.5]
    """
    return _core.gain_op(as_real(decibels, "decibels"))


def _frames(
    n_fft: int,
    win_length: int | None,
    hop_length: int | None,
    window: str,
    center: bool,
    pad_mode: str,
) -> tuple[int, int, int, str, bool, str]:
    size = as_whole(n_fft, "n_fft")
    length = size if win_length is None else as_whole(win_length, "win_length")
    hop = max(length // 4, 1) if hop_length is None else as_whole(hop_length, "hop_length")
    return (
        size,
        hop,
        length,
        as_text(window, "window"),
        as_flag(center, "center"),
        as_text(pad_mode, "pad_mode"),
    )
