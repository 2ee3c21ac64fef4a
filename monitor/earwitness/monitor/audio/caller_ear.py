"""When a caller spoke, from a recording: sound that stands out of the line's own background, confirmed as a voice.

Edges come from the samples and carry no hangover: a segment ends with the caller's last sound. What the models of
voices say is late by up to a quarter of a second and only decides whether a sound is one.

A recording has a past and a future: a moment is judged by the 10 s on both sides of it, and memory holds no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from earwitness.monitor.audio.background import EDGE_FRAMES, IDLE_DB, NOTICE_FRAMES, Background, background
from earwitness.monitor.audio.bands import BandPowers, Floats, decibels, excess, frame_levels, smoothed
from earwitness.monitor.audio.confirming import Confirming
from earwitness.monitor.audio.echo import Leak

FrameSpan = tuple[int, int]
Mask = npt.NDArray[np.bool_]

HOP_FRAMES = 500
AROUND_FRAMES = 1_000
"""What is looked at on either side of a hop's middle."""
JOIN_FRAMES = 20
"""Sounds closer than 0.2 s are one segment: the gaps within words are shorter; readers merge further."""
LONGEST_FRAMES = 2_000
LEAD_FRAMES = 50
"""How much sound a model hears before it is asked."""
LEAST_FRAMES = 4
REACH_FRAMES = 6
SURE = 2.2
"""A segment must clear the bar of its line by this factor somewhere: murmur of others does so hardly ever."""
HOLE_FRAMES = 4
CLICK_FRAMES = 1
"""So short a sound at the rim of a segment is no part of it."""
QUIETEST_DB = -62.0
EDGE_LEAST_DB = -58.0
EDGE_UNDER_SPEECH_DB = 30.0
GATED_SOUND_DB = -50.0
GATED_LEAST_FRAMES = 2
GATED_MOST_FRAMES = 30
"""On a gated line sound too short for any model to know is speech: who gated the line took it for that."""
ECHO_LEAST_DB = -55.0
ECHO_LEAST_DELAY_S = 0.005
"""What leaks without delay leaked in the recorder: nobody heard it."""
ECHO_OVER_NOISE_DB = 3.0
LEAK_FACTOR = 2.0
NOISE_BELOW = 0.5


@dataclass(slots=True)
class _Mean:
    total: float = 0.0
    count: int = 0

    def add(self, powers: npt.NDArray[np.floating]) -> None:
        self.total += float(powers.sum(dtype=np.float64))
        self.count += powers.size


