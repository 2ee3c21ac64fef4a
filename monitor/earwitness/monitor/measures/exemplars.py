"""The worst cases behind a number, a few for each minute and each hour: where to look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from earwitness.monitor.contract.records import AgentTurn, AnyRecord, Call, DeadAir, Overlap, ToolCall, Turn
from earwitness.monitor.measures.contributions import valid
from earwitness.monitor.measures.reading import Exemplar

KEPT: Final = 5
"""Worst cases kept of one measure, label set and step."""
S: Final = 1_000_000_000
SHOWN_BY: Final = {
    "unanswered": "response_latency",
    "response_latency_all": "response_latency",
    "dead_air_calls": "dead_air",
    "dead_air_critical_calls": "dead_air",
    "false_yield_of_yields": "false_yield",
}
"""Measures whose examples are kept under another's name."""


class Case(NamedTuple):
    """A case in the order of badness: the greatest is the worst."""

    censored: bool
    value_ns: int
    call_id: str
    subject: str
    at_ns: int
    wall_ns: int

    def exemplar(self) -> Exemplar:
        """As readers see it."""
        return Exemplar(self.call_id, self.subject, self.value_ns / S, self.at_ns / S, self.censored)


def cases(record: AnyRecord) -> Iterator[tuple[str, Case]]:
    """What a record is an example of, by measure."""
    rule = _RULES.get(record.kind)
    if rule is None or record.retracted:
        return
    for measure, censored, value_ns, at_ns in rule(record):
        yield measure, Case(censored, value_ns, record.call_id, record.id, at_ns, record.event_wall_ns)


class Worst:
    """Worst cases by step of time; steps beyond ``keep`` go."""

    def __init__(self, step_s: int, keep: int) -> None:
        self._step_ns = step_s * S
        self._keep = keep
        self._newest = 0
        self._steps: dict[int, dict[tuple[int, str], list[Case]]] = {}

    def change(self, number: int, measure: str, case: Case, *, add: bool) -> None:
        """Remember a case of a label set, or forget it."""
        step = case.wall_ns // self._step_ns
        if step <= self._newest - self._keep:
            return
        if step > self._newest:
            self._newest = step
            for old in [s for s in self._steps if s <= step - self._keep]:
                del self._steps[old]
        kept = self._steps.setdefault(step, {}).setdefault((number, measure), [])
        if not add:
            if case in kept:
                kept.remove(case)
            return
        if len(kept) < KEPT or case > kept[-1]:
            kept.append(case)
            kept.sort(reverse=True)
            del kept[KEPT:]

    def find(self, measure: str, numbers: Sequence[int], begin_ns: int, end_ns: int, limit: int) -> list[Exemplar]:
        """The worst of the label sets with an event time in [``begin_ns``, ``end_ns``)."""
        found: list[Case] = []
        for step in self._steps:
            if (step + 1) * self._step_ns > begin_ns and step * self._step_ns < end_ns:
                kept = self._steps[step]
                for number in numbers:
                    found += [c for c in kept.get((number, measure), ()) if begin_ns <= c.wall_ns < end_ns]
        return [case.exemplar() for case in sorted(found, reverse=True)[:limit]]


def _turn(turn: Turn) -> Iterator[tuple[str, bool, int, int]]:
    if turn.turn_class != "eligible" or turn.premature_endpoint:
        return
    at_ns = turn.u_off_ns or 0
    if turn.response_latency_ns is not None:
        if not valid("response_latency", turn.response_latency_ns, turn.a_on_ns):
            return
        yield "response_latency", False, turn.response_latency_ns, at_ns
    elif turn.unanswered or turn.overdue:
        yield "response_latency", True, turn.waited_ns or 0, at_ns


def _agent_turn(turn: AgentTurn) -> Iterator[tuple[str, bool, int, int]]:
    if turn.greeting_latency_ns is not None:
        yield "greeting_latency", False, turn.greeting_latency_ns, turn.a_on_ns or 0


def _overlap(overlap: Overlap) -> Iterator[tuple[str, bool, int, int]]:
    talk_ns = overlap.talk_over_ns or 0
    if overlap.cell == "FN":
        yield "missed_barge_in", overlap.stop_latency_ns is None, overlap.stop_latency_ns or talk_ns, overlap.u_on_ns
    if overlap.cell == "FP":
        yield "false_yield", False, talk_ns, overlap.u_on_ns
    if overlap.wanted == "yes" and overlap.terminal is None:
        if overlap.stop_latency_ns is not None:
            yield "stop_latency", False, overlap.stop_latency_ns, overlap.u_on_ns
        elif overlap.gave_way is False:
            yield "stop_latency", True, talk_ns, overlap.u_on_ns


def _dead_air(stretch: DeadAir) -> Iterator[tuple[str, bool, int, int]]:
    yield "dead_air", False, stretch.agent_ns + stretch.tool_ns, stretch.start_ns


def _tool_call(tool: ToolCall) -> Iterator[tuple[str, bool, int, int]]:
    if tool.duration_ns is not None and tool.status in ("ok", "error", "timed_out"):
        yield "tool_duration", tool.status == "timed_out", tool.duration_ns, tool.called_ns


def _call(call: Call) -> Iterator[tuple[str, bool, int, int]]:
    ended_ns, longest = call.ended_ns, dict[str, tuple[int, int]]()
    if ended_ns is None:
        return
    for one in call.unheard:
        end_ns = ended_ns if one.until_ns is None else one.until_ns
        longest[one.what] = max(longest.get(one.what, (0, 0)), (end_ns - one.at_ns, one.at_ns))
    for what, (length_ns, at_ns) in longest.items():
        yield what, False, length_ns, at_ns


_RULES: dict[str, Callable[[Any], Iterator[tuple[str, bool, int, int]]]] = {
    "turn": _turn,
    "agent_turn": _agent_turn,
    "overlap": _overlap,
    "dead_air": _dead_air,
    "tool_call": _tool_call,
    "call": _call,
}
