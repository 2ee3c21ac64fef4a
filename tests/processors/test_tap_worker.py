"""The hop off the event loop: order, bounds, and faults that stay where they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from data.scenes import CLIP_HZ, chunks, scene
from pipecat_calls.virtual_clock import run_virtually, time_passes
from reported import Reported

from earwitness.monitor.contract import events
from earwitness.processors.tap_worker import MOST_ERRORS, PENDING_BYTES, Tap, audio_executor
from earwitness.processors.voice_activity import AgentEar, CallerEar, Chunk, Ear, Fact, Mark

MS = 1_000_000


class BrokenEar:
    """Fails on every chunk."""

    restless = False

    def hear(self, items: Sequence[Chunk | Mark]) -> list[Fact]:
        raise ZeroDivisionError("broken")

    def idle(self, now_ns: int) -> list[Fact]:
        return []

    def stop(self, now_ns: int) -> list[Fact]:
        return []


def loop_ns() -> int:
    return round((asyncio.get_running_loop().time() - 1_000) * 1e9)


async def play(tap: Tap, audio: bytes, rate_hz: int = CLIP_HZ) -> None:
    size = rate_hz // 50 * 2
    for at in range(0, len(audio), size):
        await time_passes(0.02)
        tap.hear(Chunk(audio[at : at + size], rate_hz, 1, loop_ns()))


def tap_of(make_ear: Callable[[], Ear], reported: Reported, **options: Any) -> Tap:
    return Tap("caller", make_ear, reported, loop_ns, **options)


def test_edges_come_back_on_the_loop_in_order_and_dated_when_noticed() -> None:
    made, reported = scene(("appointment", "no")), Reported()
    threads: set[int] = set()

    class Watched(CallerEar):
        def hear(self, items: Sequence[Chunk | Mark]) -> list[Fact]:
            threads.add(threading.get_ident())
            return super().hear(items)

    async def main() -> None:
        tap = tap_of(Watched, reported)
        await play(tap, made.pcm.tobytes())
        await tap.close()

    run_virtually(main())

    kinds = [kind for kind, _, _ in reported.events]
    assert kinds == [events.SpeechStarted, events.SpeechEnded] * (len(kinds) // 2)
    times = [at_ns for _, at_ns, _ in reported.events]
    assert times == sorted(times)
    for _, at_ns, fields in reported.events:
        assert fields["edge_ns"] + fields["correction_ns"] == at_ns
        assert 0 < fields["correction_ns"] < 600 * MS
    assert threading.get_ident() not in threads
    assert len(threads) == 1


def test_a22_audio_that_stays_away_is_noticed_without_any_more_audio() -> None:
    reported = Reported()

    async def main() -> None:
        tap = tap_of(CallerEar, reported)
        await play(tap, bytes(CLIP_HZ))
        await time_passes(30)
        await play(tap, bytes(640))
        await tap.close()

    run_virtually(main())

    gaps = [(at_ns, fields["state"]) for kind, at_ns, fields in reported.events if kind is events.AudioGap]
    assert [state for _, state in gaps] == ["stopped", "resumed"]
    assert gaps[0][0] - 500 * MS == pytest.approx(1_250 * MS, abs=250 * MS)


def test_the_agents_end_is_noticed_without_any_more_audio() -> None:
    reported = Reported()
    tone = (6_000 * np.sin(np.arange(24_000) / 17)).astype(np.int16).tobytes()

    async def main() -> None:
        tap = Tap("agent", AgentEar, reported, loop_ns)
        await play(tap, tone, 24_000)
        await time_passes(1)
        assert reported.of(events.SpeechEnded)
        await tap.close()

    run_virtually(main())


def test_a_quiet_tap_leaves_no_timer_behind() -> None:
    async def main() -> float:
        tap = Tap("agent", AgentEar, Reported(), loop_ns)
        await play(tap, bytes(9_600), 24_000)
        await time_passes(5)
        assert tap._timer is None
        return asyncio.get_running_loop().time()

    run_virtually(main())


def test_a_fault_is_counted_and_after_several_the_tap_switches_itself_off_and_says_so() -> None:
    reported = Reported()

    async def main() -> Tap:
        tap = tap_of(BrokenEar, reported)
        await play(tap, bytes(CLIP_HZ * 2))
        await tap.close()
        return tap

    tap = run_virtually(main())

    assert tap.off
    assert tap.errors >= MOST_ERRORS
    (health,) = reported.of(events.Health)
    assert next(iter(health["invalid"])).startswith("caller_tap: switched off after ")
    assert [fields["state"] for fields in reported.of(events.AudioGap)] == ["stopped"]


def test_one_fault_costs_one_batch_and_the_tap_listens_on() -> None:
    made, reported = scene(("no", "appointment")), Reported()
    heard = 0

    class OnceBroken(CallerEar):
        def hear(self, items: Sequence[Chunk | Mark]) -> list[Fact]:
            nonlocal heard
            heard += 1
            if heard == 10:
                raise ValueError("once")
            return super().hear(items)

    async def main() -> Tap:
        tap = tap_of(OnceBroken, reported)
        await play(tap, made.pcm.tobytes())
        await tap.close()
        return tap

    tap = run_virtually(main())

    assert tap.errors == 1
    assert not tap.off
    assert len(reported.of(events.SpeechStarted)) == len(reported.of(events.SpeechEnded)) >= 2


def test_a_reporter_that_fails_harms_nobody() -> None:
    class Failing(Reported):
        def emit(self, event_type: type[events.Event], /, *, at_ns: int, **fields: Any) -> None:
            raise OSError("no log")

    async def main() -> Tap:
        tap = tap_of(CallerEar, Failing())
        await play(tap, scene(("no",)).pcm.tobytes())
        await tap.close()
        return tap

    assert run_virtually(main()).errors >= 1


def test_a_stuck_thread_costs_old_audio_and_never_memory_and_close_is_bounded() -> None:
    reported = Reported()
    release = threading.Event()
    executor = ThreadPoolExecutor(max_workers=1)
    executor.submit(release.wait)

    async def main() -> Tap:
        tap = tap_of(CallerEar, reported, executor=executor)
        for number in range(400):
            tap.hear(Chunk(bytes(9_600), 48_000, 1, number * 100 * MS))
        assert tap._pending_bytes <= PENDING_BYTES
        assert tap.overflowed > 0
        asyncio.get_running_loop().call_later(0.01, release.set)
        await tap.close()
        return tap

    try:
        tap = asyncio.run(main())  # a real loop: the clock of a virtual one waits for threads
    finally:
        release.set()
        executor.shutdown()

    assert reported.of(events.Health) == [{"invalid": {"caller_tap_overflow": tap.overflowed}}]


def test_close_may_be_called_again_and_ends_listening() -> None:
    reported = Reported()

    async def main() -> None:
        tap = tap_of(CallerEar, reported)
        await tap.close()
        await tap.close()
        await play(tap, scene(("no",)).pcm.tobytes())

    run_virtually(main())

    assert reported.events == []


def test_all_taps_of_a_process_share_one_thread() -> None:
    assert audio_executor() is audio_executor()


def test_chunks_of_any_size_make_no_more_than_ten_hops_a_second() -> None:
    hops = 0

    class Counting(CallerEar):
        def idle(self, now_ns: int) -> list[Fact]:
            nonlocal hops
            hops += 1
            return super().idle(now_ns)

    async def main() -> None:
        tap = tap_of(Counting, Reported())
        await play(tap, bytes(2 * CLIP_HZ * 10))
        await tap.close()

    run_virtually(main())

    assert hops <= 110


def test_jittered_speech_through_the_tap_keeps_its_edges() -> None:
    made = scene(("number",))
    punctual, late = Reported(), Reported()

    async def main(reported: Reported, jitter_ms: tuple[float, ...]) -> None:
        tap = tap_of(CallerEar, reported)
        for audio, arrival_ns in chunks(made, 320, jitter_ms):
            await asyncio.sleep(max(0.0, (arrival_ns - loop_ns()) / 1e9))
            tap.hear(Chunk(audio, CLIP_HZ, 1, arrival_ns))
        await tap.close()

    run_virtually(main(punctual, ()))
    run_virtually(main(late, (0, 35, 7, 15)))

    for kind in (events.SpeechStarted, events.SpeechEnded):
        for a, b in zip(punctual.of(kind), late.of(kind), strict=True):
            assert abs(a["edge_ns"] - b["edge_ns"]) <= 10 * MS
