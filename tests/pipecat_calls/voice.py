"""Sound for scripted calls. Loud noise where somebody speaks, zeros where nobody does; words last as long as they
last. Enough for a detector by energy; tests of real voice activity use recordings."""

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


def silence(seconds: float, rate: int) -> Samples:
    return np.zeros(round(seconds * rate), np.int16)


def is_loud(audio: bytes) -> bool:
    return bool(np.abs(np.frombuffer(audio, np.int16).astype(np.int32)).max(initial=0) > LOUD / 2)
