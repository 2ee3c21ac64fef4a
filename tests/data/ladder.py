"""Stereo calls with edges known to 10 ms, and the robustness ladder: what lines, rooms and networks do to them.

Everything is deterministic. A call is clean speech at known places of two silent lines; a rung degrades it and leaves
its truth as it is. Speech is audible where 10 ms of the clean clip, at a mean power of -24 dB of full scale, exceed
-50 dB: how a talker's level is then changed moves no edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from data.scenes import clip, truth

HZ = 16_000
SPEECH_DB = -24.0
AUDIBLE_DB = -50.0
JOIN_S = 0.2
FRAME_S = 0.01
Floats = npt.NDArray[np.float64]
Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Utterance:
    """One clip at the common level, cut to what is audible in it; ``runs_s`` since its first sample."""

    pcm: Floats
    runs_s: Spans


@dataclass(frozen=True)
class Call:
    """Two channels at ``rate_hz``, full scale 1, and where they are truly audible. One caller span a clip: its pauses
    belong to it. ``degraded`` says what was done to it."""

    name: str
    caller: Floats
    agent: Floats
    caller_s: Spans
    agent_s: Spans
    rate_hz: int = HZ
    subtype: str = "PCM_16"

    @property
    def overlaps_s(self) -> Spans:
        """Caller speech that begins while the agent is audible: from its beginning to where one of both ends."""
        found = ((on, min(off, end)) for on, off in self.caller_s for start, end in self.agent_s if start <= on < end)
        return tuple(found)


def utterance(pcm: Floats) -> Utterance:
    """A clip at the common level, its silent rim cut away."""
    size = round(HZ * FRAME_S)
    pcm = pcm[: pcm.size // size * size]
    power = (pcm.reshape(-1, size) ** 2).mean(axis=1)
    talk = power > power.max() * 1e-3
    pcm = pcm * np.sqrt(10 ** (SPEECH_DB / 10) / power[talk].mean())
    loud = np.flatnonzero((pcm.reshape(-1, size) ** 2).mean(axis=1) > 10 ** (AUDIBLE_DB / 10))
    pcm, loud = pcm[loud[0] * size : (loud[-1] + 1) * size], loud - loud[0]
    breaks = np.flatnonzero(np.diff(loud) * FRAME_S > JOIN_S + FRAME_S / 2)
    starts, ends = np.r_[loud[0], loud[breaks + 1]], np.r_[loud[breaks], loud[-1]] + 1
    return Utterance(pcm, tuple(zip((starts * FRAME_S).tolist(), (ends * FRAME_S).tolist(), strict=True)))


def kept_clips() -> dict[str, Utterance]:
    """The clips that are kept beside the tests."""
    return {name: utterance(clip(name).astype(np.float64) / 32768) for name in sorted(truth())}


class _Line:
    """One side of a call in the making."""

    def __init__(self, size: int) -> None:
        self.pcm = np.zeros(size)
        self.spans: list[tuple[float, float]] = []

    def say(
        self, said: Utterance, at: int, *, gain_db: float = 0.0, cut: int | None = None, whole: bool = False
    ) -> int:
        """Put an utterance at a sample, ``cut`` at another; returns the sample after it."""
        end = min(at + said.pcm.size, cut if cut is not None else at + said.pcm.size)
        self.pcm[at:end] += said.pcm[: end - at] * 10 ** (gain_db / 20)
        runs = ((said.runs_s[0][0], said.runs_s[-1][1]),) if whole else said.runs_s
        for on, off in runs:
            if at / HZ + on < end / HZ:
                self.spans.append((at / HZ + on, min(at / HZ + off, end / HZ)))
        return end


def call(
    name: str,
    callers: Mapping[str, Utterance],
    agents: Mapping[str, Utterance],
    *,
    gain_db: float,
    seed: int,
    turns: int,
) -> Call:
    """A call of ``turns`` agent turns, each answered: every third is barged into, every third is acknowledged."""
    draw = np.random.default_rng(seed)
    size = HZ * (turns * 14 + 4)
    caller, agent = _Line(size), _Line(size)
    words, lines = sorted(callers), sorted(agents)
    short = [word for word in words if callers[word].runs_s[-1][1] < 1.2]
    at = HZ // 2
    spoken = list(draw.permutation(len(words)))
    for turn in range(turns):
        said = agents[lines[int(draw.integers(len(lines)))]]
        onset = at + round(HZ * float(draw.uniform(0.35, 0.6)) * said.runs_s[0][1])
        if turn % 3 == 1:  # a barge-in: the agent stops within 0.25 to 0.6 s
            word = callers[words[spoken[turn % len(spoken)]]]
            gives_way = onset + round(HZ * float(draw.uniform(0.25, 0.6)))
            at = max(caller.say(word, onset, gain_db=gain_db, whole=True), agent.say(said, at, cut=gives_way))
        else:
            end = agent.say(said, at)
            if turn % 3 == 2 and short and onset + HZ < end:
                caller.say(callers[short[turn // 3 % len(short)]], onset, gain_db=gain_db - 3, whole=True)
            word = callers[words[spoken[turn % len(spoken)]]]
            at = caller.say(word, end + round(HZ * float(draw.uniform(0.4, 1.0))), gain_db=gain_db, whole=True)
        at += round(HZ * float(draw.uniform(0.7, 1.6)))
    end = at + HZ
    return Call(name, caller.pcm[:end], agent.pcm[:end], tuple(caller.spans), _joined(agent.spans))


def _joined(spans: list[tuple[float, float]]) -> Spans:
    joined: list[tuple[float, float]] = []
    for on, off in sorted(spans):
        if joined and on - joined[-1][1] < JOIN_S:
            joined[-1] = (joined[-1][0], max(off, joined[-1][1]))
        else:
            joined.append((on, off))
    return tuple(joined)


def kept_calls(turns: int = 6) -> list[Call]:
    """Calls of the kept clips: a usual, a soft and a quiet caller (-24, -34 and -44 dB of full scale)."""
    said = kept_clips()
    agents = {name: said.pop(name) for name in ("appointment", "desk")}
    levels = (("usual", 0.0), ("soft", -10.0), ("quiet", -20.0))
    return [
        call(name, said, agents, gain_db=gain_db, seed=seed, turns=turns) for seed, (name, gain_db) in enumerate(levels)
    ]


def power_of(pcm: Floats, spans: Spans) -> float:
    """Mean power inside the spans."""
    parts = [pcm[round(on * HZ) : round(off * HZ)] ** 2 for on, off in spans]
    return float(np.concatenate(parts).mean())


def white(size: int, seed: int) -> Floats:
    """White noise of power 1."""
    return np.random.default_rng(seed).normal(size=size)


def pink(size: int, seed: int) -> Floats:
    """Noise whose power falls by 3 dB an octave, of power 1."""
    spectrum = np.fft.rfft(white(size, seed))
    spectrum[1:] /= np.sqrt(np.arange(1, spectrum.size))
    shaped = np.fft.irfft(spectrum, size)
    even: Floats = shaped / np.sqrt((shaped**2).mean())
    return even


def babble(size: int, seed: int) -> Floats:
    """Eight tracks of the kept clips over each other, of power 1."""
    draw = np.random.default_rng(seed)
    said = [kept.pcm for kept in kept_clips().values()]
    mixed = np.zeros(size)
    for _ in range(8):
        track = np.concatenate([said[i] for i in draw.permutation(len(said))])
        mixed += np.resize(np.roll(track, int(draw.integers(track.size))), size)
    even: Floats = mixed / np.sqrt((mixed**2).mean())
    return even


def noisy(made: Call, noise: Callable[[int, int], Floats], snr_db: float) -> Call:
    """Noise on the caller's channel, ``snr_db`` under the mean power of the caller's true speech."""
    added = noise(made.caller.size, 7)
    power = power_of(made.caller, made.caller_s) / 10 ** (snr_db / 10)
    return replace(made, caller=made.caller + added * np.sqrt(power))


def comfort(made: Call, level_db: float = -60.0) -> Call:
    """Comfort noise on both channels, the whole call through."""
    gain = 10 ** (level_db / 20)
    return replace(
        made,
        caller=made.caller + pink(made.caller.size, 3) * gain,
        agent=made.agent + pink(made.agent.size, 4) * gain,
    )


def telephone(made: Call) -> Call:
    """Both channels at 8 kHz, to be written as G.711 mu-law."""
    return replace(made, caller=_halved(made.caller), agent=_halved(made.agent), rate_hz=HZ // 2, subtype="ULAW")


def _halved(pcm: Floats) -> Floats:
    spectrum = np.fft.rfft(pcm[: pcm.size // 2 * 2])
    cut = round(spectrum.size * 3_700 / (HZ / 2))
    spectrum[cut:] = 0
    return np.fft.irfft(spectrum[: pcm.size // 4 + 1], pcm.size // 2) / 2


def lossy(made: Call, share: float) -> Call:
    """Frames of 20 ms are missing and played as silence, on both channels alike."""
    draw = np.random.default_rng(11)
    frame = made.rate_hz // 50
    sides = [made.caller.copy(), made.agent.copy()]
    for side in sides:
        lost = np.flatnonzero(draw.random(side.size // frame) < share)
        for number in lost.tolist():
            side[number * frame : (number + 1) * frame] = 0.0
    return replace(made, caller=sides[0], agent=sides[1])


def echo(made: Call, level_db: float, delay_s: float = 0.18) -> Call:
    """The agent is heard in the caller's channel, through a small room, ``level_db`` against its own level."""
    room = np.zeros(240)
    room[[0, 23, 61, 118, 201]] = (1.0, -0.45, 0.3, 0.2, -0.12)
    heard = np.convolve(made.agent, room / np.sqrt((room**2).sum()))
    delay = round(delay_s * made.rate_hz)
    heard = np.concatenate((np.zeros(delay), heard))[: made.caller.size] * 10 ** (level_db / 20)
    return replace(made, caller=made.caller + heard)


