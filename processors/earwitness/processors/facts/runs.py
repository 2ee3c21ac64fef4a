"""The responses of a call while they live: what each was asked for, has said, and still has to say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from earwitness.monitor.contract.events import Why

KEPT = 64
"""Responses remembered at a time; older ones are settled by force of number."""

_SPACE = re.compile(r"\s+")


def squash(text: str) -> str:
    return _SPACE.sub("", text)


@dataclass(slots=True)
class Segment:
    """A piece of text handed to synthesis, and where its audio lies in the response's audio."""

    text: str
    from_ns: int
    to_ns: int | None = None
    spoken: bool = False


@dataclass(slots=True)
class Run:
    """One run of the model, or one text that the application had spoken."""

    id: str
    why: Why
    turn: int | None
    processor: str | None = None
    model: str | None = None
    app_text: str | None = None
    interruptible: bool = True
    started: bool = False
    token: bool = False
    tools: bool = False
    over: bool = False
    """The model (or the application) has nothing more to add."""
    cancelled: bool = False
    first_text: bool = False
    first_audio: bool = False
    unplaced: str = ""
    """Squashed text of the model that synthesis has not announced yet."""
    segments: list[Segment] = field(default_factory=list[Segment])
    word_times: bool = False
    spoken_letters: int = 0
    spoken_any: bool = False
    contexts: set[str] = field(default_factory=set[str])
    open_contexts: int = 0
    """Synthesis contexts begun and not yet played to their end."""
    made_ns: int = 0
    written_ns: int = 0
    audible: bool = False
    """Something of it has been heard."""
    sounding: bool = False
    """It is being heard now."""
    settled: bool = False
    """Played whole or cut, and told so."""

    @property
    def whole(self) -> bool:
        """Whether everything that this response had to say has been played."""
        return self.over and not self.cancelled and self.open_contexts <= 0 and (self.audible or not self.segments)

    @property
    def intended(self) -> str:
        return " ".join(segment.text.strip() for segment in self.segments)


class Runs:
    """The live responses in the order in which they were asked for."""

    def __init__(self) -> None:
        self.live: dict[str, Run] = {}
        self.of_source: dict[str, Run] = {}
        """The run that a model is at, by the processor's name."""
        self.of_context: dict[str, Run] = {}
        self.playing: Run | None = None
        self._count = 0

    def new(self, why: Why, turn: int | None) -> Run:
        self._count += 1
        run = self.live[f"r{self._count}"] = Run(f"r{self._count}", why, turn)
        if len(self.live) > KEPT:
            self.drop(next(iter(self.live.values())))
        return run

    @property
    def any_yet(self) -> bool:
        return self._count > 0

    def drop(self, run: Run) -> None:
        """Forget a response about which nothing more can come."""
        self.live.pop(run.id, None)
        for context in run.contexts:
            self.of_context.pop(context, None)
        for source, at in list(self.of_source.items()):
            if at is run:
                del self.of_source[source]
        if self.playing is run:
            self.playing = None

    def waiting(self) -> Run | None:
        """The oldest response that was asked for and that no model has begun."""
        return next((run for run in self.live.values() if not run.started and not run.over), None)

    def for_text(self, text: str, context: str | None) -> Run | None:
        """Whose text synthesis announces. Synthesis may lag behind the model, so the text itself decides."""
        if context is not None and context in self.of_context:
            return self.of_context[context]
        wanted = squash(text)
        live = [run for run in self.live.values() if not run.cancelled]
        for run in live:
            if run.app_text is not None and not run.segments and squash(run.app_text).startswith(wanted[:200]):
                return run
        for run in live:
            if wanted and wanted in run.unplaced:
                return run
        speaking = [run for run in live if run.app_text is None and run.token]
        return speaking[-1] if speaking else None

    def place(self, run: Run, text: str, context: str | None) -> None:
        """Remember a piece of text that was handed to synthesis."""
        wanted = squash(text)
        at = run.unplaced.find(wanted)
        if at >= 0:
            run.unplaced = run.unplaced[at + len(wanted) :]
        if run.segments and run.segments[-1].to_ns is None:
            run.segments[-1].to_ns = run.made_ns
        run.segments.append(Segment(text, run.made_ns))
        self.claim(run, context)

    def claim(self, run: Run, context: str | None) -> None:
        if context is not None and context not in self.of_context:
            self.of_context[context] = run
            run.contexts.add(context)

    def for_audio(self, context: str | None, source: str) -> Run | None:
        """Whose audio comes out of synthesis, or out of a speech-to-speech model."""
        if context is not None and context in self.of_context:
            return self.of_context[context]
        if source in self.of_source:
            return self.of_source[source]
        if context is not None:
            fresh = [
                run for run in self.live.values() if not (run.contexts or run.cancelled) and (run.token or run.app_text)
            ]
            if fresh:
                return fresh[0]
        unsettled = [run for run in self.live.values() if run.segments and not run.settled]
        return unsettled[0] if unsettled else None
