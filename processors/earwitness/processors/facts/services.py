"""What services say of themselves: metrics and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from earwitness.monitor.contract.events import Fault, Stage
from earwitness.processors.facts.responses import model_of
from earwitness.processors.facts.runs import Runs
from earwitness.processors.facts.shared import Moments
from earwitness.processors.frames import Handler, optional_class, short_name
from earwitness.processors.text_bound import bounded

Service = Literal["stt", "llm", "tts", "turn", "realtime", "other"]

MESSAGE_LIMIT = 500
_TIMES = {
    "TTFBMetricsData": ("ttfb", "value"),
    "TTFAMetricsData": ("ttfa", "ttfa"),
    "TTFATMetricsData": ("ttfat", "ttfat"),
    "ProcessingMetricsData": ("processing", "value"),
    "TextAggregationMetricsData": ("text_aggregation", "value"),
}
_SERVICE_MODULES: tuple[tuple[Service, str, str], ...] = (
    ("stt", "pipecat.services.stt_service", "STTService"),
    ("tts", "pipecat.services.tts_service", "TTSService"),
    ("llm", "pipecat.services.llm_service", "LLMService"),
)


class ServiceKinds:
    """Which kind of service a processor is."""

    def __init__(self) -> None:
        self._bases: list[tuple[Service, type[Any] | None]] = [
            (kind, optional_class(module, name)) for kind, module, name in _SERVICE_MODULES
        ]
        self._of_type: dict[type[Any], Service] = {}

    def of(self, processor: Any) -> Service:
        cls: type[Any] = processor.__class__
        known = self._of_type.get(cls)
        if known is not None:
            return known
        found: Service = "other"
        for kind, base in self._bases:
            if base is not None and issubclass(cls, base):
                found = kind
                break
        self._of_type[cls] = found
        return found


@dataclass(slots=True)
class _FirstByte:
    """A time to first byte whose byte has not been seen yet: it may only say when the request was broken off."""

    value_s: float | None
    name: str
    model: str | None
    service: Service
    response_id: str | None


class Metrics:
    """``stage`` events. Zeros are "not measured" (A12); a time to first byte without a byte is censored (A11)."""

    def __init__(self, now: Moments, runs: Runs, kinds: ServiceKinds, verdict: Callable[[int, bool], None]) -> None:
        self._now = now
        self._runs = runs
        self._kinds = kinds
        self._verdict = verdict
        self._pending: dict[str, _FirstByte] = {}
        self._any = False

    def frames(self) -> dict[str, Handler]:
        return {
            "MetricsFrame": self._metrics,
            "LLMTextFrame": self._byte,
            "LLMThoughtTextFrame": self._byte,
            "FunctionCallsStartedFrame": self._byte,
            "TTSAudioRawFrame": self._byte,
            "InterruptionFrame": lambda data: self._censor(data.timestamp),
            "LLMFullResponseEndFrame": self._no_byte,
        }

    def _metrics(self, data: Any) -> None:
        metrics = data.frame.data
        initial = not self._any and len(metrics) > 0 and all(_zero(item) for item in metrics)
        self._any = True
        if initial and "Source" in data.source.name:
            return  # Pipecat announces every processor with zeros first: no measurement
        for item in metrics:
            self._metric(data, item)

    def _metric(self, data: Any, item: Any) -> None:
        at_ns = data.timestamp
        kind = type(item).__name__
        name = str(getattr(item, "processor", "") or data.source.name)
        service = self._kinds.of(data.source)
        if service == "llm" and self._now.realtime:
            service = "realtime"
        model = getattr(item, "model", None) or model_of(data.source)
        complete = getattr(item, "is_complete", None)
        if complete is not None:
            self._verdict(at_ns, bool(complete))
            took_ms = float(getattr(item, "e2e_processing_time_ms", 0.0) or 0.0)
            usage = {"is_complete": float(complete), "probability": float(getattr(item, "probability", 0.0) or 0.0)}
            self._tell(at_ns, "turn", "turn", name, model, value_s=took_ms / 1e3 if took_ms > 0 else None, usage=usage)
            return
        timed = _TIMES.get(kind)
        if timed is None:
            usage = _usage(item)
            if usage:
                self._tell(at_ns, service, "usage", name, model, usage=usage)
            return
        metric, attribute = timed
        value = float(getattr(item, attribute))
        value_s = value if value > 0 else None
        first = _FirstByte(value_s, name, model, service, None)
        if metric == "ttfb" and service in ("llm", "tts", "realtime"):
            self._first_byte(at_ns, data.source.name, first)
        else:
            self._tell(at_ns, service, metric, name, model, value_s=value_s)

    def _first_byte(self, at_ns: int, source: str, first: _FirstByte) -> None:
        run = self._runs.of_source.get(source)
        first.response_id = run.id if run is not None else None
        if first.value_s is None or (run is not None and (run.token or run.first_audio)):
            self._settle(at_ns, first, censored=False)
        elif run is not None and run.cancelled:
            self._settle(at_ns, first, censored=True)
        else:
            self._pending[source] = first

    def _byte(self, data: Any) -> None:
        pending = self._pending.pop(data.source.name, None) if self._pending else None
        if pending is not None:
            self._settle(data.timestamp, pending, censored=False)

    def _no_byte(self, data: Any) -> None:
        pending = self._pending.pop(data.source.name, None) if self._pending else None
        if pending is not None:
            self._settle(data.timestamp, pending, censored=True)

    def _censor(self, at_ns: int) -> None:
        for pending in self._pending.values():
            self._settle(at_ns, pending, censored=True)
        self._pending.clear()

    def _settle(self, at_ns: int, first: _FirstByte, *, censored: bool) -> None:
        self._tell(
            at_ns, first.service, "ttfb", first.name, first.model, value_s=None if censored else first.value_s,
            censored=censored, response_id=first.response_id,
        )  # fmt: skip

    def _tell(self, at_ns: int, service: Service, metric: str, name: str, model: str | None, **fields: Any) -> None:
        fields = {key: value for key, value in fields.items() if value is not None}
        self._now.emit(
            Stage, at_ns, service=service, metric=metric, processor=name.rsplit("#", 1)[0], model=model, **fields
        )

    def close(self, at_ns: int) -> None:
        self._censor(at_ns)


def _zero(item: Any) -> bool:
    return getattr(item, "value", None) == 0.0 and type(item).__name__ in _TIMES


def _usage(item: Any) -> dict[str, float]:
    value: Any = getattr(item, "value", None)
    if _is_number(value):
        return {"characters": float(value)}
    fields: dict[str, Any] = value.model_dump() if hasattr(value, "model_dump") else {}
    return {key: float(count) for key, count in fields.items() if _is_number(count)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(slots=True)
class _Open:
    fault_id: str
    processor: str
    category: str | None
    message: str | None


class Faults:
    """``fault`` events: each error once, at its origin, and once more when the service went on (A41)."""

    def __init__(self, now: Moments, kinds: ServiceKinds) -> None:
        self._now = now
        self._kinds = kinds
        self._count = 0
        self._open: dict[Service, list[_Open]] = {}

    def frames(self) -> dict[str, Handler]:
        return {
            "ErrorFrame": self._error,
            "LLMTextFrame": lambda data: self._recovered(data.timestamp, "llm"),
            "FunctionCallsStartedFrame": lambda data: self._recovered(data.timestamp, "llm"),
            "TTSAudioRawFrame": self._sound,
            "TranscriptionFrame": lambda data: self._recovered(data.timestamp, "stt"),
        }

    def _error(self, data: Any) -> None:
        frame = data.frame
        origin = getattr(frame, "processor", None) or data.source
        self._count += 1
        category = getattr(frame, "category", None)
        message, _ = bounded(str(frame.error), MESSAGE_LIMIT)
        fault = _Open(
            f"f{self._count}",
            short_name(origin),
            str(getattr(category, "value", category)) if category else None,
            message,
        )
        kind = self._kinds.of(origin)
        if kind != "other":
            waiting = self._open.setdefault(kind, [])
            if len(waiting) < 20:
                waiting.append(fault)
        self._tell(data.timestamp, fault, fatal=bool(getattr(frame, "fatal", False)))

    def _sound(self, data: Any) -> None:
        if self._open:
            self._recovered(data.timestamp, "tts" if self._kinds.of(data.source) == "tts" else "llm")

    def _recovered(self, at_ns: int, kind: Service) -> None:
        if not self._open:
            return
        for fault in self._open.pop(kind, ()):
            self._tell(at_ns, fault, recovered=True)

    def _tell(self, at_ns: int, fault: _Open, **fields: Any) -> None:
        self._now.emit(
            Fault, at_ns, fault_id=fault.fault_id, processor=fault.processor, category=fault.category,
            message=fault.message, **fields,
        )  # fmt: skip

    def close(self, at_ns: int) -> None:
        del at_ns
