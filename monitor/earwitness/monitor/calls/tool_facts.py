"""What events say of tool calls, those that hand a call over among them."""

from __future__ import annotations

import re

from earwitness.monitor.calls.facts import Entry, Facts, ToolLife


def tool(f: Facts, entry: Entry) -> None:
    """One event of a tool call."""
    at, _, _, e = entry
    known = f.tools.get(e.tool_call_id)
    if known is None:
        known = f.tools[e.tool_call_id] = ToolLife(e.tool_call_id, e.name, at, e.response_id, e.blocking)
    known.last_ns = at
    known.run = known.run or e.response_id
    known.arguments = known.arguments or e.arguments
    known.blocking = known.blocking and e.blocking
    if known.status != "running":
        return
    status = _TOOL_ENDS.get(e.phase)
    if status is not None:
        known.status, known.ended_ns = status, at
        known.measured_ns, known.result, known.error = e.duration_ns, e.result, e.error
    if _TRANSFER_TOOL.search(known.name):
        f.transfer_tools[known.id] = known.status


_TOOL_ENDS = {"result": "ok", "error": "error", "cancelled": "cancelled", "timed_out": "timed_out"}
_TRANSFER_TOOL = re.compile(
    r"transfer|hand_?off|hand_?over|escalat|(?:human|live)_?agent|(?:connect|forward)_?(?:call|to)", re.IGNORECASE
)
"""Names of tools that hand a call over to a human."""
