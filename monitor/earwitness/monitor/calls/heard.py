"""A call as somebody heard it: speech intervals of both sides, words and expectations where given.

This is the second evidence path (definitions, "Time and evidence": measuring point ``recording``). ``events_of`` says
it in the events of the contract, so that one fold serves recordings and live calls.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.intervals import Span, clip, total
from earwitness.monitor.contract.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    Event,
    Health,
    SpeechEnded,
    SpeechStarted,
    Transcript,
)
from earwitness.monitor.contract.events import Expectation as Expected


@dataclass(frozen=True, slots=True)
class HeardWords:
    """What one party said between two moments."""

    party: Literal["caller", "agent"]
    start_ns: int
    end_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the caller wanted: the floor in the overlap at ``at_ns`` (within 0.5 s); or not the floor, in every overlap
    that no other expectation names (definitions, "Interruptions", rule 8)."""

    at_ns: int | None
    wanted: bool


@dataclass(frozen=True, slots=True)
class HeardCall:
    """A recording's speech. Spans are in nanoseconds since its beginning, in order, and do not touch within a side."""

    call_id: str
    duration_ns: int
    caller: tuple[Span, ...]
    agent: tuple[Span, ...]
    words: tuple[HeardWords, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    caller_snr_db: float | None = None
    """Measured on the caller's channel; None where intervals came from elsewhere."""
    echo: tuple[Span, ...] = ()
    """Speech-like sound in the caller's channel that is the agent's own: in ``caller`` too, and it wanted nothing."""
    unobserved: tuple[Literal["caller", "agent"], ...] = ()
    """Sides whose channel was digital silence throughout: they have no spans, and nobody knows whether they spoke."""
    speaking_at_end: tuple[Literal["caller", "agent"], ...] = ()
    """Sides whose last span reaches the end of the recording because the recording stopped, not the speech."""
    others: tuple[Span, ...] = ()
    """Speech of somebody else on the caller's side."""
    details: dict[str, str] = field(default_factory=dict[str, str])
    """What to say of the source: sample rate, voice activity, channels."""


PULSE_NS: Final = 60 * S
"""A live call reports its health that often; so does this, so that a long silence is silence and not the call's end."""
_ECHO_SHARE: Final = 2
"""Speech of which one part in so many, or more, is the agent's own sound is echo."""

_Told = tuple[int, type[Event], dict[str, Any]]


def events_of(heard: HeardCall, *, language: str | None = None) -> list[AnyEvent]:
    """A recording in the events of the contract, in their order: source ``recording``, wall clock 0 at its beginning.

    Nobody says why it ended (``call_ended`` of cause ``unknown``). A recogniser ran where the caller's words are given.
    Speech that was going on when the recording ended has an end that is ``inferred``. Words that run over several
    stretches of their party's speech are dealt out among them by the stretches' lengths. Raises no error: what a file
    may hold is checked where it is read.
    """
    unseen = heard.unobserved
    told: list[_Told] = [(0, Expected, {"wanted": one.wanted, "overlap_ns": one.at_ns}) for one in heard.expectations]
    told += [(at, Health, {}) for at in range(PULSE_NS, heard.duration_ns, PULSE_NS)]
    for party, spans in (("caller", heard.caller), ("agent", heard.agent), ("other", heard.others)):
        for n, span in enumerate(spans):
            told += _speech(heard, party, span, cut_off=party in heard.speaking_at_end and n + 1 == len(spans))
    told += [_transcript("caller", *said) for said in _by_stretch(_placed(heard, "caller"))]
    told += [_transcript("agent", start, end, text) for _, start, end, text in _placed(heard, "agent")]
    told.sort(key=lambda one: one[0])
    first: _Told = (0, CallStarted, {
        "agent": "",
        "language": language,
        "recogniser": any(w.party == "caller" and w.text.strip() for w in heard.words) or None,
        "caller_edges": () if "caller" in unseen else ("audio",),
        "agent_edges": () if "agent" in unseen else ("audio",),
        "measuring_point": "recording",
        "recording": heard.call_id,
    })  # fmt: skip
    last: _Told = (heard.duration_ns, CallEnded, {"cause": "unknown"})
    return [
        cast(
            "AnyEvent",
            kind(call_id=heard.call_id, source="recording", seq=seq, at_ns=at, wall_ns=at, **fields),
        )
        for seq, (at, kind, fields) in enumerate((first, *told, last))
    ]


def _speech(heard: HeardCall, party: str, span: Span, *, cut_off: bool) -> list[_Told]:
    start, end = span
    shared: dict[str, Any] = {"party": party, "evidence": "audio"}
    if party == "caller":
        shared["snr_db"] = heard.caller_snr_db
    back = party == "caller" and total(clip(heard.echo, start, end)) * _ECHO_SHARE >= end - start
    return [
        (start, SpeechStarted, {**shared, "edge_ns": start}),
        (end, SpeechEnded, {**shared, "edge_ns": end, "echo": back, "inferred": cut_off}),
    ]


def _transcript(party: str, start_ns: int, end_ns: int, text: str) -> _Told:
    return end_ns, Transcript, {
        "party": party, "text": text, "final": True, "utterance_start_ns": start_ns, "utterance_end_ns": end_ns,
    }  # fmt: skip


_Placed = tuple[int | None, int, int, str]
"""Words in a stretch of speech, by its number, with their times; None: they lie in none."""


def _placed(heard: HeardCall, party: str) -> list[_Placed]:
    """A party's words in order of time, each in one stretch of its speech."""
    spans = heard.caller if party == "caller" else heard.agent
    ends = [span[1] for span in spans]
    placed: list[_Placed] = []
    for words in sorted((w for w in heard.words if w.party == party), key=lambda w: (w.start_ns, w.end_ns)):
        end = min(words.end_ns, heard.duration_ns)
        touched: list[tuple[int, int, int]] = []
        for at in range(bisect_right(ends, words.start_ns), len(spans)):
            if spans[at][0] >= end:
                break
            touched.append((at, max(spans[at][0], words.start_ns), min(spans[at][1], end)))
        if len(touched) < 2:
            n, lo, hi = touched[0] if touched else (None, min(words.start_ns, end), end)
            placed.append((n, lo, hi, words.text.strip()))
        else:
            placed += _dealt(words.text.split(), touched)
    return [p for p in placed if p[3]]


def _dealt(words: Sequence[str], touched: Sequence[tuple[int, int, int]]) -> list[_Placed]:
    """Words said at an even pace over the stretches that they touch."""
    whole = sum(hi - lo for _, lo, hi in touched)
    spoken, dealt = 0, 0
    placed: list[_Placed] = []
    for n, lo, hi in touched:
        spoken += hi - lo
        upto = round(len(words) * spoken / whole)
        placed.append((n, lo, hi, " ".join(words[dealt:upto])))
        dealt = upto
    return placed


def _by_stretch(placed: Sequence[_Placed]) -> list[tuple[int, int, str]]:
    """One transcript for each stretch: words that come one by one restate nothing and correct nothing."""
    joined: list[tuple[int, int, str]] = []
    stretch: int | None = None
    for n, start, end, text in placed:
        if n is not None and n == stretch:
            before = joined[-1]
            joined[-1] = (before[0], max(before[1], end), f"{before[2]} {text}")
        else:
            joined.append((start, end, text))
        stretch = n
    return joined
