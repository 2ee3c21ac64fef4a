"""Calls of one process have a writer and a loop in common: what goes wrong in one touches none of the others."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import pytest
from pipecat_calls.call import RunningCall, hold_call
from pipecat_calls.script import At, Reply, Say, Script
from pipecat_calls.virtual_clock import run_virtually

from earwitness.processors.attaching import attach
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.observer import CallObserver
from earwitness.processors.redaction import NoRedaction
from earwitness.processors.sink import MemorySink, Outbound, Redactor
from earwitness.processors.witness import Witness

pytestmark = pytest.mark.pipecat

SCRIPT = Script(
    lines=(Say("where is my order", at_s=3.5),),
    replies=(Reply("Thanks for calling. How can I help you?"), Reply("On its way.", ends=True)),
)


class Broken(MemorySink):
    """A sink that fails, and never flushes."""

    def put(self, item: Outbound) -> None:
        raise OSError("no disk")

    async def flush(self, call_id: str, timeout_s: float) -> bool:
        await asyncio.Event().wait()
        return False


class Raises:
    """A redactor with a fault."""

    def fields(self, kind: str, fields: Any) -> dict[str, Any]:
        raise RuntimeError("a bug of a hook")


def _break_observer(call: RunningCall) -> None:
    observer = next(o for o in call.worker._observer._observers if isinstance(o, CallObserver))

    def raises(_: Any) -> None:
        raise RuntimeError("a bug of ours")

    observer._dispatch.add({"TTSAudioRawFrame": raises, "InputAudioRawFrame": raises, "UserAudioRawFrame": raises})


def _flood(witness: list[Witness]) -> Any:
    def flood(_: RunningCall) -> None:
        for number in range(5_000):
            witness[-1].app("step", number)
            witness[-1].app("odd", object())  # type: ignore[arg-type]

    return flood


async def _hold(
    sink: MemorySink, call_id: str, redactor: Redactor | None = None, *, harm: Any = None, events: Any = ()
) -> Any:
    made: list[Witness] = []

    def put_on(call: RunningCall) -> None:
        settings = BotSettings.from_env({}, taps=False)
        made.append(Witness("a", call_id=call_id, sink=sink, redactor=redactor or NoRedaction(), settings=settings))
        attach(call.worker, witness=made[-1])
        if harm is not None:
            harm(call)

    placed = await hold_call(
        Script(**{**SCRIPT.__dict__, "events": tuple(events(made)) if events else ()}), attach=put_on
    )
    assert placed.finished
    return placed.truth


def _told(sink: MemorySink) -> list[tuple[Any, ...]]:
    """What does not depend on who runs beside: facts and their moments, the health of the process left out."""
    left_out = {"call_id", "wall_ns", "process"}
    return [
        tuple(sorted((name, str(value)) for name, value in event.model_dump(exclude=left_out).items()))
        for event in sink.events
        if event.kind != "health"
    ]


@cache
def _alone() -> tuple[Any, MemorySink]:
    sink = MemorySink()
    return run_virtually(_hold(sink, "good")), sink


@pytest.mark.parametrize("fault", ["sink", "redactor", "observer", "flood"])
def test_a_fault_of_one_call_changes_nothing_of_the_call_beside_it(fault: str) -> None:
    beside, other = MemorySink(), MemorySink()

    async def both() -> Any:
        faulty: Any = {
            "sink": lambda: _hold(Broken(), "bad"),
            "redactor": lambda: _hold(other, "bad", Raises()),
            "observer": lambda: _hold(other, "bad", harm=_break_observer),
            "flood": lambda: _hold(other, "bad", events=lambda made: [At(2.0, _flood(made))]),
        }[fault]
        return await asyncio.gather(_hold(beside, "good"), faulty())

    truth, alone = _alone()
    mine, others = run_virtually(both())

    assert mine == truth
    assert others.agent == truth.agent, "the call with the fault went on as if it had none"
    assert _told(beside) == _told(alone)
    assert len(beside.events) > 20
