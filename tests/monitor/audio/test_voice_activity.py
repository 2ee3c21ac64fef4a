"""Caller edges against the truth of clean clips; what noise, jitter and odd audio do to them."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from data.scenes import CLIP_HZ, Scene, chunks, noise, scene, truth

from earwitness.monitor.audio.framing import UnsupportedAudio
from earwitness.monitor.audio.voice_activity import Edge, SpeechDetector
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS

NAMES = tuple(sorted(truth()))


def edges_of(made: Scene, chunk_samples: int, jitter_ms: tuple[float, ...] = ()) -> list[Edge]:
    detector = SpeechDetector(made.rate_hz)
    edges: list[Edge] = []
    arrival_ns = 0
    for audio, arrival_ns in chunks(made, chunk_samples, jitter_ms):
        edges += detector.feed(audio, arrival_ns)
    return edges + detector.stop(arrival_ns)


def segments_s(edges: list[Edge]) -> list[tuple[float, float]]:
    assert [edge.kind for edge in edges] == ["onset", "end"] * (len(edges) // 2)
    return [(on.edge_ns / 1e9, off.edge_ns / 1e9) for on, off in zip(edges[::2], edges[1::2], strict=True)]


def errors_ms(made: Scene, edges: list[Edge]) -> tuple[list[float], list[float]]:
    """Onset and end errors; fails where a clip was missed or a segment lies outside all clips."""
    heard = segments_s(edges)
    onsets: list[float] = []
    ends: list[float] = []
    claimed = 0
    for on_s, off_s in made.segments_s:
        mine = [(a, b) for a, b in heard if a < off_s and b > on_s]
        assert mine, f"nothing heard of the speech from {on_s:.2f} to {off_s:.2f} s"
        claimed += len(mine)
        onsets.append((mine[0][0] - on_s) * 1e3)
        ends.append((mine[-1][1] - off_s) * 1e3)
    assert claimed == len(heard), "a segment where nobody spoke"
    return onsets, ends


def median_abs(values: list[float]) -> float:
    return statistics.median(abs(value) for value in values)


@pytest.mark.parametrize("chunk_ms", [20.0, 10.0, 60.0, 32.0, 7.3])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
def test_edges_of_clean_speech_lie_within_the_bound_at_every_rate_and_chunk_size(rate_hz: int, chunk_ms: float) -> None:
    made = scene(NAMES, rate_hz)

    onsets, ends = errors_ms(made, edges_of(made, round(rate_hz * chunk_ms / 1000)))

    assert median_abs(onsets) <= 20
    assert median_abs(ends) <= 20
    assert max(map(abs, onsets)) <= 60
    assert max(map(abs, ends)) <= (130 if rate_hz == 8_000 else 60)  # a closing "sh" lies above what 8 kHz carries


@pytest.mark.parametrize("gain_db", [-20.0, -10.0, 3.0])
def test_edges_hold_for_quiet_and_for_loud_callers(gain_db: float) -> None:
    made = scene(NAMES, gain_db=gain_db)

    onsets, ends = errors_ms(made, edges_of(made, 320))

    assert median_abs(onsets) <= 60
    assert median_abs(ends) <= 60


def test_edges_are_noticed_soon_and_with_the_audio_that_showed_them() -> None:
    for edge in edges_of(scene(NAMES), 320):
        late_ms = (edge.noticed_ns - edge.edge_ns) / 1e6
        assert 0 < late_ms < (500 if edge.kind == "onset" else 300)


def test_b19_frames_of_any_size_and_a_short_tail_are_no_silence() -> None:
    made = scene(("appointment",))
    hundred_ms = edges_of(made, 1_600)
    short_tail = edges_of(Scene(CLIP_HZ, made.pcm[: -(480 - 112)], made.segments_s), 480)

    assert median_abs(errors_ms(made, hundred_ms)[0]) <= 60
    assert median_abs(errors_ms(made, short_tail)[0]) <= 60


@pytest.mark.parametrize("rate_hz", [44_100, 22_050, 11_025, 12_000, 32_000])
def test_b19_rates_that_webrtcvad_does_not_know_are_heard_all_the_same(rate_hz: int) -> None:
    made = scene(NAMES, rate_hz)

    onsets, ends = errors_ms(made, edges_of(made, rate_hz // 50))

    assert median_abs(onsets) <= 60
    assert median_abs(ends) <= 60


@pytest.mark.parametrize(("rate_hz", "channels"), [(4_000, 1), (400_000, 1), (16_000, 0), (16_000, 20)])
def test_b19_what_cannot_be_heard_is_refused_and_never_silent(rate_hz: int, channels: int) -> None:
    with pytest.raises(UnsupportedAudio, match=str(rate_hz) if channels == 1 else str(channels)):
        SpeechDetector(rate_hz, channels)


def test_interleaved_stereo_is_heard_in_either_channel() -> None:
    made = scene(("number",))
    stereo = np.zeros((made.pcm.size, 2), np.int16)
    stereo[:, 1] = made.pcm
    detector = SpeechDetector(CLIP_HZ, 2)
    edges: list[Edge] = []
    for start in range(0, len(stereo), 333):
        part = stereo[start : start + 333]
        edges += detector.feed(part.tobytes(), (start + len(part)) * 1_000_000_000 // CLIP_HZ)

    onsets, ends = errors_ms(made, edges)

    assert median_abs(onsets) <= 60
    assert median_abs(ends) <= 60


def test_a_chunk_that_splits_a_sample_loses_nothing() -> None:
    made = scene(("again",))
    raw = made.pcm.tobytes()
    detector = SpeechDetector(CLIP_HZ)
    edges: list[Edge] = []
    for start in range(0, len(raw), 333):
        edges += detector.feed(raw[start : start + 333], (start + 333) // 2 * 1_000_000_000 // CLIP_HZ)

    assert median_abs(errors_ms(made, edges)[1]) <= 20


@pytest.mark.parametrize("kind", ["white", "hum"])
def test_edges_hold_at_20_db_of_noise_and_are_said_to_be_good(kind: str) -> None:
    made = scene(NAMES, noise_kind=kind, snr_db=20)

    edges = edges_of(made, 320)
    onsets, ends = errors_ms(made, edges)

    assert median_abs(onsets) <= 60
    assert median_abs(ends) <= 60
    assert statistics.median(edge.snr_db or 0 for edge in edges) >= DEFAULT_BOUNDS.snr_least_db


@pytest.mark.parametrize(("snr_db", "share"), [(10, 0.9), (5, 1.0)])
@pytest.mark.parametrize("kind", ["white", "hum", "babble"])
def test_edges_under_heavy_noise_say_that_they_are_not_to_be_trusted(kind: str, snr_db: float, share: float) -> None:
    edges = edges_of(scene(NAMES, noise_kind=kind, snr_db=snr_db), 320)

    flagged = [edge for edge in edges if edge.snr_db is not None and edge.snr_db < DEFAULT_BOUNDS.snr_least_db]

    assert len(edges) >= 8
    assert len(flagged) >= share * len(edges)  # at 10 dB the loudest clips are 3 dB better than the mean


def test_clean_edges_are_trusted() -> None:
    assert all((edge.snr_db or 0) >= DEFAULT_BOUNDS.snr_least_db for edge in edges_of(scene(NAMES), 320))


@pytest.mark.parametrize("kind", ["white", "hum"])
def test_steady_noise_alone_is_nobody_speaking(kind: str) -> None:
    loud = noise(kind, CLIP_HZ * 10, CLIP_HZ)
    loud *= 1_000 / np.sqrt((loud**2).mean())

    assert edges_of(Scene(CLIP_HZ, loud.astype(np.int16), ()), 320) == []


def test_clicks_are_nobody_speaking() -> None:
    pcm = np.zeros(CLIP_HZ * 4, np.int16)
    pcm[8_000::16_000] = 20_000

    assert edges_of(Scene(CLIP_HZ, pcm, ()), 320) == []


def test_pauses_between_words_do_not_split_what_belongs_together() -> None:
    made = scene(("number",))

    assert len(segments_s(edges_of(made, 320))) <= 3


@pytest.mark.parametrize(
    ("jitter_ms", "bound_ms"),
    [
        pytest.param((0, 35, 3, 18, 0, 50), 10, id="a restless line"),
        pytest.param((20, 0, 0, 0, 60), 10, id="every fifth chunk late"),
        pytest.param((200, *(0,) * 30), 200, id="stalls: an edge told in mid-burst moves by no more than the stall"),
    ],
)
def test_jitter_moves_no_edge_by_more_than_itself(jitter_ms: tuple[float, ...], bound_ms: float) -> None:
    made = scene(NAMES)
    punctual, jittered = edges_of(made, 320), edges_of(made, 320, jitter_ms)

    moved = [abs(a.edge_ns - b.edge_ns) / 1e6 for a, b in zip(punctual, jittered, strict=True)]

    assert max(moved) <= bound_ms


def test_a_call_that_begins_with_speech_has_its_onset() -> None:
    made = scene(("appointment",), pause_s=0.0)

    onsets, _ = errors_ms(made, edges_of(made, 320))

    assert abs(onsets[0]) <= 60


def test_a22_audio_that_ends_in_mid_word_ends_the_segment_by_inference() -> None:
    made = scene(("appointment",))
    on_s, off_s = made.segments_s[0]
    cut = Scene(CLIP_HZ, made.pcm[: round((on_s + off_s) / 2 * CLIP_HZ)], made.segments_s)

    last = edges_of(cut, 320)[-1]

    assert last.kind == "end"
    assert last.inferred
    assert last.edge_ns / 1e9 == pytest.approx((on_s + off_s) / 2, abs=0.06)


def test_a_gap_in_the_audio_dates_what_follows_by_its_own_arrival() -> None:
    made = scene(("no", "again"))
    detector = SpeechDetector(CLIP_HZ)
    gap_at_s, gap_s = made.segments_s[1][0] - 0.5, 3.0
    edges: list[Edge] = []
    for audio, arrival_ns in chunks(made, 320):
        late_ns = round(gap_s * 1e9) if arrival_ns > gap_at_s * 1e9 else 0
        edges += detector.feed(audio, arrival_ns + late_ns)

    (_, first_end), (second_on, _) = segments_s(edges)

    assert first_end == pytest.approx(made.segments_s[0][1], abs=0.06)
    assert second_on == pytest.approx(made.segments_s[1][0] + gap_s, abs=0.06)


def test_voiced_time_is_less_than_the_segment_and_most_of_it() -> None:
    on, off = edges_of(scene(("mhm",)), 320)

    assert off.voiced_ns is not None
    assert 0.4 < off.voiced_ns / (off.edge_ns - on.edge_ns) <= 1.0


def test_a_soft_beginning_that_webrtcvad_does_not_hear_belongs_to_the_word() -> None:
    made = scene(("no",))
    on = round(made.segments_s[0][0] * CLIP_HZ)
    hum = 200 * np.sin(2 * np.pi * 120 * np.arange(2_400) / CLIP_HZ)  # 0.15 s of a closed mouth
    pcm = made.pcm.copy()
    pcm[on - hum.size : on] = hum.astype(np.int16)

    onset = edges_of(Scene(CLIP_HZ, pcm, ()), 320)[0]

    assert onset.edge_ns / 1e9 == pytest.approx(on / CLIP_HZ - 0.15, abs=0.06)
