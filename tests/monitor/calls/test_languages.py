"""Which language's small words judge what was said in a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.whole_call import fold

Call = Callable[..., Any]


def over_the_agent(
    call: Call, text: str, *, spoken: str | None = None, heard: str | None = None, **started: Any
) -> Any:
    """Somebody speaks over the agent, which talks on; ``spoken``: the call's language, ``heard``: the transcript's."""
    story = call(language=spoken, **started).bot(10.0, 20.0, cut=False).user(13.0, 13.5)
    return story.final(text, 13.8, language=heard)


@pytest.mark.parametrize(
    ("language", "text", "cell"),
    [
        ("pt-BR", "uhum, tá bom", "TN"), ("pt-BR", "não, espera", "FN"), ("zh-Hans-CN", "嗯嗯，好的", "TN"),
        ("zh-Hans-CN", "等一下", "FN"), ("hi-IN", "जी हाँ", "TN"), ("hi", "रुकिए", "FN"), ("ar-EG", "أيوه تمام", "TN"),
        ("ar", "لحظة", "FN"), ("ru", "угу, понятно", "TN"), ("ru", "стоп", "FN"), ("bn-BD", "আচ্ছা", "TN"),
        ("bn", "থামুন", "FN"), ("id", "oh begitu ya", "TN"), ("id", "tunggu dulu", "FN"), ("fr-CA", "d’accord", "TN"),
        ("es-MX", "sí pero no", "FN"), (None, "uh-huh", "TN"), (None, "umm okay stop", "FN"),
    ],
)  # fmt: skip
def test_the_calls_language_judges(call: Call, language: str | None, text: str, cell: str) -> None:
    assert over_the_agent(call, text, spoken=language).told().cells == [cell]


@pytest.mark.parametrize(
    ("spoken", "heard", "text"),
    [
        pytest.param("ja-JP", None, "はい", id="a call in a language without lists"),
        pytest.param("ja-JP", None, "mhm", id="not even a hum"),
        pytest.param("en-US", "ja", "はい", id="a transcript in one"),
        pytest.param(None, None, "да", id="nobody says, and the script is not English"),
        pytest.param("en-US", None, "हाँ", id="words that the call's lists cannot read"),
        pytest.param("multi", None, "sí claro", id="no one language"),
    ],
)
def test_where_no_list_can_tell_the_want_is_unknown(
    call: Call, spoken: str | None, heard: str | None, text: str
) -> None:
    told = over_the_agent(call, text, spoken=spoken, heard=heard).told()
    assert [(o.wanted, o.cell, o.decided_by) for o in told.overlaps] == [("unknown", None, None)]


def test_a_transcripts_own_language_beats_the_calls(call: Call) -> None:
    assert over_the_agent(call, "sí, claro", spoken="en").told().cells == ["FN"]
    assert over_the_agent(call, "sí, claro", spoken="en", heard="es-US").told().cells == ["TN"]


def test_the_agent_is_understood_in_the_language_that_the_caller_was_heard_in(call: Call) -> None:
    story = call(language="en").connected(0.0).user(1.0, 2.0).final("quiero cancelar mi cita", 2.3, language="es")
    story.turn_end(2.5).bot(3.0, 5.0, "Le transfiero con un compañero.", cut=False).end(9.0, "agent")
    assert story.told().call.outcome == "transfer_promised"


def test_words_of_a_script_without_spaces_are_counted_as_the_pipeline_does(call: Call) -> None:
    told = over_the_agent(call, "我想改时间", spoken="zh", min_words=2).told()
    assert [(o.cell, o.missed_because) for o in told.overlaps] == [("FN", "min_words")]


def test_a_short_repetition_in_chinese_is_no_echo(call: Call) -> None:
    story = call(language="zh").bot(10.0, 20.0, "这样可以，没问题的话我们继续", cut=False)
    assert story.user(13.0, 13.5, "没问题").told().overlaps[0].want_class == "backchannel"
    story = call(language="zh").bot(10.0, 20.0, "这样可以，没问题的话我们继续", cut=False)
    assert story.user(13.0, 14.5, "没问题的话我们继续").told().overlaps[0].want_class == "echo"


def test_a_sites_own_words_change_the_definition_and_its_id(call: Call) -> None:
    events = over_the_agent(call, "righty-ho", spoken="en").events()
    own = Bounds(words=(("en", "backchannels", ("righty ho",)),))
    (plain,), (changed,) = ([r for r in fold(events, bounds=b) if r.kind == "overlap"] for b in (Bounds(), own))
    assert (plain.cell, plain.bounds) == ("FN", "default-1")
    assert (changed.cell, changed.want_class) == ("TN", "backchannel")
    assert changed.bounds == own.id != plain.bounds
    assert own.id != Bounds(words=(("en", "backchannels", ("righty",)),)).id
