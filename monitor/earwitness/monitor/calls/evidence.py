"""Events to facts: sorts a call's events, one by one and in their order, by what they speak of.

Moments are corrected to the clock of the process that owns the call (definitions, "Time and evidence"): an event of
another process is moved by the offset which that process announced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import get_args

from earwitness.monitor.calls.facts import (
    Edge,
    Entry,
    Facts,
    Gap,
    Label,
    Play,
    Run,
    Said,
    TurnEnd,
    Verdict,
    is_other,
)
from earwitness.monitor.calls.lexicon import language_of
from earwitness.monitor.calls.tool_facts import tool
from earwitness.monitor.contract.event import Evidence


def gather(entries: Iterable[Entry], facts: Facts | None = None) -> Facts:
    """Sort a call's events, given in the order of folding, by what they speak of; ``facts``: what was known before."""
    facts = Facts() if facts is None else facts
    find = _READERS.get
    for entry in entries:
        reader = find(entry[3].kind)
        if reader is not None:
            reader(facts, entry)
    return facts


def gather_lasting(entries: Iterable[Entry], facts: Facts, *, known: bool = False) -> Facts:
    """The same, but only for what lasts beyond a chapter (``carry.residue``): cheaper, and of no use for anything
    else. ``known``: of which kinds of evidence there are and who takes part, they say nothing new."""
    find = (_LASTING_OTHERS if known else _LASTING).get
    for entry in entries:
        reader = find(entry[3].kind)
        if reader is not None:
            reader(facts, entry)
    return facts


def _was_played(f: Facts, entry: Entry) -> None:
    f.had.add("agent:playout")


def _call_started(f: Facts, entry: Entry) -> None:
    e = entry[3]
    if e.owns_clock and f.started is None:
        f.started = e
        f.started_wall_ns = e.wall_ns - e.at_ns
        f.recording = e.measuring_point == "recording"


def _connected(f: Facts, entry: Entry) -> None:
    if f.connected_ns is None:
        f.connected_ns = entry[0]
    if f.caller_participant is None:
        f.caller_participant = entry[3].participant


