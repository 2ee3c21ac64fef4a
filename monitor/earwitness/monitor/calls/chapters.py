"""Where a call can be cut in two, so that what lies before never needs to be looked at again.

A cut lies at the onset of a caller turn, where nobody else was audible, all that lies before is final and no run, tool
or word of before is still spoken of. Whether there is one is judged ``LOOK_AHEAD_NS`` after the onset, from the events
up to that moment and from nothing else: so the cuts, like the records, depend on the set of events alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from earwitness.monitor.calls.bounds import Bounds, S
from earwitness.monitor.calls.call_record import caller_spoke, last_critical, other_speech_so_far, talk_so_far
from earwitness.monitor.calls.carry import KINDS, Carry, residue
from earwitness.monitor.calls.evidence import gather_lasting
from earwitness.monitor.calls.facts import Edge, Entry, Facts, is_other
from earwitness.monitor.calls.outcome import promises_transfer, takes_leave
from earwitness.monitor.calls.page import Draft, Page
from earwitness.monitor.calls.reckon import Reckoning, lay_out, reckon_before
from earwitness.monitor.calls.stops import stop_of
from earwitness.monitor.calls.talk import TurnDraft
from earwitness.monitor.calls.unheard import asks_whether_anybody_is_there, last_words, unheard_audio

LOOK_AHEAD_NS: Final = 6 * S
"""Longer than every settling time of the definitions."""


def cut_here(
    entries: Sequence[Entry], facts: Facts, carry: Carry, bounds: Bounds, edge_ns: int, *, as_of_ns: int, wall_ns: int
) -> tuple[Carry, list[Draft]] | None:
    """The past of a chapter that begins with the caller speech at ``edge_ns``, and the records that are settled by
    that; None where the call cannot be cut there. ``entries`` are the chapter's up to ``as_of_ns``, and ``facts`` what
    they say."""
    if facts.ended is not None or not _nothing_open(facts, edge_ns, as_of_ns - LOOK_AHEAD_NS, bounds):
        return None
    page = lay_out(facts, carry, bounds, as_of_ns=as_of_ns, over=False, wall_ns=wall_ns)
    turn = _turn_at(page, edge_ns, bounds)
    if turn is None:
        return None
    start = turn.start_ns
    cut_at = _first_sign(facts, start, bounds)
    if not _quiet(page, turn, cut_at):
        return None
    last = last_words(page.scene, start)
    if last is not None and asks_whether_anybody_is_there(last):
        return None  # what the caller says next shows whether the agent was heard
    if not _past_is_done(page, facts, start, cut_at):
        return None
    found = reckon_before(page, start, cut_at)
    settled, strange = page.drafts, facts.stages_known.invalid
    if not all(d.content["final"] for d in settled) or any(start <= at < cut_at for at in strange):
        return None
    own = entries[: bisect_left(entries, cut_at, key=_moment)]
    return _carry_on(found, own, start, cut_at, settled), settled


def _nothing_open(facts: Facts, edge_ns: int, noticed_ns: int, bounds: Bounds) -> bool:
    """A cheap look at what would make a cut impossible, before anything is worked out: over an agent that never falls
    silent every onset of the caller would cost as much as the whole call so far. ``noticed_ns``: when the onset was."""
    before = edge_ns - bounds.match_ns
    if not any(run.plays and run.first_ns < before for run in facts.runs.values()) and not facts.agent_edges:
        return False
    if any(_last_is_start(own, noticed_ns) for own in _agent_edges(facts)):
        return False
    if any(run.first_ns < before and any(p.last_ns is None for p in run.plays) for run in facts.runs.values()):
        return False
    if any(tool.called_ns < edge_ns <= tool.last_ns or tool.ended_ns is None for tool in facts.tools.values()):
        return False
    return all(run.first_ns >= before or run.last_ns < edge_ns for run in facts.runs.values())


def _turn_at(page: Page, edge_ns: int, bounds: Bounds) -> TurnDraft | None:
    """The turn that begins at the edge, if it is there to stay and not the chapter's first."""
    turns = page.talk.turns
    for n, turn in enumerate(turns):
        if turn.u_on_ns is None or abs(turn.u_on_ns - edge_ns) > bounds.match_ns or turn.start_ns <= page.carry.cut_ns:
            continue
        first = turn.utterances[0]
        if first.off_ns is None or first.inferred or turn.doubtful:
            return None
        if page.scene.facts.other_participants and page.scene.recogniser and not first.words:
            return None  # the words that are to come may show that somebody else spoke
        if n and turns[n - 1].answer is None:
            quiet = turn.start_ns - turns[n - 1].end_ns(page.scene.horizon_ns)
            if quiet <= bounds.turn_gap_ns:
                return None
        if n and (turns[n - 1].answer_ns or 0) >= turn.start_ns:
            return None  # both sides began at once: the answer of the turn before lies behind the cut
        return turn
    return None


