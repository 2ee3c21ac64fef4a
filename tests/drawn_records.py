"""Records of every kind with contents drawn by chance, what makes no sense among them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, get_args

from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    Call,
    DeadAir,
    Outcome,
    Overlap,
    Reason,
    StageSample,
    ToolCall,
    Turn,
    TurnClass,
    Unheard,
)

S = 1_000_000_000
NOW_NS = 1_700_006_400 * S
AS_OF_NS = NOW_NS + S
Drawn = random.Random


def some_ns(draw: Drawn) -> int:
    """Mostly a latency, sometimes what can be none."""
    usual_ns = round(10 ** draw.uniform(-1.5, 1.5) * S)
    return draw.choice([usual_ns, usual_ns, usual_ns, 0, -S // 5, -9 * S, 700 * S, 2**62])


def maybe(draw: Drawn, make: Callable[[Drawn], Any] = some_ns) -> Any:
    return make(draw) if draw.random() < 0.6 else None


def turn(draw: Drawn) -> dict[str, Any]:
    return {
        "u_on_ns": 0, "u_off_ns": S, "a_on_ns": draw.choice([None, 5 * S, 900 * S]), "turn_class": draw.choice([
            "eligible", "eligible", "eligible", draw.choice(get_args(TurnClass))]), "response_latency_ns": maybe(draw),
        "reason": draw.choice([None, None, draw.choice(get_args(Reason))]), "at_least_ns": maybe(draw),
        "endpoint_delay_ns": maybe(draw), "agent_ttfa_ns": maybe(draw), "unanswered": draw.random() < 0.3,
        "parts_ns": {part: some_ns(draw) for part in draw.sample(["llm", "tts", "hold", "new one"], 2)},
        "overdue": draw.random() < 0.1, "waited_ns": maybe(draw), "premature_endpoint": draw.random() < 0.2,
    }  # fmt: skip


def agent_turn(draw: Drawn) -> dict[str, Any]:
    return {
        "a_on_ns": 0, "a_off_ns": S, "why": draw.choice(["greeting", "user_turn"]), "greeting_latency_ns": maybe(draw),
        "greeting_reason": draw.choice([None, "user_spoke_first", "not_audible"]),
    }  # fmt: skip


def overlap(draw: Drawn) -> dict[str, Any]:
    return {
        "u_on_ns": 0, "u_off_ns": S, "gave_way": draw.choice([True, False, None]), "stop_latency_ns": maybe(draw),
        "stop_at_least_ns": maybe(draw), "talk_over_ns": maybe(draw), "wanted": draw.choice(["yes", "no", None]),
        "want_class": draw.choice([None, "noise", "echo"]), "cell": draw.choice([None, "TP", "FN", "FP", "TN"]),
        "decided_by": draw.choice([None, "muted", "words"]), "terminal": draw.choice([None, None, "natural_end"]),
    }  # fmt: skip


def stage(draw: Drawn) -> dict[str, Any]:
    return {
        "service": f"S{draw.randrange(5)}", "metric": draw.choice(["ttfb", "processing", "usage"]),
        "value_ns": maybe(draw), "censored": draw.random() < 0.2,
    }  # fmt: skip


def tool(draw: Drawn) -> dict[str, Any]:
    status = draw.choice(["running", "ok", "error", "cancelled", "timed_out"])
    return {"name": "look_up", "called_ns": 0, "status": status, "duration_ns": maybe(draw)}


def dead_air(draw: Drawn) -> dict[str, Any]:
    return {"start_ns": 0, "end_ns": S, **{f"{who}_ns": abs(some_ns(draw)) // 4 for who in ("agent", "tool", "caller")}}


def interruption(draw: Drawn) -> dict[str, Any]:
    return {"at_ns": 0, "cause": draw.choice(["overlap", "premature_endpoint", "resumed"])}


def call(draw: Drawn) -> dict[str, Any]:
    by: Any = draw.choice(["no_playout", "audio_gap"])
    unheard = Unheard(what=draw.choice(["dead_not_failed", "one_way_audio"]), by=by, at_ns=0)
    return {
        "started_wall_ns": 0, "ended_ns": draw.choice([None, S]), "outcome": draw.choice(get_args(Outcome)),
        "in_scope": draw.choice([True, False, None]), "contained": draw.choice([True, False]),
        "talk_ns": draw.choice([{}, {"caller": S}]), "unheard": draw.choice([(), (unheard,), (unheard, unheard)]),
        "facts": {f: draw.choice([0, 1, 3, 10**12]) for f in draw.sample(["stray", "dead_air_warning", "?", "!"], 2)},
        "faults": draw.randrange(3), "dropped_events": draw.choice([0, 7, 2**70]),
    }  # fmt: skip


KINDS: list[tuple[type[Any], Callable[[Drawn], dict[str, Any]]]] = [
    (Turn, turn), (AgentTurn, agent_turn), (Overlap, overlap), (StageSample, stage), (ToolCall, tool),
    (DeadAir, dead_air), (AgentInterruption, interruption), (Call, call),
]  # fmt: skip


def drawn(draw: Drawn, number: int, before: AnyRecord | None = None) -> AnyRecord:
    """A record, or the next revision of one: other in all that is its own, sometimes in its moment, sometimes gone."""
    kind, own = KINDS[number % len(KINDS)]
    moment_ns = NOW_NS - round(draw.choice([5, 60, 600, 7_000, 80_000, 600_000]) * draw.random() * S)
    common: dict[str, Any] = {"event_wall_ns": moment_ns, "agent": f"a{number % 3}", "call_id": f"c{number % 7}"}
    if before is not None:
        at_ns = moment_ns if draw.random() < 0.3 else before.event_wall_ns
        common |= {"event_wall_ns": at_ns, "revision": before.revision + 1, "retracted": draw.random() < 0.2}
    made: AnyRecord = kind(id=f"r{number}", **common, **own(draw))
    return made
