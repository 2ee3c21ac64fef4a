"""Scenes for voice activity: clean clips at known places of a silent line, noise over it, cut into stamped chunks.

The truth of a clip is in ``speech/truth.json``, told from its clean samples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile  # type: ignore[import-untyped]

SPEECH = Path(__file__).parent / "speech"
CLIP_HZ = 16_000
Floats = npt.NDArray[np.float64]
Samples = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Scene:
    """Samples of one channel, and where speech truly is in them."""

    rate_hz: int
    pcm: Samples
    segments_s: tuple[tuple[float, float], ...]


@lru_cache(maxsize=1)
def truth() -> dict[str, tuple[float, float]]:
    """Onset and end in seconds of each clip."""
    raw = json.loads((SPEECH / "truth.json").read_text(encoding="utf-8"))
    return {name: (clip["on_s"], clip["off_s"]) for name, clip in raw.items()}


@lru_cache(maxsize=64)
def clip(name: str, rate_hz: int = CLIP_HZ) -> Samples:
    """A clip at a rate, by band-limited (Fourier) conversion."""
    pcm: Floats
    pcm, found_hz = soundfile.read(SPEECH / f"{name}.flac", dtype="float64")
    if found_hz != rate_hz:
        spectrum = np.fft.rfft(pcm)
        size = round(pcm.size * rate_hz / found_hz)
        kept = np.zeros(size // 2 + 1, complex)
        shared = min(kept.size, spectrum.size)
        kept[:shared] = spectrum[:shared]
        pcm = np.fft.irfft(kept, size) * (size / pcm.size)
    return np.clip(np.rint(pcm * 32768), -32768, 32767).astype(np.int16)


def noise(kind: str, size: int, rate_hz: int, seed: int = 1) -> Floats:
    """``white``, ``hum`` (50 Hz and harmonics) or ``babble`` (all clips over each other), of any loudness."""
    if kind == "white":
        return np.random.default_rng(seed).normal(size=size)
    if kind == "hum":
        t = np.arange(size) / rate_hz
        return sum((np.sin(2 * np.pi * 50 * k * t + k) / k for k in range(1, 7)), np.zeros(size))
    draw = np.random.default_rng(seed)
    mixed = np.zeros(size)
    names = sorted(truth())
    for _ in range(8):
        track = np.concatenate([clip(names[i], rate_hz) for i in draw.permutation(len(names))]).astype(np.float64)
        track /= np.sqrt((track**2).mean())
        mixed += np.resize(np.roll(track, int(draw.integers(track.size))), size)
    return mixed


def scene(
    names: tuple[str, ...],
    rate_hz: int = CLIP_HZ,
    *,
    pause_s: float = 1.2,
    noise_kind: str | None = None,
    snr_db: float = 20.0,
    gain_db: float = 0.0,
) -> Scene:
    """Clips one after the other, ``pause_s`` between them; noise is ``snr_db`` under the mean power of true speech."""
    parts: list[Samples] = []
    segments: list[tuple[float, float]] = []
    speech_power: list[Floats] = []
    at = 0
    for name in names:
        parts.append(np.zeros(round(pause_s * rate_hz), np.int16))
        at += parts[-1].size
        on_s, off_s = truth()[name]
        pcm = clip(name, rate_hz)
        segments.append((at / rate_hz + on_s, at / rate_hz + off_s))
        speech_power.append(pcm[round(on_s * rate_hz) : round(off_s * rate_hz)].astype(np.float64) ** 2)
        parts.append(pcm)
        at += pcm.size
    parts.append(np.zeros(round(pause_s * rate_hz), np.int16))
    whole = np.concatenate(parts).astype(np.float64)
    if noise_kind is not None:
        noisy = noise(noise_kind, whole.size, rate_hz)
        noisy *= np.sqrt(np.concatenate(speech_power).mean() / (noisy**2).mean() / 10 ** (snr_db / 10))
        whole += noisy
    whole *= 10 ** (gain_db / 20)
    return Scene(rate_hz, np.clip(np.rint(whole), -32768, 32767).astype(np.int16), tuple(segments))


def chunks(made: Scene, chunk_samples: int, jitter_ms: tuple[float, ...] = ()) -> Iterator[tuple[bytes, int]]:
    """Chunks and the arrival in ns of their last sample; ``jitter_ms`` delays them in turn, order kept."""
    last_ns = 0
    for i, start in enumerate(range(0, made.pcm.size, chunk_samples)):
        part = made.pcm[start : start + chunk_samples]
        late_ns = round(jitter_ms[i % len(jitter_ms)] * 1e6) if jitter_ms else 0
        last_ns = max(last_ns, (start + part.size) * 1_000_000_000 // made.rate_hz + late_ns)
        yield part.tobytes(), last_ns
