"""Speech that a real pipeline makes and its transport never plays: seen by the hooks, named by the fold."""

from __future__ import annotations

from typing import Any

import pytest
from pipecat_calls.fixtures import RunCall
from pipecat_calls.recorded import RecordedCall
from pipecat_calls.script import At, Reply, Say, Script

from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract.events import Playout, Response

pytestmark = pytest.mark.pipecat

S = 1_000_000_000
REPLIES = (
    Reply("hello this is the order desk how can I help"),
    Reply("your order left the warehouse on Tuesday"),
    Reply("it will be with you on Thursday"),
)


async def nothing_written(frame: Any) -> bool:
    """A transport that takes audio and plays none of it."""
    del frame
    return False


def deafen(call: Any) -> None:
    call.line.speaker.write_audio_frame = nothing_written


def break_(call: Any) -> None:
    call.line.speaker.breaks = True


def records(recorded: RecordedCall, kind: str) -> list[Any]:
    return [r for r in fold(recorded.events) if r.kind == kind]


@pytest.mark.parametrize("dies", [pytest.param(deafen, id="takes and plays none"), pytest.param(break_, id="fails")])
def test_a_pipeline_whose_output_dies_is_dead_but_not_failed(run_call: RunCall, dies: Any) -> None:
    script = Script(
        lines=(Say("where is my order", at_s=8.0), Say("hello are you there", at_s=16.0)),
        replies=REPLIES,
        events=(At(7.0, dies),),
        ends_s=28.0,
    )
    recorded = run_call(script)

    made = [e for e in recorded.of(Response) if e.phase == "first_audio" and e.at_ns > 7 * S]
    assert len(made) == 2
    assert not [e for e in recorded.of(Playout) if e.phase == "first" and e.at_ns > 7 * S]
    (call,) = records(recorded, "call")
    (dead,) = call.unheard
    assert (dead.what, dead.by, dead.lost, dead.until_ns) == ("dead_not_failed", "no_playout", "agent", None)
    assert dead.at_ns == made[0].at_ns
    assert set(dead.responses) == {e.response_id for e in made}
    assert call.facts["dead_not_failed"] == 1
    turns = records(recorded, "turn")
    assert [(t.response_latency_ns, t.unanswered, t.reason) for t in turns] == [(None, True, "not_audible")] * 2


def test_a_pipeline_that_is_dead_from_its_first_word(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("hello is anybody there", at_s=6.0),), replies=REPLIES, events=(At(0.0, deafen),), ends_s=16.0
    )
    recorded = run_call(script)

    assert recorded.truth.agent == []
    (call,) = records(recorded, "call")
    assert [u.what for u in call.unheard] == ["dead_not_failed"]
    assert len(call.unheard[0].responses) == 2


def test_a_pipeline_that_plays_what_it_makes_is_neither(run_call: RunCall) -> None:
    script = Script(
        lines=(Say("where is my order", after_s=0.5), Say("wait the other one", into_s=1.0)),
        replies=REPLIES,
        ends_s=30.0,
    )
    (call,) = records(run_call(script), "call")
    assert call.unheard == ()
    assert (call.line, call.line_reason) == (None, "unobservable")
