"""When the agent is really heard: first and last written sample with energy, response by response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from earwitness.monitor.contract.events import Playout
from earwitness.processors.facts.agent_text import Words
from earwitness.processors.facts.runs import Run, Runs
from earwitness.processors.facts.shared import MS, SECOND, Moments
from earwitness.processors.frames import Handler, optional_class

AUDIBLE = 64
"""Peak of 16-bit samples, about -54 dBFS, under which a sound is silence padding (A02)."""
SPLIT_NS = SECOND // 2
"""Silence inside one response that is as long as this ends a stretch (definitions, "Speech and turns")."""
AHEAD_NS = 300 * MS
"""Audio written this far ahead of its playing leaves the agent's end uncertain (A30)."""
DRY_NS = SECOND
"""Nothing written for this long: a stretch is over. Pipecat says so up to 3 s late, services later still."""
CUT_NS = 60 * MS
"""A chunk being written when the agent is cut off is still heard, and pushed a little later."""


@dataclass(slots=True)
class _Stretch:
    """Audible speech of one response without a longer silence."""

    run: Run | None
    last_edge_ns: int
    last_write_ns: int
    written_ns: int = 0


class Written:
    """``playout`` events, from the audio that the output transport pushes on once it has written it.

    A transport pushes a chunk when the far end has taken it: when the chunk begins to play (websockets), when it has
    been played (Daily), or at once. So a chunk begins where the one before it ends, but never before it was written.
    """

    def __init__(self, now: Moments, runs: Runs, words: Words) -> None:
        self._now = now
        self._runs = runs
        self._words = words
        self._stretch: _Stretch | None = None
        self._ends_ns = 0
        self._pushed_ns = 0
        self._ready_ns: int | None = None
        self._cut_ns: int | None = None
        self._output = optional_class("pipecat.transports.base_output", "BaseOutputTransport")

    def frames(self) -> dict[str, Handler]:
        return {
            "TTSAudioRawFrame": self._chunk,
            "SpeechOutputAudioRawFrame": self._chunk,
            "BotStartedSpeakingFrame": self._agent_started,
            "BotStoppedSpeakingFrame": self._agent_stopped,
            "InterruptionFrame": self._interrupted,
        }

    def _agent_started(self, data: Any) -> None:
        self._ready_ns = data.timestamp

    def _chunk(self, data: Any) -> None:
        if self._output is None or not isinstance(data.source, self._output):
            return
        frame, at_ns = data.frame, data.timestamp
        if getattr(frame, "transport_destination", None) is not None:
            return
        rate = max(1, frame.sample_rate) * max(1, frame.num_channels)
        samples = np.frombuffer(frame.audio, np.int16)
        length_ns = len(samples) * SECOND // rate
        begins_ns = self._begins(at_ns, length_ns)
        self._ends_ns = begins_ns + length_ns
        self._pushed_ns = at_ns
        run = self._runs.playing or self._runs.for_audio(None, "")
        if run is not None:
            run.written_ns += length_ns
        loud = np.flatnonzero((samples > AUDIBLE) | (samples < -AUDIBLE))
        if loud.size:
            first_ns = begins_ns + int(loud[0]) * SECOND // rate
            last_ns = begins_ns + (int(loud[-1]) + 1) * SECOND // rate
            self._audible(at_ns, run, first_ns, last_ns)
        if self._stretch is not None:
            self._stretch.written_ns += length_ns

    def _begins(self, at_ns: int, length_ns: int) -> int:
        earliest_ns = at_ns - length_ns
        if self._ends_ns >= earliest_ns:
            return self._ends_ns
        floor_ns = self._pushed_ns
        if self._ready_ns is not None and self._ready_ns <= at_ns:
            floor_ns = max(floor_ns, self._ready_ns)
        return max(0, earliest_ns, self._ends_ns, min(floor_ns, at_ns))

    def _audible(self, at_ns: int, run: Run | None, first_ns: int, last_ns: int) -> None:
        stretch = self._stretch
        if stretch is not None and self._cut_ns is not None and at_ns <= self._cut_ns + CUT_NS:
            stretch.last_edge_ns, stretch.last_write_ns = last_ns, at_ns
            return
        if stretch is not None and (stretch.run is not run or first_ns - stretch.last_edge_ns >= SPLIT_NS):
            self._end(at_ns)
            stretch = None
        if stretch is None:
            ahead = first_ns > at_ns + AHEAD_NS
            self._stretch = stretch = _Stretch(run, last_ns, at_ns)
            if run is not None:
                run.audible = run.sounding = True
            self._now.emit(
                Playout, at_ns, phase="first", edge_ns=at_ns if ahead else first_ns, uncertain=ahead,
                response_id=run.id if run is not None else None,
            )  # fmt: skip
        stretch.last_edge_ns, stretch.last_write_ns = last_ns, at_ns

    def _interrupted(self, data: Any) -> None:
        if self._stretch is not None:
            self._cut_ns = data.timestamp

    def _agent_stopped(self, data: Any) -> None:
        if getattr(data.frame, "transport_destination", None) is not None or self._stretch is None:
            return
        at_ns = data.timestamp
        stretch = self._stretch
        cut_ns = self._cut_ns
        if cut_ns is not None and at_ns - cut_ns <= SPLIT_NS:
            self._now.agenda.post(at_ns + CUT_NS, lambda now_ns: self._end_of(stretch, now_ns, cut=True))
        else:
            # the frames that say whether it was played whole leave the output just behind the stop
            when_ns = max(at_ns + MS, min(stretch.last_edge_ns, at_ns + 100 * MS))
            self._now.agenda.post(when_ns, lambda now_ns: self._end_of(stretch, now_ns, cut=False))

    def _end_of(self, stretch: _Stretch, at_ns: int, *, cut: bool) -> None:
        if self._stretch is stretch:
            self._end(at_ns, cut=cut)

    def _end(self, at_ns: int, *, cut: bool = False) -> None:
        stretch, self._stretch = self._stretch, None
        self._cut_ns = None
        if stretch is None:
            return
        run = stretch.run
        if run is not None:
            run.sounding = False
        ahead = self._ends_ns - self._pushed_ns > AHEAD_NS
        edge_ns = stretch.last_write_ns if ahead else stretch.last_edge_ns
        truncated = True if cut else (False if run is not None and run.whole else None)
        self._now.emit(
            Playout, at_ns, phase="last", edge_ns=edge_ns, response_id=run.id if run is not None else None,
            written_ns=stretch.written_ns, uncertain=ahead, truncated=truncated,
        )  # fmt: skip
        if cut:
            self._ends_ns = min(self._ends_ns, at_ns)  # what the far end still held has been thrown away
        if run is not None and (cut or run.whole):
            run.settled = True
            if cut:
                self._words.cut(at_ns, run)
            else:
                self._words.played(at_ns, run)
            self._runs.drop(run)

    def tick(self, at_ns: int) -> None:
        """No audio has been written for a while: the agent is silent, whatever the pipeline still believes (A31)."""
        if self._stretch is not None and at_ns - max(self._ends_ns, self._pushed_ns) >= DRY_NS:
            self._end(at_ns)

    def close(self, at_ns: int) -> None:
        """The call ends while the agent speaks: no stop frame comes after a CancelFrame."""
        if self._stretch is not None:
            run = self._stretch.run
            self._end(at_ns, cut=run is None or not run.whole)
