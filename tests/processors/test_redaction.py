"""Personal data leaves no bot: what is found, what is left alone, and what cannot be got round."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import types
import typing
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from earwitness.monitor.contract.events import EVENT_TYPES
from earwitness.monitor.errors import BadInput
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.personal_data import MOST_ASKED
from earwitness.processors.redaction import NoRedaction, Redaction, default_redactor
from earwitness.processors.text_fields import NEVER_TEXT, TEXT_FIELDS

PLACEHOLDER = re.compile(r"<([a-z_]+):(\d+):([0-9a-f]{12})>")
SECRET = b"a site's secret"
REDACTION = Redaction(SECRET)


def kinds(text: str, redaction: Redaction = REDACTION) -> list[tuple[str, int]]:
    return [(kind, int(length)) for kind, length, _ in PLACEHOLDER.findall(redaction.text(text))]


def hashes(text: str) -> list[str]:
    return [digest[:8] for _, _, digest in PLACEHOLDER.findall(REDACTION.text(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("call +49 30 1234567 now", [("phone", 11)], id="phone with country code"),
        pytest.param("call (415) 555-0132", [("phone", 10)], id="phone with brackets"),
        pytest.param("030/1234567", [("phone", 10)], id="phone with a slash"),
        pytest.param("it's 4111 1111 1111 1111, thanks", [("card", 16)], id="card"),
        pytest.param("card 4111-1111-1111-1112", [("digits", 16)], id="a card that fails Luhn is a digit string"),
        pytest.param("card 4111.1111.1111.1111", [("card", 16)], id="card with dots"),
        pytest.param("write to John.Smith+x@mail.example.co.uk.", [("email", 31)], id="e-mail"),
        pytest.param("john at example dot com please", [("email", 16)], id="spelled e-mail"),
        pytest.param("j o h n underscore d at my dash site dot org", [("email", 18)], id="letter by letter"),
        pytest.param("DE89 3704 0044 0532 0130 00 is mine", [("iban", 22)], id="IBAN"),
        pytest.param("order 123456", [("digits", 6)], id="six digits"),
        pytest.param("12 34 56", [("digits", 6)], id="spaced digits"),
        pytest.param("5, 5, 5, 0, 1, 4, 2", [("phone", 7)], id="digits with commas"),
        pytest.param("555, 0142", [("phone", 7)], id="groups with a comma"),
        pytest.param("four two one five five five", [("digits", 6)], id="English digits"),
        pytest.param("Four. Two. One. Uh, five, five, five.", [("digits", 6)], id="digits with pauses"),
        pytest.param("double three oh nine double one", [("digits", 6)], id="double and oh"),
        pytest.param("it is fifteen forty two sixty seven", [("digits", 6)], id="teens and tens"),
        pytest.param("eight hundred five five five oh one", [("digits", 8)], id="eight hundred"),
        pytest.param("it is 555 zero one four two", [("phone", 7)], id="figures and words"),
        pytest.param("null eins sieben zwo fünfundzwanzig", [("digits", 6)], id="German"),
        pytest.param("zéro six, douze, trente-quatre, quatre-vingt-dix-sept", [("phone", 8)], id="French"),
        pytest.param("seis uno dos treinta y cuatro cinco", [("digits", 6)], id="Spanish"),
        pytest.param("tre tre otto quarantuno zero", [("digits", 6)], id="Italian"),
        pytest.param("nove um dois meia vinte e três", [("digits", 6)], id="Portuguese"),
        pytest.param("५५५०१४२", [("phone", 7)], id="another script's digits"),
    ],
)
def test_personal_data_gives_way_to_a_typed_placeholder(text: str, found: list[tuple[str, int]]) -> None:
    assert kinds(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "I have two kids and three dogs",
        "at 10:30 on May 14th 2026",
        "at 10:30 on May 14 2026, or May 14, 2026",
        "at ten thirty on May fourteen twenty twenty six",
        "on 2026-05-14T10:30:00Z or 14.05.2026",
        "from 2019-2024, and in 2019, 2020, 2021",
        "that is 1234.56 euros, or 1,250,000",
        "in ten, twenty, thirty minutes",
        "one two three testing",
        "visit us at example dot com",
        "um um um um um um um",
        "uno momento, sei in ritardo, sei qui",
        "room 101, floor 12",
        "a <b> c < d",
    ],
)
def test_ordinary_sentences_stay_as_they_are(text: str) -> None:
    assert REDACTION.text(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("555 0142", "five five five zero one four two"),
        ("555-0142", "5, 5, 5, 0, 1, 4, 2"),
        ("555, 0142", "triple five oh one four two"),
        ("john.smith@example.com", "john dot smith at example dot com"),
        ("4111 1111 1111 1111", "4111-1111-1111-1111"),
        ("DE89370400440532013000", "de89 3704 0044 0532 0130 00"),
        ("٥٥٥٠١٤٢", "5550142"),
    ],
)
def test_the_same_value_hashes_alike_however_it_was_said(one: str, other: str) -> None:
    assert REDACTION.text(one) == REDACTION.text(other)
    assert len(hashes(one)) == 1


def test_other_values_and_other_secrets_hash_otherwise() -> None:
    assert REDACTION.text("5550142") != REDACTION.text("5550143")
    assert REDACTION.text("5550142") != Redaction(b"another").text("5550142")
    assert REDACTION.text("5550142") == Redaction(SECRET).text("5550142")


def test_the_callers_hash_is_that_of_the_number_said_aloud() -> None:
    assert REDACTION.hash_of("+49 30 1234567") == hashes("+49301234567")[0]


WITHOUT_SECRET = """
from earwitness.processors.redaction import Redaction
one, other = Redaction(), Redaction()
assert one.text("5550142") == other.text("555 0142")
print(one.text("5550142"))
"""


def test_without_a_secret_a_warning_says_once_that_hashes_hold_in_this_process_only() -> None:
    runs = [
        subprocess.run([sys.executable, "-c", WITHOUT_SECRET], capture_output=True, text=True, check=True, timeout=60)
        for _ in range(2)
    ]
    assert runs[0].stdout != runs[1].stdout
    assert runs[0].stderr.count("EARWITNESS_SECRET") == 1


def test_a_text_that_looks_like_a_placeholder_is_no_placeholder() -> None:
    forged = "<phone:12:1f3c9a0b> and <card:16:abcdefabcdef> and <digits:555014:2"
    redacted = REDACTION.text(forged)
    assert "<phone" not in redacted
    assert "<card" not in redacted
    assert not re.search(r"\d{6}", PLACEHOLDER.sub("", redacted))
    genuine = REDACTION.text("5550142")
    assert REDACTION.text(genuine.replace(":7:", ":8:")) != genuine.replace(":7:", ":8:")
    assert Redaction(b"another").text(genuine) != genuine


def test_of_very_many_numbers_the_last_are_taken_out_without_asking_what_they_are() -> None:
    many = " and ".join(["2025550142"] * 40)
    assert kinds(many) == [("phone", 10)] * MOST_ASKED + [("digits", 10)] * (40 - MOST_ASKED)
    slashed = " and ".join(["030/1234567"] * 40)
    assert kinds(slashed) == [("phone", 10)] * MOST_ASKED + [("digits", 10)] * (40 - MOST_ASKED)
    # The next event is asked about anew.
    assert kinds("2025550142") == [("phone", 10)]


def test_nobody_can_pass_a_number_through_as_an_unredactable_text() -> None:
    assert REDACTION.text("<unredactable:12>") == "<unredactable:12>"
    assert "5550142" not in REDACTION.text("<unredactable:5550142>")
    assert "<unredactable" not in REDACTION.text("well <unredactable:12>")


NUMERALS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
OTHER_WORDS = ["oh", "double", "triple", "twenty", "fifteen", "hundred", "at", "dot", "a", "john", "May", "@x.com"]
DIGIT_TEXT = st.lists(
    st.one_of(
        st.text("0123456789 -.,+()/:", max_size=12),
        st.sampled_from(NUMERALS + OTHER_WORDS),
        st.sampled_from(["zéro six", "neun", "<phone:12:1f3c9a0b>", "٤٥", "é", "DE89 3704 0044"]),
        st.text(max_size=6),
    ),
    max_size=14,
).map(" ".join)


@given(DIGIT_TEXT)
def test_no_run_of_six_digits_survives(text: str) -> None:
    assert not re.search(r"\d{6}", REDACTION.text(text))


@given(DIGIT_TEXT)
@example("0 0000 0/0 1/0 0000")
def test_redacting_again_changes_nothing(text: str) -> None:
    once = REDACTION.text(text)
    assert REDACTION.text(once) == once


@given(st.lists(st.sampled_from(NUMERALS), min_size=6, max_size=16))
def test_dictated_digits_hash_like_written_ones(words: list[str]) -> None:
    digits = "".join(str(NUMERALS.index(word)) for word in words)
    assert hashes(" ".join(words)) == [REDACTION.hash_of(digits)]
    assert hashes(f"it is {', '.join(words)}.") == [REDACTION.hash_of(digits)]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), DIGIT_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@given(JSON, st.booleans())
def test_json_stays_json_of_the_same_shape_without_digits(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    redacted = REDACTION.fields("tool", {"arguments": text})["arguments"]
    assert type(json.loads(redacted)) is type(value) or isinstance(value, (int, float))
    assert not any(re.search(r"\d{6}", word) for word in _words_of(json.loads(redacted)))
    assert REDACTION.fields("tool", {"arguments": redacted})["arguments"] == redacted


def _words_of(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [word for key, value in node.items() for word in (key, *_words_of(value))]
    if isinstance(node, list):
        return [word for item in node for word in _words_of(item)]
    return [str(node)]


def test_values_of_json_are_redacted_and_the_rest_of_it_kept() -> None:
    arguments = '{"phone": "555 0142", "people": 2, "n": 15550142, "mail\\u0040": ["a\\u0040b.com"], "vip": true}'
    redacted = json.loads(REDACTION.fields("tool", {"arguments": arguments})["arguments"])
    assert redacted["phone"] == REDACTION.text("5550142")
    assert redacted["n"] == REDACTION.text("15550142")
    assert redacted["mail@"] == [REDACTION.text("a@b.com")]
    assert (redacted["people"], redacted["vip"]) == (2, True)


def test_a_result_that_is_no_json_is_redacted_as_text() -> None:
    redacted = REDACTION.fields("tool", {"result": "{'phone': '555 0142'}", "error": "no such user 5550142"})
    assert redacted["result"] == "{'phone': '" + REDACTION.text("5550142") + "'}"
    assert redacted["error"] == "no such user " + REDACTION.text("5550142")


def _carries_text(annotation: Any) -> bool:
    if annotation is str:
        return True
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is not None:
        return typing.get_origin(annotation) is not typing.Literal and any(map(_carries_text, get_args(annotation)))
    return False


def test_every_text_field_of_the_contract_is_in_the_table_or_known_to_be_no_text() -> None:
    assert TEXT_FIELDS.keys() == {cls.model_fields["kind"].default for cls in EVENT_TYPES}
    for cls in EVENT_TYPES:
        table = TEXT_FIELDS[cls.model_fields["kind"].default]
        assert table.keys() <= cls.model_fields.keys()
        for name, field in cls.model_fields.items():
            if _carries_text(field.annotation):
                assert (name in table) != (name in NEVER_TEXT), f"{cls.__name__}.{name}"


@pytest.mark.parametrize("kind", sorted(TEXT_FIELDS))
def test_no_number_passes_in_any_text_field_of_any_kind(kind: str) -> None:
    fields = {
        name: {"x": "+1 415 555 0132"} if name == "labels" else "+1 415 555 0132"
        for name, treatment in TEXT_FIELDS[kind].items()
    }
    assert "555" not in str(REDACTION.fields(kind, fields))


def test_a_kind_that_is_not_known_has_all_of_its_text_redacted() -> None:
    assert REDACTION.fields("novelty", {"words": "5550142", "count": 7, "model": "gpt-20261130"}) == {
        "words": REDACTION.text("5550142"), "count": 7, "model": "gpt-20261130",
    }  # fmt: skip


def test_ids_keep_their_digits_unless_they_are_a_phone_number() -> None:
    same = {"participant": "550e8400-e29b-41d4-a716-446655440000", "text": "hello"}
    assert REDACTION.fields("transcript", same) == same
    sip = REDACTION.fields("transcript", {"participant": "sip_+14155550132", "text": ""})["participant"]
    assert sip == "sip_" + REDACTION.text("+14155550132")
    labels = {"build": "20261130", "caller": "14155550132"}
    redacted = REDACTION.fields("call_started", {"agent": "clinic", "labels": labels})
    assert redacted == {"agent": "clinic", "labels": {"build": "20261130", "caller": REDACTION.text("14155550132")}}


def test_keys_pressed_are_not_told_apart() -> None:
    one, two = (REDACTION.fields("dtmf", {"party": "caller", "button": key})["button"] for key in "12")
    assert one == two
    assert re.fullmatch(r"<dtmf:1:[0-9a-f]{12}>", one)
    assert REDACTION.fields("dtmf", {"button": one})["button"] == one
    assert Redaction(SECRET, keep_dtmf=True).fields("dtmf", {"button": "1"})["button"] == "1"


def test_d08_a_text_over_the_bound_is_cut_and_marked() -> None:
    long = "word " * 400_000
    began = time.process_time()
    redacted = REDACTION.fields("transcript", {"text": long, "final": True})
    assert redacted["truncated"] is True
    assert 64_000 < len(redacted["text"].encode()) <= 64 * 1024
    assert time.process_time() - began < 1.0
    assert "truncated" not in REDACTION.fields("fault", {"message": long})
    umlauts = REDACTION.fields("transcript", {"text": "ü" * 100_000})["text"]
    assert len(umlauts.encode()) <= 64 * 1024


def test_json_over_the_bound_becomes_a_json_string() -> None:
    redacted = REDACTION.fields("tool", {"result": json.dumps({"rows": ["a b c 5550142"] * 50_000})})
    assert redacted["truncated"] is True
    assert "5550142" not in json.loads(redacted["result"])


def test_half_a_surrogate_pair_does_no_harm() -> None:
    redacted = REDACTION.text("so \ud83d 5550142")
    assert redacted.encode().startswith(b"so ")
    assert "5550142" not in redacted


def test_long_runs_of_one_sort_take_linear_time() -> None:
    for text in (
        "a " * 32_000,
        "1" * 65_000,
        "one " * 16_000,
        "at " * 21_000 + "dot com",
        "a@" * 32_000,
        "1 , " * 16_000,
        "oh " * 21_000,
        "a dot " * 10_000 + "at b dot c",
        "dot at " * 9_000,
        "1/2" * 20_000,
    ):
        began = time.process_time()
        REDACTION.text(text)
        assert time.process_time() - began < 2.0, text[:10]


def test_the_users_own_pattern_becomes_a_kind_of_its_own() -> None:
    redaction = Redaction(SECRET, extra=[("policy", r"PX-\w{4}")])
    assert re.fullmatch(r"my policy is <policy:7:[0-9a-f]{12}> ok", redaction.text("my policy is PX-a1b2 ok"))


def test_the_users_own_function_may_give_text_or_spans() -> None:
    by_text = Redaction(SECRET, extra=[lambda text: text.replace("Bob", "[name]")])
    assert by_text.text("Bob, 5550142") == "[name], " + REDACTION.text("5550142")
    by_span = Redaction(SECRET, extra=[lambda text: [(text.index("Bob"), text.index("Bob") + 3, "name")]])
    redacted = by_span.text("5550142 is Bob")
    assert [kind for kind, _, _ in PLACEHOLDER.findall(redacted)] == ["phone", "name"]


def _fails(text: str) -> str:
    raise RuntimeError(text)


@pytest.mark.parametrize(
    "hook",
    [
        pytest.param(_fails, id="raises"),
        pytest.param(lambda text: [(0, 3, "no kind!")], id="gives a kind that is none"),
        pytest.param(lambda text: 7, id="gives neither text nor spans"),
    ],
)
def test_a_hook_that_fails_lets_nothing_through(hook: Any, caplog: pytest.LogCaptureFixture) -> None:
    redaction = Redaction(SECRET, extra=[hook])
    assert redaction.fields("transcript", {"text": "hello Bob"})["text"] == "<unredactable:9>"
    assert json.loads(redaction.fields("tool", {"result": '{"a": 1}'})["result"]) == "<unredactable:8>"
    assert redaction.unredactable >= 1
    assert "Bob" not in caplog.text


@pytest.mark.parametrize("entry", [("Policy!", "x"), ("policy", "(")])
def test_an_impossible_pattern_is_refused_with_a_clear_word(entry: tuple[str, str]) -> None:
    with pytest.raises(BadInput, match="redaction extra"):
        Redaction(SECRET, extra=[entry])


def test_a_site_may_say_that_it_redacts_nothing() -> None:
    assert NoRedaction().fields("transcript", {"text": "5550142"}) == {"text": "5550142"}


def test_d08_a_text_over_the_bound_is_cut_and_marked_where_nothing_is_redacted_too() -> None:
    kept = NoRedaction(text_bytes=1_000).fields("transcript", {"text": "word " * 1_000, "final": True})
    assert kept["truncated"] is True
    assert 990 < len(kept["text"]) <= 1_000
    assert NoRedaction().fields("fault", {"message": "word " * 100_000}).keys() == {"message"}


def test_the_settings_make_the_redactor() -> None:
    settings = BotSettings.from_env({"EARWITNESS_SECRET": SECRET.decode(), "EARWITNESS_BOT__KEEP_DTMF": "1"})
    redactor = default_redactor(settings)
    assert redactor.fields("transcript", {"text": "5550142"})["text"] == REDACTION.text("5550142")
    assert redactor.fields("dtmf", {"button": "7"})["button"] == "7"


def test_a_typical_transcript_costs_under_fifty_microseconds() -> None:
    fields = {"text": "so I would like to book a table for two people on friday", "party": "caller"}
    best = min(_seconds(fields) for _ in range(5))
    assert best / 2_000 < 50e-6


def _seconds(fields: dict[str, Any]) -> float:
    began = time.process_time()
    for _ in range(2_000):
        REDACTION.fields("transcript", fields)
    return time.process_time() - began
