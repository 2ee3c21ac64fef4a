"""Three ways of attaching, one and the same report; switched off, no trace."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.filters.identity_filter import IdentityFilter
from pipecat_calls.call import place_call
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import At, Reply, Say, Script, order_call

from earwitness.monitor.contract.events import (
    App,
    AudioGap,
    CallEnded,
    CallStarted,
    LateFact,
    SpeechEnded,
    SpeechStarted,
    Transport,
)
from earwitness.processors import Witness, attach, setup_file
from earwitness.processors import witness as witness_module
from earwitness.processors.attaching import watched
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.inert import InertObserver
from earwitness.processors.observer import CallObserver
from earwitness.processors.pipeline_parts import parts_of_worker
from earwitness.processors.redaction import NoRedaction
from earwitness.processors.setup_file import setup_file_path
from earwitness.processors.sink import MemorySink

pytestmark = pytest.mark.pipecat

CALL = order_call()


def comparable(sink: MemorySink) -> list[dict[str, Any]]:
    """Events without what differs from run to run: ids, wall time, measured signal quality."""
    said = []
    for item in sink.items:
        event = json.loads(item.payload)
        for name in ("call_id", "wall_ns", "process", "trace_id", "snr_db"):
            event.pop(name, None)
        said.append(event)
    return said


def by_setup_file(monkeypatch: pytest.MonkeyPatch, script: Script = CALL) -> MemorySink:
    """An unmodified bot, watched because its environment says so."""
    sink = MemorySink()
    monkeypatch.setattr(witness_module, "_process_writer", lambda settings: sink)
    monkeypatch.setattr(witness_module, "default_redactor", lambda settings: NoRedaction())
    for name, value in {
        "PIPECAT_SETUP_FILES": setup_file_path(),
        "EARWITNESS_AGENT": "order desk",
        "EARWITNESS_VERSION": "1",
        "EARWITNESS_LABELS": "route=ivr",
    }.items():
        monkeypatch.setenv(name, value)
    place_call(script)
    return sink


def ours_on(parts: list[Any]) -> list[str]:
    """Handlers of ours that listen on some parts, by the event that they wait for."""
    return [
        event
        for part in parts
        for event, listeners in part._event_handlers.items()
        for handler in listeners.handlers
        if handler.__module__.startswith("earwitness.")
    ]


def test_behind_the_call_no_part_has_a_handler_of_ours() -> None:
    sink, parts, during = MemorySink(), list[Any](), list[str]()

    def watch(call: Any) -> None:
        settings = BotSettings.from_env({})
        attach(call.worker, transport=call.line, sink=sink, redactor=NoRedaction(), settings=settings)
        parts.extend([call.worker, call.line, *parts_of_worker(call.worker).all])

    place_call(Script(**{**CALL.__dict__, "events": (At(4.0, lambda _: during.extend(ours_on(parts))),)}), attach=watch)

    assert {"on_pipeline_finished", "on_after_push_frame", "on_before_push_frame"} <= set(during)
    assert during.count("on_after_push_frame") == 3  # what leaves the output is heard twice, by a tap and by the words
    assert ours_on(parts) == []
    assert isinstance(sink.events[-1], CallEnded)


def test_all_three_ways_report_the_same(run_call: RunCall, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled = {"labels": {"route": "ivr"}}
    attached = comparable(run_call(CALL, way="attach", taps=True, witness=labelled).sink)
    by_hand = comparable(run_call(CALL, way="by_hand", taps=True, witness=labelled).sink)
    by_file = comparable(by_setup_file(monkeypatch))

    assert len(attached) > 100
    assert by_file == attached
    # taps in the pipeline are one hop behind the transport; on the virtual clock that takes no time
    assert by_hand == attached


@pytest.mark.parametrize("way", ["attach", "by_hand", "setup file"])
def test_a_pipeline_that_ends_while_the_agent_speaks_on_has_no_gap_in_the_callers_audio(
    run_call: RunCall, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    goodbye = "Goodbye, and thank you for calling us, we will see to your order at once and let you know of it."
    script = Script(lines=(Say("that is all"),), replies=(CALL.replies[0], Reply(goodbye, ends=True)), ends_s=40)
    by_file = way == "setup file"
    sink = by_setup_file(monkeypatch, script) if by_file else run_call(script, way=way, taps=True).sink

    assert [event for event in sink.events if isinstance(event, AudioGap)] == []
    edges = [event for event in sink.events if isinstance(event, SpeechEnded) and event.party == "caller"]
    assert edges
    assert not any(event.inferred for event in edges)


def test_the_setup_file_is_a_file_that_defines_both_names() -> None:
    assert Path(setup_file_path()).is_file()
    assert asyncio.iscoroutinefunction(setup_file.setup_pipeline_worker)
    assert asyncio.iscoroutinefunction(setup_file.setup_pipeline_task)


def test_a_worker_that_is_watched_already_is_watched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = MemorySink()
    monkeypatch.setattr(witness_module, "_process_writer", lambda settings: sink)
    monkeypatch.setattr(witness_module, "default_redactor", lambda settings: NoRedaction())
    monkeypatch.setenv("PIPECAT_SETUP_FILES", setup_file_path())
    seen: list[Witness] = []

    def put_on(call: Any) -> None:
        seen.append(attach(call.worker, agent="a"))
        seen.append(attach(call.worker, agent="b"))

    place_call(Script(ends_s=3), attach=put_on)

    assert seen[0] is seen[1]
    assert [event.kind for event in sink.events].count("call_started") == 1


def test_attached_while_the_call_goes_on_it_reports_from_there() -> None:
    sink = MemorySink()

    def late(call: Any) -> None:
        settings = BotSettings.from_env({}, taps=False)
        attach(call.worker, witness=Witness("late", sink=sink, redactor=NoRedaction(), settings=settings))

    place_call(Script(**{**CALL.__dict__, "events": (At(2.0, late),)}))

    events = sink.events
    assert isinstance(events[0], CallStarted)
    assert events[0].at_ns / 1e9 == pytest.approx(2.0, abs=0.1)
    assert events[0].mode == "cascade"
    assert any(isinstance(event, SpeechStarted) and event.party == "caller" for event in events)
    ended = events[-1]
    assert isinstance(ended, CallEnded)
    assert (ended.cause, ended.terminal) == ("agent", "end")


def test_switched_off_nothing_is_added_and_nothing_reported() -> None:
    sink = MemorySink()
    kept: list[Any] = []

    def put_on(call: Any) -> None:
        before = len(call.worker._observer._observers)
        witness = attach(
            call.worker,
            witness=Witness("a", sink=sink, redactor=NoRedaction(), settings=BotSettings.from_env({}, off=True)),
        )
        witness.outcome("contained")
        kept.extend([witness, len(call.worker._observer._observers) - before])

    place_call(Script(ends_s=2), attach=put_on)

    assert kept[0].on is False
    assert kept[1] == 0
    assert sink.items == []
    assert type(kept[0].observer()) is InertObserver
    assert isinstance(kept[0].caller_tap(), IdentityFilter)


def test_the_kill_switch_in_the_environment_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARWITNESS_OFF", "1")

    assert Witness("a", sink=MemorySink()).on is False


def test_a_share_of_calls_is_watched_and_the_call_id_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARWITNESS_SAMPLE", "0.5")
    ids = [f"call-{n}" for n in range(40)]

    on = [Witness("a", call_id=call_id, sink=MemorySink(), redactor=NoRedaction()).on for call_id in ids]

    assert 8 < sum(on) < 32
    assert on == [Witness("a", call_id=call_id, sink=MemorySink(), redactor=NoRedaction()).on for call_id in ids]


def test_a_witness_that_cannot_be_made_leaves_the_bot_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_writer(settings: Any) -> Any:
        raise OSError("disk full")

    monkeypatch.setattr(witness_module, "_process_writer", no_writer)

    assert Witness("a").on is False


def test_facts_of_the_application_are_a_source_of_their_own(run_call: RunCall) -> None:
    def tell(call: Any) -> None:
        witness = call.worker._earwitness
        witness.label(intent="refund")
        witness.app("csat", 4)

    call = run_call(Script(ends_s=5, events=(At(2.0, tell),)))

    assert [(event.name, event.value) for event in call.of(App)] == [("intent", "refund"), ("csat", 4.0)]
    assert {event.source for event in call.of(App)} == {"app"}
    assert call.one(CallEnded).counts["app"] == 2


def test_the_application_tells_of_the_line_what_no_transport_does(run_call: RunCall) -> None:
    def tell(call: Any) -> None:
        witness = call.worker._earwitness
        witness.line(loss_ratio=0.02, jitter_ms=7)
        witness.line()
        witness.line(loss_ratio="much")
        witness.one_way("no packets from the phone")

    call = run_call(Script(ends_s=5, events=(At(2.0, tell),)))

    quality, one_way = call.of(Transport)
    assert (quality.event, quality.loss_ratio, quality.jitter_ms, quality.round_trip_ms) == ("quality", 0.02, 7.0, None)
    assert (one_way.event, one_way.reason) == ("one_way", "no packets from the phone")
    assert {event.source for event in call.of(Transport)} == {"app"}


def test_what_the_application_knows_before_the_call_begins_comes_behind_its_beginning() -> None:
    witness = Witness(
        "a", sink=(sink := MemorySink()), redactor=NoRedaction(), settings=BotSettings.from_env({}, taps=False)
    )
    witness.label(campaign="spring")
    place_call(Script(ends_s=3), attach=lambda call: attach(call.worker, witness=witness) and None)

    assert [event.kind for event in sink.events[:2]] == ["call_started", "app"]
    assert sink.events[1].at_ns >= sink.events[0].at_ns


def test_what_it_learns_after_the_end_is_a_late_fact(run_call: RunCall) -> None:
    call = run_call(Script(ends_s=3))
    call.witness.outcome("contained")

    late = call.sink.events[-1]
    assert isinstance(late, LateFact)
    assert (late.source, late.name, late.value) == ("app", "outcome", "contained")


def test_a_callers_number_leaves_as_a_keyed_hash_only(run_call: RunCall) -> None:
    class Hashes(NoRedaction):
        def hash_of(self, value: str) -> str:
            return f"hash of {len(value)} signs"

    call = run_call(Script(ends_s=2), witness={"caller": "+15551234", "redactor": Hashes()})

    assert call.one(CallStarted).caller_hash == "hash of 9 signs"
    assert all(b"5551234" not in item.payload for item in call.sink.items)


def test_nothing_of_a_call_is_kept_when_it_is_over(run_call: RunCall) -> None:
    call = run_call(CALL, way="attach", taps=True)

    observer = call.witness.observer()
    assert isinstance(observer, CallObserver)
    assert observer._families.runs.live == {}
    assert observer._families.runs.of_context == {}
    assert observer._held == []
    assert observer._hooks._on == []
    assert Counter(event.kind for event in call.events)["call_ended"] == 1


def test_a_worker_without_a_line_holds_no_call_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = MemorySink()
    monkeypatch.setattr(witness_module, "_process_writer", lambda settings: sink)
    make: Any = IdentityFilter
    helper = PipelineWorker(Pipeline([make()]))

    asyncio.run(setup_file.setup_pipeline_worker(helper))

    assert not watched(helper)
    assert sink.items == []
