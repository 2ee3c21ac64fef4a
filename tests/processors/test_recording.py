"""The stereo recording: aligned by time, bounded, and never the call's trouble."""

from __future__ import annotations

import os
import threading
import wave
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import structlog
from data.scenes import CLIP_HZ, chunks, scene
from pipecat_calls.call import RunningCall, place_call
from pipecat_calls.script import Reply, Script

from earwitness.monitor.call_names import recording_name
from earwitness.processors.recording import HELD_S, RATE_HZ, UNWRITTEN_BLOCKS, CallRecording
from earwitness.processors.taps import CallTaps
from earwitness.processors.voice_activity import AgentEar, CallerEar, Chunk, Mark

S = 1_000_000_000
MS = 1_000_000


class AtOnce(Executor):
    """Runs what it is given where it is given."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def samples(path: Path) -> np.ndarray:
    with wave.open(str(path), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, RATE_HZ)
        return np.frombuffer(file.readframes(10**9), np.int16).reshape(-1, 2)


def loud_s(track: np.ndarray) -> tuple[float, float]:
    at = np.flatnonzero(np.abs(track.astype(int)) > 300)
    return float(at[0]) / RATE_HZ, float(at[-1]) / RATE_HZ


def tone(duration_ms: int, rate_hz: int) -> bytes:
    at = np.arange(rate_hz * duration_ms // 1000) / rate_hz
    return (6_000 * np.sin(2 * np.pi * 220 * at)).astype(np.int16).tobytes()


def test_both_sides_lie_where_they_were_heard(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    caller, agent = CallerEar(recording.caller), AgentEar(recording.agent)
    made = scene(("number",), 8_000)
    speech = tone(2_000, 24_000)
    agent.hear([Mark("write_begins", 3 * S)])
    line: list[tuple[CallerEar | AgentEar, Chunk]] = [
        (caller, Chunk(audio, 8_000, 1, 1 * S + arrival_ns)) for audio, arrival_ns in chunks(made, 160)
    ]
    for number in range(50):
        piece = speech[number * 1_920 : (number + 1) * 1_920]
        line.append((agent, Chunk(piece, 24_000, 1, 3 * S + number * 40 * MS)))
    for ear, chunk in sorted(line, key=lambda item: item[1].arrival_ns):
        ear.hear([chunk])
    recording.close()

    assert recording.path is not None
    file = samples(recording.path)
    on_s, off_s = made.segments_s[0]
    assert loud_s(file[:, 0]) == pytest.approx((1 + on_s, 1 + off_s), abs=0.06)
    assert loud_s(file[:, 1]) == pytest.approx((3.0, 5.0), abs=0.02)


def test_gaps_are_filled_with_silence_and_memory_stays_bounded(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    for start_s in (1, 10, 300):
        recording.caller.arrived([Chunk(tone(100, CLIP_HZ), CLIP_HZ, 1, start_s * S + 100 * MS)])
    recording.close()

    assert recording.path is not None
    track = samples(recording.path)[:, 0]
    assert len(track) / RATE_HZ == pytest.approx(300.1, abs=0.05)
    for start_s in (1, 10, 300):
        assert np.abs(track[start_s * RATE_HZ + 100 : start_s * RATE_HZ + 1_500].astype(int)).max() > 5_000
    assert np.abs(track[20 * RATE_HZ : 299 * RATE_HZ].astype(int)).max() == 0
    assert len(recording._held) <= HELD_S * RATE_HZ


def test_jitter_does_not_tear_the_track(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    for number in range(100):
        late_ns = 0 if number % 3 else 11 * MS
        piece = tone(2_000, CLIP_HZ)[number * 640 : (number + 1) * 640]
        recording.caller.arrived([Chunk(piece, CLIP_HZ, 1, 1 * S + (number + 1) * 20 * MS + late_ns)])
    recording.close()

    assert recording.path is not None
    track = samples(recording.path)[RATE_HZ : 3 * RATE_HZ, 0].astype(int)
    assert np.abs(np.diff(track)).max() < 700  # a tone without a break


def test_a_burst_behind_a_blocked_loop_lies_where_it_was_spoken(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    ear, heard = CallerEar(recording.caller), tone(4_000, CLIP_HZ)
    pieces = [
        Chunk(heard[at : at + 640], CLIP_HZ, 1, 1 * S + due_ms * MS if not 1_000 < due_ms < 2_500 else 3_500 * MS)
        for due_ms, at in ((20 + at // 32, at) for at in range(0, len(heard), 640))
    ]
    ear.hear(pieces[:50])
    ear.hear(pieces[50:140])
    ear.hear(pieces[140:])
    recording.close()

    assert recording.path is not None
    track = samples(recording.path)[RATE_HZ + 100 : 5 * RATE_HZ - 100, 0].astype(int)
    assert np.abs(np.diff(track)).max() < 700  # a tone without a break


def test_what_was_queued_and_thrown_away_is_not_on_the_file(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    agent = AgentEar(recording.agent)
    agent.hear([Mark("write_begins", 1 * S)])
    agent.hear([Chunk(tone(5_000, CLIP_HZ), CLIP_HZ, 1, 1 * S)])
    agent.hear([Mark("cleared", 2 * S)])
    recording.close()

    assert recording.path is not None
    assert loud_s(samples(recording.path)[:, 1])[1] == pytest.approx(2.0, abs=0.01)


def test_a_process_that_is_killed_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    for number in range(500):
        recording.caller.arrived([Chunk(tone(20, CLIP_HZ), CLIP_HZ, 1, (number + 1) * 20 * MS)])

    assert recording.path is not None
    raw = recording._file._raw
    assert raw is not None
    raw.flush()
    assert len(samples(recording.path)) >= 6 * RATE_HZ
    recording.close()


@pytest.mark.parametrize(
    ("call_id", "name"),
    [
        ("CA12-3.x", "CA12-3.x.wav"),
        ("../../etc/passwd", "_.._etc_passwd.wav"),
        ("sip:+49 30 123@host", "sip__49_30_123_host.wav"),
        ("", "call.wav"),
        ("...", "call.wav"),
        ("é" * 300, "_" * 100 + ".wav"),
    ],
)
def test_file_names_hold_no_surprises(call_id: str, name: str) -> None:
    assert recording_name(call_id) == name


def test_a_name_that_is_taken_gets_a_number_and_nothing_is_overwritten(tmp_path: Path) -> None:
    paths = []
    for _ in range(3):
        recording = CallRecording(tmp_path / "made", "call", AtOnce())
        recording.caller.arrived([Chunk(tone(100, CLIP_HZ), CLIP_HZ, 1, 1 * S)])
        recording.close()
        assert recording.path is not None
        paths.append(recording.path)

    assert [path.name for path in paths] == ["call.wav", "call-2.wav", "call-3.wav"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)


def test_a_folder_that_cannot_be_written_ends_the_recording_and_says_why(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    recording = CallRecording(blocked, "call", AtOnce())
    for number in range(500):
        recording.caller.arrived([Chunk(tone(20, CLIP_HZ), CLIP_HZ, 1, (number + 1) * 20 * MS)])
    recording.close()

    assert recording.failed is not None
    assert str(blocked) in recording.failed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, where every write finds the disk full")
def test_a_full_disk_ends_the_recording_and_not_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())
    really_open = os.open
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", lambda *_: really_open("/dev/full", os.O_WRONLY))
        for number in range(500):
            recording.caller.arrived([Chunk(tone(20, CLIP_HZ), CLIP_HZ, 1, (number + 1) * 20 * MS)])
        recording.close()

    assert recording.failed is not None
    assert "space" in recording.failed


def test_a_disk_that_stalls_costs_audio_and_never_memory(tmp_path: Path) -> None:
    release = threading.Event()
    disk = ThreadPoolExecutor(max_workers=1)
    disk.submit(release.wait)
    recording = CallRecording(tmp_path, "call", disk)
    for second in range(120):
        recording.caller.arrived([Chunk(tone(1_000, CLIP_HZ), CLIP_HZ, 1, (second + 1) * S)])
    waiting = recording._submitted - recording._file.appended
    release.set()
    for second in range(120, 140):
        recording.caller.arrived([Chunk(tone(1_000, CLIP_HZ), CLIP_HZ, 1, (second + 1) * S)])
    with structlog.testing.capture_logs() as told:
        recording.close()
    disk.shutdown()

    assert waiting <= UNWRITTEN_BLOCKS
    assert [(line["log_level"], line["s"]) for line in told] == [("warning", recording.missing_blocks)]
    assert recording.missing_blocks > 0
    assert recording.path is not None
    assert len(samples(recording.path)) == 140 * RATE_HZ  # silence stands for what is missing, nothing is shifted


def test_nothing_is_opened_before_there_is_something_to_write(tmp_path: Path) -> None:
    CallRecording(tmp_path / "none", "call", AtOnce()).close()

    assert not (tmp_path / "none").exists()


@pytest.mark.pipecat
def test_a_whole_call_is_on_the_file_where_the_line_had_it(tmp_path: Path) -> None:
    recording = CallRecording(tmp_path, "call", AtOnce())

    class Silent:
        def emit(self, *_: Any, **__: Any) -> None: ...

    taps = CallTaps(Silent(), recording=recording)

    def attach(call: RunningCall) -> None:
        taps.hook(call.line.input(), call.line.output())
        call.worker.add_event_handler("on_pipeline_finished", finish)

    async def finish(*_: Any) -> None:
        await taps.close()

    placed = place_call(Script(replies=(Reply("Thanks for calling.", ends=True),), ends_s=10), attach=attach)

    assert recording.path is not None
    heard = placed.truth.agent
    assert loud_s(samples(recording.path)[:, 1]) == pytest.approx((heard[0][0], heard[-1][1]), abs=0.03)
