"""Audio that reached nobody, in words, in a call's text, the list of calls and the report."""

from __future__ import annotations

from earwitness.monitor.cli.views.call_view import call_view
from earwitness.monitor.cli.views.calls_list import call_line
from earwitness.monitor.cli.views.unheard_words import line_words, unheard_note
from earwitness.monitor.contract.records import Call, LineQuality, Unheard

S = 1_000_000_000
DEAD = Unheard(what="dead_not_failed", by="no_playout", lost="agent", at_ns=6 * S, responses=("r7", "r\x1b[8m"))
ASKS = Unheard(what="one_way_audio", by="caller_asks", lost="agent", at_ns=S, until_ns=7 * S, moments_ns=(S, 7 * S))


def test_a_stretch_says_what_shows_it() -> None:
    assert unheard_note(DEAD) == "dead, not failed: speech was synthesised and never played (r7, r[8m), to the end"
    assert unheard_note(ASKS) == (
        "one-way audio: the caller asks whether anybody is there while the agent talks (0:01.00, 0:07.00), "
        "until 0:07.00"
    )


def test_a_line_says_what_was_told_and_nothing_else() -> None:
    assert line_words(LineQuality(reports=1, loss_ratio_mean=0.0, loss_ratio_worst=0.0)) == (
        "loss 0.0 % (worst 0.0 %) · 1 report"
    )
    both = LineQuality(
        reports=3, jitter_ms_mean=9.4, jitter_ms_worst=20.0, round_trip_ms_mean=80, round_trip_ms_worst=90
    )
    assert line_words(both) == "jitter 9 ms (worst 20 ms) · round trip 80 ms (worst 90 ms) · 3 reports"


def test_calls_show_it() -> None:
    call = Call(
        call_id="c1", id="call", event_wall_ns=0, agent="clinic", started_wall_ns=0, ended_ns=20 * S,
        outcome="abandoned",
        unheard=(ASKS, DEAD), facts={"one_way_audio": 1, "dead_not_failed": 1},
        line=LineQuality(reports=1, loss_ratio_mean=0.01, loss_ratio_worst=0.01),
    )  # fmt: skip
    text = "\n".join(call_view([call]))
    assert "one-way audio" in text
    assert "dead, not failed" in text
    assert "line: loss 1.0 %" in text
    line = call_line([call])
    assert line is not None
    assert "1 stretch dead but not failed, 1 stretch of one-way audio" in line.text
