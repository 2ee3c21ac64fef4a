"""The person at the far end of the line: hears the agent, waits, speaks, interrupts, hangs up.

Pure: audio and time go in, audio and moments come out. Its moments are the truth that the summary holds
Earwitness's numbers against, since this is where sound is made and heard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from examples.demo.callers import HangUp, Say, Scenario
from examples.demo.clips import RATE, Pcm

FRAME_SAMPLES = RATE // 50
_AUDIBLE = 300
_PAUSE_S = 0.5
_FORGIVE_S = 12.0
"""An agent that says nothing for this long is spoken to again, so that a call that goes wrong still ends."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One edge of speech as it happened on the line, on the monotonic clock."""

    at_s: float
    party: str
    what: str
    text: str | None = None


class FarEnd:
    """Plays a scenario's caller. ``step`` gives 20 ms of microphone; ``hear`` takes what the agent says."""

    def __init__(
        self, scenario: Scenario, speak: Callable[[str], Pcm], told: Callable[[Moment], None], seed: int = 1
    ) -> None:
        self._steps = list(scenario.steps)
        self._speak = speak
        self._told = told
        self._noise = np.random.default_rng(seed)
        self._line: Pcm | None = None
        self._position = 0
        self._agent_since_s: float | None = None
        self._agent_last_s: float | None = None
        self._heard_since_line = False
        self._line_ended_s: float | None = None
        self._hangs_up_then = False
        self.hung_up = False

    def hear(self, samples: Pcm, at_s: float) -> None:
        """What the agent's line plays from ``at_s`` on."""
        loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > _AUDIBLE)
        if not len(loud):
            return
        first_s, last_s = at_s + loud[0] / RATE, at_s + (loud[-1] + 1) / RATE
        if self._agent_last_s is None or first_s - self._agent_last_s > _PAUSE_S:
            self._close_agent()
            self._agent_since_s = first_s
            self._told(Moment(first_s, "agent", "on"))
        self._agent_last_s = last_s
        if self._line is None:
            self._heard_since_line = True

    def step(self, now_s: float) -> Pcm:
        """The next 20 ms of the caller's microphone; sets ``hung_up`` where the phone goes down."""
        if self._agent_since_s is not None and self._quiet_s(now_s) > _PAUSE_S:
            self._close_agent()
        if self._line is None and self._steps:
            self._decide(now_s)
        frame = self._noise.integers(-6, 7, FRAME_SAMPLES).astype(np.int16)
        if self._line is not None:
            part = self._line[self._position : self._position + FRAME_SAMPLES]
            frame[: len(part)] += part
            self._position += FRAME_SAMPLES
            if self._position >= len(self._line):
                self._finish_line(now_s + len(part) / RATE)
        return frame

    def end(self, now_s: float) -> None:
        """The line is cut: close what is open."""
        if self._line is not None:
            self._told(Moment(now_s, "caller", "off"))
            self._line = None
        self._close_agent(now_s)

    def _decide(self, now_s: float) -> None:
        step = self._steps[0]
        if not self._due(step, now_s):
            return
        self._steps.pop(0)
        if isinstance(step, HangUp):
            self.hung_up = True
            return
        samples = self._speak(step.text)
        if step.hang_up_after_s is not None:
            samples = samples[: int(step.hang_up_after_s * RATE)]
        self._hangs_up_then = step.hang_up_after_s is not None
        self._line, self._position = samples, 0
        self._heard_since_line = False
        self._told(Moment(now_s, "caller", "on", step.text))

    def _due(self, step: Say | HangUp, now_s: float) -> bool:
        if isinstance(step, HangUp) and step.unanswered_s is not None:
            return self._line_ended_s is not None and now_s - self._line_ended_s >= step.unanswered_s
        if isinstance(step, Say) and step.into_s is not None:
            if self._agent_since_s is not None and self._heard_since_line:
                return now_s - self._agent_since_s >= step.into_s
            return self._given_up(now_s)
        if self._heard_since_line and self._agent_last_s is not None:
            return self._quiet_s(now_s) >= step.after_s
        return self._given_up(now_s)

    def _given_up(self, now_s: float) -> bool:
        return self._line_ended_s is not None and now_s - self._line_ended_s > _FORGIVE_S

    def _quiet_s(self, now_s: float) -> float:
        return float("inf") if self._agent_last_s is None else now_s - self._agent_last_s

    def _finish_line(self, at_s: float) -> None:
        self._line = None
        self._line_ended_s = at_s
        self.hung_up = self._hangs_up_then
        self._told(Moment(at_s, "caller", "off"))

    def _close_agent(self, now_s: float | None = None) -> None:
        if self._agent_since_s is not None and self._agent_last_s is not None:
            ended_s = self._agent_last_s if now_s is None else min(self._agent_last_s, now_s)
            self._told(Moment(ended_s, "agent", "off"))
            self._agent_since_s = None
