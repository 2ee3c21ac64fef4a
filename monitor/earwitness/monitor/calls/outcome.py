"""How a call ended and what was achieved: the first rule that holds (definitions, "Outcomes")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from earwitness.monitor.calls.agent import Voice
from earwitness.monitor.calls.scene import Scene
from earwitness.monitor.contract.records import EndCause, Outcome

OUT_OF_SCOPE: Final = frozenset({"voicemail", "wrong_number", "silent", "unknown"})
SAID_BY_APPLICATION: Final[dict[str, Outcome]] = {
    "voicemail": "voicemail", "wrong_number": "wrong_number", "silent": "silent", "escalated": "escalated",
    "escalation_failed": "escalation_failed", "escalation_abandoned": "escalation_abandoned", "callback": "callback",
    "failed": "failed", "declined": "declined",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ending:
    """What a call came to. ``contained`` is None where the call is outside the denominator."""

    cause: EndCause
    outcome: Outcome
    in_scope: bool
    contained: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What was open when the call ended."""

    awaits: bool
    """A turn that counts awaited an answer."""
    speaking: bool
    """The caller was speaking in a turn."""
    lost: bool
    """The last turn had no answer yet when line or process went."""
    caller_spoke: bool
    promised_transfer: bool
    """Audible words of the agent promised a hand-over."""
    critical_end_ns: int | None
    """When the last critical dead air ended; the call's end where it goes on."""


def end_cause(scene: Scene, ended_ns: int) -> EndCause:
    """A disconnect without a stated fault is ``caller``; ``transport`` needs the transport's own error, or audio that
    was lost 2 s or more before it."""
    facts, bounds = scene.facts, scene.bounds
    if facts.ended is None:
        return "unknown"
    cause: EndCause = facts.ended.cause
    if cause == "caller":
        failed = any(0 <= ended_ns - at <= bounds.lost_ns for at in facts.transport_errors)
        gaps = facts.gaps.get("caller", [])
        lost = bool(gaps) and gaps[-1].back_ns is None and ended_ns - gaps[-1].last_ns >= bounds.audio_lost_ns
        return "transport" if failed or lost else "caller"
    return cause


def ending(scene: Scene, cause: EndCause, open_things: Unfinished, *, observable: bool) -> Ending:
    """The outcome of an ended call by the first rule that holds."""
    said = SAID_BY_APPLICATION.get(scene.facts.app.get("outcome", ""))
    outcome, why = _first(scene, cause, open_things, said, observable=observable)
    in_scope = outcome not in OUT_OF_SCOPE
    return Ending(cause, outcome, in_scope, outcome == "contained" if in_scope else None, why)


def _first(
    scene: Scene,
    cause: EndCause,
    open_things: Unfinished,
    said: Outcome | None,
    *,
    observable: bool,
) -> tuple[Outcome, str]:
    facts = scene.facts
    if said in ("voicemail", "wrong_number", "silent"):
        return said, "the application says so"
    if facts.voicemail:
        return "voicemail", "a detector says so"
    if observable and scene.caller_edges and not open_things.caller_spoke and not facts.dtmf:
        return "silent", "the caller never spoke"
    moved = _handed_over(scene, cause, said, promised=open_things.promised_transfer)
    if moved is not None:
        return moved
    if cause == "transport" or facts.ended is None:
        return "unknown", "line lost" if cause == "transport" else "never ended"
    if not observable:
        return "unknown", "the caller's side was not observable"
    if cause == "error" or said == "failed":
        return "failed", "an error ended it" if cause == "error" else "the application says so"
    if cause in ("agent", "idle") and (open_things.awaits or open_things.speaking):
        return "cut_off", "the agent ended it while the caller " + (
            "spoke" if open_things.speaking else "awaited an answer"
        )
    if cause == "caller" and open_things.awaits:
        return "abandoned", "the caller left while a turn awaited an answer"
    if cause == "unknown" and said is None and (open_things.awaits or open_things.speaking or open_things.lost):
        # Abandoned or cut off, depending on whose end it was: saying either, or contained, would be a guess.
        return "unknown", "nobody says who ended it, and the caller " + (
            "was speaking" if open_things.speaking else "awaited an answer"
        )
    critical = open_things.critical_end_ns
    if cause == "caller" and critical is not None and scene.horizon_ns - critical <= scene.bounds.abandoned_after_ns:
        return "abandoned", "the caller left after critical dead air"
    if said == "declined" or facts.judged.get("declined:") == "pass":
        return "declined", "the application says so" if said == "declined" else "the judge says so"
    return "contained", "nothing speaks against it"


def _handed_over(scene: Scene, cause: EndCause, said: Outcome | None, *, promised: bool) -> tuple[Outcome, str] | None:
    """Whatever became of a hand-over to a human (F05)."""
    facts = scene.facts
    phases = [phase for _, phase in facts.transfers]
    if "completed" in phases or facts.human_agent_joined or said == "escalated":
        return "escalated", "hand-over completed"
    tools = list(facts.transfer_tools.values())
    asked = [p for p in phases if p != "callback"]
    if said in ("escalation_failed", "escalation_abandoned"):
        return said, "the application says so"
    if asked:
        if asked[-1] == "abandoned" or (asked[-1] in ("requested", "ringing") and cause == "caller"):
            return "escalation_abandoned", "the caller left before the hand-over was made"
        return "escalation_failed", "hand-over failed" if asked[-1] == "failed" else "hand-over asked for and not made"
    if tools and "callback" not in phases:
        status = tools[-1]
        if status == "ok":
            return "escalated", "the transfer tool succeeded"
        if status in ("error", "timed_out"):
            return "escalation_failed", "the transfer tool failed"
        if status == "running" and cause == "caller":
            return "escalation_abandoned", "the caller left before the hand-over was made"
        if status == "running":
            return "escalation_failed", "hand-over asked for and not seen made"
    if "callback" in phases or said == "callback":
        return "callback", "a later human contact was arranged"
    if not tools and promised:
        return "transfer_promised", "the agent promised a hand-over and nothing was tried"
    return None


def promises_transfer(scene: Scene, voice: Voice) -> bool:
    """Whether audible words of a response promise a hand-over."""
    run = voice.run
    if run is None:
        return False
    words = scene.said_by(run, 0, scene.horizon_ns)
    return any(tongue.promises_transfer(words) for tongue in scene.tongues)


def takes_leave(scene: Scene, voice: Voice) -> bool:
    """Whether audible words of a response are a farewell: not those of a greeting ("thanks for calling"), nor of one
    that ends with a question."""
    run = voice.run
    if run is None or run.why == "greeting":
        return False
    last = (run.spoken or run.intended)[-1:]
    if last and last[0][1].rstrip().endswith(("?", "？")):
        return False
    words = scene.said_by(run, 0, scene.horizon_ns)
    return any(tongue.is_farewell(words) for tongue in scene.tongues)
