"""A scripted call, watched: what the bot side reported of it, next to what really happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pipecat_calls.call import Placed, RunningCall, place_call  # isort: skip - puts the clock in before Pipecat

from pipecat_calls.line import Truth
from pipecat_calls.script import Script

from earwitness.monitor.contract.events import AnyEvent, Event
from earwitness.processors.attaching import attach
from earwitness.processors.redaction import NoRedaction
from earwitness.processors.sink import MemorySink
from earwitness.processors.witness import Witness

E = TypeVar("E", bound=Event)
Way = Literal["attach", "by_hand", "observer"]


@dataclass
class RecordedCall:
    """Events in the order of their making, the truth in seconds, and the parts for whoever must reach into them."""

    events: list[AnyEvent]
    truth: Truth
    placed: Placed
    witness: Witness
    sink: MemorySink

    def of(self, kind: type[E], **fields: Any) -> list[E]:
        """Events of a kind whose fields are as given."""
        return [
            event
            for event in self.events
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def one(self, kind: type[E], **fields: Any) -> E:
        """The only such event."""
        found = self.of(kind, **fields)
        assert len(found) == 1, f"{len(found)} events of {kind.__name__} with {fields}, not 1"
        return found[0]


def seconds(at_ns: int | None) -> float:
    """Nanoseconds on the call's clock as seconds; a missing moment is no number."""
    assert at_ns is not None
    return at_ns / 1e9


def record_call(
    script: Script,
    *,
    way: Way = "attach",
    taps: bool = False,
    sink: MemorySink | None = None,
    transport: bool = False,
    witness: dict[str, Any] | None = None,
    **place: Any,
) -> RecordedCall:
    """Place the call with a witness on it. ``witness``: further arguments of `Witness`; ``transport``: hand the
    transport object over; the rest goes to `place_call`."""
    sink = sink or MemorySink()
    made: list[Witness] = []

    def make() -> Witness:
        more = {"agent": "order desk", "version": "1", "sink": sink, "redactor": NoRedaction(), **(witness or {})}
        if "settings" not in more:
            from earwitness.processors.bot_settings import BotSettings

            more["settings"] = BotSettings.from_env({}, taps=taps)
        made.append(Witness(**more))
        return made[-1]

    if way == "attach":

        def put_on(call: RunningCall) -> None:
            attach(call.worker, witness=make(), transport=call.line if transport else None)

        placed = place_call(script, attach=put_on, **place)
    else:

        def observers() -> list[Any]:
            return [make().observer()]

        def extra() -> dict[str, list[Any]]:
            if way == "observer":
                return {}
            return {"after_input": [made[-1].caller_tap()], "after_output": [made[-1].agent_tap()]}

        placed = place_call(script, observers=observers, extra=extra, **place)
    return RecordedCall(sink.events, placed.truth, placed, made[-1], sink)
