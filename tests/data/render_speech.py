"""Renders the spoken clips of the tests with flite, once; the clips are kept beside this script.

    python tests/data/render_speech.py

Truth comes from the clean samples: the first and the last 10 ms whose RMS is over -50 dB of full scale.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import soundfile  # type: ignore[import-untyped]

SPEECH = Path(__file__).parent / "speech"
LINES = {
    "appointment": ("slt", "I would like to change my appointment to Thursday afternoon, please."),
    "number": ("rms", "My number is five five five, zero one two three."),
    "again": ("awb", "Sorry, could you say that again?"),
    "no": ("kal16", "No."),
    "fish": ("slt", "She sells six fish."),
    "mhm": ("rms", "Mm hmm."),
    "waiting": ("kal16", "Hello? Is anybody there?"),
    "desk": ("slt", "Thanks for calling, this is the order desk. How can I help you?"),
}
RATE_HZ = 16_000
AUDIBLE_DB = -50.0


def audible_edges_s(pcm: np.ndarray) -> tuple[float, float]:
    """First and last 10 ms over -50 dB of full scale, in seconds."""
    frame = RATE_HZ // 100
    frames = pcm[: pcm.size // frame * frame].reshape(-1, frame).astype(np.float64) / 32768.0
    loud = np.flatnonzero(10 * np.log10((frames**2).mean(axis=1) + 1e-12) > AUDIBLE_DB)
    return float(loud[0]) / 100, float(loud[-1] + 1) / 100


def main() -> None:
    """Write a FLAC file a line, and ``truth.json`` with text and edges."""
    SPEECH.mkdir(exist_ok=True)
    truth: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, (voice, text) in LINES.items():
            raw = Path(scratch) / f"{name}.wav"
            subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(raw)], check=True)
            pcm, rate_hz = soundfile.read(raw, dtype="int16")
            if rate_hz != RATE_HZ:
                raise SystemExit(f"{voice} speaks at {rate_hz} Hz; take a voice of {RATE_HZ} Hz")
            soundfile.write(SPEECH / f"{name}.flac", pcm, RATE_HZ, subtype="PCM_16")
            on_s, off_s = audible_edges_s(pcm)
            truth[name] = {"text": text, "voice": voice, "on_s": on_s, "off_s": off_s, "duration_s": pcm.size / RATE_HZ}
    (SPEECH / "truth.json").write_text(json.dumps(truth, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
