"""Audio as transports hand it over, made into 10 ms frames of one channel at 8 or 16 kHz.

webrtcvad takes 10, 20 or 30 ms at a few rates and nothing else; transports send what they like (field case B19).
Whatever cannot be framed is refused with a reason: it is never taken for silence.
"""

from __future__ import annotations

import numpy as np

from earwitness.monitor.audio.resampling import Resampler, Samples

FRAME_S = 0.01
LEAST_RATE_HZ = 8_000
MOST_RATE_HZ = 192_000
MOST_CHANNELS = 8


class UnsupportedAudio(ValueError):
    """Audio that no voice activity can be told from; the message says why."""


def one_channel(audio: bytes, channels: int) -> Samples:
    """Interleaved 16-bit samples as the mean of their channels; ``audio`` holds whole samples of every channel."""
    pcm: Samples = np.frombuffer(audio, dtype="<i2")
    if channels == 1:
        return pcm
    mixed: Samples = pcm.reshape(-1, channels).mean(axis=1).astype(np.int16)
    return mixed


class Framer:
    """Cuts a stream of any rate, channel count and chunk size into frames for the detectors.

    Raises ``UnsupportedAudio`` for a rate outside 8 to 192 kHz or a channel count outside 1 to 8.
    """

    def __init__(self, rate_hz: int, channels: int = 1) -> None:
        if not LEAST_RATE_HZ <= rate_hz <= MOST_RATE_HZ:
            raise UnsupportedAudio(f"sample rate {rate_hz} Hz is outside {LEAST_RATE_HZ} to {MOST_RATE_HZ} Hz")
        if not 1 <= channels <= MOST_CHANNELS:
            raise UnsupportedAudio(f"{channels} channels are outside 1 to {MOST_CHANNELS}")
        self.rate_hz = 16_000 if rate_hz >= 16_000 else 8_000
        """Rate of the frames."""
        self.frame_samples = self.rate_hz // 100
        self._channels = channels
        self._resampler = Resampler(rate_hz, self.rate_hz)
        self._odd = b""
        self._rest: Samples = np.zeros(0, np.int16)

    def feed(self, audio: bytes | Samples) -> Samples:
        """All frames that are now whole, as an array of shape (frames, samples of a frame)."""
        raw = audio if isinstance(audio, bytes) else audio.astype("<i2", copy=False).tobytes()
        if self._odd:
            raw = self._odd + raw
        over = len(raw) % (2 * self._channels)
        self._odd = raw[len(raw) - over :] if over else b""
        pcm = self._resampler.feed(one_channel(raw[: len(raw) - over], self._channels))
        if self._rest.size:
            pcm = np.concatenate((self._rest, pcm))
        whole = pcm.size - pcm.size % self.frame_samples
        self._rest = pcm[whole:]
        return pcm[:whole].reshape(-1, self.frame_samples)

    def flush(self) -> Samples:
        """The tail, padded with silence to one frame; no frame where nothing is left."""
        rest, self._rest, self._odd = self._rest, np.zeros(0, np.int16), b""
        if not rest.size:
            return np.zeros((0, self.frame_samples), np.int16)
        return np.pad(rest, (0, self.frame_samples - rest.size)).reshape(1, -1)


def frame_levels_db(frames: Samples) -> list[float]:
    """Level of each frame in dB of full scale, its own mean taken off; -100 for digital silence."""
    if not frames.size:
        return []
    power = frames.astype(np.float32).var(axis=1) / 32768.0**2
    levels: list[float] = (10.0 * np.log10(power + 1e-10)).tolist()
    return levels