def _edge(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    edge_ns = max(e.edge_ns + at - e.at_ns, 0)
    if f.ended_ns is not None and _behind_the_end(f, edge_ns):
        return
    if e.kind == "speech_started":
        edge = Edge(at, edge_ns, True, False, e.snr_db, False, not e.delay_known)
    else:
        edge = Edge(at, edge_ns, False, e.inferred, e.snr_db, e.echo, not e.delay_known)
    if e.party == "agent":
        f.had.add(_AGENT_HAD[e.evidence])
        f.agent_edges.setdefault(e.evidence, []).append(edge)
        return
    if e.party == "other":
        f.other_participants.add(e.participant or "other")
    participant = e.participant or ("other" if e.party == "other" else None)
    if not is_other(f, participant):
        f.had.add(_CALLER_HAD[e.evidence])
    f.caller_edges.setdefault((e.evidence, participant), []).append(edge)


def _behind_the_end(f: Facts, moment_ns: int) -> bool:
    """Sound and decisions behind the call's end are none of the call's, nor do they tell that it had such a source."""
    return f.ended_ns is not None and moment_ns > f.ended_ns


def _audio_gap(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    gaps = f.gaps.setdefault(e.party, [])
    if e.state == "stopped":
        gaps.append(Gap(e.last_audio_ns + at - e.at_ns))
    elif gaps and gaps[-1].back_ns is None:
        gaps[-1].back_ns = at


def _playout(f: Facts, entry: Entry) -> None:
    at, source, seq, e = entry
    edge = max(e.edge_ns + at - e.at_ns, 0)
    behind = _behind_the_end(f, edge)
    if e.phase == "first" and behind:
        return
    if e.response_id is not None:
        run = f.run(e.response_id, at)
    else:
        run = _nameless_run(f, f"{source}:{seq}", at, first=e.phase == "first")
    if not behind:
        f.had.add("agent:playout")
    open_play = run.plays[-1] if run.plays and run.plays[-1].last_ns is None else None
    if e.phase == "first":
        if open_play is None:
            run.plays.append(Play(edge))
        return
    if e.phase == "drained":
        play = run.plays[-1] if run.plays else None
        if play is not None:
            play.last_ns, play.drained, play.uncertain_until_ns = edge, True, None
        return
    if open_play is None:
        if run.plays and not run.plays[-1].drained:
            run.plays[-1].last_ns = max(edge, run.plays[-1].last_ns or edge)
        if run.plays:
            run.plays[-1].truncated = e.truncated
            return
        open_play = Play(None)
        run.plays.append(open_play)
    open_play.last_ns = max(edge, open_play.first_ns or edge)
    open_play.truncated = e.truncated
    if e.uncertain and e.written_ns is not None and open_play.first_ns is not None:
        open_play.uncertain_until_ns = max(open_play.first_ns + e.written_ns, open_play.last_ns)


def _nameless_run(f: Facts, name: str, at_ns: int, *, first: bool) -> Run:
    """Playout of which nobody says the response: the last such one, or a new one at a first sample."""
    if not first:
        for run in reversed(f.runs.values()):
            if run.id.startswith("?") and run.plays:
                run.last_ns = at_ns
                return run
    return f.run("?" + name, at_ns)


def _turn_ended(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    if _behind_the_end(f, at):
        return
    shift = at - e.at_ns
    complete = None if e.complete_at_ns is None else e.complete_at_ns + shift
    f.turn_ends.append(TurnEnd(at, tuple(sorted(n + shift for n in e.incomplete_at_ns)), complete))


def _interruption(f: Facts, entry: Entry) -> None:
    f.interruptions.append(entry[0])
    if entry[3].cause in ("dtmf", "application", "voicemail"):
        f.meant_cuts.append(entry[0])
    f.voicemail = f.voicemail or entry[3].cause == "voicemail"


def _classifier(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    requested = None if e.requested_ns is None else e.requested_ns + at - e.at_ns
    f.classifier.append(Verdict(at, e.answer, e.overlap_id, requested))


def _transcript(f: Facts, entry: Entry) -> None:
    at, source, seq, e = entry
    shift = at - e.at_ns
    start = None if e.utterance_start_ns is None else e.utterance_start_ns + shift
    end = None if e.utterance_end_ns is None else e.utterance_end_ns + shift
    key = e.utterance_id
    if e.revision_of is not None:
        # A replacement counts as one more final of the same utterance: it restates the text of its segment.
        key = key or f"{source}:{e.revision_of}"
    said = Said(
        at,
        e.text,
        e.final,
        e.form == "delta",
        e.eager,
        start,
        end,
        key or f"{source}:{seq}",
        e.in_context is False,
        e.language,
    )
    if e.party == "agent":
        f.agent_said.append(said)
        return
    if e.party == "other" or is_other(f, e.participant):
        f.said_by_others.append(said)
        return
    f.had.add("said")
    if e.text.strip() and not e.eager:
        f.had.add("words")
    if e.language:
        f.had.add(f"language:{language_of(e.language)}")
    f.said.append(said)


def _agent_text(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    run = f.run(e.response_id, at) if e.response_id is not None else _speaking_run(f)
    if run is None:
        return
    run.last_ns = at
    if e.intended:
        run.intended.append((at, e.intended))
    if e.spoken:
        run.spoken.append((at, e.spoken))
    if e.unspoken:
        run.unspoken.append(e.unspoken)


def _speaking_run(f: Facts) -> Run | None:
    """The response that a text without a name belongs to: the one that was last heard of."""
    return next(reversed(f.runs.values()), None)


def _response(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    run = f.run(e.response_id, at)
    if e.phase not in run.at:
        run.at[e.phase] = at
        f.cancelled += e.phase == "cancelled"
    if e.why is not None and run.why == "unknown":
        run.why = e.why
    if e.after is not None:
        run.after = e.after


def _mute(f: Facts, entry: Entry) -> None:
    f.mutes.append((entry[0], entry[3].state == "on"))


def _dtmf(f: Facts, entry: Entry) -> None:
    if entry[3].party == "caller":
        f.dtmf += 1
        f.meant_cuts.append(entry[0])


def _participant(f: Facts, entry: Entry) -> None:
    e = entry[3]
    if e.role == "caller":
        f.caller_participant = f.caller_participant or e.participant
    elif e.role in ("other", "human_agent") and e.participant != f.caller_participant:
        f.other_participants.add(e.participant)
    if e.role == "human_agent" and e.state == "joined":
        f.human_agent_joined = True


def _transfer(f: Facts, entry: Entry) -> None:
    f.transfers.append((entry[0], entry[3].phase))


def _transport(f: Facts, entry: Entry) -> None:
    e = entry[3]
    if e.event == "error":
        f.transport_errors.append(entry[0])
    elif e.event == "one_way":
        f.one_way.append(entry[0])
    told = {"loss_ratio": e.loss_ratio, "jitter_ms": e.jitter_ms, "round_trip_ms": e.round_trip_ms}
    valid = {name: value for name, value in told.items() if value is not None and _is_valid(name, value)}
    f.count("invalid", sum(value is not None for value in told.values()) - len(valid))
    f.line_reports += bool(valid)
    for name, value in valid.items():
        n, total, worst = f.line.get(name, (0, 0.0, 0.0))
        f.line[name] = (n + 1, total + value, max(worst, value))


def _is_valid(name: str, value: float) -> bool:
    return isfinite(value) and 0 <= value <= (1 if name == "loss_ratio" else float("inf"))


def _app(f: Facts, entry: Entry) -> None:
    at, _, _, e = entry
    f.app[e.name] = "" if e.value is None else str(e.value)
    if e.name == "hold":
        f.holds.append((at, e.value not in (False, "off", "end", "false", None)))


def _late_fact(f: Facts, entry: Entry) -> None:
    e = entry[3]
    f.app[e.name] = "" if e.value is None else str(e.value)


def _fault(f: Facts, entry: Entry) -> None:
    e = entry[3]
    origin, recovered = f.faults.get(e.fault_id, (None, False))
    f.faults[e.fault_id] = (origin or e.processor, recovered or e.recovered is True)


def _health(f: Facts, entry: Entry) -> None:
    e = entry[3]
    for gone in e.dropped:
        f.dropped.setdefault(getattr(gone, "source", None) or entry[1], []).append((gone.first_seq, gone.last_seq))
    f.counts["observer_errors"] = max(f.counts.get("observer_errors", 0), e.observer_errors)
    if e.no_frames_seen:
        f.counts["no_frames_seen"] = 1


def _stage(f: Facts, entry: Entry) -> None:
    f.stages.append(entry)


def _call_ended(f: Facts, entry: Entry) -> None:
    if f.ended is None:
        f.ended, f.ended_ns = entry[3], entry[0]


def _verdict(f: Facts, entry: Entry) -> None:
    e = entry[3]
    for subject in (*e.evidence, ""):
        f.judged[f"{e.criterion}:{subject}"] = e.verdict


def _human_label(f: Facts, entry: Entry) -> None:
    # One that is taken back stays and says nothing: else settled overlaps would keep what it made of them.
    e = entry[3]
    f.labels[e.subject] = Label(e.label, e.want_class, e.author)


def _expectation(f: Facts, entry: Entry) -> None:
    f.expected.append((entry[3].overlap_ns, entry[3].wanted))


_READERS: dict[str, Callable[[Facts, Entry], None]] = {
    "call_started": _call_started,
    "connected": _connected,
    "speech_started": _edge,
    "speech_ended": _edge,
    "audio_gap": _audio_gap,
    "playout": _playout,
    "turn_ended": _turn_ended,
    "interruption": _interruption,
    "classifier": _classifier,
    "transcript": _transcript,
    "agent_text": _agent_text,
    "response": _response,
    "tool": tool,
    "mute": _mute,
    "dtmf": _dtmf,
    "participant": _participant,
    "transfer": _transfer,
    "transport": _transport,
    "app": _app,
    "late_fact": _late_fact,
    "fault": _fault,
    "health": _health,
    "stage": _stage,
    "call_ended": _call_ended,
    "verdict": _verdict,
    "human_label": _human_label,
    "expectation": _expectation,
}
_AGENT_HAD = {kind: f"agent:{kind}" for kind in get_args(Evidence)}
_CALLER_HAD = {kind: f"caller:{kind}" for kind in get_args(Evidence)}
_PASSING = frozenset({"stage", "response", "agent_text", "turn_ended", "classifier"})
"""Kinds of which nothing lasts beyond a chapter."""
_LASTING = {kind: reader for kind, reader in _READERS.items() if kind not in _PASSING} | {"playout": _was_played}
_LASTING_OTHERS = {
    kind: reader
    for kind, reader in _LASTING.items()
    if kind not in ("speech_started", "speech_ended", "transcript", "playout")
}
"""The same but for those that last only by being the first of their kind."""
