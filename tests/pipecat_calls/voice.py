"""Sound for scripted calls. Loud sound where somebody speaks, zeros where nobody does; words last as long as they
last. The tone is enough for a detector by energy; tests of real voice activity use recordings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CALLER_RATE = 16_000
AGENT_RATE = 24_000
CHUNK_S = 0.02
LOUD = 6_000

Samples = npt.NDArray[np.int16]


def speech(seconds: float, rate: int, hertz: float = 220.0) -> Samples:
    """A tone that is loud from its first sample to its last."""
    at = np.arange(round(seconds * rate)) / rate
    wave = LOUD * np.sign(np.sin(2 * np.pi * hertz * at + 0.1))
    return wave.astype(np.int16)


def voice(seconds: float, rate: int, hertz: float = 120.0) -> Samples:
    """What passes for a voice: a falling pitch through three formants, swelling four times a second, never silent in
    between. Its edges are those of its samples."""
    at = np.arange(round(seconds * rate)) / rate
    pitch = hertz * (1.1 - 0.2 * at / max(seconds, 1e-9))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    wave = np.zeros(at.size)
    for k in range(1, int(min(rate / 2, 4_000) / (1.1 * hertz))):
        formants = sum(np.exp(-(((k * hertz - f) / 180) ** 2)) for f in (500, 1_500, 2_500))
        wave += (0.02 + formants) / k**0.5 * np.cos(k * phase)
    wave *= 0.75 - 0.25 * np.cos(2 * np.pi * 4 * at)
    loud: Samples = (3.5 * LOUD * wave / np.abs(wave).max(initial=1e-9)).astype(np.int16)
    return loud


SOUNDS = {"tone": speech, "voice": voice}


def silence(seconds: float, rate: int) -> Samples:
    return np.zeros(round(seconds * rate), np.int16)


def is_loud(audio: bytes) -> bool:
    return bool(np.abs(np.frombuffer(audio, np.int16).astype(np.int32)).max(initial=0) > LOUD / 2)
