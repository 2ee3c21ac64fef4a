"""Speech clips: one per sentence and voice, found by their text.

Shipped as Ogg/Vorbis beside this file; rendered anew by flite where it is installed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile  # type: ignore[import-untyped]

Pcm = npt.NDArray[np.int16]

RATE = 16_000
SHIPPED = Path(__file__).parent / "audio"
_QUIET = 300


class MissingClip(LookupError):
    """There is no clip of this sentence; `python -m examples.demo.render_audio` makes one."""


def clip_name(voice: str, text: str) -> str:
    """File name of a sentence: readable, and unique by a hash of the whole."""
    words = " ".join(re.findall(r"[a-z0-9']+", text.lower()))
    slug = "-".join(words.split()[:5]).replace("'", "")
    return f"{voice}-{slug}-{hashlib.sha256(words.encode()).hexdigest()[:6]}.ogg"


class Clips:
    """The clips of one folder, each read once."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        self._folder = folder
        self._read: dict[str, Pcm] = {}

    def get(self, voice: str, text: str) -> Pcm:
        """16 kHz mono samples of a sentence, from its first audible sample to its last.

        Raises ``MissingClip``.
        """
        name = clip_name(voice, text)
        if name not in self._read:
            path = self._folder / name
            if not path.exists():
                raise MissingClip(f"no clip of {text!r} in voice {voice}")
            samples, rate = soundfile.read(str(path), dtype="int16")
            if rate != RATE or samples.ndim != 1:
                raise MissingClip(f"{path.name} is not {RATE} Hz mono")
            self._read[name] = trim(samples)
        return self._read[name]


def trim(samples: Pcm) -> Pcm:
    """The samples between the first and the last that can be heard, so that both are true edges."""
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > _QUIET)
    return samples[int(loud[0]) : int(loud[-1]) + 1] if len(loud) else samples[:0]


def flite_has(voices: set[str]) -> bool:
    """Whether flite is installed with all of these voices."""
    if shutil.which("flite") is None:
        return False
    listed = subprocess.run(["flite", "-lv"], capture_output=True, text=True, check=False).stdout
    return voices <= set(listed.split(":")[-1].split())


def render(voice: str, text: str, folder: Path) -> Path:
    """Have flite speak a sentence into a clip of ``folder``; raise ``CalledProcessError`` where it fails."""
    target = folder / clip_name(voice, text)
    with tempfile.TemporaryDirectory() as scratch:
        spoken = Path(scratch) / "spoken.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(spoken)], check=True, capture_output=True)
        samples, rate = soundfile.read(str(spoken), dtype="int16")
    if rate != RATE:
        raise ValueError(f"flite's voice {voice} speaks at {rate} Hz, not {RATE}")
    soundfile.write(str(target), trim(samples), RATE, format="OGG", subtype="VORBIS")
    return target