class CallerEar:
    """Voice activity of one channel at 8 or 16 kHz, fed in order."""

    def __init__(self, rate_hz: int, model: Confirming) -> None:
        self._model = model
        self._bands, self._leak_bands = BandPowers(rate_hz), BandPowers(rate_hz)
        self._step = self._bands.step
        self._samples: Floats = np.zeros(0, np.float32)
        self._levels: Floats = np.zeros(0, np.float32)
        self._echo_db: Floats = np.zeros(0, np.float32)
        self._powers: Floats = np.zeros((0, self._bands.count), np.float32)
        self._leaks: Floats = np.zeros((0, self._bands.count), np.float32)
        self._notice: Floats = np.zeros(0, np.float32)
        self._edge: Floats = np.zeros(0, np.float32)
        self._gated: Mask = np.zeros(0, np.bool_)
        self._echoed: Mask = np.zeros(0, np.bool_)
        self._first = 0
        """Number of the frame that all arrays begin with."""
        self._searched = 0
        """Frames before this one have been searched."""
        self._around: Background | None = None
        self._speech, self._noise = _Mean(), _Mean()
        self.spans: list[FrameSpan] = []
        """Speech, in frames of 10 ms since the beginning; disjoint and in order."""
        self.echo: list[FrameSpan] = []
        """Where what was taken out as the other side's was audible."""

    @property
    def snr_db(self) -> float | None:
        """Speech over noise; None where nobody spoke."""
        if not self._speech.count:
            return None
        noise = max(self._noise.total / max(self._noise.count, 1), 10.0 ** (IDLE_DB / 10))
        speech = self._speech.total / self._speech.count
        return round(10 * float(np.log10(max(speech - noise, noise * 0.01) / noise)), 1)

    def feed(self, samples: Floats, leak: Leak | None = None) -> None:
        """Whole frames of samples, full scale 1; ``leak`` is what was already taken out of them as the other side's."""
        taken, left = (np.zeros_like(samples), 0.0) if leak is None else (leak.samples, leak.left)
        self._samples = np.concatenate((self._samples, samples))
        self._levels = np.concatenate((self._levels, frame_levels(samples, self._step)))
        echo = taken if leak is not None and leak.delay_s >= ECHO_LEAST_DELAY_S else np.zeros_like(samples)
        self._echo_db = np.concatenate((self._echo_db, frame_levels(echo, self._step)))
        self._powers = np.concatenate((self._powers, self._bands.feed(samples)))
        remains = taken * np.float32(np.sqrt(left * LEAK_FACTOR))
        self._leaks = np.concatenate((self._leaks, self._leak_bands.feed(remains)))
        self._advance(final=False)

    def stop(self) -> None:
        """The recording is over."""
        missing = self._levels.size - len(self._powers)
        self._powers = np.concatenate((self._powers, self._bands.flush(missing)))
        self._leaks = np.concatenate((self._leaks, self._leak_bands.flush(missing)))
        self._advance(final=True)

    def _advance(self, *, final: bool) -> None:
        known = len(self._powers)
        while self._notice.size < known:
            start = self._notice.size
            end = start + HOP_FRAMES
            if not final and known < start + HOP_FRAMES // 2 + AROUND_FRAMES:
                return
            self._weigh(start, min(end, known))
            self._search(final=final and end >= known)
            known = len(self._powers)

    def _weigh(self, start: int, end: int) -> None:
        """How far the frames stand out of the background of what is around them."""
        middle = start + HOP_FRAMES // 2
        lo, hi = max(0, middle - AROUND_FRAMES), min(len(self._powers), middle + AROUND_FRAMES)
        around = self._around = background(self._powers[lo:hi], self._levels[lo:hi], self._around)
        lo, hi = max(0, start - NOTICE_FRAMES), min(len(self._powers), end + NOTICE_FRAMES)
        powers, leaks = self._powers[lo:hi], self._leaks[lo:hi]

        leaked = bool(leaks.any())

        def over(frames: int, bar: float) -> Floats:
            noise = around.bands + smoothed(leaks, frames) if leaked else around.bands
            sure = excess(smoothed(powers, frames), noise)
            return sure[start - lo : end - lo] / np.float32(bar)

        levels = self._levels[start:end]
        notice = over(NOTICE_FRAMES, around.notice)
        self._noise.add(10.0 ** (levels[notice < NOISE_BELOW] / 10.0))
        notice[levels <= QUIETEST_DB] = 0.0
        self._notice = np.concatenate((self._notice, notice))
        self._edge = np.concatenate((self._edge, over(EDGE_FRAMES, around.edge)))
        self._gated = np.concatenate((self._gated, np.full(end - start, around.gated)))
        least_db = max(ECHO_LEAST_DB, float(decibels(around.bands.sum())) + ECHO_OVER_NOISE_DB)
        self._echoed = np.concatenate((self._echoed, self._echo_db[start:end] > least_db))

    def _search(self, *, final: bool) -> None:
        """Segments among the frames weighed so far; one that may still go on waits, unless it is very long."""
        begin, end = self._searched - self._first, self._notice.size
        sounds = runs(self._notice[begin:] > 1.0, JOIN_FRAMES)
        searched = end
        if not final and sounds and begin + sounds[-1][1] > end - JOIN_FRAMES - LEAD_FRAMES:
            first, last = sounds.pop()
            if last - first > LONGEST_FRAMES:
                last -= JOIN_FRAMES + LEAD_FRAMES
                sounds.append((first, last))
                searched = begin + last
            else:
                searched = begin + first
        found = [self._segment(begin + first, begin + last) for first, last in sounds]
        found += self._passed_the_gate(begin, searched)
        for first, last in sorted(span for span in found if span is not None):
            self._add((first, last))
        self.echo += [
            (self._first + begin + first, self._first + begin + last)
            for first, last in runs(self._echoed[begin:searched], JOIN_FRAMES)
        ]
        self._searched = self._first + searched
        self._forget(max(0, searched - AROUND_FRAMES))

    def _passed_the_gate(self, begin: int, end: int) -> list[FrameSpan]:
        """Short sounds on a line that is digitally silent otherwise."""
        loud = self._gated[begin:end] & (self._levels[begin:end] > GATED_SOUND_DB)
        sounds = runs(loud, JOIN_FRAMES)
        return [
            (begin + first, begin + last)
            for first, last in sounds
            if last - first <= GATED_MOST_FRAMES and int(loud[first:last].sum()) >= GATED_LEAST_FRAMES
        ]

    def _segment(self, first: int, last: int) -> FrameSpan | None:
        """The segment of a stretch that stands out, if it is a voice."""
        if last - first < LEAST_FRAMES or float(self._notice[first:last].max()) < SURE:
            return None
        lo, hi = max(0, first - REACH_FRAMES), min(self._levels.size, last + REACH_FRAMES)
        warm = max(0, lo - LEAD_FRAMES)
        if not self._model.is_voice(self._samples[warm * self._step : hi * self._step], (lo - warm) * self._step):
            return None
        power = 10.0 ** (self._levels[first:last].astype(np.float64) / 10.0)
        gate_db = max(EDGE_LEAST_DB, 10 * float(np.log10(power.mean())) - EDGE_UNDER_SPEECH_DB)
        loud = (self._edge > 1.0) & (self._levels[: self._edge.size] > gate_db)
        words = [word for word in runs(loud[first:last], HOLE_FRAMES) if word[1] - word[0] > CLICK_FRAMES]
        if not words:
            return None
        self._speech.add(power)
        return _reach(loud, first + words[0][0], -1), _reach(loud, first + words[-1][1] - 1, 1) + 1

    def _add(self, span: FrameSpan) -> None:
        first, last = span[0] + self._first, span[1] + self._first
        while self.spans and first - self.spans[-1][1] < JOIN_FRAMES:
            before = self.spans.pop()
            first, last = min(first, before[0]), max(last, before[1])
        self.spans.append((first, last))

    def _forget(self, frames: int) -> None:
        """Let go of the oldest frames."""
        self._first += frames
        self._samples = self._samples[frames * self._step :]
        self._levels, self._echo_db = self._levels[frames:], self._echo_db[frames:]
        self._powers, self._leaks = self._powers[frames:], self._leaks[frames:]
        self._notice, self._edge = self._notice[frames:], self._edge[frames:]
        self._gated, self._echoed = self._gated[frames:], self._echoed[frames:]


def runs(mask: Mask, closer_than: int) -> list[FrameSpan]:
    """Half-open stretches of true frames; those closer than so many frames are one."""
    true = np.flatnonzero(mask)
    if not true.size:
        return []
    breaks = np.flatnonzero(np.diff(true) > closer_than)
    starts, ends = true[np.r_[0, breaks + 1]], true[np.r_[breaks, true.size - 1]] + 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _reach(loud: Mask, frame: int, way: int) -> int:
    """The last loud frame from this one on, over holes within a word."""
    last, hole = frame, 0
    while 0 <= frame + way < loud.size and hole <= HOLE_FRAMES:
        frame += way
        if loud[frame]:
            last, hole = frame, 0
        else:
            hole += 1
    return last
