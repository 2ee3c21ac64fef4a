"""What was said and what was wanted, as lists that come with a recording (``--words FILE``, ``--expect FILE``)."""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.heard import Expectation, HeardWords
from earwitness.monitor.errors import BadInput
from earwitness.monitor.recordings.json_reading import as_list, as_ns, as_object, as_text, as_truth, parsed
from earwitness.monitor.recordings.speech_spans import in_order


def words_of(value: object, where: str) -> tuple[HeardWords, ...]:
    """Words out of ``[{"party", "start_s", "end_s", "text"}, ...]``. Raises BadInput naming the place."""
    found: list[HeardWords] = []
    for n, one in enumerate(as_list(value, where)):
        place, keys = f"{where}[{n}]", ("party", "start_s", "end_s", "text")
        given = as_object(one, place, keys, keys)
        party = given["party"]
        if party not in ("caller", "agent"):
            raise BadInput('"caller" or "agent" was expected', where=f"{place}.party")
        start, end = as_ns(given["start_s"], f"{place}.start_s"), as_ns(given["end_s"], f"{place}.end_s")
        in_order(start, end, place)
        found.append(HeardWords(party, start, end, as_text(given["text"], f"{place}.text")))
    return tuple(found)


def expectations_of(value: object, where: str) -> tuple[Expectation, ...]:
    """Expectations out of ``[{"at_s", "wanted"}, ...]``; what was not wanted may stand without a time, since it speaks
    of every overlap (definitions, "Interruptions", rule 8). Raises BadInput naming the place."""
    found: list[Expectation] = []
    for n, one in enumerate(as_list(value, where)):
        place = f"{where}[{n}]"
        given = as_object(one, place, ("at_s", "wanted"), ("wanted",))
        wanted = as_truth(given["wanted"], f"{place}.wanted")
        at = given.get("at_s")
        if at is None and wanted:
            raise BadInput('"at_s" is missing: which overlap was wanted?', where=place)
        found.append(Expectation(None if at is None else as_ns(at, f"{place}.at_s"), wanted))
    return tuple(found)


def lie_within(
    words: Sequence[HeardWords], expectations: Sequence[Expectation], duration_ns: int, where: tuple[str, str]
) -> None:
    """Words and expectations that begin after the recording's end belong to another one. Raises BadInput naming the
    first; ``where`` says where either stand."""
    begins = [(where[0], n, w.start_ns) for n, w in enumerate(words)]
    begins += [(where[1], n, e.at_ns) for n, e in enumerate(expectations) if e.at_ns is not None]
    for place, n, at in begins:
        if at > duration_ns:
            raise BadInput(
                f"at {at / S:g} s, after the recording's end at {duration_ns / S:g} s", where=f"{place}[{n}]"
            )


def read_words(text: bytes, where: str) -> tuple[HeardWords, ...]:
    """The words of a file. Raises BadInput."""
    return words_of(parsed(text, where), where)


def read_expectations(text: bytes, where: str) -> tuple[Expectation, ...]:
    """The expectations of a file. Raises BadInput."""
    return expectations_of(parsed(text, where), where)