def sounds(made: Call) -> Call:
    """Keys pressed, a ring, bursts of hiss and clatter on the caller's line, as loud as speech, between the turns."""
    t = np.arange(round(0.4 * HZ)) / HZ
    draw = np.random.default_rng(5)
    fade = np.minimum(1.0, np.minimum(t, t[::-1]) / 0.02)
    clatter = np.zeros(t.size)
    clatter[:: HZ // 25] = 1.0
    made_of = (
        np.sin(2 * np.pi * 770 * t) + np.sin(2 * np.pi * 1336 * t),
        (np.sin(2 * np.pi * 440 * t) + np.sin(2 * np.pi * 480 * t)) * (1 + np.sin(2 * np.pi * 20 * t)),
        draw.normal(size=t.size),
        np.convolve(clatter, draw.normal(size=160) * np.exp(-np.arange(160) / 30), mode="same"),
        draw.normal(size=t.size) * np.exp(-t / 0.06),
    )
    caller = made.caller.copy()
    busy = sorted(made.caller_s)
    free = [off for (_, off), (on, _) in pairwise(busy) if on - off > 2.0]
    for number, off in enumerate(free):
        sound = made_of[number % len(made_of)] * fade
        at = round((off + 0.8) * HZ)
        caller[at : at + t.size] += sound * np.sqrt(10 ** (-2.6) / (sound**2).mean())
    return replace(made, caller=caller)


def crosstalk(made: Call, level_db: float) -> Call:
    """Each channel leaks into the other, without delay."""
    gain = 10 ** (level_db / 20)
    return replace(made, caller=made.caller + made.agent * gain, agent=made.agent + made.caller * gain)


RUNGS: dict[str, Callable[[Call], Call]] = {
    "clean": lambda made: made,
    "comfort noise -60 dB": comfort,
    **{f"white {snr} dB": lambda made, snr=snr: noisy(made, white, snr) for snr in (20, 10, 5, 0)},  # type: ignore[misc]
    **{f"babble {snr} dB": lambda made, snr=snr: noisy(made, babble, snr) for snr in (20, 10, 5, 0)},  # type: ignore[misc]
    "G.711 8 kHz": telephone,
    "loss 2 %": lambda made: lossy(made, 0.02),
    "loss 5 %": lambda made: lossy(made, 0.05),
    "phone: babble 20, G.711, loss 2 %": lambda made: lossy(telephone(noisy(comfort(made), babble, 20)), 0.02),
    "sounds that are no speech": lambda made: sounds(comfort(made)),
    "echo -15 dB": lambda made: echo(made, -15),
    "echo -25 dB": lambda made: echo(made, -25),
    "crosstalk -30 dB": lambda made: crosstalk(made, -30),
}
