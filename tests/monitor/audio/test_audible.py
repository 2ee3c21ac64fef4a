"""The agent's edges: what of the written audio is sound, and when it plays."""

from __future__ import annotations

import numpy as np
import pytest
from data.scenes import clip, truth

from earwitness.monitor.audio.audible import AudibleDetector, PlayoutClock
from earwitness.monitor.audio.framing import UnsupportedAudio
from earwitness.monitor.audio.voice_activity import Edge

MS = 1_000_000
RATE = 24_000


def tone(duration_ms: int, rate_hz: int = RATE) -> bytes:
    at = np.arange(rate_hz * duration_ms // 1000) / rate_hz
    return (6_000 * np.sin(2 * np.pi * 220 * at)).astype(np.int16).tobytes()


def quiet(duration_ms: int, rate_hz: int = RATE) -> bytes:
    return bytes(2 * (rate_hz * duration_ms // 1000))


def heard(audio: bytes, start_ms: int = 0, chunk_ms: int = 40) -> list[Edge]:
    detector = AudibleDetector()
    edges: list[Edge] = []
    size = 2 * RATE * chunk_ms // 1000
    for at in range(0, len(audio), size):
        moment = start_ms * MS + at * 1_000_000_000 // (2 * RATE)
        edges += detector.feed(audio[at : at + size], RATE, 1, moment, moment)
    return edges + detector.advance(10**15)


def spans_ms(edges: list[Edge]) -> list[tuple[float, float]]:
    return [(on.edge_ns / MS, off.edge_ns / MS) for on, off in zip(edges[::2], edges[1::2], strict=True)]


def test_a02_silence_written_alone_is_no_speech() -> None:
    assert heard(quiet(120)) == []


def test_a02_padding_around_speech_is_taken_off() -> None:
    assert spans_ms(heard(quiet(300) + tone(1_000) + quiet(400))) == [(300, 1_300)]


def test_a31_the_end_is_the_last_sound_and_not_the_last_write() -> None:
    assert spans_ms(heard(tone(2_000) + quiet(8_000), start_ms=2_000)) == [(2_000, 4_000)]


def test_short_pauses_merge_and_long_ones_split() -> None:
    assert spans_ms(heard(tone(200) + quiet(150) + tone(200) + quiet(300) + tone(200))) == [(0, 550), (850, 1_050)]


def test_a_click_is_no_speech() -> None:
    assert heard(quiet(200) + tone(10) + quiet(400)) == []


@pytest.mark.parametrize("chunk_ms", [10, 20, 40, 70, 200])
@pytest.mark.parametrize("name", ["desk", "fish", "again"])
def test_recorded_speech_has_the_edges_of_its_clean_samples(name: str, chunk_ms: int) -> None:
    pcm = clip(name, RATE)

    spans = spans_ms(heard(pcm.tobytes(), chunk_ms=chunk_ms))

    on_s, off_s = truth()[name]
    assert spans[0][0] == pytest.approx(on_s * 1e3, abs=40)
    assert spans[-1][1] == pytest.approx(off_s * 1e3, abs=40)


def test_stereo_and_odd_bytes_are_taken() -> None:
    detector = AudibleDetector()
    both = np.repeat(np.frombuffer(tone(100), np.int16), 2).tobytes()

    edges = detector.feed(both + b"\x01", RATE, 2, 0, 0) + detector.advance(10**12)

    assert spans_ms(edges) == [(0, 100)]


def test_impossible_audio_is_refused() -> None:
    with pytest.raises(UnsupportedAudio, match="0 channels"):
        AudibleDetector().feed(tone(40), RATE, 0, 0, 0)


def test_a_cut_ends_speech_that_was_queued() -> None:
    detector = AudibleDetector()
    edges = detector.feed(tone(3_000), RATE, 1, 0, 0)
    detector.cut(1_200 * MS)

    assert spans_ms(edges + detector.advance(10**12)) == [(0, 1_200)]


def test_what_is_queued_is_told_when_it_plays_and_never_if_it_is_cut_before() -> None:
    detector = AudibleDetector()

    assert detector.feed(tone(1_000) + quiet(500) + tone(1_000), RATE, 1, 5_000 * MS, 1_000 * MS) == []
    assert [edge.kind for edge in detector.advance(5_100 * MS)] == ["onset"]
    assert [edge.edge_ns // MS for edge in detector.advance(6_300 * MS)] == [6_000]
    detector.cut(6_400 * MS)

    assert detector.advance(10**12) == []
    assert not detector.waiting


def test_the_end_of_the_call_ends_what_sounds() -> None:
    detector = AudibleDetector()
    detector.feed(tone(3_000), RATE, 1, 0, 0)

    (off,) = detector.stop(700 * MS)

    assert (off.kind, off.edge_ns, off.noticed_ns) == ("end", 700 * MS, 700 * MS)


def test_a_transport_that_returns_at_once_and_then_waits_plays_from_its_first_write() -> None:
    playout = PlayoutClock()
    playout.write_begins(1_000 * MS)
    accepted = [1_000, 1_040, 1_080, 1_120]

    assert [playout.written(40 * MS, at * MS) // MS for at in accepted] == [1_000, 1_040, 1_080, 1_120]


def test_a_transport_that_returns_when_the_chunk_has_played_plays_from_its_first_write_too() -> None:
    playout = PlayoutClock()
    playout.write_begins(1_000 * MS)
    accepted = [1_040, 1_080, 1_120]

    assert [playout.written(40 * MS, at * MS) // MS for at in accepted] == [1_000, 1_040, 1_080]


def test_where_nobody_says_that_a_write_begins_it_began_a_chunk_before_its_end() -> None:
    playout = PlayoutClock()

    assert [playout.written(40 * MS, at * MS) // MS for at in (1_040, 1_080, 5_040)] == [1_000, 1_040, 5_000]


def test_a30_audio_accepted_faster_than_real_time_queues_at_the_far_end() -> None:
    playout = PlayoutClock()
    playout.write_begins(1_000 * MS)

    assert [playout.written(40 * MS, 1_000 * MS) // MS for _ in range(4)] == [1_000, 1_040, 1_080, 1_120]
    assert playout.cursor_ns == 1_160 * MS


def test_a_cleared_queue_lets_the_next_chunk_play_at_once() -> None:
    playout = PlayoutClock()
    playout.write_begins(0)
    for _ in range(50):
        playout.written(40 * MS, 0)
    playout.cleared(300 * MS)
    playout.write_begins(900 * MS)

    assert playout.written(40 * MS, 900 * MS) == 900 * MS


def test_chunks_that_are_late_play_when_they_come() -> None:
    playout = PlayoutClock()
    playout.write_begins(0)
    starts = [playout.written(40 * MS, at * MS) // MS for at in (40, 80, 160, 200)]

    assert starts == [0, 40, 80, 160]
