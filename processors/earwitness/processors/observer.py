"""The observer of one call: sees every frame once, and turns what frames say into facts.

Never raises, never waits for anything, keeps no frame. Pipecat ends an observer for the rest of the call at its first
exception, and reads its queue only as long as the observer lets it: so everything here is guarded and quick.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pipecat.observers.base_observer import BaseObserver

from earwitness.monitor.contract.events import CallEnded, CallStarted
from earwitness.processors.backlog import Backlog
from earwitness.processors.clock import CallClock
from earwitness.processors.facts.families import Families
from earwitness.processors.facts.shared import Moments
from earwitness.processors.frames import AUDIO_IN, FIRST_PUSH_ONLY, UPSTREAM
from earwitness.processors.hooks import Hooks
from earwitness.processors.identity import Identity
from earwitness.processors.pipeline_parts import Parts, parts_of, parts_of_worker
from earwitness.processors.pulse import Pulse
from earwitness.processors.queue_gate import QueueGate
from earwitness.processors.recorder import Recorder

REMEMBERED: Final = 4_096
"""Frames remembered by id where Pipecat does not tell first pushes apart."""

_EARLY: Final = frozenset({"StartFrame", "MetricsFrame", "SpeechControlParamsFrame", "ClientConnectedFrame"})
"""Frames that may come before the pipeline has started."""


class CallObserver(BaseObserver):
    """Reports one call to its recorder. Add it to a worker's ``observers``, or let ``attach`` do so.

    ``settle`` is awaited before the last event (audio taps report what is open), ``flush`` after it; both are the
    caller's to bound. ``describe`` gives the fields of ``call_started`` that the pipeline does not tell,
    ``taps`` says of which sides there is one, and ``started`` is told of the moment.
    """

    def __init__(
        self,
        recorder: Recorder,
        clock: CallClock,
        *,
        describe: Callable[[], dict[str, Any]],
        pulse: Pulse,
        settle: Callable[[], Awaitable[None]],
        flush: Callable[[], Awaitable[None]],
        taps: Callable[[], tuple[bool, bool]],
        started: Callable[[int], None],
        transfer_tools: str,
    ) -> None:
        if FIRST_PUSH_ONLY:
            super().__init__(observe_every_push=False)  # pyright: ignore[reportUnknownMemberType]
        else:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self._record = recorder
        self._clock = clock
        self._describe = describe
        self._settle = settle
        self._flush = flush
        self._taps = taps
        self._tell_started = started
        self._now = Moments(recorder, clock)
        self._identity = Identity()
        self._families = Families(self._now, self._identity, transfer_tools)
        self._dispatch = self._families.dispatch
        self._dispatch.add({"StartFrame": self._pipeline_found})
        self._speech, self._ending = self._families.speech, self._families.ending
        self._hooks = Hooks(self._now, self._families)
        self._backlog = Backlog(self)
        self._gate = QueueGate(self._only_counts, self._fault)
        self._audio_types: dict[type[Any], bool] = {}
        self._pulse = pulse
        self._pulse.watch(self)
        self._seen: dict[int, None] = {}
        self._held: list[Any] = []
        self._started = False
        self._looked = False
        self._ended = False
        self._pipeline_started = False
        self._worker: Any = None
        self.frames_seen = 0
        self.last_frame_ns = 0

    # Pipecat's side

    async def setup(self, task_manager: Any) -> None:
        """See ``BaseObserver``: the pipeline is being set up."""
        base: Any = super()
        if hasattr(base, "setup"):
            await base.setup(task_manager)
        self.keep_pulse()

    async def on_push_frame(self, data: Any) -> None:
        """See ``BaseObserver``: a frame goes from one processor to the next."""
        try:
            if self._only_counts(data):
                return
            frame, at_ns = data.frame, data.timestamp
            kind: type[Any] = frame.__class__
            if self._audio_types[kind]:
                self._now.last_caller_audio_ns = at_ns
                self.frames_seen += 1
                if self._speech.gap_open:
                    self._speech.caller_audio(at_ns)
                if self._started:
                    self._catch_up(at_ns)
                return
            if not FIRST_PUSH_ONLY and self._again(frame.id):
                return
            self.frames_seen += 1
            self.last_frame_ns = at_ns
            if not self._looked:
                self._look(data)
            handlers = self._dispatch.handlers(kind)
            if handlers and not self._ended:
                self._see(data, handlers)
        except Exception as error:  # an exception here would end the observer for the rest of the call
            self._fault(error)

    async def on_pipeline_started(self) -> None:
        """See ``BaseObserver``: the StartFrame has come through, so the services have said what they are."""
        try:
            self._pipeline_started = True
            self.start(self._clock.now_ns())
        except Exception as error:
            self._fault(error)

    async def cleanup(self) -> None:
        """See ``BaseObserver``: the worker is done."""
        base: Any = super()
        try:
            await base.cleanup()
        finally:
            await self.finalise()

    # our side

    def _only_counts(self, data: Any) -> bool:
        """Whether a push says no more than that it was, as things stand; then that has been noted. The pipeline's own
        task asks this too, before a push enters our queue (``queue_gate``)."""
        frame = data.frame
        kind: type[Any] = frame.__class__
        is_audio = self._audio_types.get(kind)
        if is_audio is None:
            is_audio = self._audio_types[kind] = issubclass(kind, AUDIO_IN)
        at_ns = data.timestamp
        if is_audio:
            due_ns = self._now.agenda.next_ns
            if self._speech.gap_open or (due_ns is not None and due_ns <= at_ns and self._started):
                return False
            self._now.last_caller_audio_ns = at_ns
            self.frames_seen += 1
            return True
        if not self._looked or self._dispatch.handlers(kind):
            return False
        if not FIRST_PUSH_ONLY and self._again(frame.id):
            return True
        self.frames_seen += 1
        self.last_frame_ns = at_ns
        return True

    def _again(self, frame_id: int) -> bool:
        if frame_id in self._seen:
            return True
        self._seen[frame_id] = None
        if len(self._seen) > REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False

    def _look(self, data: Any) -> None:
        """Find out, at the first frame, which pipeline this is."""
        self._looked = True
        self._clock.follow(data.source.get_clock().get_time)
        self._pulse.start()
        self._backlog.find(data.source)
        self._gate.put_on(self._backlog.queue)
        worker = getattr(getattr(data.source, "_setup", None), "pipeline_worker", None)
        if worker is not None:
            self.watch_worker(worker)
            started = getattr(worker, "_pipeline_start_task", None)
            if started is not None and started.done():
                # added to a pipeline that runs: nobody will tell us that it has started
                self._pipeline_started = True
                self.start(data.timestamp)
        else:
            self.inspect(Parts(parts_of(data.source)))
            if type(data.frame).__name__ not in _EARLY:
                self._pipeline_started = True
                self.start(data.timestamp)

    def _pipeline_found(self, data: Any) -> None:
        self.inspect(Parts(parts_of(data.source)))

    def watch_worker(self, worker: Any, transport: Any = None) -> None:
        """Know the worker: its pipeline, and the events by which it says that it is over. Safe to repeat."""
        if self._worker is worker and transport is None:
            return
        first, self._worker = self._worker is not worker, worker
        clock = getattr(worker, "_clock", None)
        if clock is not None:
            self._clock.follow(clock.get_time)
        self.inspect(parts_of_worker(worker), transport)
        if first:
            self._hooks.listen(worker, "on_pipeline_finished", self._finished)
            self._hooks.listen(worker, "on_setup_timeout", self._setup_timed_out)
            self._hooks.listen(worker, "on_pipeline_timeout", self._frame_timed_out)

    def _setup_timed_out(self, *_: Any) -> None:
        self._ending.failed("setting up took too long")

    def _frame_timed_out(self, *_: Any) -> None:
        self._ending.failed("a frame did not come through the pipeline")

    def keep_pulse(self) -> None:
        """Begin to beat now, if a loop runs: an observer that is never called must still be missed."""
        try:
            self._pulse.start()
        except Exception as error:  # Pipecat would not let the call begin
            self._fault(error)

    async def _finished(self, *_: Any) -> None:
        await self.finalise()

    def inspect(self, parts: Parts, transport: Any = None) -> None:
        """Read a pipeline's settings and listen where frames do not tell; safe to repeat."""
        if parts.all:
            self._identity.look_at(parts)
        self._hooks.attach(parts, transport)

    def _see(self, data: Any, handlers: tuple[Callable[[Any], None], ...]) -> None:
        at_ns = data.timestamp
        if not self._started:
            # call_started comes before anything else, and waits for what the services say of themselves
            self._held.append((at_ns, data, handlers))
            if len(self._held) > 500:
                self.start(at_ns)
            return
        due_ns = self._now.agenda.next_ns
        if due_ns is not None and due_ns <= at_ns:
            self._catch_up(at_ns)
        self._handle(data, handlers)

    def _handle(self, data: Any, handlers: tuple[Callable[[Any], None], ...]) -> None:
        if getattr(data.frame, "broadcast_sibling_id", None) is not None and data.direction is UPSTREAM:
            return  # the downstream copy of a broadcast counts
        for handler in handlers:
            try:
                handler(data)
            except Exception as error:
                self._fault(error)

    def _catch_up(self, at_ns: int) -> None:
        while (due := self._now.agenda.take(at_ns)) is not None:
            when_ns, do = due
            try:
                do(when_ns)
            except Exception as error:
                self._fault(error)

    def start(self, at_ns: int) -> None:
        """Report ``call_started`` and what was held for it; once."""
        if self._started:
            return
        self._started = True
        held, self._held = self._held, []
        first_ns = min([at_ns, *(when_ns for when_ns, _, _ in held)])
        for _, data, handlers in held:
            if self._identity.speech_params in handlers or self._identity.service_metadata in handlers:
                self._handle(data, handlers)
        self._families.told(self._now, self._identity)
        caller_tap, agent_tap = self._taps()
        self._speech.watch_gaps = not caller_tap
        fields = {**self._identity.fields(caller_tap=caller_tap, agent_tap=agent_tap)}
        fields.update({name: value for name, value in self._describe().items() if value is not None})
        self._record.emit(CallStarted, first_ns, **fields)
        self._tell_started(first_ns)
        for when_ns, data, handlers in held:
            self._catch_up(when_ns)
            self._handle(data, handlers)

    def _fault(self, error: Exception) -> None:
        self._record.ledger.errors += 1
        self._pulse.note_error(error)

    def tick(self, at_ns: int, *, late: bool = False) -> None:
        """Twice a second: what no frame tells; ``late``: the loop was blocked, and frames may wait behind it."""
        try:
            if self._ended or not self._clock.running or len(self._backlog) > 0:
                return
            if self._started:
                self._catch_up(at_ns)
                self._families.tick(at_ns, late=late)
        except Exception as error:
            self._fault(error)

    def stuck(self, at_ns: int, patience_ns: int) -> bool:
        """Whether the pipeline was told to end long ago, and nothing has moved since."""
        end_ns = self._ending.end_seen_ns
        return end_ns is not None and at_ns - max(end_ns, self.last_frame_ns) >= patience_ns

    async def finalise(self, *, stuck: bool = False) -> None:
        """Report the end of the call, once, on whatever comes first: finished, cleaned up, or stuck."""
        if self._ended:
            return
        complete = True
        try:
            complete = self._backlog.drain()
        except Exception as error:
            self._fault(error)
        if self._ended:
            return
        self._ended = True
        try:
            at_ns = max(self._clock.now_ns(), self.last_frame_ns)
            self.start(at_ns)
            self._catch_up(at_ns)
            await self._settle()
            at_ns = max(at_ns, self._clock.now_ns())
            for family in self._families.all:
                try:
                    family.close(at_ns)
                except Exception as error:
                    self._fault(error)
            self._catch_up(2**62)
            self._pulse.stop(at_ns)
            if not self._pipeline_started and self._ending.cause is None:
                self._ending.failed("the pipeline never started")
            self._record.emit(
                CallEnded, at_ns, cause=self._ending.cause or "unknown",
                terminal="none" if stuck else self._ending.terminal, reason=self._ending.reason,
                counts=dict(self._record.ledger.counts), tail_incomplete=not complete,
            )  # fmt: skip
        except Exception as error:
            self._fault(error)
        finally:
            self._gate.take_off()
            self._hooks.detach()
            await self._flush()

    @property
    def ended(self) -> bool:
        return self._ended
