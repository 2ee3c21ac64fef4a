"""A small language for calls: a test reads like the Input line of its field case."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from earwitness.monitor.calls.timeline import CallTimeline
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.records import AnyRecord

S = 1_000_000_000
WALL = 1_800_000_000 * S


def ns(seconds: float) -> int:
    return round(seconds * S)


class Result:
    """The records of one call, by kind, with times in seconds."""

    def __init__(self, records: Iterable[AnyRecord]) -> None:
        self.records = list(records)

    def of(self, kind: str) -> list[Any]:
        return [r for r in self.records if r.kind == kind]

    @property
    def turns(self) -> list[Any]:
        return self.of("turn")

    @property
    def agent_turns(self) -> list[Any]:
        return [r for r in self.of("agent_turn") if r.audible]

    @property
    def unspoken(self) -> list[Any]:
        return [r for r in self.of("agent_turn") if not r.audible]

    @property
    def overlaps(self) -> list[Any]:
        return self.of("overlap")

    @property
    def interruptions(self) -> list[tuple[float, str]]:
        return [(r.at_ns / S, r.cause) for r in self.of("agent_interruption")]

    @property
    def dead_air(self) -> list[tuple[float, float | None]]:
        return [(r.start_ns / S, None if r.end_ns is None else r.end_ns / S) for r in self.of("dead_air")]

    @property
    def owed(self) -> list[dict[str, float]]:
        """Dead air by who owed speech, the zeros left out."""
        shares = [
            {k: getattr(r, f"{k}_ns") / S for k in ("agent", "tool", "hold", "caller")} for r in self.of("dead_air")
        ]
        return [{k: v for k, v in one.items() if v} for one in shares]

    @property
    def tools(self) -> list[Any]:
        return self.of("tool_call")

    @property
    def stages(self) -> list[Any]:
        return self.of("stage_sample")

    @property
    def call(self) -> Any:
        return self.of("call")[0]

    @property
    def facts(self) -> dict[str, int]:
        facts: dict[str, int] = self.call.facts
        return facts

    @property
    def latencies(self) -> list[float | None]:
        """Response latency of each turn, in seconds."""
        return [None if t.response_latency_ns is None else t.response_latency_ns / S for t in self.turns]

    @property
    def cells(self) -> list[str | None]:
        return [o.cell for o in self.overlaps]


class Story:
    """Events of one call, written down in any order; ``seq`` follows ``at``, source by source."""

    def __init__(self, **started: Any) -> None:
        self._events: list[tuple[float, int, dict[str, Any]]] = []
        self._runs = 0
        settings: dict[str, Any] = {
            "agent": "clinic",
            "mode": "cascade",
            "recogniser": True,
            "caller_edges": ("vad",),
            "agent_edges": ("playout", "decision"),
        }
        self.put(0.0, "call_started", **(settings | started))

    def put(self, at: float, kind: str, source: str = "bot", **fields: Any) -> Story:
        self._events.append((at, len(self._events), {"kind": kind, "source": source, **fields}))
        return self

    def connected(self, at: float = 0.0) -> Story:
        return self.put(at, "connected")

    def vad_start(self, at: float, delay: float = 0.2, **more: Any) -> Story:
        return self.edge(True, at - delay, at=at, **more)

    def vad_stop(self, at: float, delay: float = 0.2, **more: Any) -> Story:
        return self.edge(False, at - delay, at=at, **more)

    def edge(
        self,
        start: bool,
        edge: float,
        *,
        at: float | None = None,
        party: str = "caller",
        evidence: str = "vad",
        **more: Any,
    ) -> Story:
        kind = "speech_started" if start else "speech_ended"
        return self.put(edge if at is None else at, kind, party=party, evidence=evidence, edge_ns=ns(edge), **more)

    def user(
        self, on: float, off: float, text: str | None = None, *, final_at: float | None = None, **more: Any
    ) -> Story:
        """Caller speech as the VAD sees it with 0.2 s of delay either side; its final comes 0.3 s after its end."""
        self.vad_start(on + 0.2, **more).vad_stop(off + 0.2, **more)
        return self if text is None else self.final(text, off + 0.3 if final_at is None else final_at)

    def final(self, text: str, at: float, **more: Any) -> Story:
        return self.put(at, "transcript", party="caller", text=text, final=True, **more)

    def interim(self, text: str, at: float, **more: Any) -> Story:
        return self.put(at, "transcript", party="caller", text=text, final=False, form="cumulative", **more)

    def turn_end(self, at: float, **more: Any) -> Story:
        return self.put(at, "turn_ended", **more)

    def interruption(self, at: float, **more: Any) -> Story:
        return self.put(at, "interruption", **more)

    def run(self, name: str, phase: str, at: float, **more: Any) -> Story:
        return self.put(at, "response", response_id=name, phase=phase, **more)

    def play(self, name: str | None, first: float, last: float | None = None, **more: Any) -> Story:
        self.put(first, "playout", phase="first", edge_ns=ns(first), response_id=name)
        if last is not None:
            self.put(last, "playout", phase="last", edge_ns=ns(last), response_id=name, **more)
        return self

    def bot(
        self,
        on: float,
        off: float | None = None,
        text: str | None = None,
        *,
        why: str = "user_turn",
        asked: float | None = None,
        name: str | None = None,
        cut: bool | None = None,
        after: str | None = None,
    ) -> Story:
        """An audible response: asked for 0.05 s before its first sample unless said otherwise. ``cut``: playback was
        truncated (True), played whole (False), or nobody says."""
        self._runs += 1
        name = name or f"r{self._runs}"
        self.run(name, "requested", on - 0.05 if asked is None else asked, why=why, after=after)
        if text is not None:
            self.put(on, "agent_text", response_id=name, intended=text)
        return self.play(name, on, off, truncated=cut)

    def say(self, name: str, at: float, **text: str) -> Story:
        """Text of a response: intended=, spoken= or unspoken=."""
        return self.put(at, "agent_text", response_id=name, **text)

    def tool(self, name: str, phase: str, at: float, *, tool_id: str = "x", **more: Any) -> Story:
        return self.put(at, "tool", tool_call_id=tool_id, name=name, phase=phase, **more)

    def gap(self, at: float, last_audio: float, state: str = "stopped", party: str = "caller") -> Story:
        return self.put(at, "audio_gap", party=party, state=state, last_audio_ns=ns(last_audio))

    def mute(self, on: float, off: float | None = None) -> Story:
        self.put(on, "mute", state="on")
        return self if off is None else self.put(off, "mute", state="off")

    def end(self, at: float, cause: str = "caller", **more: Any) -> Story:
        return self.put(at, "call_ended", cause=cause, **more)

    def events(self) -> list[Any]:
        built: list[Any] = []
        seqs: dict[str, int] = {}
        for at, _, fields in sorted(self._events, key=lambda e: e[:2]):
            source = fields["source"]
            seq = seqs.get(source, 0)
            seqs[source] = seq + 1
            shared = {"call_id": "c1", "seq": seq, "at_ns": ns(at), "wall_ns": WALL + ns(at)}
            built.append(ev.EVENT_ADAPTER.validate_python(shared | fields))
        return built

    def told(self, as_of: float | None = None) -> Result:
        """Fold the call, as of a moment or long after."""
        return Result(fold(self.events(), as_of_ns=None if as_of is None else ns(as_of)))

    def live(self) -> CallTimeline:
        """A timeline that has taken in all the events and was not asked yet."""
        timeline = CallTimeline("c1")
        for event in self.events():
            timeline.add(event)
        return timeline


@pytest.fixture
def call() -> Callable[..., Story]:
    """Begin the story of a call; arguments are fields of ``call_started``."""
    return Story
