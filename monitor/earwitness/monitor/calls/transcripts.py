"""Which words belong to which segment of caller speech (definitions, "Speech and turns": words; A45, A19, C10).

Words belong to the segment of their utterance time; else to the last segment still without a final that had ended when
they came, or to the one that goes on. With no edge within ``Bounds.words_reach_ns`` they belong to nothing, unless they
are all that a slow recogniser has to say of the last speech and nobody was audible since: else its slowest turns would
be those that nobody counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.facts import Facts, Said
from earwitness.monitor.calls.intervals import Span
from earwitness.monitor.calls.lexicon import tokens
from earwitness.monitor.calls.speech import Segment


def assign(said: Sequence[Said], segments: Sequence[Segment], bounds: Bounds, *, horizon_ns: int) -> list[Said]:
    """Lay the words into their segments; what is left over is returned."""
    if not said:
        return []
    own = [s for s in segments if not s.other]
    by_utterance: dict[str, Segment] = {}
    loose: list[Said] = []
    latest: tuple[Said, Segment] | None = None
    """The last final that was placed by its arrival alone, and where."""
    for one in said:
        if one.eager:
            continue
        segment = by_utterance.get(one.utterance) if one.utterance is not None else None
        if segment is None or one.at_ns - segment.end_ns(horizon_ns) > bounds.words_reach_ns:
            # A recogniser that never closes an utterance goes on with it in speech that comes much later.
            segment = _home(one, own, bounds, horizon_ns) or segment
        if segment is None:
            loose.append(one)
            continue
        by_arrival = one.start_ns is None and one.end_ns is None and one.utterance not in by_utterance
        if one.final and by_arrival and tokens(one.text):
            segment = _in_order(segment, latest, bounds)
            latest = one, segment
        if one.utterance is not None:
            by_utterance[one.utterance] = segment
        segment.language = one.language or segment.language
        if one.final:
            segment.closed_by_final = True
            if tokens(one.text):
                _take_final(segment, one)
        elif tokens(one.text):
            segment.interim = f"{segment.interim} {one.text}".strip() if one.delta else one.text
    return loose


def assign_belated(
    loose: Sequence[Said], segments: Sequence[Segment], agent: Sequence[Span], bounds: Bounds
) -> list[Said]:
    """Give words that came late to the last speech before them, if it has no final, came within
    ``Bounds.late_words_ns`` and the agent was silent from its beginning on; what is left over is returned."""
    own = [s for s in segments if not s.other and not s.muted]
    left: list[Said] = []
    for one in loose:
        untimed = one.start_ns is None and one.end_ns is None
        last = next((s for s in reversed(own) if s.start_ns <= one.at_ns), None)
        if (
            not (one.final and untimed and tokens(one.text))
            or last is None
            or last.closed_by_final
            or last.on_ns is None
            or last.off_ns is None
            or one.at_ns - last.off_ns > bounds.late_words_ns
            or any(on < one.at_ns and last.on_ns < off for on, off in agent)
        ):
            left.append(one)
            continue
        last.closed_by_final = True
        last.language = one.language or last.language
        _take_final(last, one)
    return left


def assign_others(said: Sequence[Said], segments: Sequence[Segment], bounds: Bounds, *, horizon_ns: int) -> None:
    """Tell speech of others by its words, where an edge does not say whose it is (A33: a VAD hears no names)."""
    for one in said:
        wordless = [s for s in segments if not s.other and not s.finals and not s.interim]
        home = _home(one, wordless, bounds, horizon_ns) if one.final and tokens(one.text) else None
        if home is not None:
            home.others.append(one)
    for segment in segments:
        segment.other = segment.other or bool(segment.others)


def places_of_late_words(facts: Facts, said: Sequence[Said], bounds: Bounds) -> list[int]:
    """Where the words of a speech-to-speech call without any caller edge lie in time, one moment for each.

    Such a service gives the caller's words when it has begun to answer them, so that their order places them and not
    their arrival: words that follow the request of a response which no words came before belong before that request,
    and so do those that come within ``Bounds.words_reach_ns`` of it; other words lie where they came.
    """
    asked = [r.asked_ns for r in facts.runs.values() if r.why in ("user_turn", "eager") and r.asked_ns is not None]
    moments = [(at, 0, -1) for at in asked] + [(one.at_ns, 1, n) for n, one in enumerate(said)]
    places = [0] * len(said)
    wordless: int | None = None
    latest: int | None = None
    waiting = False
    for at, _, n in sorted(moments):
        if n < 0:
            wordless, latest = (None, None) if waiting else (at, at)
            waiting = False
        elif wordless is not None:
            places[n], wordless = wordless, None
        elif latest is not None and at - latest <= bounds.words_reach_ns:
            places[n] = latest
        else:
            places[n], waiting = at, True
    return places


def text_of(segments: Sequence[Segment]) -> str | None:
    """What was said in the segments, in the order in which it came; interim words where no final has them."""
    if not any(s.interim and not s.finals for s in segments):
        # Nothing but finals, as nearly always.
        heard = [f for s in segments for f in s.finals]
        if len(heard) > 1:
            heard.sort(key=_arrival)
        return " ".join([f.text.strip() for f in heard]) or None
    finals = sorted((f for s in segments for f in s.finals), key=_arrival)
    final_words = tuple(w for f in finals for w in tokens(f.text))
    pieces = [(f.at_ns, f.text.strip()) for f in finals]
    pieces += [
        (s.start_ns, s.interim)
        for s in segments
        if s.interim and not s.finals and not _restated(tokens(s.interim), final_words)
    ]
    return " ".join(text for _, text in sorted(pieces, key=lambda piece: piece[0])) or None


def _arrival(final: Said) -> int:
    return final.at_ns


def _restated(interim: tuple[str, ...], final: tuple[str, ...]) -> bool:
    """Whether a final has the words of an interim, of which the last may be half a word."""
    sure = interim[:-1] or interim
    return any(final[n : n + len(sure)] == sure for n in range(len(final) - len(sure) + 1))


def words_of(segments: Sequence[Segment]) -> tuple[str, ...]:
    """The words of the segments: of each its finals, else its interim text."""
    return tuple([w for s in segments for t in ([f.text for f in s.finals] or [s.interim]) for w in tokens(t)])


def interim_only(segments: Sequence[Segment]) -> bool:
    """Whether words were heard and no final has any of them (A19, B09)."""
    return any(s.interim for s in segments) and not any(s.finals for s in segments)


def _home(one: Said, segments: Sequence[Segment], bounds: Bounds, horizon_ns: int) -> Segment | None:
    reach = bounds.words_reach_ns
    if one.start_ns is not None or one.end_ns is not None:
        start = one.start_ns if one.start_ns is not None else one.end_ns or 0
        end = one.end_ns if one.end_ns is not None else start
        near = [(_distance(s, start, end, horizon_ns), s) for s in segments]
        best = min(near, key=lambda pair: pair[0], default=None)
        if best is not None and best[0] <= reach:
            return best[1]
        return None
    begun = [s for s in segments if s.start_ns <= one.at_ns and one.at_ns - s.end_ns(horizon_ns) <= reach]
    if not begun:
        return None
    ended = [s for s in begun if s.off_ns is not None and s.off_ns <= one.at_ns]
    going_on = [s for s in begun if s.off_ns is None or s.off_ns > one.at_ns]
    if not one.final:
        return begun[-1]
    open_ones = [s for s in ended if not s.closed_by_final]
    if open_ones:
        return open_ones[-1]
    return going_on[-1] if going_on else ended[-1]


def _in_order(segment: Segment, latest: tuple[Said, Segment] | None, bounds: Bounds) -> Segment:
    """Where a final goes that would lie before the final that came before it: words come in the order in which they
    were said, so that where both segments were over by then the earlier words move to the earlier of them."""
    if latest is None:
        return segment
    before, later = latest
    end = segment.off_ns
    over = end is not None and end <= before.at_ns <= end + bounds.words_reach_ns
    if segment.start_ns >= later.start_ns or segment.finals or later.finals != [before] or not over:
        return segment
    segment.finals, segment.closed_by_final, later.finals = [before], True, []
    return later


def _distance(segment: Segment, start_ns: int, end_ns: int, horizon_ns: int) -> int:
    """How far an utterance lies from a segment; the more they share, the further below 0."""
    s, e = segment.start_ns, segment.end_ns(horizon_ns)
    return max(s - end_ns, start_ns - e) if s > end_ns or start_ns > e else -(min(e, end_ns) - max(s, start_ns)) - 1


def _take_final(segment: Segment, final: Said) -> None:
    """Add a final; one that restates what the segment already has replaces that (A45)."""
    new = tokens(final.text)
    have = tuple(w for f in segment.finals for w in tokens(f.text))
    if have and new[: len(have)] == have:
        segment.finals = [final]
    elif segment.finals and have[-len(new) :] == new:
        return
    else:
        segment.finals.append(final)
