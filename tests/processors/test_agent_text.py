"""What the agent meant to say, said, and did not: as words and segments leave the output."""

from __future__ import annotations

import itertools
import re
from typing import Any, Literal

import pytest
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import At, Reply, Say, Script

from earwitness.monitor.contract.events import (
    AgentText,
    Playout,
)
from earwitness.processors.redaction import Redaction

HELLO = Reply("Thanks for calling. How can I help you?")

ASK = Say("where is my order please", at_s=3.5)


def spoken_by(call: Any, response_id: str) -> list[AgentText]:
    return [event for event in call.of(AgentText, response_id=response_id) if event.spoken]


def test_whole_segment_speech_that_is_cut_is_told_by_how_much_of_it_was_written(run_call: RunCall) -> None:
    text = "Your order is on its way and will arrive on Thursday morning."
    script = Script(
        lines=(ASK, Say("no wait a moment please", into_s=1.0)),
        replies=(HELLO, Reply(text), Reply("Yes?")),
        speech="segments",
        ends_s=14,
    )
    call = run_call(script)

    spoken = "".join(event.spoken or "" for event in call.of(AgentText, response_id="r2"))
    (unspoken,) = [event.unspoken for event in call.of(AgentText, response_id="r2") if event.unspoken]
    assert f"{spoken} {unspoken}" == text
    heard_s = call.truth.agent[1][1] - call.truth.agent[1][0]
    share = heard_s / (0.06 * (len(text) + 1))
    assert len(spoken.split()) == pytest.approx(share * len(text.split()), abs=1.0)


def test_whole_segment_speech_is_spoken_when_its_audio_has_been_played(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), speech="segments", ends_s=5))

    first, second = [event for event in call.of(AgentText) if event.spoken]
    assert (first.spoken or "") + (second.spoken or "") == HELLO.text
    assert second.at_ns - first.at_ns > 1_000_000_000


def test_a_number_that_the_agent_speaks_word_by_word_is_redacted_as_a_whole(run_call: RunCall) -> None:
    card, words = "4111 1111 1111 1111", " ".join(["four", *["one"] * 15])
    replies = (HELLO, Reply(f"Your card {card} , that is {words} , is kept. It ends in {card}", ends=True))

    call = run_call(Script(lines=(Say("pay please", at_s=3.5),), replies=replies), witness={"redactor": Redaction()})

    spoken = ["".join(event.spoken or "" for event in call.of(AgentText, response_id=f"r{n}")) for n in (1, 2)]
    assert spoken[0] == HELLO.text
    assert spoken[1].count("<card:16:") == 3
    assert spoken[1].startswith("Your card <card:16:")
    assert not {"4111", "1111", "four", "one"} & set(spoken[1].split())


def test_words_that_come_one_by_one_are_told_about_once_a_second(run_call: RunCall) -> None:
    text = " ".join(["we will see to it that it gets to you"] * 4) + " in the end."
    call = run_call(Script(lines=(ASK,), replies=(HELLO, Reply(text)), ends_s=20))

    told = spoken_by(call, "r2")
    on, off = call.truth.agent[1]
    assert off - on > 8
    assert len(told) <= off - on + 1
    assert "".join(event.spoken or "" for event in told) == text
    between_s = [(after.at_ns - before.at_ns) / 1e9 for before, after in itertools.pairwise(told)]
    assert max(between_s) < 1.6
    (last,) = call.of(Playout, phase="last", response_id="r2")
    assert told[-1].at_ns <= last.at_ns  # the rest does not wait for its second


def test_the_end_of_a_call_leaves_no_word_untold(run_call: RunCall) -> None:
    call = run_call(Script(replies=(HELLO,), events=(At(1.2, lambda call: call.worker.cancel()),)))

    texts = [(event.spoken or "", event.unspoken or "") for event in call.of(AgentText) if not event.intended]
    assert [spoken for spoken, _ in texts] == [*[spoken for spoken, _ in texts[:-1]], ""]
    assert "".join(spoken for spoken, _ in texts) + " " + texts[-1][1] == HELLO.text


@pytest.mark.parametrize("speech", ["words", "segments"])
@pytest.mark.parametrize("end", ["interrupted", "cancelled"])
def test_a_number_that_is_cut_in_its_middle_is_not_told_in_two_halves(
    run_call: RunCall, end: str, speech: Literal["words", "segments"]
) -> None:
    text = f"The card that we have of yours is {' '.join(['four', *['one'] * 15])} , thank you."
    lines, events = [Say("my card please", at_s=3.5)], []
    if end == "interrupted":
        lines.append(Say("no wait a moment please", into_s=3.6))
    else:
        events.append(At(9.2, lambda call: call.worker.cancel()))
    script = Script(
        lines=tuple(lines), replies=(HELLO, Reply(text), Reply("Yes?")), events=tuple(events), ends_s=16, speech=speech
    )
    call = run_call(script, witness={"redactor": Redaction()})

    assert call.one(Playout, phase="last", response_id="r2", truncated=True)
    (cut,) = [event.unspoken for event in call.of(AgentText, response_id="r2") if event.unspoken]
    said = "".join(event.spoken or "" for event in spoken_by(call, "r2"))
    assert said == "The card that we have of yours is"
    assert re.fullmatch(r"<card:16:[0-9a-f]+> , thank you\.", cut)


def test_a_number_that_the_model_spreads_over_two_sentences_is_redacted_as_a_whole(run_call: RunCall) -> None:
    text = "You can call us at four one five. Five five five zero one four two. Thank you."
    call = run_call(Script(lines=(ASK,), replies=(HELLO, Reply(text))), witness={"redactor": Redaction()})

    intended = [event.intended for event in call.of(AgentText, response_id="r2") if event.intended]
    assert re.fullmatch(r"You can call us at <phone:10:[0-9a-f]+>\. Thank you\.", "".join(intended))
    spoken = "".join(event.spoken or "" for event in spoken_by(call, "r2"))
    assert "".join(intended) == spoken
