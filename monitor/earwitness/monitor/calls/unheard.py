"""Audio that was made and reached nobody: named by what shows it, so that it is never taken for a slow answer.

Two things (definitions, "Speech and turns": `not_audible`). A pipeline that is *dead but not failed* synthesises speech
that is never played, and says that all is well. On a line with *one-way audio* the agent is audible where we measure,
and the caller asks whether anybody is there; or the agent talks on while nothing arrives from the caller.
"""

from __future__ import annotations

from collections.abc import Sequence

from earwitness.monitor.calls.carry import Carry
from earwitness.monitor.calls.facts import Run
from earwitness.monitor.calls.intervals import Span, clip, total
from earwitness.monitor.calls.scene import Scene, Utterance
from earwitness.monitor.contract.records import EndCause, Unheard


def unheard_audio(
    scene: Scene, past: Carry, cause: EndCause | None, *, before_ns: int | None = None
) -> tuple[Unheard, ...]:
    """All stretches of a call so far in which audio reached nobody, in order; ``cause``: how the call ended, None while
    it goes on; ``before_ns``: what begins from then on is left out, and what lasts till then goes on."""
    limit = scene.horizon_ns + 1 if before_ns is None else before_ns
    told = [*_never_played(scene), *_asked_into(scene, past), *_told(scene), *_gone_quiet(scene, cause)]
    if not told and not past.unheard:
        return ()
    sound_ns = min((on for on, _, _ in scene.sounds() if on >= past.cut_ns), default=None)
    found: dict[tuple[str, int], Unheard] = {}
    for one in past.unheard:
        closed = one.by == "no_playout" and one.until_ns is None and sound_ns is not None and sound_ns < limit
        found[one.by, one.at_ns] = one.model_copy(update={"until_ns": sound_ns}) if closed else one
    for one in told:
        if one.at_ns < limit:
            found[one.by, one.at_ns] = _as_before(one, limit)
    return tuple(_joined(sorted(found.values(), key=lambda one: (one.at_ns, one.by))))


def reaches_nobody(unheard: Sequence[Unheard], moment_ns: int | None) -> bool:
    """Whether agent audio that began then did not reach the caller, though it was audible where it was measured."""
    return moment_ns is not None and any(
        one.by == "caller_asks" and one.at_ns <= moment_ns and (one.until_ns is None or moment_ns < one.until_ns)
        for one in unheard
    )


def counted(unheard: Sequence[Unheard]) -> dict[str, int]:
    """How many stretches of each kind there are, those at the same time counted once."""
    counts: dict[str, int] = {}
    for what in ("dead_not_failed", "one_way_audio"):
        reach: int | None = -1
        for one in (u for u in unheard if u.what == what):
            if reach is not None and one.at_ns > reach:
                counts[what] = counts.get(what, 0) + 1
                reach = one.until_ns
            elif reach is not None:
                reach = None if one.until_ns is None else max(reach, one.until_ns)
    return counts


def made_in_vain(scene: Scene, run: Run) -> bool:
    """Whether speech was synthesised for a response, none of it was ever audible, and that was not because somebody
    cancelled it at once."""
    first = run.at.get("first_audio")
    if first is None or run.plays or any(v.run is run for v in scene.voices):
        return False
    cancelled = run.at.get("cancelled")
    return cancelled is None or cancelled >= first + scene.bounds.unheard_ns


def asks_whether_anybody_is_there(utterance: Utterance) -> bool:
    """Whether an utterance is "hello?", "can you hear me?" and nothing else."""
    return utterance.tongue.asks_presence(utterance.words)


def last_words(scene: Scene, before_ns: int) -> Utterance | None:
    """The caller's last utterance with words before a moment."""
    return next((u for u in reversed(_worded(scene)) if u.at_ns < before_ns), None)


def _never_played(scene: Scene) -> list[Unheard]:
    """Speech was synthesised and nothing was played for ``Bounds.unheard_ns``: dead, but not failed."""
    if not scene.agent_edges:
        return []
    wait, found = scene.bounds.unheard_ns, list[Unheard]()
    mute = [run for run in scene.facts.runs.values() if not run.plays and "first_audio" in run.at]
    if not mute:
        return found
    onsets = [on for on, _, _ in scene.sounds()]
    runs = sorted((run.at["first_audio"], run.id) for run in mute if made_in_vain(scene, run))
    for at, name in runs:
        due = at + wait
        if scene.horizon_ns < due or clip(scene.agent_spans(), at, due):
            continue
        until = next((on for on in onsets if on >= due), None)
        found.append(
            Unheard(what="dead_not_failed", by="no_playout", lost="agent", at_ns=at, until_ns=until, responses=(name,))
        )
    return found


