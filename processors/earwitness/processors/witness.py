"""One witness for each call: what an application holds in its hands, by whichever way it was attached."""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from pipecat.observers.base_observer import BaseObserver

from earwitness.monitor.contract.events import App, LateFact, Transport
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.clock import CallClock
from earwitness.processors.facts.tools import TRANSFER_TOOLS
from earwitness.processors.inert import InertObserver
from earwitness.processors.observer import CallObserver
from earwitness.processors.pulse import Pulse
from earwitness.processors.recorder import Recorder, sampled
from earwitness.processors.redaction import default_redactor
from earwitness.processors.sink import Redactor, Sink
from earwitness.processors.taps import CallTaps
from earwitness.processors.text_bound import bounded

SETTLE_S = 2.5
UNNAMED = "unnamed"

_log = logging.getLogger("earwitness.witness")


class Witness:
    """Watches one call (interfaces, "In the bot").

    What is not given comes from the environment (``EARWITNESS_AGENT``, ``EARWITNESS_VERSION``, ``EARWITNESS_LABELS``,
    ...). ``caller`` (a number or address) leaves the process as a keyed hash only. ``transfer_tools`` is a regular
    expression for names of tools that hand the caller over. ``sink`` and ``redactor`` are for tests and for analysing
    a call where it runs. Switched off, or sampled out, it does nothing at all. Never raises.
    """

    def __init__(
        self,
        agent: str | None = None,
        version: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        call_id: str | None = None,
        direction: Literal["inbound", "outbound", "unknown"] | None = None,
        caller: str | None = None,
        provider: str | None = None,
        trace_id: str | None = None,
        consent: bool | None = None,
        transfer_tools: str = TRANSFER_TOOLS,
        sink: Sink | None = None,
        redactor: Redactor | None = None,
        settings: BotSettings | None = None,
    ) -> None:
        self.call_id = call_id or uuid.uuid4().hex
        self.on = False
        """Whether this call is watched."""
        self._clock = CallClock()
        self._observer: CallObserver | None = None
        self._taps: CallTaps | None = None
        self._tapped = [False, False]
        self._recording: str | None = None
        self._early: list[tuple[str, str | float | bool | None]] = []
        self._started = False
        self._transfer_tools = transfer_tools
        try:
            settings = settings or BotSettings.from_env(os.environ, agent=agent, version=version)
            self._settings = settings
            self._facts: dict[str, Any] = {
                "agent": agent or settings.agent or UNNAMED,
                "version": version or settings.version,
                "labels": {**settings.labels, **{key: str(value) for key, value in (labels or {}).items()}},
                "direction": direction,
                "provider": provider,
                "trace_id": trace_id,
                "consent": consent,
            }
            if settings.off or not sampled(self.call_id, settings.sample):
                return
            self._sink = sink if sink is not None else _process_writer(settings)
            self._redactor = redactor if redactor is not None else default_redactor(settings)
            hash_of = getattr(self._redactor, "hash_of", None)
            if caller and hash_of is not None:
                self._facts["caller_hash"] = hash_of(caller)
            self._recorder = Recorder(
                self.call_id, source="bot", sink=self._sink, redactor=self._redactor, clock=self._clock,
                per_second=settings.events_per_s, burst=settings.events_burst,
            )  # fmt: skip
            self._app_recorder = self._recorder.child("app")
            self._taps_recorder = self._recorder.child("taps")
            self.on = True
        except Exception as error:  # a monitor must not keep a bot from taking its call
            _log.warning("earwitness: this call is not watched: %r", error)

    # attaching

    def observer(self) -> BaseObserver:
        """The observer, for a worker's ``observers``; the same one each time."""
        if not self.on:
            return InertObserver()
        if self._observer is None:
            self._observer = CallObserver(
                self._recorder,
                self._clock,
                describe=self._describe,
                pulse=Pulse(
                    self._recorder, self._clock, sink=self._sink, others=(self._app_recorder, self._taps_recorder)
                ),
                settle=self._settle,
                flush=self._flush,
                taps=lambda: (self._tapped[0], self._tapped[1]),
                started=self._call_started,
                transfer_tools=self._transfer_tools,
            )
        return self._observer

    def caller_tap(self) -> Any:
        """A processor for right behind ``transport.input()``: the caller's audio as it arrives."""
        taps = self._call_taps()
        if taps is None:
            return _pass_through()
        self._tapped[0] = True
        return taps.caller_tap()

    def agent_tap(self) -> Any:
        """A processor for right behind ``transport.output()``: the agent's audio as it was written."""
        taps = self._call_taps()
        if taps is None:
            return _pass_through()
        self._tapped[1] = True
        return taps.agent_tap()

    def hook_taps(self, input_processor: Any, output_processor: Any) -> None:
        """Listen on the transport's processors instead of having taps in the pipeline."""
        taps = self._call_taps()
        if taps is not None:
            self._tapped = [
                self._tapped[0] or input_processor is not None,
                self._tapped[1] or output_processor is not None,
            ]
            taps.hook(input_processor, output_processor)

    def _call_taps(self) -> CallTaps | None:
        if not self.on or not self._settings.taps:
            return None
        if self._taps is None:
            self._taps = CallTaps(self._taps_recorder, recording=self._make_recording())
        return self._taps

    def _make_recording(self) -> Any:
        if self._settings.record is None:
            return None
        from earwitness.monitor.call_names import recording_name  # noqa: PLC0415 - seldom asked for
        from earwitness.processors.recording import CallRecording  # noqa: PLC0415

        self._recording = recording_name(self.call_id)
        return CallRecording(self._settings.record, self.call_id)

    # facts of the application

    def label(self, **labels: str | float | bool) -> None:
        """What the application has learnt of the call, by name: ``label(intent="refund")``."""
        for name, value in labels.items():
            self.app(name, value)

    def outcome(self, name: str) -> None:
        """What was achieved, by the application's own knowledge (definitions, "Outcomes")."""
        self.app("outcome", name)

    def app(self, name: str, value: str | float | bool | None = None) -> None:
        """A fact of the application's own: ``csat``, ``goal_met``, or any other name."""
        if not self.on:
            return
        if isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not self._started:
            self._early.append((name, value))
            return
        ended = self._observer is not None and self._observer.ended
        self._app_recorder.emit(LateFact if ended else App, self._clock.now_ns(), name=name, value=value)

    def line(
        self, *, loss_ratio: float | None = None, jitter_ms: float | None = None, round_trip_ms: float | None = None
    ) -> None:
        """What the application learns of the line from its provider, as often as it does: no transport of Pipecat's
        tells the pipeline. ``loss_ratio`` is 0 to 1; what is not known is left out."""
        told = {"loss_ratio": loss_ratio, "jitter_ms": jitter_ms, "round_trip_ms": round_trip_ms}
        self._of_the_line("quality", {n: float(v) for n, v in told.items() if isinstance(v, int | float)})

    def one_way(self, reason: str | None = None) -> None:
        """The provider says that audio flows one way only."""
        self._of_the_line("one_way", {"reason": None if reason is None else bounded(str(reason), 200)[0]})

    def _of_the_line(self, event: str, told: dict[str, Any]) -> None:
        if self.on and self._started and told and not (self._observer is not None and self._observer.ended):
            self._app_recorder.emit(Transport, self._clock.now_ns(), event=event, **told)

    # what the observer asks

    def _describe(self) -> dict[str, Any]:
        return {**self._facts, "recording": self._recording}

    def _call_started(self, at_ns: int) -> None:
        self._started = True
        early, self._early = self._early, []
        for name, value in early:
            self._app_recorder.emit(App, at_ns, name=name, value=value)

    async def _settle(self) -> None:
        if self._taps is not None:
            try:
                await asyncio.wait_for(self._taps.close(), SETTLE_S)
            except Exception as error:
                self._recorder.ledger.errors += 1
                _log.warning("earwitness: audio taps did not settle: %r", error)

    async def _flush(self) -> None:
        timeout_s = self._settings.call_flush_s
        try:
            await asyncio.wait_for(self._sink.flush(self.call_id, timeout_s), timeout_s + 0.5)
        except Exception as error:  # whatever a sink does, the call ends in time
            _log.warning("earwitness: the end of the call may not have left yet: %r", error)


def _process_writer(settings: BotSettings) -> Sink:
    from earwitness.processors.writer import process_writer  # noqa: PLC0415 - no writer where a sink is given

    return process_writer(settings)


def _pass_through() -> Any:
    from pipecat.processors.filters.identity_filter import IdentityFilter  # noqa: PLC0415 - only where we are off

    make: Any = IdentityFilter
    return make()
