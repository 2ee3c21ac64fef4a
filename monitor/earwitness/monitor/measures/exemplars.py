"""The worst cases behind a number, a few for each minute and each hour: where to look."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from earwitness.monitor.measures.reading import Exemplar
from earwitness.monitor.measures.tally import Fields, valid

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

Case = tuple[bool, int, str, str, int, int]
"""Whether it is censored, its value in ns, call, subject, moment in the call and wall time in ns: in the order of
badness, so that the greatest is the worst."""
Cases = Sequence[tuple[str, Case]]
"""By measure; no measure comes twice."""
_Found = tuple[tuple[str, bool, int, int], ...]
"""Measure, censored, value in ns, moment in the call in ns."""


def cases(fields: Fields) -> Cases:
    """What a record is an example of, by its fields."""
    rule = _RULES.get(fields["kind"])
    found = () if rule is None or fields["retracted"] else rule(fields)
    if not found:
        return ()
    call_id, subject, wall_ns = fields["call_id"], fields["id"], fields["event_wall_ns"]
    return [
        (measure, (censored, value_ns, call_id, subject, at_ns, wall_ns))
        for measure, censored, value_ns, at_ns in found
    ]


class Worst:
    """Worst cases by step of time; steps beyond ``keep`` go."""

    def __init__(self, step_s: int, keep: int) -> None:
        self._step_ns = step_s * S
        self._keep = keep
        self._newest = 0
        self._steps: dict[int, dict[tuple[int, str], list[Case]]] = {}
        """By step, label set and measure, in the order of badness."""
        self.editions: dict[int, int] = {}
        """How often the cases of a step changed."""

    def remember(self, number: int, measure: str, case: Case) -> None:
        """Take a case of a label set in, if it is among the worst."""
        step = case[5] // self._step_ns
        by_series = self._steps.get(step)
        if by_series is None:
            if step <= self._newest - self._keep:
                return
            by_series = self._begin(step)
        kept = by_series.get((number, measure))
        if kept is None:
            by_series[number, measure] = [case]
        elif len(kept) < KEPT:
            insort(kept, case)
        elif case > kept[0]:
            del kept[0]
            insort(kept, case)
        else:
            return
        self.editions[step] += 1

    def forget(self, number: int, measure: str, case: Case) -> None:
        """A case turned out to be none."""
        kept = self._steps.get(case[5] // self._step_ns, {}).get((number, measure), [])
        if case in kept:
            kept.remove(case)
            self.editions[case[5] // self._step_ns] += 1

    def cases(self, step: int) -> Iterator[tuple[int, str, Case]]:
        """All of a step, with label set and measure."""
        for (number, measure), kept in self._steps.get(step, {}).items():
            for case in kept:
                yield number, measure, case

    def drop(self, is_gone: Callable[[str], bool]) -> None:
        """Forget the cases of calls that somebody else has now."""
        for step, by_series in self._steps.items():
            for series, kept in by_series.items():
                by_series[series] = [case for case in kept if not is_gone(case[2])]
            self.editions[step] += 1

    def find(self, measure: str, numbers: Sequence[int], begin_ns: int, end_ns: int, limit: int) -> list[Exemplar]:
        """The worst of the label sets with an event time in [``begin_ns``, ``end_ns``)."""
        found: list[Case] = []
        for step in self._steps:
            if (step + 1) * self._step_ns > begin_ns and step * self._step_ns < end_ns:
                kept = self._steps[step]
                for number in numbers:
                    found += [case for case in kept.get((number, measure), ()) if begin_ns <= case[5] < end_ns]
        return [_exemplar(case) for case in sorted(found, reverse=True)[:limit]]

    def _begin(self, step: int) -> dict[tuple[int, str], list[Case]]:
        begun = self._steps[step] = {}
        self.editions[step] = 0
        if step > self._newest:
            self._newest = step
            for old in [s for s in self._steps if s <= step - self._keep]:
                del self._steps[old], self.editions[old]
        return begun


def _exemplar(case: Case) -> Exemplar:
    censored, value_ns, call_id, subject, at_ns, _ = case
    return Exemplar(call_id, subject, value_ns / S, at_ns / S, censored)


def _turn(fields: Fields) -> _Found:
    if fields["turn_class"] != "eligible" or fields["premature_endpoint"]:
        return ()
    latency_ns, at_ns = fields["response_latency_ns"], fields["u_off_ns"] or 0
    if latency_ns is not None:
        if not valid("response_latency", latency_ns, fields["a_on_ns"]):
            return ()
        return (("response_latency", False, latency_ns, at_ns),)
    if fields["unanswered"] or fields["overdue"]:
        return (("response_latency", True, fields["waited_ns"] or 0, at_ns),)
    return ()


def _agent_turn(fields: Fields) -> _Found:
    latency_ns = fields["greeting_latency_ns"]
    return () if latency_ns is None else (("greeting_latency", False, latency_ns, fields["a_on_ns"] or 0),)


def _overlap(fields: Fields) -> _Found:
    at_ns, talk_ns, stop_ns = fields["u_on_ns"], fields["talk_over_ns"] or 0, fields["stop_latency_ns"]
    found: _Found = ()
    if fields["cell"] == "FN":
        found = (("missed_barge_in", stop_ns is None, stop_ns or talk_ns, at_ns),)
    elif fields["cell"] == "FP":
        found = (("false_yield", False, talk_ns, at_ns),)
    if fields["wanted"] == "yes" and fields["terminal"] is None:
        if stop_ns is not None:
            return (*found, ("stop_latency", False, stop_ns, at_ns))
        if fields["gave_way"] is False:
            return (*found, ("stop_latency", True, talk_ns, at_ns))
    return found


def _dead_air(fields: Fields) -> _Found:
    return (("dead_air", False, fields["agent_ns"] + fields["tool_ns"], fields["start_ns"]),)


def _tool_call(fields: Fields) -> _Found:
    status, duration_ns = fields["status"], fields["duration_ns"]
    if duration_ns is None or status not in ("ok", "error", "timed_out"):
        return ()
    return (("tool_duration", status == "timed_out", duration_ns, fields["called_ns"]),)


def _call(fields: Fields) -> _Found:
    ended_ns, longest = fields["ended_ns"], dict[str, tuple[int, int]]()
    if ended_ns is None:
        return ()
    for one in fields["unheard"]:
        end_ns = ended_ns if one.until_ns is None else one.until_ns
        longest[one.what] = max(longest.get(one.what, (0, 0)), (end_ns - one.at_ns, one.at_ns))
    return tuple((what, False, length_ns, at_ns) for what, (length_ns, at_ns) in longest.items())


_RULES: Final[dict[str, Callable[[Fields], _Found]]] = {
    "turn": _turn,
    "agent_turn": _agent_turn,
    "overlap": _overlap,
    "dead_air": _dead_air,
    "tool_call": _tool_call,
    "call": _call,
}
WITH_CASES: Final = frozenset(_RULES)
"""Kinds of records that can be examples."""
