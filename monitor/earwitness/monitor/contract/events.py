"""The event contract: all that the service side may know of a live call.

Facts, never verdicts. Fields are only ever added, never renamed or reused; readers ignore what they do
not know. Times are nanoseconds: ``at_ns`` (when the speaker noticed the fact) and every other ``*_ns``
that is a moment lie on the call's own monotonic clock, which starts with the call; ``wall_ns`` only dates
an event and enters no duration.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter

from earwitness.monitor.contract.agent_work import Response, Stage, Tool
from earwitness.monitor.contract.call_facts import (
    App,
    CallEnded,
    CallStarted,
    Connected,
    DroppedRange,
    Dtmf,
    Fault,
    Health,
    Mute,
    Participant,
    Transfer,
    Transport,
)
from earwitness.monitor.contract.event import SCHEMA_VERSION, Direction, Event, Evidence, Mode, Ns, Party, Why
from earwitness.monitor.contract.learnt_later import Expectation, HumanLabel, LateFact, Verdict
from earwitness.monitor.contract.talk import (
    AgentText,
    AudioGap,
    Classifier,
    Interruption,
    Playout,
    SpeechEnded,
    SpeechStarted,
    Transcript,
    TurnEnded,
    TurnStarted,
)

__all__ = [
    "EVENT_ADAPTER",
    "EVENT_TYPES",
    "SCHEMA_VERSION",
    "AgentText",
    "AnyEvent",
    "App",
    "AudioGap",
    "CallEnded",
    "CallStarted",
    "Classifier",
    "Connected",
    "Direction",
    "DroppedRange",
    "Dtmf",
    "Event",
    "Evidence",
    "Expectation",
    "Fault",
    "Health",
    "HumanLabel",
    "Interruption",
    "LateFact",
    "Mode",
    "Mute",
    "Ns",
    "Participant",
    "Party",
    "Playout",
    "Response",
    "SpeechEnded",
    "SpeechStarted",
    "Stage",
    "Tool",
    "Transcript",
    "Transfer",
    "Transport",
    "TurnEnded",
    "TurnStarted",
    "Verdict",
    "Why",
]

AnyEvent = Annotated[
    CallStarted
    | Connected
    | SpeechStarted
    | SpeechEnded
    | AudioGap
    | Playout
    | TurnStarted
    | TurnEnded
    | Interruption
    | Classifier
    | Transcript
    | AgentText
    | Response
    | Stage
    | Tool
    | Mute
    | Dtmf
    | Participant
    | Transfer
    | Transport
    | App
    | Fault
    | Health
    | CallEnded
    | Verdict
    | HumanLabel
    | LateFact
    | Expectation,
    Field(discriminator="kind"),
]

EVENT_ADAPTER: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)

EVENT_TYPES: tuple[type[Event], ...] = (
    CallStarted, Connected, SpeechStarted, SpeechEnded, AudioGap, Playout, TurnStarted, TurnEnded, Interruption,
    Classifier, Transcript, AgentText, Response, Stage, Tool, Mute, Dtmf, Participant, Transfer, Transport, App,
    Fault, Health, CallEnded, Verdict, HumanLabel, LateFact, Expectation,
)  # fmt: skip
"""Every kind, in the order of the contract."""
