"""Facts that bots report become calls with their truth."""

from examples.demo.callers import SCENARIOS
from examples.demo.screen import Plain, call_line
from examples.demo.switchboard import Placed, Switchboard


def board(*calls: str) -> tuple[Switchboard, list[str]]:
    told: list[str] = []
    made = Switchboard({}, lambda call: told.append(call.call))
    made.bookings = len(calls)
    made.placed = {call: Placed(call, "clinic", SCENARIOS["visit"]) for call in calls}
    return made, told


def test_a_call_is_in_progress_from_its_start_to_its_end() -> None:
    made, told = board("c01")
    made.take({"call": "c01", "fact": "started", "wall_s": 10.0})
    assert [call.call for call in made.in_progress] == ["c01"]

    made.take({"call": "c01", "fact": "ended", "wall_s": 33.0, "worst_lag_s": 0.02})
    assert made.in_progress == []
    assert told == ["c01", "c01"]


def test_speech_at_the_far_end_is_kept_with_its_call() -> None:
    made, _ = board("c01")
    made.take({"call": "c01", "fact": "speech", "party": "caller", "what": "on", "text": "hello", "wall_s": 12.5})
    assert [(edge.party, edge.at_s, edge.text) for edge in made.placed["c01"].edges] == [("caller", 12.5, "hello")]


def test_facts_of_calls_that_nobody_placed_are_left_alone() -> None:
    made, told = board("c01")
    made.take({"call": "c99", "fact": "started", "wall_s": 1.0})
    assert told == []


def test_a_machine_that_lagged_is_said_in_the_calls_line() -> None:
    call = Placed("c01", "clinic", SCENARIOS["visit"], started_s=10.0, ended_s=33.0, worst_lag_s=0.6)
    assert call_line(call).endswith("c01 ended   clinic      after 23 s, the machine lagged 0.6 s")


def test_without_a_terminal_lines_are_written_as_they_come() -> None:
    written: list[str] = []
    Plain(written.append).say("c01 rings")
    assert written == ["c01 rings"]
