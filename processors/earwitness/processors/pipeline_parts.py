"""A pipeline's parts, found by walking its links: what an observer put in by hand can know of the pipeline it is in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from earwitness.processors.frames import optional_class

MOST_PARTS = 1_000


def parts_of(processor: Any) -> list[Any]:
    """All processors of the pipeline that a processor is in, compound ones opened, in order."""
    top = processor
    for _ in range(MOST_PARTS):
        before = getattr(top, "previous", None)
        if before is None:
            break
        top = before
    found: dict[int, Any] = {}
    at: Any = top
    for _ in range(MOST_PARTS):
        if at is None:
            break
        for part in _opened(at):
            found.setdefault(id(part), part)
        at = getattr(at, "next", None)
    return list(found.values())


def _opened(processor: Any, depth: int = 0) -> Iterator[Any]:
    yield processor
    if depth < 20:
        for inner in getattr(processor, "processors", None) or ():
            yield from _opened(inner, depth + 1)


class Parts:
    """The parts of a pipeline that facts hang on. Any may be missing."""

    def __init__(self, processors: list[Any]) -> None:
        self.all = processors
        base_input = optional_class("pipecat.transports.base_input", "BaseInputTransport")
        base_output = optional_class("pipecat.transports.base_output", "BaseOutputTransport")
        self.input = _first(processors, base_input)
        self.output = _first(processors, base_output)
        self.user_aggregator = next(
            (part for part in processors if "UserAggregator" in type(part).__name__ and hasattr(part, "_params")), None
        )
        self.turn_processor = _named(processors, "UserTurnProcessor")
        self.vad_processor = _named(processors, "VADProcessor")
        self.stt = _first(processors, optional_class("pipecat.services.stt_service", "STTService"))
        self.llm = _first(processors, optional_class("pipecat.services.llm_service", "LLMService"))
        self.tts = _first(processors, optional_class("pipecat.services.tts_service", "TTSService"))

    @property
    def transport(self) -> Any:
        """The transport object behind the processors, where it can be reached: its events say who hangs up."""
        for side in (self.input, self.output):
            found = getattr(side, "_transport", None)
            if found is not None and hasattr(found, "add_event_handler"):
                return found
        return None


def parts_of_worker(worker: Any) -> Parts:
    """The parts of a worker's pipeline, whether or not it runs yet."""
    pipeline = getattr(worker, "_pipeline", None) or getattr(worker, "pipeline", None)
    return Parts(list({id(part): part for part in _opened(pipeline)}.values()) if pipeline is not None else [])


def stop_listening(part: Any, event: str, handler: Any) -> None:
    """Take a handler off an event of a part, where it is on it, so that the part does not keep the call alive."""
    registered: dict[str, Any] = getattr(part, "_event_handlers", None) or {}
    handlers: list[Any] = getattr(registered.get(event), "handlers", None) or []
    if handler in handlers:
        handlers.remove(handler)


def _first(processors: list[Any], base: type[Any] | None) -> Any:
    return next((part for part in processors if base is not None and isinstance(part, base)), None)


def _named(processors: list[Any], name: str) -> Any:
    return next((part for part in processors if any(cls.__name__ == name for cls in type(part).__mro__)), None)
