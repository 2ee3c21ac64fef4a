"""What does not enter our queue changes no event: the same calls with the gate before it and without, byte for byte."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from pipecat.frames.frames import CancelFrame, EndFrame, Frame, InputAudioRawFrame
from pipecat.observers.base_observer import BaseObserver
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat_calls.call import place_call
from pipecat_calls.fixtures import RunCall
from pipecat_calls.recorded import RecordedCall
from pipecat_calls.script import At, Reply, Say, Script, order_call

from earwitness.monitor.contract.events import AudioGap, CallEnded, CallStarted, Health, Transport
from earwitness.processors import observer as observer_module
from earwitness.processors.attaching import attach
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.inert import InertObserver
from earwitness.processors.observer import CallObserver
from earwitness.processors.queue_gate import QueueGate
from earwitness.processors.redaction import NoRedaction
from earwitness.processors.sink import MemorySink, Outbound
from earwitness.processors.witness import Witness

pytestmark = pytest.mark.pipecat

HELLO = Reply("Thanks for calling. How can I help you?")
TALK = Script(
    lines=(Say("where is my order", at_s=3.5),),
    replies=(HELLO, Reply("It is on its way to you.", ends=True)),
    ends_s=20,
)


def proxy_of(worker: Any) -> Any:
    """Pipecat's side of our observer."""
    proxies: dict[Any, Any] = worker._observer._proxies
    return next(proxy for observer, proxy in proxies.items() if isinstance(observer, CallObserver | InertObserver))


def flow(on: bool) -> Callable[[Any], None]:
    def do(call: Any) -> None:
        call.line.caller.flows = on

    return do


def block(call: Any) -> None:
    loop: Any = asyncio.get_running_loop()
    loop.now_s += 1.5


def hold_back(call: Any) -> None:
    """From now on nobody reads our queue: all that follows waits in it until the end."""
    proxy_of(call.worker).task.cancel()


def watch_late(sink: MemorySink) -> Callable[[Any], None]:
    def do(call: Any) -> None:
        settings = BotSettings.from_env({}, taps=False)
        attach(call.worker, witness=Witness("a", call_id="c", sink=sink, redactor=NoRedaction(), settings=settings))

    return do


CALLS = {
    "a call with everything in it": order_call(reason="done"),
    "an audio gap": Script(replies=(HELLO,), events=(At(4.0, flow(False)), At(6.7, flow(True))), ends_s=9),
    "a blocked loop": Script(**{**TALK.__dict__, "events": (At(3.9, block),), "sound": "voice"}),
    "a caller who hangs up": Script(
        lines=TALK.lines, replies=TALK.replies[:1], events=(At(6.0, lambda c: c.hang_up()),)
    ),
    "the end with things in the queue": Script(**{**TALK.__dict__, "events": (At(4.0, hold_back),)}),
    "a speech-to-speech model": Script(**{**TALK.__dict__, "mode": "realtime"}),
    "more than a minute, without the caller's audio at last": Script(
        replies=(HELLO,), events=(At(59.3, flow(False)),), ends_s=62.0
    ),
}
GAPS = {
    "an audio gap": ["stopped", "resumed"],
    "more than a minute, without the caller's audio at last": ["stopped"],
}


def left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """No gate: Pipecat queues everything for us."""
    monkeypatch.setattr(QueueGate, "put_on", lambda *_: None)


class Dated(MemorySink):
    """Keeps by the virtual clock when each event came."""

    def __init__(self) -> None:
        super().__init__()
        self.came_s: list[float] = []

    def put(self, item: Outbound) -> None:
        self.came_s.append(time.monotonic())
        super().put(item)