def _first_sign(facts: Facts, start_ns: int, bounds: Bounds) -> int:
    """When the first event spoke of the speech that begins at ``start_ns``."""
    signs = [
        edge.at_ns
        for (_, participant), edges in facts.caller_edges.items()
        if not is_other(facts, participant)
        for edge in edges
        if edge.start and abs(edge.edge_ns - start_ns) <= bounds.match_ns
    ]
    return min(signs, default=start_ns)


def _quiet(page: Page, turn: TurnDraft, cut_at_ns: int) -> bool:
    """Whether nobody else was audible at the turn's onset, and no word or echo of before can still come."""
    scene, start = page.scene, turn.start_ns
    last_sound = 0
    for on, sound, _ in scene.sounds():
        if on >= start:
            break
        end = max(sound.end_ns(scene.horizon_ns + 1), sound.uncertain_until_ns or 0)
        if end > start:
            return False
        last_sound = max(last_sound, end)
    for segment in scene.segments:
        if segment.start_ns >= start:
            break
        if (
            segment.off_ns is None
            or segment.off_ns > start
            or any(f.at_ns >= cut_at_ns for f in (*segment.finals, *segment.others))
        ):
            return False
    if _words_cross(page, start, cut_at_ns):
        return False
    echo_until = last_sound + scene.bounds.echo_ns
    early = [u for u in scene.utterances if start <= u.at_ns < echo_until and not u.other and not u.muted]
    return not scene.recogniser or all(u.words and not u.echo for u in early)


def _words_cross(page: Page, start_ns: int, cut_at_ns: int) -> bool:
    """Whether words that were noticed on one side of the cut belong, or may belong, to speech on the other."""
    scene, reach = page.scene, page.scene.bounds.words_reach_ns
    after = (s for s in scene.segments if s.start_ns >= start_ns)
    if any(f.at_ns < cut_at_ns for s in after for f in (*s.finals, *s.others)):
        return True
    earlier: set[str | None] = set()
    for one in scene.facts.said:
        known = [n for n in (one.start_ns, one.end_ns) if n is not None]
        if one.at_ns < cut_at_ns:
            earlier.add(one.utterance)
            if not one.final and known and max(known) >= start_ns - reach:
                return True
        elif not one.final and (one.utterance in earlier or (known and min(known) < start_ns)):
            return True
    return False


def _past_is_done(page: Page, facts: Facts, start_ns: int, cut_at_ns: int) -> bool:
    """Whether nothing that lies before is still going on, or spoken of after."""
    turns = page.talk.turns
    following = {run.after for run in facts.runs.values() if run.first_ns < cut_at_ns}
    for run in facts.runs.values():
        asked = run.asked_ns
        if run.first_ns >= cut_at_ns:
            owner = page.talk.owner.get(run.id)
            if owner is not None and owner in turns and owner.start_ns < start_ns:
                return False
            if run.why == "resumed" or (asked is not None and asked < start_ns):
                return False
            continue
        if run.last_ns >= cut_at_ns:
            return False
        done = any(p.last_ns is not None for p in run.plays) or any(
            m in run.at for m in ("cancelled", "empty", "ended")
        )
        if any(p.last_ns is None for p in run.plays):
            return False
        if "tools_called" in run.at:
            done = run.id in following or "cancelled" in run.at
        if not done:
            return False
    # What is told between the onset and its being noticed would be lost, but for what lies there by itself.
    told = [one.at_ns for one in (*facts.said, *facts.said_by_others)]
    told += [end.at_ns for end in facts.turn_ends] + [verdict.at_ns for verdict in facts.classifier]
    told += [*facts.interruptions, *facts.one_way, *[tool.called_ns for tool in facts.tools.values()]]
    told += [run.first_ns for run in facts.runs.values()]
    if any(start_ns <= at < cut_at_ns for at in told):
        return False
    if any(t.called_ns < cut_at_ns and (t.ended_ns is None or t.last_ns >= cut_at_ns) for t in facts.tools.values()):
        return False
    for voice in page.scene.voices:
        if voice.run is not None and voice.run.first_ns < cut_at_ns and voice.sounds[-1].on_ns >= start_ns:
            return False
    for own in _edges(facts):
        if not all(_apart(edge, start_ns, cut_at_ns, page.scene.bounds) for edge in own):
            return False
        before = [edge.start for edge in own if edge.at_ns < cut_at_ns]
        if before and before[-1]:
            return False
    for draft in page.talk.overlaps:
        if draft.u_on_ns >= start_ns:
            break
        if draft.pending or not stop_of(page.scene, draft).followed:
            return False
    return True


