"""The caller at the far end, stepped through time by hand."""

from dataclasses import replace

import numpy as np
import pytest
from examples.demo.callers import SCENARIOS, HangUp, Say
from examples.demo.clips import RATE, Pcm
from examples.demo.far_end import FRAME_SAMPLES, FarEnd, Moment

STEP_S = FRAME_SAMPLES / RATE
LOUD = np.full(FRAME_SAMPLES, 5_000, np.int16)


class Call:
    """A far end whose agent talks during given intervals; every line of the caller lasts ``line_s``."""

    def __init__(self, *steps: Say | HangUp, line_s: float = 1.0) -> None:
        self.moments: list[Moment] = []
        scenario = replace(SCENARIOS["visit"], steps=steps)
        self.line_s = line_s
        self.person = FarEnd(scenario, self.speak, self.moments.append)
        self.frames: list[Pcm] = []

    def speak(self, text: str) -> Pcm:
        return np.full(round(self.line_s * RATE), 8_000, np.int16)

    def run(self, until_s: float, *agent: tuple[float, float]) -> "Call":
        count = round(until_s / STEP_S)
        for i in range(count):
            now_s = i * STEP_S
            if any(start <= now_s + 1e-9 < end for start, end in agent):
                self.person.hear(LOUD, now_s)
            self.frames.append(self.person.step(now_s))
            if self.person.hung_up:
                break
        return self

    def edges(self, party: str) -> list[tuple[str, object]]:
        return [(m.what, pytest.approx(m.at_s, abs=2 * STEP_S)) for m in self.moments if m.party == party]


def test_a_line_waits_until_the_agent_has_fallen_silent() -> None:
    call = Call(Say("hello", after_s=0.7)).run(6, (0.5, 2.5))
    assert call.edges("caller") == [("on", 3.2), ("off", 4.2)]


def test_nobody_speaks_before_the_agent_has_been_heard() -> None:
    assert Call(Say("hello")).run(5).edges("caller") == []


def test_an_interruption_begins_into_the_agents_speech() -> None:
    call = Call(Say("no wait", into_s=1.5)).run(5, (0.5, 4.0))
    assert call.edges("caller")[0] == ("on", 2.0)


def test_a_pause_between_two_sentences_is_not_the_agents_end() -> None:
    call = Call(Say("hello", after_s=0.7)).run(6, (0.5, 1.5), (1.8, 3.0))
    assert call.edges("agent") == [("on", 0.5), ("off", 3.0)]
    assert call.edges("caller")[0] == ("on", 3.7)


def test_the_second_line_waits_for_an_answer_to_the_first() -> None:
    call = Call(Say("one"), Say("two")).run(8, (0.0, 1.0), (4.0, 5.0))
    assert [what for what, _ in call.edges("caller")] == ["on", "off", "on", "off"]
    assert call.edges("caller")[2] == ("on", 5.7)


def test_a_caller_who_is_not_answered_hangs_up_after_a_while() -> None:
    call = Call(Say("one"), HangUp(unanswered_s=3.0)).run(20, (0.0, 1.0))
    assert call.person.hung_up
    assert len(call.frames) * STEP_S == pytest.approx(1.0 + 0.7 + 1.0 + 3.0, abs=0.1)


def test_a_call_can_end_in_mid_sentence() -> None:
    call = Call(Say("one two three", hang_up_after_s=0.4), Say("never said")).run(20, (0.0, 1.0))
    assert call.person.hung_up
    assert call.edges("caller") == [("on", 1.7), ("off", 2.1)]


def test_an_agent_that_never_answers_is_spoken_to_again_so_that_the_call_ends() -> None:
    call = Call(Say("one"), Say("two")).run(30, (0.0, 1.0))
    assert len(call.edges("caller")) == 4


def test_the_microphone_gives_low_noise_where_nobody_speaks() -> None:
    frame = Call(Say("one")).run(0.1).frames[0]
    assert len(frame) == FRAME_SAMPLES
    assert 0 < np.abs(frame).max() < 10


def test_a_cut_line_closes_what_was_open() -> None:
    call = Call(Say("one"), line_s=5.0).run(2.5, (0.0, 1.0))
    call.person.end(2.5)
    assert call.edges("caller") == [("on", 1.7), ("off", 2.5)]
