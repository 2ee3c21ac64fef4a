"""What an ear reports of one party's audio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data.scenes import CLIP_HZ, chunks, scene

from earwitness.monitor.contract import events
from earwitness.processors.voice_activity import AgentEar, CallerEar, Chunk, Fact, Mark

S = 1_000_000_000
MS = 1_000_000


def tone(duration_ms: int, rate_hz: int = 24_000) -> bytes:
    at = np.arange(rate_hz * duration_ms // 1000) / rate_hz
    return (6_000 * np.sin(2 * np.pi * 220 * at)).astype(np.int16).tobytes()


def silent(duration_ms: int, rate_hz: int = CLIP_HZ) -> bytes:
    return bytes(2 * (rate_hz * duration_ms // 1000))


def of_kind(facts: list[Fact], *kinds: type[events.Event]) -> list[dict[str, Any]]:
    return [dict(fact.fields) for fact in facts if fact.event in kinds]


def listen(ear: CallerEar, names: tuple[str, ...], start_ns: int = 0, participant: str | None = None) -> list[Fact]:
    facts: list[Fact] = []
    for audio, arrival_ns in chunks(scene(names), 320):
        facts += ear.hear([Chunk(audio, CLIP_HZ, 1, start_ns + arrival_ns, participant)])
    return facts


def test_a_caller_is_heard_with_onset_end_and_quality() -> None:
    on, off = listen(CallerEar(), ("number",))[:2]

    assert (on.event, off.event) == (events.SpeechStarted, events.SpeechEnded)
    assert on.fields["party"] == "caller"
    assert on.fields["evidence"] == "audio"
    assert on.fields["snr_db"] > 15
    assert off.fields["voiced_ns"] > 0
    assert off.fields["inferred"] is False


def test_a22_audio_that_stops_ends_speech_by_inference_and_is_a_gap() -> None:
    ear = CallerEar()
    made = scene(("appointment",))
    facts: list[Fact] = []
    middle_ns = round(sum(made.segments_s[0]) / 2 * S)
    for audio, arrival_ns in chunks(made, 320):
        if arrival_ns <= middle_ns:
            facts += ear.hear([Chunk(audio, CLIP_HZ, 1, arrival_ns)])
    last_ns = middle_ns // (20 * MS) * 20 * MS

    assert ear.idle(last_ns + 900 * MS) == []
    ended = ear.idle(last_ns + 1_000 * MS)

    (off,) = of_kind(ended, events.SpeechEnded)
    assert off["inferred"] is True
    assert off["edge_ns"] == pytest.approx(last_ns, abs=20 * MS)
    assert of_kind(ended, events.AudioGap) == [{"party": "caller", "state": "stopped", "last_audio_ns": last_ns}]
    assert ear.idle(last_ns + 60 * S) == []
    assert not ear.restless

    back = ear.hear([Chunk(silent(20), CLIP_HZ, 1, last_ns + 70 * S)])
    assert of_kind(back, events.AudioGap) == [{"party": "caller", "state": "resumed", "last_audio_ns": last_ns}]


def test_audio_that_stays_away_once_the_pipeline_ends_is_no_gap() -> None:
    ear = CallerEar()
    ear.hear([Chunk(silent(20), CLIP_HZ, 1, 1 * S)])
    assert ear.hear([Mark("ending", 1 * S)]) == []
    assert not ear.restless
    assert ear.idle(9 * S) == []
    assert ear.hear([Chunk(silent(20), CLIP_HZ, 1, 10 * S)]) == []
    assert ear.stop(11 * S) == []


def test_a_gap_from_before_the_pipeline_ends_is_told() -> None:
    ear = CallerEar()
    ear.hear([Chunk(silent(20), CLIP_HZ, 1, 1 * S)])
    gap = {"party": "caller", "state": "stopped", "last_audio_ns": 1 * S}
    assert of_kind(ear.hear([Mark("ending", 3 * S)]), events.AudioGap) == [gap]
    assert ear.idle(9 * S) == []


def test_a_caller_who_speaks_as_the_pipeline_ends_is_closed_by_inference_with_the_call() -> None:
    ear = CallerEar()
    made = scene(("appointment",))
    middle_ns = round(sum(made.segments_s[0]) / 2 * S)
    heard = [Chunk(audio, CLIP_HZ, 1, at_ns) for audio, at_ns in chunks(made, 320) if at_ns <= middle_ns]
    ear.hear([*heard, Mark("ending", middle_ns)])
    assert ear.idle(9 * S) == []

    (off,) = ear.stop(10 * S)
    assert (off.event, off.fields["inferred"]) == (events.SpeechEnded, True)
    assert off.fields["edge_ns"] == pytest.approx(middle_ns, abs=20 * MS)


def test_a33_participants_are_heard_apart() -> None:
    ear = CallerEar()
    facts: list[Fact] = []
    first = list(chunks(scene(("number",)), 320))
    second = list(chunks(scene(("no",), pause_s=2.0), 320))
    for i in range(max(len(first), len(second))):
        for participant, made in (("P1", first), ("P2", second)):
            if i < len(made):
                audio, arrival_ns = made[i]
                facts += ear.hear([Chunk(audio, CLIP_HZ, 1, arrival_ns, participant)])

    started = of_kind(facts, events.SpeechStarted)
    assert {fields["participant"] for fields in started} == {"P1", "P2"}
    ended = of_kind(facts, events.SpeechEnded)
    assert len([fields for fields in ended if fields["participant"] == "P2"]) == 1


def test_more_participants_than_are_kept_are_still_all_heard_in_turn() -> None:
    ear = CallerEar()
    facts: list[Fact] = []
    for number in range(12):
        facts += listen(ear, ("no",), start_ns=number * 5 * S, participant=f"P{number}")

    assert len(of_kind(facts, events.SpeechStarted)) == 12
    assert len(ear._detectors) <= 8


def test_b19_audio_that_cannot_be_judged_is_a_gap_with_a_reason_and_not_silence() -> None:
    ear = CallerEar()

    facts = ear.hear([Chunk(silent(20), 4_000, 1, 5 * S), Chunk(silent(20), 4_000, 1, 6 * S - 1)])

    (health,) = of_kind(facts, events.Health)
    assert list(health["invalid"]) == ["caller_tap: sample rate 4000 Hz is outside 8000 to 192000 Hz"]
    assert of_kind(facts, events.AudioGap) == [{"party": "caller", "state": "stopped", "last_audio_ns": 5 * S}]


def test_a_gap_inside_a_batch_is_a_gap_all_the_same() -> None:
    ear = CallerEar()

    facts = ear.hear([Chunk(silent(20), CLIP_HZ, 1, 1 * S), Chunk(silent(20), CLIP_HZ, 1, 4 * S)])

    assert [fields["state"] for fields in of_kind(facts, events.AudioGap)] == ["stopped", "resumed"]


def behind_a_block(kept: range) -> list[Fact]:
    """A caller who speaks throughout; 3 s of it come in one burst, and of those the chunks ``kept``."""
    ear = CallerEar()
    made = list(chunks(scene(("appointment", "number")), 320))
    first = round(scene(("appointment", "number")).segments_s[0][0] * 50) + 25
    late_ns = made[first + 150][1]
    late = [Chunk(made[first + i][0], CLIP_HZ, 1, late_ns) for i in kept]
    facts = ear.hear([Chunk(audio, CLIP_HZ, 1, at_ns) for audio, at_ns in made[:first]])
    facts += ear.hear([*late, *(Chunk(audio, CLIP_HZ, 1, at_ns) for audio, at_ns in made[first + 151 : first + 160])])
    return facts + ear.hear([Chunk(audio, CLIP_HZ, 1, at_ns) for audio, at_ns in made[first + 160 :]])


def test_a_burst_that_has_everything_is_no_gap_and_its_speech_lies_where_it_was_said() -> None:
    facts = behind_a_block(range(151))
    plain = listen(CallerEar(), ("appointment", "number"))

    assert of_kind(facts, events.AudioGap) == []
    for kind in (events.SpeechStarted, events.SpeechEnded):
        told = [fields["edge_ns"] for fields in of_kind(facts, kind)]
        assert told == [pytest.approx(fields["edge_ns"], abs=20 * MS) for fields in of_kind(plain, kind)]


def test_a_burst_that_lacks_more_than_a_gap_is_one() -> None:
    assert of_kind(behind_a_block(range(60, 151)), events.AudioGap)
    assert of_kind(behind_a_block(range(40, 151)), events.AudioGap) == []


def test_a_rate_that_changes_in_mid_call_is_followed() -> None:
    ear = CallerEar()
    facts = listen(ear, ("number",))
    for audio, arrival_ns in chunks(scene(("number",), 8_000), 160):
        facts += ear.hear([Chunk(audio, 8_000, 1, 10 * S + arrival_ns)])

    started = of_kind(facts, events.SpeechStarted)
    assert {fields["edge_ns"] // (10 * S) for fields in started} == {0, 1}


def write(ear: AgentEar, audio: bytes, start_ns: int, *, paced: bool, rate_hz: int = 24_000) -> list[Fact]:
    facts = ear.hear([Mark("write_begins", start_ns)])
    size = 2 * rate_hz * 40 // 1000
    for number, at in enumerate(range(0, len(audio), size)):
        accepted_ns = start_ns + (number * 40 * MS if paced else 0)
        facts += ear.hear([Chunk(audio[at : at + size], rate_hz, 1, accepted_ns)])
    return facts


def test_a29_audio_that_plays_on_after_the_synthesis_stopped_is_speech() -> None:
    ear = AgentEar()
    facts = write(ear, tone(3_000), 2 * S, paced=True) + ear.idle(9 * S)

    assert of_kind(facts, events.SpeechStarted)[0]["edge_ns"] == 2 * S
    assert of_kind(facts, events.SpeechEnded)[0]["edge_ns"] == 5 * S


def test_a31_the_agent_ends_with_its_last_sound_and_not_when_its_service_says_so() -> None:
    ear = AgentEar()
    facts = write(ear, tone(2_000) + silent(8_000, 24_000), 2 * S, paced=True) + ear.idle(13 * S)

    assert of_kind(facts, events.SpeechEnded)[0]["edge_ns"] == 4 * S


def test_a02_padding_alone_is_nothing() -> None:
    ear = AgentEar()

    assert write(ear, silent(120, 24_000), 5 * S, paced=True) + ear.idle(9 * S) == []


def test_a30_audio_written_far_ahead_ends_when_it_has_played_and_is_not_told_before() -> None:
    ear = AgentEar()
    facts = write(ear, tone(5_000), 500 * MS, paced=False)
    facts += ear.idle(5_600 * MS)
    assert of_kind(facts, events.SpeechEnded) == []  # it may still be playing

    facts += ear.idle(5_700 * MS)

    assert of_kind(facts, events.SpeechEnded)[0]["edge_ns"] == 5_500 * MS


def test_an_interruption_ends_what_was_queued() -> None:
    ear = AgentEar()
    facts = write(ear, tone(1_200), 1 * S, paced=False)
    facts += ear.hear([Mark("cleared", 1_500 * MS)]) + ear.idle(3 * S)

    assert of_kind(facts, events.SpeechEnded)[0]["edge_ns"] == 1_500 * MS


def test_the_end_of_the_call_closes_the_agents_speech_where_it_was_cut() -> None:
    ear = AgentEar()
    facts = write(ear, tone(4_000), 1 * S, paced=False) + ear.stop(2 * S)

    assert of_kind(facts, events.SpeechEnded)[0]["edge_ns"] == 2 * S
    assert ear.stop(3 * S) == []
