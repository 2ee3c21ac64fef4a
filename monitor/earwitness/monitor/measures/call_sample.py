"""What one call contributes to every number by which two versions of an agent are compared: values, waits, sums.

The numbers are those of the report's summary (``calls/report.py``), so that each side of a comparison reads as
``earwitness analyze`` shows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.contract.records import AgentInterruption, AnyRecord, Call, DeadAir, Overlap, Turn


@dataclass(frozen=True, slots=True)
class CallSample:
    """One call. Times are in seconds; ``sums`` are counts and seconds by name, 0 where one is missing."""

    call_id: str
    latencies: tuple[float, ...] = ()
    """Response latencies of eligible turns, those cut off by a premature endpoint left out (definitions, "Latency")."""
    waits: tuple[float, ...] = ()
    """How long turns waited in vain: ranked above every latency."""
    stops: tuple[float, ...] = ()
    """Stop latencies where the caller wanted the floor."""
    never_stopped: tuple[float, ...] = ()
    """One for each time that the agent never stopped: ranked above every stop."""
    sums: dict[str, float] = field(default_factory=dict[str, float])


def sample_of(call_id: str, records: Iterable[AnyRecord]) -> CallSample:
    """The contribution of a call's latest records, without what was taken back."""
    latencies: list[float] = []
    waits: list[float] = []
    stops: list[float] = []
    never: list[float] = []
    sums: dict[str, float] = {}

    def add(name: str, amount: float = 1) -> None:
        sums[name] = sums.get(name, 0) + amount

    for record in records:
        match record:
            case Turn():
                add("caller_turns")
                if record.turn_class == "eligible" and not record.premature_endpoint:
                    add("eligible")
                    if record.response_latency_ns is not None:
                        latencies.append(record.response_latency_ns / S)
                    elif record.unanswered or record.overdue:
                        waits.append((record.waited_ns or 0) / S)
            case Overlap():
                if record.cell is not None:
                    add(record.cell)
                if record.cell in ("TP", "FN"):
                    if record.stop_latency_ns is not None:
                        stops.append(record.stop_latency_ns / S)
                    elif record.stop_at_least_ns is None and record.a_off_ns is None:
                        never.append(0.0)
            case AgentInterruption():
                add("agent_interruptions")
            case DeadAir():
                add("dead_air")
                add("dead_air_owed_s", (record.agent_ns + record.tool_ns) / S)
            case Call():
                for name, amount in _of_call(record).items():
                    add(name, amount)
            case _:
                pass
    if latencies or waits:
        add("ranked", len(latencies) + len(waits))
        add("unanswered", len(waits))
    if not sums.get("observed_calls"):
        # Dead air of a call of which one side is not observed is unknown, not none.
        sums.pop("dead_air", None)
        sums.pop("dead_air_owed_s", None)
    return CallSample(call_id, tuple(latencies), tuple(waits), tuple(stops), tuple(never), sums)


def _of_call(call: Call) -> dict[str, Any]:
    """Talk by who was audible, and whether the call is contained, where both are known."""
    found: dict[str, Any] = {}
    whole = sum(call.talk_ns.values())
    if whole:
        found = {f"talk_{name}": ns / S for name, ns in call.talk_ns.items()}
        found |= {"talk": whole / S, "observed_calls": 1}
    if call.in_scope:
        found |= {"in_scope": 1, "contained": int(call.contained is True)}
    return found