def payloads(call: RecordedCall) -> list[bytes]:
    return [item.payload for item in call.sink.items]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many items of each kind our observer was handed out of its queue."""
    counts = {"pushed": 0, "processed": 0}
    pushed = CallObserver.on_push_frame

    async def on_push_frame(self: CallObserver, data: Any) -> None:
        counts["pushed"] += 1
        await pushed(self, data)

    async def on_process_frame(self: CallObserver, data: Any) -> None:
        counts["processed"] += 1

    monkeypatch.setattr(CallObserver, "on_push_frame", on_push_frame)
    monkeypatch.setattr(CallObserver, "on_process_frame", on_process_frame, raising=False)
    return counts


@pytest.mark.parametrize("way", ["attach", "observer"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_events_byte_for_byte(
    run_call: RunCall, monkeypatch: pytest.MonkeyPatch, read: dict[str, int], name: str, way: str
) -> None:
    sink, plain_sink = Dated(), Dated()
    told = run_call(CALLS[name], way=way, sink=sink, witness={"call_id": "c"})
    with_gate = dict(read)
    left_open(monkeypatch)
    plain = run_call(CALLS[name], way=way, sink=plain_sink, witness={"call_id": "c"})

    assert payloads(told) == payloads(plain)
    # what is due with a frame waits for the next at most
    assert sink.came_s == pytest.approx(plain_sink.came_s, abs=0.021)
    assert told.one(CallEnded).tail_incomplete is False
    assert told.truth == plain.truth
    assert [gap.state for gap in told.of(AudioGap)] == GAPS.get(name, [])
    without_gate = read["pushed"] + read["processed"] - sum(with_gate.values())
    assert sum(with_gate.values()) < without_gate / 4
    assert with_gate["processed"] < 20  # before the first frame says where the queue is, and behind the end of the call


def test_what_is_due_is_told_with_the_next_frame_though_that_is_audio(run_call: RunCall) -> None:
    fired_s: list[float] = []

    async def drop(call: Any) -> None:
        fired_s.append(time.monotonic())
        await call.line.fire("on_client_disconnected", "client")

    sink = Dated()
    call = run_call(Script(replies=(HELLO,), events=(At(6.1, drop),), ends_s=9), sink=sink)

    (told_s,) = (at_s for at_s, e in zip(sink.came_s, call.events, strict=True) if isinstance(e, Transport))
    assert told_s - fired_s[0] <= 0.021


@pytest.mark.parametrize("name", ["a call with everything in it", "an audio gap", "the end with things in the queue"])
def test_the_same_events_where_pipecat_tells_every_push(
    run_call: RunCall, monkeypatch: pytest.MonkeyPatch, read: dict[str, int], name: str
) -> None:
    """As before 1.12: the observer tells first pushes apart by itself."""
    first_only = run_call(CALLS[name], witness={"call_id": "c"})
    read.update(pushed=0, processed=0)
    monkeypatch.setattr(observer_module, "FIRST_PUSH_ONLY", False)
    told = run_call(CALLS[name], witness={"call_id": "c"})
    with_gate = read["pushed"]
    left_open(monkeypatch)
    plain = run_call(CALLS[name], witness={"call_id": "c"})

    assert payloads(told) == payloads(plain)
    assert [event.kind for event in told.events] == [event.kind for event in first_only.events]
    assert with_gate < (read["pushed"] - with_gate) / 2


def test_the_same_events_of_a_call_that_is_watched_from_its_middle_on(monkeypatch: pytest.MonkeyPatch) -> None:
    sinks = [MemorySink(), MemorySink()]
    stood: list[bool] = []
    for sink in sinks:
        look = At(9.0, lambda call: stood.append("put" in vars(proxy_of(call.worker).queue)))
        place_call(Script(**{**order_call().__dict__, "events": (At(4.1, watch_late(sink)), look)}))
        left_open(monkeypatch)

    assert stood == [True, False]
    assert [item.payload for item in sinks[0].items] == [item.payload for item in sinks[1].items]
    assert len(sinks[0].items) > 30


def test_any_frame_says_which_call_this_is_where_it_is_watched_from_its_middle_on() -> None:
    sink = MemorySink()
    script = Script(lines=TALK.lines, replies=TALK.replies, events=(At(3.8, watch_late(sink)),), interims=False)
    place_call(script)

    started = next(event for event in sink.events if isinstance(event, CallStarted))
    assert 3.8 < started.at_ns / 1e9 < 4.1  # the caller speaks, and of what is pushed meanwhile we read nothing


def test_a_fault_of_ours_lets_everything_in_again(run_call: RunCall, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run_call(TALK, witness={"call_id": "c"})
    only_counts, faults, stands = CallObserver._only_counts, [4.0], list[bool]()

    def fails_once(self: CallObserver, data: Any) -> bool:
        if faults and data.timestamp / 1e9 > faults[0]:
            faults.clear()
            raise RuntimeError("a bug of ours")
        return only_counts(self, data)

    monkeypatch.setattr(CallObserver, "_only_counts", fails_once)
    looks = [At(at_s, lambda call: stands.append("put" in vars(proxy_of(call.worker).queue))) for at_s in (3.9, 4.2)]
    call = run_call(Script(**{**TALK.__dict__, "events": tuple(looks)}), witness={"call_id": "c"})

    assert stands == [True, False]
    assert call.of(Health)[-1].observer_errors == 1
    told, before = ([e.kind for e in c.events if not isinstance(e, Health | CallEnded)] for c in (call, plain))
    assert told == before
    assert call.truth == plain.truth


@pytest.mark.parametrize("ends", ["its end", "being removed", "the watchdog"])
def test_the_queue_has_its_own_put_again_behind(run_call: RunCall, ends: str) -> None:
    stood: list[Any] = []

    def look(call: Any) -> None:
        stood.append(proxy_of(call.worker).queue)
        assert "put" in vars(stood[0])

    async def remove(call: Any) -> None:
        observer = proxy_of(call.worker).observer
        await call.worker.remove_observer(observer)
        assert "put" not in vars(stood[0])

    class Stuck(FrameProcessor):
        async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
            await super().process_frame(frame, direction)
            if not isinstance(frame, EndFrame | CancelFrame):
                await self.push_frame(frame, direction)

    def still_stuck(call: Any) -> None:
        assert "put" not in vars(stood[0])
        stood.append("while it was stuck")

    script, extra, level = TALK, None, "ERROR"
    if ends == "being removed":
        script = Script(replies=(HELLO,), events=(At(2.0, look), At(4.0, remove)), ends_s=6)
    elif ends == "the watchdog":
        end = At(4.0, lambda call: call.worker.queue_frame(EndFrame()))
        script = Script(replies=(HELLO,), events=(At(2.0, look), end, At(35.0, still_stuck)), ends_s=40)
        extra, level = (lambda: {"before_output": [Stuck()]}), "CRITICAL"
    else:
        script = Script(**{**TALK.__dict__, "events": (At(2.0, look),)})
    call = run_call(script, extra=extra, log_level=level)

    assert call.one(CallEnded)
    assert type(stood[0]) is asyncio.Queue
    assert "put" not in vars(stood[0])
    assert len(stood) == (2 if ends == "the watchdog" else 1)


class Diary(BaseObserver):
    """Writes down all that Pipecat tells it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, str, int]] = []

    async def on_push_frame(self, data: Any) -> None:
        self.lines.append(("pushed", type(data.frame).__name__, data.timestamp))

    async def on_process_frame(self, data: Any) -> None:
        self.lines.append(("processed", type(data.frame).__name__, data.timestamp))