def _asked_into(scene: Scene, past: Carry) -> list[Unheard]:
    """The caller asks at least twice whether anybody is there, says nothing else meanwhile, and the agent is audible
    all the same. A "hello?" before the agent was ever heard asks for nothing but a greeting."""
    bounds, worded = scene.bounds, _worded(scene)
    if not any(map(asks_whether_anybody_is_there, worded)):
        return []
    spans = scene.agent_spans()
    connected = max(scene.facts.connected_ns or 0, past.cut_ns)
    heard_before = past.talk_ns.get("agent", 0) + past.talk_ns.get("both", 0)
    found: list[Unheard] = []
    asks: list[Utterance] = []
    for utterance in [*worded, None]:
        if utterance is not None and asks_whether_anybody_is_there(utterance):
            end = utterance.end_ns(scene.horizon_ns)
            if not asks and heard_before + total(clip(spans, connected, end)) < bounds.one_way_audible_ns:
                continue
            if asks and utterance.at_ns - asks[-1].at_ns > bounds.one_way_gap_ns:
                asks = []
            asks.append(utterance)
            continue
        if len(asks) >= bounds.one_way_asks and _is_into_audio(asks, spans, scene):
            # Words of another kind show that the agent's last answer was heard.
            until = None if utterance is None else asks[-1].at_ns
            found.append(_one_way("caller_asks", "agent", asks[0].at_ns, until, tuple(a.at_ns for a in asks)))
        asks = []
    return found


def _is_into_audio(asks: Sequence[Utterance], spans: Sequence[Span], scene: Scene) -> bool:
    between = clip(spans, asks[0].at_ns, asks[-1].end_ns(scene.horizon_ns))
    return total(between) >= scene.bounds.one_way_audible_ns


def _told(scene: Scene) -> list[Unheard]:
    """The transport says that audio flows one way; which way, it does not say."""
    return [_one_way("transport", None, at, None, ()) for at in scene.facts.one_way]


def _gone_quiet(scene: Scene, cause: EndCause | None) -> list[Unheard]:
    """No audio of the caller arrives for long while the agent talks. A line that was lost so is not one-way."""
    found: list[Unheard] = []
    for gap in scene.facts.gaps.get("caller", []):
        if gap.back_ns is None and cause == "transport":
            continue
        end = scene.horizon_ns if gap.back_ns is None else gap.back_ns
        audible = total(clip(scene.agent_spans(), gap.last_ns, end))
        if end - gap.last_ns >= scene.bounds.one_way_quiet_ns and audible >= scene.bounds.one_way_audible_ns:
            found.append(_one_way("audio_gap", "caller", gap.last_ns, gap.back_ns, ()))
    return found


def _one_way(by: str, lost: str | None, at: int, until: int | None, moments: tuple[int, ...]) -> Unheard:
    told = {"by": by, "lost": lost, "at_ns": at, "until_ns": until, "moments_ns": moments}
    return Unheard.model_validate({"what": "one_way_audio", **told})


def _worded(scene: Scene) -> list[Utterance]:
    return [u for u in scene.utterances if u.words and not u.other and not u.muted and not u.echo]


def _as_before(one: Unheard, limit: int) -> Unheard:
    """What is known of a stretch before a moment."""
    if one.until_ns is not None and one.until_ns >= limit:
        return one.model_copy(update={"until_ns": None})
    return one


def _joined(ordered: Sequence[Unheard]) -> list[Unheard]:
    """Responses of one dead stretch are told together."""
    found: list[Unheard] = []
    for one in ordered:
        last = next((n for n, u in enumerate(found) if u.by == one.by == "no_playout" and _reaches(u, one.at_ns)), None)
        if last is None:
            found.append(one)
        else:
            names = dict.fromkeys((*found[last].responses, *one.responses))
            found[last] = found[last].model_copy(update={"responses": tuple(names), "until_ns": one.until_ns})
    return found


def _reaches(one: Unheard, at_ns: int) -> bool:
    return one.until_ns is None or at_ns < one.until_ns
