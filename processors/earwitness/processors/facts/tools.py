"""Tool calls from asked-for to settled, and the hand-overs that some of them are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from earwitness.monitor.contract.events import Tool, Transfer
from earwitness.processors.facts.shared import Moments
from earwitness.processors.frames import Handler
from earwitness.processors.text_bound import bounded

VALUE_LIMIT = 4_000
"""Bytes of a tool's arguments or result: data, not speech, and redacting all of a long one would hold up the call."""
TRANSFER_TOOLS = r"transfer|escalat|hand_?(?:over|off)|(?:to|connect|speak)_?(?:a_)?(?:human|agent|operator|person)"
"""Names of tools that hand the caller over, as a regular expression; a setting of the witness."""


@dataclass(slots=True)
class _Call:
    name: str
    called_ns: int
    started_ns: int | None = None
    response_id: str | None = None
    blocking: bool = True
    transfers: bool = False


class Tools:
    """``tool`` events. A call that is settled stays settled, whatever frames still come (A16)."""

    def __init__(
        self,
        now: Moments,
        called: Callable[[str, str, int], str | None],
        settled: Callable[[str], None],
        transfer_tools: str = TRANSFER_TOOLS,
    ) -> None:
        self._now = now
        self._called_by = called
        self._settled_told = settled
        self._transfers = re.compile(transfer_tools, re.IGNORECASE) if transfer_tools else None
        self._open: dict[str, _Call] = {}
        self._settled: dict[str, None] = {}

    def frames(self) -> dict[str, Handler]:
        return {
            "FunctionCallsStartedFrame": self._called,
            "FunctionCallInProgressFrame": self._started,
            "FunctionCallResultFrame": self._result,
            "FunctionCallCancelFrame": self._cancelled,
            "ExternalFunctionCallsStartedFrame": self._called,
            "ExternalFunctionCallInProgressFrame": self._started,
            "ExternalFunctionCallResultFrame": self._result,
            "ExternalFunctionCallCancelFrame": self._cancelled,
        }

    def _called(self, data: Any) -> None:
        for call in data.frame.function_calls:
            self._open_call(
                call.tool_call_id, call.function_name, data.timestamp, getattr(call, "arguments", None), data.source
            )

    def _open_call(self, call_id: str, name: str, at_ns: int, arguments: Any, source: Any) -> _Call | None:
        if call_id in self._open or call_id in self._settled:
            return self._open.get(call_id)
        call = self._open[call_id] = _Call(name, at_ns)
        call.response_id = self._called_by(call_id, getattr(source, "name", ""), at_ns)
        call.transfers = self._transfers is not None and self._transfers.search(name) is not None
        text, cut = as_text(arguments)
        self._now.emit(
            Tool, at_ns, tool_call_id=call_id, name=name, phase="called", arguments=text,
            response_id=call.response_id, truncated=cut,
        )  # fmt: skip
        if call.transfers:
            self._now.emit(Transfer, at_ns, phase="requested", by=name)
        return call

    def _started(self, data: Any) -> None:
        frame, at_ns = data.frame, data.timestamp
        call = self._open_call(
            frame.tool_call_id, frame.function_name, at_ns, getattr(frame, "arguments", None), data.source
        )
        if call is None:
            return
        call.started_ns = at_ns
        call.blocking = bool(getattr(frame, "cancel_on_interruption", True))
        self._tell(frame.tool_call_id, call, "started", at_ns)

    def _result(self, data: Any) -> None:
        frame, at_ns = data.frame, data.timestamp
        call = self._open.get(frame.tool_call_id)
        if call is None:
            return
        result, cut = as_text(frame.result)
        final = getattr(getattr(frame, "properties", None), "is_final", getattr(frame, "is_final", True))
        if final is False:
            self._tell(frame.tool_call_id, call, "update", at_ns, result=result, truncated=cut)
            return
        error = getattr(frame, "error", None)
        if error:
            text, cut = bounded(str(error), VALUE_LIMIT)
            self._settle(frame.tool_call_id, call, "error", at_ns, error=text, truncated=cut)
        else:
            self._settle(frame.tool_call_id, call, "result", at_ns, result=result, truncated=cut)
        if call.transfers:
            failed = bool(error) or says_failed(frame.result)
            self._now.emit(Transfer, at_ns, phase="failed" if failed else "completed", by=call.name)

    def _cancelled(self, data: Any) -> None:
        frame, at_ns = data.frame, data.timestamp
        call = self._open.get(frame.tool_call_id)
        if call is None:
            self._settled[frame.tool_call_id] = None  # a late start must not open it (A16)
            return
        # only a call's own timeout asks for another run of the model
        phase = "timed_out" if getattr(frame, "run_llm", False) else "cancelled"
        self._settle(frame.tool_call_id, call, phase, at_ns)
        if call.transfers:
            self._now.emit(Transfer, at_ns, phase="failed" if phase == "timed_out" else "abandoned", by=call.name)

    def _settle(self, call_id: str, call: _Call, phase: str, at_ns: int, **fields: Any) -> None:
        del self._open[call_id]
        self._settled[call_id] = None
        if len(self._settled) > 1_000:
            del self._settled[next(iter(self._settled))]
        if phase != "cancelled":
            began_ns = call.started_ns if call.started_ns is not None else call.called_ns
            fields["duration_ns"] = max(0, at_ns - began_ns)
        if phase != "cancelled":
            self._settled_told(call_id)
        self._tell(call_id, call, phase, at_ns, **fields)

    def _tell(self, call_id: str, call: _Call, phase: str, at_ns: int, **fields: Any) -> None:
        self._now.emit(
            Tool, at_ns, tool_call_id=call_id, name=call.name, phase=phase, blocking=call.blocking,
            response_id=call.response_id, **fields,
        )  # fmt: skip

    def close(self, at_ns: int) -> None:
        for call_id, call in list(self._open.items()):
            self._settle(call_id, call, "cancelled", at_ns)
            if call.transfers:
                self._now.emit(Transfer, at_ns, phase="abandoned", by=call.name)


def as_text(value: Any) -> tuple[str | None, bool]:
    """A tool's arguments or result as JSON text of bounded length, and whether it was cut."""
    if value is None:
        return None, False
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False, default=str)
        except (TypeError, ValueError):
            value = str(value)
    return bounded(value, VALUE_LIMIT)


def says_failed(result: Any) -> bool:
    """Whether a hand-over's result says in the usual ways that it did not happen."""
    if not isinstance(result, dict):
        return False
    entries: dict[Any, Any] = result  # pyright: ignore[reportUnknownVariableType]
    fields = {str(key).lower(): value for key, value in entries.items()}
    if any(fields.get(key) is False for key in ("ok", "success", "transferred")) or fields.get("error"):
        return True
    return str(fields.get("status", "")).lower() in {"failed", "failure", "error", "busy", "no_answer", "unavailable"}
