"""The demo's scripts are whole: everything said exists as a clip, and all that the demo promises is among the calls."""

import pytest
from examples.demo.callers import AGENTS, BOOKINGS, SCENARIOS, HangUp, Say, sentences, split_sentences
from examples.demo.clips import RATE, Clips, MissingClip, clip_name

INTENTS = [SCENARIOS[booking.scenario].intent for booking in BOOKINGS]


@pytest.mark.parametrize(("voice", "text"), [(v, t) for v, texts in sentences().items() for t in sorted(texts)])
def test_every_sentence_ships_as_a_clip_that_begins_and_ends_with_sound(voice: str, text: str) -> None:
    samples = Clips().get(voice, text)

    assert 0.25 * RATE < len(samples) < 9 * RATE
    assert abs(int(samples[0])) > 300
    assert abs(int(samples[-1])) > 300


def test_the_clips_that_ship_are_small() -> None:
    from examples.demo.clips import SHIPPED

    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 1_500_000


def test_no_clip_ships_that_nobody_speaks() -> None:
    from examples.demo.clips import SHIPPED

    wanted = {clip_name(voice, text) for voice, texts in sentences().items() for text in texts}
    assert {path.name for path in SHIPPED.iterdir()} == wanted


def test_a_sentence_without_a_clip_is_named() -> None:
    with pytest.raises(MissingClip, match="never recorded"):
        Clips().get("slt", "never recorded")


def test_at_least_twelve_calls_are_booked_with_agents_and_scripts_that_exist() -> None:
    assert len(BOOKINGS) >= 12
    assert {booking.agent for booking in BOOKINGS} == set(AGENTS)
    assert {booking.scenario for booking in BOOKINGS} <= set(SCENARIOS)


def test_all_four_cells_of_the_interruptions_are_meant_to_happen() -> None:
    assert {intent.overlap for intent in INTENTS} == {"TP", "FN", "FP", "TN", None}


def test_a_hand_over_dead_air_and_a_caller_who_gives_up_are_meant_to_happen() -> None:
    assert {intent.outcome for intent in INTENTS} == {"contained", "escalated", "abandoned"}
    assert any(intent.dead_air and intent.unanswered for intent in INTENTS)


def test_somebody_hangs_up_in_mid_sentence() -> None:
    steps = [step for booking in BOOKINGS for step in SCENARIOS[booking.scenario].steps]
    cut = [step for step in steps if isinstance(step, Say) and step.hang_up_after_s]
    assert cut
    assert all(step.hang_up_after_s < len(Clips().get("slt", step.text)) / RATE for step in cut if step.hang_up_after_s)


def test_every_call_comes_to_an_end_by_agent_or_caller() -> None:
    for scenario in SCENARIOS.values():
        last = scenario.steps[-1]
        by_caller = isinstance(last, HangUp) or last.hang_up_after_s is not None
        by_agent = any(reply.tool in ("end_call", "transfer_to_human") for reply in scenario.replies)
        assert by_caller or by_agent, scenario.name


def test_all_three_ways_of_attaching_are_shown() -> None:
    assert {agent.attached for agent in AGENTS.values()} == {"by_hand", "attach", "setup_file"}


def test_a_reply_is_split_where_its_sentences_end() -> None:
    assert split_sentences("Good morning, it is me. How are you?") == ["Good morning, it is me.", "How are you?"]
