"""How far the taps' edges lie from the truth, by rate and noise, and what a tap costs a live call.

    python tests/benchmarks/bench_taps.py

Errors: speech of ``tests/data/speech`` on a silent line, noise under the mean power of true speech; segments of one
clip are taken together, as readers merge them. Cost: CPU time of the whole process for 60 s of audio of both parties,
against the same feed without taps, at its pace on a virtual clock; 1 % means 1 % of a core for a live call. Of many
calls in a process each takes less: their taps go to the thread together (``bench_harmless``).
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from data.scenes import Scene, chunks, clip, scene, truth
from pipecat_calls.virtual_clock import run_virtually, time_passes

from earwitness.monitor.audio.voice_activity import Edge, SpeechDetector
from earwitness.monitor.calls.bounds import DEFAULT_BOUNDS
from earwitness.processors.tap_worker import Tap
from earwitness.processors.voice_activity import AgentEar, CallerEar, Chunk, Mark

NAMES = tuple(sorted(truth())) * 2
RATES_HZ = (8_000, 16_000, 24_000, 48_000)
NOISES: tuple[tuple[str | None, float], ...] = (
    (None, 0), ("white", 20), ("white", 10), ("white", 5), ("babble", 20), ("babble", 10), ("babble", 5),
    ("hum", 20), ("hum", 10), ("hum", 5),
)  # fmt: skip
COST_S = 60


def listen(made: Scene) -> list[Edge]:
    """All edges of a scene in 20 ms chunks."""
    detector = SpeechDetector(made.rate_hz)
    edges: list[Edge] = []
    arrival_ns = 0
    for audio, arrival_ns in chunks(made, made.rate_hz // 50):
        edges += detector.feed(audio, arrival_ns)
    return edges + detector.stop(arrival_ns)


def spread(values: list[float]) -> str:
    """Median, p90 and max of the absolute values."""
    if not values:
        return f"{'-':>5} {'-':>5} {'-':>5}"
    size = np.abs(values)
    return f"{np.median(size):5.0f} {np.percentile(size, 90):5.0f} {size.max():5.0f}"


def row(made: Scene, edges: list[Edge]) -> str:
    """One line of the table."""
    heard = list(zip(edges[::2], edges[1::2], strict=True))
    onsets: list[float] = []
    ends: list[float] = []
    missed = claimed = 0
    for on_s, off_s in made.segments_s:
        mine = [
            (a.edge_ns / 1e9, b.edge_ns / 1e9) for a, b in heard if a.edge_ns < off_s * 1e9 and b.edge_ns > on_s * 1e9
        ]
        claimed += len(mine)
        if mine:
            onsets.append((mine[0][0] - on_s) * 1e3)
            ends.append((mine[-1][1] - off_s) * 1e3)
        else:
            missed += 1
    snr = [edge.snr_db for edge in edges if edge.snr_db is not None]
    trusted = sum(value >= DEFAULT_BOUNDS.snr_least_db for value in snr) / len(snr) if snr else 0.0
    middle = statistics.median(snr) if snr else 0.0
    false = max(0, len(heard) - claimed)
    return f"{spread(onsets)}   {spread(ends)}   {missed:4d} {false:5d}   {middle:5.1f} {trusted:7.0%}"


def accuracy() -> None:
    """Print the table of errors."""
    print(f"edges of {len(NAMES)} clips, errors in ms          onset               end")
    print(
        f"{'rate':>6} {'noise':>7} {'dB':>3}   {'p50':>5} {'p90':>5} {'max':>5}   {'p50':>5} {'p90':>5} {'max':>5}",
        end="",
    )
    print(f"   {'miss':>4} {'false':>5}   {'SNR':>5} {'trusted':>7}")
    for rate_hz in RATES_HZ:
        for kind, snr_db in NOISES:
            made = scene(NAMES, rate_hz, noise_kind=kind, snr_db=snr_db)
            label = f"{rate_hz:6d} {kind or 'clean':>7} {snr_db if kind else '':>3}"
            print(f"{label}   {row(made, listen(made))}")


class Nobody:
    """A reporter that keeps nothing."""

    def emit(self, *_: Any, **__: Any) -> None:
        """Forget it."""


async def feed(caller: Tap | None, agent: Tap | None, rate_hz: int, out_hz: int) -> None:
    """A minute of a call, both parties half the time: 20 ms in, 40 ms out, at its pace on a virtual clock."""
    speech = np.resize(scene(("number", "desk"), rate_hz).pcm, rate_hz * COST_S).tobytes()
    voice = np.resize(clip("desk", out_hz), out_hz * COST_S).tobytes()
    size, out_size = rate_hz // 50 * 2, out_hz // 25 * 2
    for number in range(COST_S * 50):
        at_ns = (number + 1) * 20_000_000
        chunk = Chunk(speech[number * size : (number + 1) * size], rate_hz, 1, at_ns)
        if caller is not None:
            caller.hear(chunk)
        if number % 2 == 0 and number // 250 % 2 == 0:
            at = number // 2 * out_size
            written = Chunk(voice[at : at + out_size], out_hz, 1, at_ns)
            if agent is not None:
                if number % 250 == 0:
                    agent.hear(Mark("write_begins", at_ns))
                agent.hear(written)
        await time_passes(0.02)


def cpu_s(rate_hz: int, out_hz: int, *, tapped: bool) -> float:
    """CPU seconds of the process for a minute of a call."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        taps: list[Tap | None] = [None, None]
        if tapped:

            def now_ns() -> int:
                return round((loop.time() - began_s) * 1e9)

            taps = [Tap("caller", CallerEar, Nobody(), now_ns), Tap("agent", AgentEar, Nobody(), now_ns)]
        began = time.process_time()
        await feed(taps[0], taps[1], rate_hz, out_hz)
        for tap in taps:
            if tap is not None:
                await tap.close()
        return time.process_time() - began

    return min(run_virtually(main()) for _ in range(3))


def cost() -> None:
    """Print the cost of both taps."""
    print(f"\nCPU of both taps, {COST_S} s of a call (least of 3 runs)")
    print(f"{'in':>6} {'out':>6}   {'bare feed':>10} {'with taps':>10} {'taps':>10}   of a core")
    for rate_hz, out_hz in ((8_000, 8_000), (16_000, 24_000), (24_000, 24_000), (48_000, 48_000)):
        bare, tapped = cpu_s(rate_hz, out_hz, tapped=False), cpu_s(rate_hz, out_hz, tapped=True)
        taps = tapped - bare
        share = f"{taps / COST_S:.2%}"
        print(f"{rate_hz:6d} {out_hz:6d}   {bare * 1e3:7.1f} ms {tapped * 1e3:7.1f} ms {taps * 1e3:7.1f} ms   {share}")


if __name__ == "__main__":
    accuracy()
    cost()
