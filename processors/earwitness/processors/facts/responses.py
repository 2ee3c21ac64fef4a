"""Milestones of responses: asked for, first token, first text, first audio, and how the run ended."""

from __future__ import annotations

from typing import Any

from earwitness.monitor.contract.events import Response, Why
from earwitness.processors.facts.runs import Run, Runs, squash
from earwitness.processors.facts.shared import MS, SECOND, Moments
from earwitness.processors.frames import UPSTREAM, Handler, optional_class, short_name

IDLE_NS = 3 * SECOND
"""What is asked for this soon after the idle timer fired is asked for by it."""
WRITTEN_NS = 50 * MS


class Responses:
    """``response`` events (definitions, "What answers a turn").

    In a cascade the request is the context frame; a speech-to-speech service decides by itself, so its request is the
    moment at which it begins to answer.
    """

    def __init__(self, now: Moments, runs: Runs) -> None:
        self._now = now
        self._runs = runs
        self._tool_runs: dict[str, Run] = {}
        self._after_tools: Run | None = None
        self._wrote_ns: int | None = None
        self._output = optional_class("pipecat.transports.base_output", "BaseOutputTransport")
        self._service = optional_class("pipecat.services.ai_service", "AIService")

    def frames(self) -> dict[str, Handler]:
        return {
            "LLMContextUserTurnFrame": self._user_words_written,
            "LLMContextFrame": self._context,
            "EagerEndOfTurnCancelFrame": self._eager_withdrawn,
            "TTSSpeakFrame": self._speak,
            "LLMFullResponseStartFrame": self._run_started,
            "LLMTextFrame": self._token,
            "LLMFullResponseEndFrame": self._run_ended,
            "AggregatedTextFrame": self._announced,
            "TTSStartedFrame": self._synthesis_started,
            "TTSAudioRawFrame": self._audio,
            "SpeechOutputAudioRawFrame": self._audio,
            "InterruptionFrame": lambda data: self.cancel_all(data.timestamp),
        }

    def _tell(self, at_ns: int, run: Run, phase: str, **fields: Any) -> None:
        self._now.emit(
            Response, at_ns, response_id=run.id, phase=phase, processor=run.processor, model=run.model, **fields
        )

    # why a response begins

    def _user_words_written(self, data: Any) -> None:
        self._wrote_ns = data.timestamp

    def _why(self, at_ns: int, *, from_tools: bool, written: bool) -> tuple[Why, int | None, str | None]:
        now = self._now
        turn = now.turns or None
        tools, self._after_tools = self._after_tools, None
        newer = tools is not None and (now.turn_open or now.turns > (tools.turn or 0))
        if tools is not None and (from_tools or not newer):
            return "tool_result", tools.turn, tools.id
        if written or now.turn_open or now.turns > now.answered_turn:
            now.answered_turn = now.turns
            wordless = not now.realtime and not now.turn_open and not written and not now.words_in_turn
            return ("resumed" if wordless else "user_turn"), turn, None
        if now.idle_ns is not None and at_ns - now.idle_ns <= IDLE_NS:
            now.idle_ns = None
            return "prompt", None, None
        if now.turns == 0 and not (now.realtime and self._runs.any_yet):
            return "greeting", None, None
        return ("user_turn" if now.realtime else "application"), turn, None

    def _request(self, at_ns: int, *, from_tools: bool = False, written: bool = False) -> Run:
        why, turn, after = self._why(at_ns, from_tools=from_tools, written=written)
        run = self._runs.new(why, turn)
        self._tell(at_ns, run, "requested", why=why, cause_turn=turn, after=after)
        return run

    def _context(self, data: Any) -> None:
        at_ns = data.timestamp
        if self._now.realtime:
            return
        if getattr(data.frame, "speculation", False):
            turn = self._now.turns or None
            run = self._runs.new("eager", turn)
            self._tell(at_ns, run, "requested", why="eager", cause_turn=turn)
            self._now.answered_turn = self._now.turns
            return
        assistant = "Assistant" in type(data.source).__name__
        if assistant and data.direction is not UPSTREAM:
            return  # what the assistant's side writes down, for whoever follows: no request
        written = self._wrote_ns is not None and at_ns - self._wrote_ns <= WRITTEN_NS
        self._wrote_ns = None
        self._request(at_ns, from_tools=assistant and not written, written=written)

    def _eager_withdrawn(self, data: Any) -> None:
        for run in list(self._runs.live.values()):
            if run.why == "eager" and not run.audible:
                self._cancel(data.timestamp, run)

    def _speak(self, data: Any) -> None:
        now, frame, at_ns = self._now, data.frame, data.timestamp
        turn = now.turns or None
        why: Why = "application" if turn else "greeting"
        if now.idle_ns is not None and at_ns - now.idle_ns <= IDLE_NS:
            why, turn, now.idle_ns = "prompt", None, None
        run = self._runs.new(why, turn)
        run.app_text, run.over, run.started = str(frame.text), True, True
        run.interruptible = bool(getattr(frame, "interruptible", True))
        self._tell(at_ns, run, "requested", why=why, cause_turn=turn)

    # the model's run

    def _begin(self, data: Any) -> Run:
        source = data.source.name
        run = self._runs.waiting() or self._request(data.timestamp)
        run.started = True
        run.processor = short_name(data.source)
        run.model = model_of(data.source)
        self._runs.of_source[source] = run
        return run

    def _run_started(self, data: Any) -> None:
        at = self._runs.of_source.get(data.source.name)
        if at is None or at.over or at.token or not self._now.realtime:
            self._begin(data)

    def _token(self, data: Any) -> None:
        run = self._runs.of_source.get(data.source.name)
        if run is None or run.over:
            return
        if not getattr(data.frame, "skip_tts", False):
            run.unplaced += squash(str(data.frame.text))
        if not run.token and str(data.frame.text).strip():
            self._first_token(data.timestamp, run)

    def _first_token(self, at_ns: int, run: Run) -> None:
        run.token = True
        self._tell(at_ns, run, "first_token")

    def tool_called(self, call_id: str, source: str, at_ns: int) -> str | None:
        """A run has asked for a tool; which one it is."""
        run = self._runs.of_source.get(source)
        if run is None:
            return None
        run.tools = True
        self._tool_runs[call_id] = run
        if len(self._tool_runs) > 256:
            del self._tool_runs[next(iter(self._tool_runs))]
        if not run.token:
            self._first_token(at_ns, run)
        return run.id

    def tool_settled(self, call_id: str) -> None:
        """A tool has answered: the next run is likely to be because of it."""
        self._after_tools = self._tool_runs.pop(call_id, None) or self._after_tools

    def _run_ended(self, data: Any) -> None:
        # an end without an open start changes nothing (A04); nor does one behind a cancellation
        run = self._runs.of_source.pop(data.source.name, None)
        if run is None or run.over:
            return
        run.over = True
        if run.tools:
            self._tell(data.timestamp, run, "tools_called")
        elif not run.token and not run.first_audio:
            self._tell(data.timestamp, run, "empty")
        self._tell(data.timestamp, run, "ended")
        if not run.unplaced and not run.segments and not run.first_audio:
            self._runs.drop(run)

    # synthesis

    def _announced(self, data: Any) -> None:
        frame = data.frame
        if getattr(frame, "skip_tts", False) or not str(frame.text).strip():
            return
        context = getattr(frame, "context_id", None)
        run = self._runs.for_text(str(frame.text), context)
        if run is not None and not run.first_text:
            run.first_text = True
            self._tell(data.timestamp, run, "first_text")

    def _synthesis_started(self, data: Any) -> None:
        context = getattr(data.frame, "context_id", None)
        run = self._runs.for_audio(context, data.source.name)
        if run is None and self._now.realtime:
            run = self._begin(data)
        if run is None:
            return
        self._runs.claim(run, context_key(data.frame))
        run.open_contexts += 1

    def _audio(self, data: Any) -> None:
        if self._output is not None and isinstance(data.source, self._output):
            return
        frame = data.frame
        run = self._runs.for_audio(getattr(frame, "context_id", None), data.source.name)
        if run is None:
            if not self._now.realtime or self._service is None or not isinstance(data.source, self._service):
                return
            run = self._begin(data)
        run.made_ns += round(frame.num_frames * SECOND / max(1, frame.sample_rate))
        if not run.first_audio:
            run.first_audio = True
            self._tell(data.timestamp, run, "first_audio")

    # endings

    def cancel_all(self, at_ns: int) -> None:
        """An interruption throws away what has not been heard."""
        for run in list(self._runs.live.values()):
            if run.interruptible and (not run.over or not run.audible):
                self._cancel(at_ns, run)

    def _cancel(self, at_ns: int, run: Run) -> None:
        if run.cancelled:
            return
        pending = not run.over or run.app_text is not None or bool(run.segments) or bool(run.unplaced)
        run.cancelled = run.over = True
        if pending:
            self._tell(at_ns, run, "cancelled")

    def close(self, at_ns: int) -> None:
        self.cancel_all(at_ns)


def context_key(frame: Any) -> str:
    """What tells a synthesis context from others; services without contexts of their own are told by the frame."""
    return str(getattr(frame, "context_id", None) or f"#{frame.id}")


def model_of(service: Any) -> str | None:
    """The model that a service runs, where it says so."""
    model = getattr(getattr(service, "_settings", None), "model", None) or getattr(service, "model_name", None)
    return model if isinstance(model, str) and model else None
