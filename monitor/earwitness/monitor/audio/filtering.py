"""Long signals and short filters by batches of short transforms: a tenth of what one transform of it all would cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

BLOCK = 1024


def filtered(samples: Doubles, taps: Doubles) -> Doubles:
    """What a filter of fewer than ``BLOCK`` taps makes of the samples, from the first that all taps reach on."""
    size = samples.size - taps.size + 1
    made = np.fft.irfft(_spectra(samples, taps.size) * np.fft.rfft(taps, BLOCK), BLOCK, axis=1)
    through: Doubles = made[:, taps.size - 1 :].reshape(-1)[:size]
    return through


def lagged_sums(signals: Doubles, samples: Doubles, lags: int) -> Doubles:
    """Sums of products of each signal with the samples ``0, 1, ... lags - 1`` before its own; shape (signals, lags).

    ``samples`` begin ``lags - 1`` before the signals (shape (signals, n)) and end with them.
    """
    hop = BLOCK - lags + 1
    blocks = -(-signals.shape[1] // hop)
    held = np.pad(signals, ((0, 0), (0, blocks * hop - signals.shape[1]))).reshape(-1, blocks, hop)
    products = (np.conj(np.fft.rfft(held, BLOCK, axis=2)) * _spectra(samples, lags)).sum(axis=1)
    sums: Doubles = np.fft.irfft(products, BLOCK, axis=1)[:, lags - 1 :: -1]
    return sums


def transform_size(least: int) -> int:
    """A size of at least so many samples that transforms fast: a power of two, or three quarters of one."""
    size = 1 << (least - 1).bit_length()
    return size // 4 * 3 if size // 4 * 3 >= least else size


def _spectra(samples: Doubles, taps: int) -> npt.NDArray[np.complex128]:
    """Of blocks that overlap by ``taps - 1``, the last filled up with silence."""
    hop = BLOCK - taps + 1
    blocks = -(-(samples.size - taps + 1) // hop)
    held = np.pad(samples, (0, blocks * hop + taps - 1 - samples.size))
    return np.fft.rfft(np.lib.stride_tricks.sliding_window_view(held, BLOCK)[::hop], axis=1)
