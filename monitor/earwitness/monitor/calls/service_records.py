"""Records of dead air, tools and service metrics."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.edge_evidence import of_silence
from earwitness.monitor.calls.facts import Run, StagesKnown
from earwitness.monitor.calls.page import Content, Draft, Page
from earwitness.monitor.calls.silence import Stretch
from earwitness.monitor.calls.talk import turn_of_tool
from earwitness.monitor.contract.records import DeadAir, StageSample, ToolCall
from earwitness.monitor.named_tuples import maker_of


def write_dead_air(page: Page, stretches: Sequence[Stretch]) -> None:
    """Write the stretches of dead air, and count those that are long."""
    bounds = page.scene.bounds
    for n, stretch in enumerate(stretches, page.carry.numbers["d"] + 1):
        page.count("dead_air_warning", stretch.start_ns, stretch.owed_by_agent_ns >= bounds.warning_dead_air_ns)
        page.count("dead_air_critical", stretch.start_ns, stretch.owed_by_agent_ns >= bounds.critical_dead_air_ns)
        content: Content = {
            "start_ns": stretch.start_ns,
            "end_ns": stretch.end_ns,
            "agent_ns": stretch.agent_ns,
            "tool_ns": stretch.tool_ns,
            "hold_ns": stretch.hold_ns,
            "caller_ns": stretch.caller_ns,
            "evidence": of_silence(page.scene, stretch.start_ns, stretch.end_ns),
        }
        final = stretch.end_ns is not None and page.settled(stretch.end_ns)
        page.add(DeadAir, f"d{n}", stretch.start_ns, content, final=final)


def write_tools(page: Page) -> None:
    """Write the tool calls."""
    for tool in page.scene.facts.tools.values():
        if tool.called_ns >= page.before_ns:
            continue
        turn = turn_of_tool(page.talk, tool)
        timed = tool.ended_ns is not None and tool.status != "cancelled"
        took = tool.measured_ns if tool.measured_ns is not None else (tool.ended_ns or 0) - tool.called_ns
        if timed and took > min(tool.ended_ns or 0, page.scene.horizon_ns):
            timed = False
            page.count("invalid", tool.called_ns)
        content: Content = {
            "name": tool.name,
            "called_ns": tool.called_ns,
            "ended_ns": tool.ended_ns,
            "status": tool.status,
            "duration_ns": took if timed else None,
            "arguments": tool.arguments,
            "result": tool.result,
            "error": tool.error,
            "turn": page.turn_id(turn),
        }
        final = page.scene.over or (tool.ended_ns is not None and page.settled(tool.ended_ns))
        page.add(ToolCall, f"tool:{tool.id}", tool.called_ns, content, final=final)
        if tool.status in ("cancelled", "error", "timed_out"):
            page.count(f"tool_{tool.status}", tool.called_ns)


def write_stages(page: Page) -> None:
    """Service metrics: 0 and absent are "not measured" (A12), a first byte that never came is censored (A11). What was
    written before and cannot read differently now is taken as it is."""
    facts = page.scene.facts
    known = facts.stages_known
    if page.scene.over or known.wall_ns != page.wall_ns or known.cancelled != facts.cancelled:
        known = facts.stages_known = StagesKnown(page.wall_ns, facts.cancelled)
    for at, source, seq, e in facts.stages[known.count :]:
        known.drafts.append(_stage(page, known, e, at, f"m:{source}:{seq}"))
    known.count = len(facts.stages)
    page.drafts += known.drafts[: bisect_left(known.drafts, page.told_before_ns, key=_place)]
    for at in known.invalid:
        page.count("invalid", at)
    if page.scene.over:
        facts.stages_known = StagesKnown()
    for run in facts.runs.values():
        if run.first_ns < page.told_before_ns:
            _model_duration(page, run)


def _place(draft: Draft) -> int:
    return draft.place_ns


def _stage(page: Page, known: StagesKnown, e: Any, at: int, record_id: str) -> Draft:
    value_s, scene = e.value_s, page.scene
    value_ns = None
    if value_s is not None:
        value_ns = _duration_ns(value_s, min(at, scene.horizon_ns))
        if value_ns is None:
            known.invalid.append(at)
    censored = e.censored
    if scene.facts.cancelled and not censored:
        run = scene.facts.runs.get(e.response_id)
        censored = run is not None and _never_came(e, run)
    content: Content = {
        "service": e.service,
        "metric": e.metric,
        "processor": e.processor,
        "model": e.model,
        "value_ns": None if censored or not value_ns else value_ns,
        "censored": censored,
        "event_wall_ns": page.wall_ns + at,
        "final": True,
    }
    return _draft((StageSample, record_id, at, content, None))


_draft: Final = maker_of(Draft)


def _never_came(e: Any, run: Run) -> bool:
    """Whether a time to first byte is of a request that was cancelled before it gave one."""
    cancelled = run.at.get("cancelled")
    if cancelled is None or "ttfb" not in e.metric:
        return False
    first = run.at.get("first_token" if e.service == "llm" else "first_audio")
    return first is None or first > cancelled


def _duration_ns(value_s: float, at_ns: int) -> int | None:
    """A duration in nanoseconds; None where it is none: not finite, negative, or longer than the call so far (A08)."""
    if not math.isfinite(value_s) or not 0 <= value_s * S <= at_ns:
        return None
    return round(value_s * S)


def _model_duration(page: Page, run: Run) -> None:
    """A model's duration is request → end of that response (A04); a later end of the same changes nothing."""
    requested, ended = run.at.get("requested"), run.at.get("ended", run.at.get("tools_called"))
    if requested is None or ended is None or "cancelled" in run.at or run.why == "application" or ended < requested:
        return
    if ended > page.scene.horizon_ns:
        return  # noticed when the call was over
    content: Content = {"service": "llm", "metric": "duration", "value_ns": ended - requested}
    page.add(StageSample, f"m:run:{run.id}", ended, content, final=True)
