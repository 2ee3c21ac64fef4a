"""All families of facts of one call, and which frames each of them sees."""

from __future__ import annotations

from earwitness.processors.facts.agent_text import Words
from earwitness.processors.facts.ending import Ending
from earwitness.processors.facts.line import Line
from earwitness.processors.facts.playout import Written
from earwitness.processors.facts.responses import Responses
from earwitness.processors.facts.runs import Runs
from earwitness.processors.facts.services import Faults, Metrics, ServiceKinds
from earwitness.processors.facts.shared import Family, Moments
from earwitness.processors.facts.speech import Speech
from earwitness.processors.facts.tools import Tools
from earwitness.processors.facts.transcripts import Transcripts
from earwitness.processors.facts.turns import Turns
from earwitness.processors.frames import Dispatch
from earwitness.processors.identity import Identity


class Families:
    """The families that must know of one another, made together."""

    def __init__(self, now: Moments, identity: Identity, transfer_tools: str) -> None:
        kinds = ServiceKinds()
        self.runs = Runs()
        self.ending = Ending(now)
        self.line = Line(now, self.ending.disconnected)
        self.turns = Turns(now)
        self.speech = Speech(now)
        self.words = Words(now, self.runs)
        self.written = Written(now, self.runs, self.words)
        responses = Responses(now, self.runs)
        # order of the handlers of one frame: the turn first, then what refers to it
        self.all: tuple[Family, ...] = (
            self.turns,
            self.speech,
            Transcripts(now),
            Metrics(now, self.runs, kinds, self.turns.verdict),
            Faults(now, kinds),
            Tools(now, responses.tool_called, responses.tool_settled, transfer_tools),
            responses,
            self.written,  # before the words: at the end it knows what was cut
            self.words,
            self.line,
            self.ending,
        )
        self.dispatch = Dispatch()
        for family in self.all:
            self.dispatch.add(family.frames())
        for kind, handler in self.line.transfer_frames().items():
            self.dispatch.add_class(kind, handler)
        self.dispatch.add(identity.frames())

    def tick(self, at_ns: int, *, late: bool = False) -> None:
        """Notice what no frame tells; ``late``: behind a blocked loop."""
        self.speech.tick(at_ns, late=late)
        self.written.tick(at_ns)

    def told(self, now: Moments, identity: Identity) -> None:
        """Pass on what the pipeline says of its settings."""
        now.realtime = bool(identity.realtime)
        now.min_words = identity.min_words
        self.speech.vad_start_s = identity.vad_start_s
        self.speech.vad_stop_s = identity.vad_stop_s
        self.turns.mute_cause = identity.mutes[0] if len(identity.mutes) == 1 else None