def _edges(facts: Facts) -> list[list[Edge]]:
    """Edges of speech, source by source, but for the pipeline's own word on the agent where there is better."""
    return [*facts.caller_edges.values(), *_agent_edges(facts)]


def _agent_edges(facts: Facts) -> list[list[Edge]]:
    better = facts.had & {"agent:playout", "agent:audio", "agent:server"}
    return [own for kind, own in facts.agent_edges.items() if kind != "decision" or not better]


def _last_is_start(own: Sequence[Edge], before_ns: int) -> bool:
    """Whether the last edge that was noticed before a moment is the beginning of speech."""
    return next((edge.start for edge in reversed(own) if edge.at_ns < before_ns), False)


def _apart(edge: Edge, start_ns: int, cut_at_ns: int, bounds: Bounds) -> bool:
    """Whether an edge lies on the same side of the cut as the event that told of it, and no end so near that different
    kinds of evidence could disagree about the side."""
    if not edge.start and start_ns - 2 * bounds.match_ns <= edge.edge_ns < start_ns:
        return False
    return edge.edge_ns >= start_ns - bounds.match_ns if edge.at_ns >= cut_at_ns else edge.edge_ns < start_ns


def _carry_on(found: Reckoning, own: Sequence[Entry], start_ns: int, cut_at_ns: int, settled: Sequence[Draft]) -> Carry:
    """Sum up what the next chapter needs to know; ``own``: the events before the cut."""
    page, scene, past = found.page, found.page.scene, found.page.carry
    before, now = past.facts, scene.facts
    known = now.had == before.had and now.other_participants == before.other_participants
    facts = residue(gather_lasting(own, past.begin(), known=known))
    turns = [t for t in page.talk.turns if t.start_ns < start_ns]
    numbers = dict(past.numbers)
    numbers["t"] += len(turns)
    numbers["a"] += sum(v.on_ns < start_ns for v in scene.voices)
    for draft in settled:
        kind = draft.id[0]
        if kind in KINDS[2:] and draft.id[1:].isdigit():
            numbers[kind] += 1
    counts = dict(past.counts)
    for at, name, n in page.counted:
        if at < start_ns:
            counts[name] = counts.get(name, 0) + n
    values = [latency for at, latency in page.latencies if at < start_ns]
    same = {*values, past.same_latency_ns} if past.latencies else set(values)
    voices = [v for v in scene.voices if v.on_ns < start_ns]
    stretches = [s for s in found.stretches if s.start_ns < start_ns]
    return Carry(
        cut_ns=start_ns,
        cut_at_ns=cut_at_ns,
        facts=facts,
        events=past.events + len(own),
        last_at_ns=own[-1][0] if own else past.last_at_ns,
        numbers=numbers,
        counts=counts,
        talk_ns=talk_so_far(page, start_ns),
        other_speech_ns=other_speech_so_far(page, start_ns),
        edge_seen=past.edge_seen or any(u.off_ns is not None and not u.inferred for t in turns for u in t.utterances),
        caller_spoke=caller_spoke(page),
        agent_asked=past.agent_asked or any(r.first_ns < cut_at_ns for r in page.scene.facts.runs.values()),
        latencies=past.latencies + len(values),
        same_latency_ns=same.pop() if len(same) == 1 else None,
        critical_end_ns=last_critical(page, stretches),
        promised_transfer=past.promised_transfer or any(promises_transfer(scene, v) for v in voices),
        unheard=unheard_audio(scene, past, None, before_ns=start_ns),
        took_leave=past.took_leave or any(takes_leave(scene, v) for v in voices),
    )


def _moment(entry: Entry) -> int:
    return entry[0]
