"""The robustness ladder, shortened: three callers of 20 s each, twelve stretches of speech, six overlaps.

Bounds lie well over what was measured; docs/robustness.md has the figures of the whole ladder.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import soundfile  # type: ignore[import-untyped]
from data.ladder import RUNGS, Call, Spans, kept_calls
from data.ladder_scores import Score, spread

from earwitness.monitor.audio.recording import VoiceActivity, hear
from earwitness.monitor.calls.intervals import Span


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    return kept_calls(turns=3)


def climbed(calls: list[Call], rung: str, voice_activity: VoiceActivity, path: Path) -> Score:
    score = Score()
    for clean in calls:
        made = RUNGS[rung](clean)
        sides = np.clip(np.stack((made.caller, made.agent), axis=1), -1.0, 1.0)
        soundfile.write(path, sides, made.rate_hz, subtype=made.subtype)
        heard = hear(path, voice_activity=voice_activity)
        score.add(made, _seconds(span for span in heard.caller if span not in heard.echo), _seconds(heard.agent))
    return score


def _seconds(spans: Iterable[Span]) -> Spans:
    return tuple((on / 1e9, off / 1e9) for on, off in spans)


FINE = [
    "clean", "comfort noise -60 dB", "white 20 dB", "babble 20 dB", "G.711 8 kHz", "loss 2 %", "loss 5 %",
    "phone: babble 20, G.711, loss 2 %", "echo -15 dB", "echo -25 dB", "crosstalk -30 dB",
]  # fmt: skip


@pytest.mark.parametrize("rung", FINE)
def test_on_usual_lines_every_edge_is_in_place_and_nothing_is_missed_or_made_up(
    calls: list[Call], rung: str, tmp_path: Path
) -> None:
    score = climbed(calls, rung, "accurate", tmp_path / "call.wav")

    assert spread(score.onsets)[0] <= 20
    assert spread(score.onsets)[1] <= 60
    assert spread(score.ends)[0] <= 45
    assert spread(score.ends)[1] <= 80
    assert (score.missed, score.false, score.missed_overlaps, score.false_overlaps) == (0, 0, 0, 0)
    assert (score.agent_missed, score.agent_false) == (0, 0)
    assert spread(score.agent_ends)[1] <= 150  # a closing "sh" lies above what 8 kHz carries


@pytest.mark.parametrize(
    ("rung", "medians_ms", "missed"),
    [
        ("white 10 dB", (20, 30), 0),
        ("white 5 dB", (25, 50), 0),
        ("white 0 dB", (40, 80), 2),
        ("babble 10 dB", (50, 90), 0),
        ("babble 5 dB", (250, 260), 1),
        ("babble 0 dB", (600, 600), 7),
    ],
)
def test_in_loud_noise_what_is_lost_is_little_and_hardly_anything_is_made_up(
    calls: list[Call], rung: str, medians_ms: tuple[float, float], missed: int, tmp_path: Path
) -> None:
    score = climbed(calls, rung, "accurate", tmp_path / "call.wav")

    assert spread(score.onsets)[0] <= medians_ms[0]
    assert spread(score.ends)[0] <= medians_ms[1]
    assert score.missed <= missed
    assert score.missed_overlaps <= missed
    assert score.false <= 2
    assert score.false_overlaps <= 2


@pytest.mark.parametrize("rung", ["white 5 dB", "babble 20 dB", "phone: babble 20, G.711, loss 2 %", "echo -25 dB"])
def test_the_fast_ears_place_edges_as_well(calls: list[Call], rung: str, tmp_path: Path) -> None:
    score = climbed(calls, rung, "fast", tmp_path / "call.wav")

    assert spread(score.onsets)[0] <= 25
    assert spread(score.ends)[0] <= 50
    assert (score.missed, score.missed_overlaps) == (0, 0)
    assert score.false <= 1


def test_what_the_accurate_ears_are_slower_for_is_not_to_take_sounds_for_speech(
    calls: list[Call], tmp_path: Path
) -> None:
    rung = "sounds that are no speech"

    accurate = climbed(calls, rung, "accurate", tmp_path / "call.wav")
    fast = climbed(calls, rung, "fast", tmp_path / "call.wav")

    assert accurate.false == 0
    assert accurate.missed == 0
    assert fast.false >= 3