@pytest.mark.parametrize("off", [False, True], ids=["watched", "switched off"])
def test_other_observers_of_the_same_worker_are_told_everything(monkeypatch: pytest.MonkeyPatch, off: bool) -> None:
    diaries: list[Diary] = []

    def observers() -> list[Any]:
        diaries.append(Diary())
        settings = BotSettings.from_env({}, taps=False, off=off)
        witness = Witness("a", sink=MemorySink(), redactor=NoRedaction(), settings=settings)
        return [witness.observer(), diaries[-1]]

    stood: list[bool] = []
    look = At(3.0, lambda call: stood.append("put" in vars(proxy_of(call.worker).queue)))
    script = Script(**{**TALK.__dict__, "events": (look,)})
    place_call(script, observers=observers)
    left_open(monkeypatch)
    place_call(script, observers=observers)

    assert stood == [True, False]
    told, plain = (diary.lines for diary in diaries)
    most = min(len(told), len(plain))  # at the end Pipecat stops reading where it happens to be
    assert told[:most] == plain[:most]
    assert most > 1_000
    assert len(told) - most <= len(plain) - most + 5


@pytest.mark.parametrize("first_push_only", [True, False])
def test_what_did_not_enter_is_counted_all_the_same(monkeypatch: pytest.MonkeyPatch, first_push_only: bool) -> None:
    monkeypatch.setattr(observer_module, "FIRST_PUSH_ONLY", first_push_only)
    pushes: list[tuple[bool, int, int]] = []
    found: list[int] = []

    class Counts(BaseObserver):
        async def on_push_frame(self, data: Any) -> None:
            pushes.append((isinstance(data.frame, InputAudioRawFrame), data.frame.id, data.timestamp))

    def look(call: Any) -> None:
        observer = proxy_of(call.worker).observer
        heard = [frame_id for is_audio, frame_id, _ in pushes if is_audio]
        others = {frame_id for is_audio, frame_id, _ in pushes if not is_audio}
        found.append(observer.frames_seen - (len(set(heard)) if first_push_only else len(heard)) - len(others))
        found.append(observer.last_frame_ns - max(at_ns for is_audio, _, at_ns in pushes if not is_audio))

    def put_on(call: Any) -> None:
        call.worker.add_observer(Counts())
        watch_late(MemorySink())(call)

    looks = tuple(At(at_s, look) for at_s in (2.8, 4.35))
    place_call(Script(lines=TALK.lines, replies=TALK.replies, events=looks, interims=False), attach=put_on)

    assert len(pushes) > 500
    assert [abs(off) <= 5 for off in found[::2]] == [True, True]  # either may not have read its last pushes yet
    assert all(abs(off_ns) <= (0 if first_push_only else 40_000_000) for off_ns in found[1::2])


def test_an_observer_that_does_nothing_is_handed_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Any] = []
    queues: list[Any] = []
    pushed = InertObserver.on_push_frame

    async def on_push_frame(self: InertObserver, data: Any) -> None:
        handed.append(data)
        await pushed(self, data)

    async def on_process_frame(self: InertObserver, data: Any) -> None:
        handed.append(data)

    monkeypatch.setattr(InertObserver, "on_push_frame", on_push_frame)
    monkeypatch.setattr(InertObserver, "on_process_frame", on_process_frame)
    look = At(3.0, lambda call: queues.append(proxy_of(call.worker).queue))
    off = BotSettings.from_env({}, off=True)
    script = Script(**{**TALK.__dict__, "events": (look,)})
    placed = place_call(script, observers=lambda: [Witness("a", settings=off).observer()])

    assert placed.finished
    assert 0 < len(handed) < 100
    assert "put" not in vars(queues[0])
