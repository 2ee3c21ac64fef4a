"""What ``call_started`` says of a call: who answers, on which line, with which settings, and what can be seen of it."""

from __future__ import annotations

import os
import platform
import socket
from functools import cache
from importlib import metadata
from typing import Any

from earwitness.processors.frames import Handler
from earwitness.processors.pipeline_parts import Parts

_REALTIME = ("realtime", "geminilive", "geminimultimodallive", "novasonic", "ultravox", "openailive")
_PROVIDERS = (
    ("twilio", "twilio"), ("telnyx", "telnyx"), ("plivo", "plivo"), ("exotel", "exotel"), ("vonage", "vonage"),
    ("genesys", "genesys"), ("daily", "daily"), ("livekit", "livekit"), ("smallwebrtc", "smallwebrtc"),
    ("fastapiwebsocket", "websocket"), ("websocket", "websocket"), ("local", "local"),
)  # fmt: skip


@cache
def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    found = {"python": platform.python_version()}
    for package in ("pipecat-ai", "earwitness"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def process_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


class Identity:
    """Facts of ``call_started``, gathered until the pipeline has started."""

    def __init__(self) -> None:
        self.realtime: bool | None = None
        self.vad_start_s: float | None = None
        self.vad_stop_s: float | None = None
        self.external_turns = False
        self.min_words = 0
        self.mutes: tuple[str, ...] = ()
        self.parts = Parts([])

    # frames that tell

    def frames(self) -> dict[str, Handler]:
        """Handlers by frame class name."""
        return {
            "SpeechControlParamsFrame": self.speech_params,
            "ServiceMetadataFrame": self.service_metadata,
            "STTMetadataFrame": self.service_metadata,
            "LLMServiceMetadataFrame": self.service_metadata,
        }

    def speech_params(self, data: Any) -> None:
        """``SpeechControlParamsFrame``: the VAD's settings as they are."""
        params = getattr(data.frame, "vad_params", None)
        if params is not None:
            self._vad_params(params)

    def service_metadata(self, data: Any) -> None:
        """``ServiceMetadataFrame``: whether a service runs the conversation, and whether it decides turns."""
        frame = data.frame
        if getattr(frame, "is_realtime_service", False):
            self.realtime = True
        strategies = getattr(frame, "user_turn_strategies", None)
        if strategies is not None and "External" in type(strategies).__name__ + _names(
            getattr(strategies, "start", None)
        ):
            self.external_turns = True

    def _vad_params(self, params: Any) -> None:
        self.vad_start_s = _seconds(getattr(params, "start_secs", None))
        self.vad_stop_s = _seconds(getattr(params, "stop_secs", None))

    # the pipeline as it stands

    def look_at(self, parts: Parts) -> None:
        """Read settings off the pipeline's parts."""
        self.parts = parts
        params = getattr(parts.user_aggregator, "_params", None)
        analyzer = getattr(params, "vad_analyzer", None) or getattr(
            getattr(parts.vad_processor, "_vad_controller", None), "_vad_analyzer", None
        )
        if analyzer is not None:
            self._vad_params(analyzer.params)
        self.mutes = tuple(type(mute).__name__ for mute in getattr(params, "user_mute_strategies", None) or ())
        for strategy in self._strategies("start"):
            self.min_words = max(self.min_words, int(getattr(strategy, "_min_words", 0) or 0))
            self.external_turns = self.external_turns or "External" in type(strategy).__name__
        if self.realtime is None and parts.llm is not None:
            self.realtime = looks_realtime(parts.llm)

    def _strategies(self, side: str) -> list[Any]:
        owner = self.parts.user_aggregator or self.parts.turn_processor
        controller = getattr(owner, "_user_turn_controller", None)
        strategies = getattr(controller, "_user_turn_strategies", None)
        return list(getattr(strategies, side, None) or ())

    @property
    def mode(self) -> str:
        if self.realtime:
            return "realtime"
        return "cascade" if self.parts.stt is not None or self.parts.tts is not None else "unknown"

    def fields(self, *, caller_tap: bool, agent_tap: bool) -> dict[str, Any]:
        """Fields of ``call_started`` that the pipeline itself tells."""
        parts = self.parts
        caller = [
            edge
            for edge, there in (
                ("audio", caller_tap),
                ("vad", self.vad_stop_s is not None),
                ("server", self.external_turns),
            )
            if there
        ]
        agent = [
            edge
            for edge, there in (
                ("playout", parts.output is not None),
                ("audio", agent_tap),
                ("decision", parts.output is not None),
            )
            if there
        ]
        return {
            "mode": self.mode,
            "provider": self._provider(),
            "language": self._language(),
            "recogniser": True if parts.stt is not None else (None if self.realtime else False),
            "caller_edges": tuple(caller),
            "agent_edges": tuple(agent),
            "vad_start_s": self.vad_start_s,
            "vad_stop_s": self.vad_stop_s,
            "turn_start": tuple(type(one).__name__ for one in self._strategies("start")),
            "turn_stop": tuple(type(one).__name__ for one in self._strategies("stop")),
            "min_words": self.min_words or None,
            "mute_strategies": self.mutes,
            "versions": dict(versions()),
            "process": process_name(),
        }

    def _provider(self) -> str | None:
        side = self.parts.input or self.parts.output
        if side is None:
            return None
        serializer = getattr(getattr(side, "_params", None), "serializer", None)
        for thing in (serializer, side):
            names = [cls.__name__.lower() for cls in type(thing).__mro__] if thing is not None else []
            for part, provider in _PROVIDERS:
                if any(part in name for name in names):
                    return provider
        return None

    def _language(self) -> str | None:
        language = getattr(getattr(self.parts.stt, "_settings", None), "language", None)
        value = getattr(language, "value", language)
        return value if isinstance(value, str) and value else None


def looks_realtime(llm: Any) -> bool:
    """Whether a model service is speech to speech, by its name: only newer versions announce it."""
    return any(part in cls.__name__.lower() for cls in type(llm).__mro__ for part in _REALTIME)


def _names(things: Any) -> str:
    return " ".join(type(thing).__name__ for thing in things or ())


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
