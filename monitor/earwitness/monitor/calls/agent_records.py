"""Records of agent turns and of the agent's interruptions."""

from __future__ import annotations

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.edge_evidence import of_agent_onset
from earwitness.monitor.calls.page import Content, Page
from earwitness.monitor.calls.stalls import agent_text, stalled
from earwitness.monitor.calls.stops import stop_of
from earwitness.monitor.calls.unheard import made_in_vain
from earwitness.monitor.contract.records import AgentInterruption, AgentTurn


def write_agent_turns(page: Page) -> None:
    """Write what each response made audible, and the text that never was."""
    scene, talk = page.scene, page.talk
    answers_of = {id(t.answer): t for t in reversed(talk.turns) if t.answer is not None}
    for n, voice in enumerate(scene.voices):
        if voice.on_ns >= page.before_ns:
            break
        run, off = voice.run, voice.off_ns
        owner = talk.owner.get(run.id) if run is not None else None
        answers = owner if owner is not None else answers_of.get(id(voice))
        latency, reason = _greeting(page, voice) if n == 0 and page.carry.numbers["a"] == 0 else (None, None)
        evidence: dict[str, str] = {"a_on": voice.sounds[0].on_by}
        if off is not None:
            evidence["a_off"] = voice.sounds[-1].off_by
        cut = voice.truncated is True or any(o.voice is voice and stop_of(scene, o).cut for o in talk.overlaps)
        content: Content = {
            "a_on_ns": voice.on_ns,
            "a_off_ns": off,
            "why": run.why if run is not None else "unknown",
            "answers": page.turn_id(answers),
            "text": agent_text(scene, voice),
            "unspoken": (" ".join(run.unspoken) or None) if run is not None else None,
            "audible": True,
            "interrupted": cut,
            "uncertain_end": voice.sounds[-1].uncertain_until_ns is not None,
            "greeting_latency_ns": latency,
            "greeting_reason": reason,
            "evidence": evidence,
        }
        done = off is not None and page.settled(max(off, voice.sounds[-1].uncertain_until_ns or 0))
        page.add(AgentTurn, page.voice_id(voice) or "", voice.on_ns, content, final=scene.over or done)
        if stalled(scene, talk, voice):
            page.count("stalled_turn", voice.on_ns)
        if page.cause == "caller" and voice.truncated is not False:
            heard_out = off is None or off >= scene.horizon_ns - scene.bounds.stop_silence_ns
            page.count("truncated_by_hangup", voice.on_ns, heard_out)
    _silent_runs(page)


def _greeting(page: Page, voice: Voice) -> tuple[int | None, str | None]:
    """``greeting_latency``: connected to first agent audio, when nobody spoke before (A23, A24)."""
    scene = page.scene
    connected = scene.facts.connected_ns
    if connected is None:
        return None, None
    if not scene.caller_edges and not scene.recogniser:
        return None, "unobservable"
    if page.carry.caller_spoke or any(u.at_ns < voice.on_ns and not u.other for u in scene.utterances):
        return None, "user_spoke_first"
    return (voice.on_ns - connected, None) if voice.on_ns >= connected else (None, "invalid")


def _silent_runs(page: Page) -> None:
    """Responses that were never audible: their text is kept and marked."""
    scene = page.scene
    heard_until = max((v.off_ns if v.off_ns is not None else scene.horizon_ns for v in scene.voices), default=0)
    for run in scene.facts.runs.values():
        if id(run) in page.audible:
            continue
        ends = [run.at[m] for m in ("cancelled", "ended", "tools_called", "empty") if m in run.at]
        end = max(ends + [p.last_ns for p in run.plays if p.last_ns is not None], default=None)
        meant = " ".join(text.strip() for _, text in run.intended) or " ".join(run.unspoken)
        since = run.asked_ns if run.asked_ns is not None else (run.intended[0][0] if run.intended else None)
        if since is None or since >= page.before_ns or not (meant or "first_audio" in run.at):
            continue
        cancelled = "cancelled" in run.at
        passed = any(v.run is not None and (v.run.asked_ns or 0) > since and v.on_ns > since for v in scene.voices)
        # What waits behind speech that was asked for before it may still be heard.
        until = end if end is None or cancelled or passed else max(end, heard_until)
        if not scene.over and (until is None or scene.horizon_ns - until < scene.bounds.settle_ns):
            continue
        owner = page.talk.owner.get(run.id)
        content: Content = {
            "a_on_ns": None,
            "a_off_ns": None,
            "why": run.why,
            "answers": page.turn_id(owner),
            "text": None,
            "unspoken": meant or None,
            "audible": False,
        }
        given_up = until is not None and scene.horizon_ns - until >= scene.bounds.reorder_ns
        final = scene.over or cancelled or passed or given_up
        page.add(AgentTurn, f"n:{run.id}", since, content, final=final)
        page.count("not_audible", since, made_in_vain(scene, run))


def write_interruptions(page: Page) -> None:
    """Write the onsets of the agent in turns that were not over."""
    before = page.carry.numbers["i"]
    for n, found in enumerate(page.talk.interruptions, before + 1):
        content: Content = {
            "at_ns": found.at_ns,
            "cause": found.cause,
            "turn": page.turn_id(found.turn),
            "evidence": of_agent_onset(page.scene, found.at_ns),
        }
        page.add(AgentInterruption, f"i{n}", found.at_ns, content, final=page.settled(found.at_ns))
