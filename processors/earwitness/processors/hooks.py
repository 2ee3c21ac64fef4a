"""Listening where frames do not tell: text that leaves the output, events of the transport, the idle timer.

Handlers run inside the pipeline's own tasks: they read the clock, put a small thing on the agenda, and return.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from earwitness.processors.facts.families import Families
from earwitness.processors.facts.responses import context_key
from earwitness.processors.facts.shared import Moments
from earwitness.processors.frames import frame_class, optional_class
from earwitness.processors.pipeline_parts import stop_listening


class Hooks:
    """Handlers put on a pipeline's parts, and taken off again at the end of the call."""

    def __init__(self, now: Moments, families: Families) -> None:
        self._now = now
        self._words = families.words
        self._line = families.line
        self._runs = families.runs
        self._vad_audio = families.speech.vad_audio
        self._on: list[tuple[Any, str, Any]] = []
        self._leaving: dict[type[Any], Callable[[int, Any], None]] = {}
        for name, left in (
            ("TTSTextFrame", self._text_left),
            ("TTSStartedFrame", self._synthesis_begins),
            ("TTSStoppedFrame", self._synthesis_over),
        ):
            kind = frame_class(name)
            if kind is not None:
                self._leaving[kind] = left
        for kind in self._line.transfer_frames():
            self._leaving[kind] = self._transfer_left

    def attach(self, parts: Any, transport: Any = None) -> None:
        """Listen on these parts; a part that already has our handler is left alone."""
        output_base = optional_class("pipecat.transports.base_output", "BaseOutputTransport")
        for part in parts.all:
            if output_base is not None and isinstance(part, output_base):
                self.listen(part, "on_after_push_frame", self._left_output)
        for part in (parts.user_aggregator, parts.turn_processor):
            if part is not None:
                self.listen(part, "on_user_turn_idle", self._idle)
        for part in (parts.user_aggregator, parts.vad_processor):
            if getattr(part, "_vad_controller", None) is not None:
                self.listen(part, "on_before_process_frame", self._vad_audio.looked_at)
                self.listen(part, "on_before_push_frame", self._vad_audio.says)
        line = transport if transport is not None else parts.transport
        if line is not None:
            for event, make in self._line.hooks().items():
                self.listen(line, event, self._line_handler(make))

    def listen(self, part: Any, event: str, handler: Any) -> None:
        """Handle an event of a part, if it has such an event and we do not listen to it yet."""
        if event not in (getattr(part, "_event_handlers", None) or ()):
            return  # this transport or version has no such event
        if any(owner is part and name == event for owner, name, _ in self._on):
            return
        part.add_event_handler(event, handler)
        self._on.append((part, event, handler))

    def detach(self) -> None:
        """Take all handlers off."""
        for part, event, handler in self._on:
            stop_listening(part, event, handler)
        self._on.clear()

    def _left_output(self, _: Any, frame: Any) -> None:
        kind: type[Any] = frame.__class__
        left = self._leaving.get(kind)
        if left is None:
            return
        try:
            left(self._now.clock.now_ns(), frame)
        except Exception:  # this runs in the pipeline's own audio task
            self._now.record.ledger.errors += 1

    def _text_left(self, at_ns: int, frame: Any) -> None:
        text, context = str(frame.text), getattr(frame, "context_id", None)
        spaced = bool(getattr(frame, "includes_inter_frame_spaces", False))
        self._now.agenda.post(at_ns, lambda when_ns: self._words.left(when_ns, text, context, spaced))

    def _synthesis_begins(self, at_ns: int, frame: Any) -> None:
        key = context_key(frame)

        def begins(_: int) -> None:
            self._runs.playing = self._runs.of_context.get(key, self._runs.playing)

        self._now.agenda.post(at_ns, begins)

    def _synthesis_over(self, at_ns: int, frame: Any) -> None:
        context = getattr(frame, "context_id", None)

        def over(_: int) -> None:
            run = self._runs.of_context.get(context) if context is not None else self._runs.playing
            if run is not None:
                run.open_contexts -= 1

        self._now.agenda.post(at_ns, over)

    def _transfer_left(self, at_ns: int, frame: Any) -> None:
        kind = type(frame).__name__
        self._now.agenda.post(at_ns, lambda when_ns: self._line.transfer_left(when_ns, kind))

    def _idle(self, *_: Any) -> None:
        self._now.idle_ns = self._now.clock.now_ns()

    def _line_handler(self, make: Callable[..., Callable[[int], None]]) -> Callable[..., None]:
        def happened(_: Any, *args: Any) -> None:
            try:
                self._now.agenda.post(self._now.clock.now_ns(), make(*args))
            except Exception:
                self._now.record.ledger.errors += 1

        return happened
