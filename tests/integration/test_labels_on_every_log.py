"""``earwitness label`` beside a running monitor, on either log: the monitor's windows follow."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from log_places import ANSWER_WITHIN_S, Place, embedded, on_kafka

from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000


def a_call(began_ns: int) -> list[ev.AnyEvent]:
    """The caller says "uh huh" from 3.0 to 3.4 s while the agent speaks from 2.0 to 6.0 s."""
    made: list[Any] = []

    def add(kind: type[Any], at_s: float, **fields: Any) -> None:
        at_ns = round(at_s * S)
        common = {"call_id": "c1", "source": "bot", "seq": len(made), "at_ns": at_ns, "wall_ns": began_ns + at_ns}
        made.append(kind(**common, **fields))

    edges: dict[str, Any] = {"caller_edges": ("vad",), "agent_edges": ("playout",)}
    add(ev.CallStarted, 0, agent="clinic", recogniser=True, **edges)
    add(ev.Connected, 0)
    add(ev.Response, 1.9, response_id="r1", phase="requested", why="greeting")
    add(ev.Playout, 2, phase="first", edge_ns=2 * S, response_id="r1")
    add(ev.SpeechStarted, 3.2, party="caller", evidence="vad", edge_ns=3 * S)
    add(ev.SpeechEnded, 3.6, party="caller", evidence="vad", edge_ns=round(3.4 * S))
    add(ev.Transcript, 3.7, party="caller", text="uh huh", final=True)
    add(ev.Playout, 6, phase="last", edge_ns=6 * S, response_id="r1", truncated=False)
    add(ev.CallEnded, 8, cause="caller")
    return made


async def typed(place: Place, folder: Path, *arguments: str) -> str:
    """Run ``earwitness label`` as somebody else on the machine would."""
    command = (sys.executable, "-c", "import sys; from earwitness.monitor.cli import main; sys.exit(main())")
    environ = {name: text for name, text in os.environ.items() if not name.startswith("EARWITNESS_")}
    process = await asyncio.create_subprocess_exec(
        *command, "label", *arguments, "--log", place.url,
        cwd=folder, env=environ | {"EARWITNESS_HOME": str(folder)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


class Watched:
    """What the windows of a running monitor show, as of its last tick."""

    def __init__(self) -> None:
        self._cells: set[str] = set()
        self._ticked = asyncio.Condition()

    async def on_tick(self, windows: Windows, now_ns: int) -> None:
        found = windows.read("overlaps", window_s=3_600, as_of_ns=now_ns).by_class
        async with self._ticked:
            self._cells = {name for name, count in found.items() if count and "/" in name}
            self._ticked.notify_all()

    async def shows(self, cell: str) -> bool:
        """Wait until the overlap is in that cell, and in no other."""
        async with asyncio.timeout(ANSWER_WITHIN_S), self._ticked:
            return await self._ticked.wait_for(lambda: self._cells == {cell})


@pytest.mark.parametrize("kind", ["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
async def test_a_label_reaches_a_running_monitor(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    prefix = "earwitness" if kind == "embedded" else f"t{uuid.uuid4().hex[:10]}"
    place = (
        embedded(prefix, tmp_path)
        if kind == "embedded"
        else on_kafka(prefix, request.getfixturevalue("kafka_bootstrap"))
    )
    log = await place.open(*topic_specs(place.prefix, 3))
    events = a_call(time.time_ns() - 10 * S)
    await log.append(place.topic, [Outgoing(event.call_id, encode(event)) for event in events])
    stop = asyncio.Event()
    watched = Watched()
    settings = MonitorSettings(metrics=False, group=f"g-{prefix}")
    monitor = Monitor(log, settings, stop=stop, on_tick=watched.on_tick)
    running = asyncio.create_task(monitor.run())
    try:
        assert await watched.shows("TN/backchannel")
        assert "FN" in await typed(place, tmp_path, "c1", "o1", "wanted", "--author", "anna")
        assert await watched.shows("FN/")
        both = await asyncio.gather(
            typed(place, tmp_path, "c1", "o1", "not", "--class", "noise", "--author", "ben"),
            typed(place, tmp_path, "c1", "o1", "not", "--class", "noise", "--author", "ben"),
        )
        assert all("TN" in one for one in both)
        assert await watched.shows("TN/noise")
        assert "human (ben)" in await typed(place, tmp_path, "c1")
        await typed(place, tmp_path, "c1", "o1", "--clear")
        assert await watched.shows("TN/backchannel")
    finally:
        stop.set()
        await running
        await log.close()
