"""``earwitness replay``: beside the live log, in its own words, and read by the other commands."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from earwitness.consumers.replayed import stored_records
from earwitness.monitor.cli import main
from earwitness.monitor.cli.commands.replay import moment_ns, target_of
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.log.url import parse_log_url

Capture = pytest.CaptureFixture[str]
S = 1_000_000_000


@pytest.fixture
def live(tmp_path: Path, make_call: Any) -> Path:
    """A log with two calls of ten minutes ago, as their bots reported them, and a line that nobody can read."""
    path = tmp_path / "live.db"

    async def fill() -> None:
        log = await open_log(str(path))
        for call_id, latency_s in (("c-one", 0.9), ("c-two", 1.7)):
            events = make_call(call_id, latency_s=latency_s, began_ns=time.time_ns() - 600 * S)
            await log.append("earwitness.events", [Outgoing(call_id, encode(event)) for event in events])
        await log.close()

    asyncio.run(fill())
    return path


def wrong(arguments: list[str], capsys: Capture) -> str:
    assert main(arguments) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    return line


def test_what_was_rebuilt_is_told_and_read_by_the_other_commands(live: Path, tmp_path: Path, capsys: Capture) -> None:
    beside = tmp_path / "beside.db"
    assert main(["replay", "--since", "1d", "--into", str(beside), "--log", str(live)]) == 0
    said = capsys.readouterr()
    assert re.search(r"^rebuilt  2 calls, \d+ records$", said.out, re.MULTILINE)
    assert f"earwitness top --once --window 24h --log sqlite://{beside}" in said.out

    def shown(*arguments: str) -> str:
        assert main([*arguments, "--log", str(beside)]) == 0
        return capsys.readouterr().out

    assert "rebuilt from sqlite://" in shown("top", "--once", "--window", "1h")
    assert "c-one" in (listed := shown("calls"))
    assert "rebuilt from sqlite://" in listed
    assert "900" in shown("calls", "c-one")
    found = json.loads(shown("analyze", "--json"))
    assert found["summary"]["response_latency"]["n"] == 2
    assert sorted(turn["response_latency_s"] for call in found["calls"] for turn in call["turns"]) == [0.9, 1.7]
    assert main(["calls", "c-one", "--svg", str(tmp_path / "x.svg"), "--log", str(beside)]) == 2


def test_a_line_that_nobody_can_read_is_told_and_makes_the_code_1(live: Path, tmp_path: Path, capsys: Capture) -> None:
    async def spoil() -> None:
        log = await open_log(str(live))
        await log.append("earwitness.events", [Outgoing("k", b"not json")])
        await log.close()

    asyncio.run(spoil())
    assert main(["replay", "--since", "1d", "--into", str(tmp_path / "b.db"), "--log", str(live)]) == 1
    assert "left out 1 event: not_json" in capsys.readouterr().out


def test_the_live_log_a_finished_replay_and_other_logs_are_refused(live: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "link.db").symlink_to(live)
    for into in (str(live), str(tmp_path / "link.db"), f"sqlite://{live}"):
        assert "is the live log" in wrong(["replay", "--since", "1d", "--into", into, "--log", str(live)], capsys)
    beside, other = tmp_path / "beside.db", tmp_path / "other.db"
    assert main(["replay", "--since", "1d", "--into", str(beside), "--log", str(live)]) == 0
    capsys.readouterr()
    assert "finished replay" in wrong(["replay", "--since", "1d", "--into", str(beside), "--log", str(live)], capsys)
    assert "holds something else" in wrong(
        ["replay", "--since", "1d", "--into", str(live), "--log", str(beside)], capsys
    )
    assert not other.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--since", "soon"], "--since: write a length such as 7d, or a date"),
        (["--since", "1h", "--until", "2h"], "--until: nothing lies between"),
        (["--since", "1h", "--until", "x"], "--until: write a length"),
    ],
)
def test_wrong_use_is_one_line(live: Path, tmp_path: Path, capsys: Capture, arguments: list[str], says: str) -> None:
    target = tmp_path / "b.db"
    assert says in wrong(["replay", *arguments, "--into", str(target), "--log", str(live)], capsys)
    assert not target.exists()


def test_a_log_that_is_not_there_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    missing = str(tmp_path / "none.db")
    assert "no log is there yet" in wrong(["replay", "--since", "1d", "--into", "b.db", "--log", missing], capsys)
    assert "name a file, or a log" in wrong(["analyze"], capsys)


def test_on_kafka_a_name_is_a_prefix_and_never_the_live_one() -> None:
    live = parse_log_url("kafka://a:9092,b:9092/earwitness")

    assert str(target_of(live, "recomputed")) == "kafka://a:9092,b:9092/recomputed"
    assert str(target_of(live, "/tmp/x.db")) == "sqlite:///tmp/x.db"
    for same in ("earwitness", "kafka://elsewhere:9092/earwitness", "kafka://a:9092"):
        with pytest.raises(BadInput, match="prefix of the live topics"):
            target_of(live, same)


def test_moments_are_lengths_ago_or_dates() -> None:
    assert moment_ns("7d", 10**18, "--since") == 10**18 - 7 * 86_400 * S
    assert moment_ns("2026-11-30T08:00:00+00:00", 0, "--since") == 1_796_025_600 * S
    assert moment_ns("2026-11-30", 0, "--since") % (60 * S) == 0


def test_a_replay_into_a_log_leaves_the_live_one_as_it_was(live: Path, tmp_path: Path, capsys: Capture) -> None:
    async def state() -> dict[str, Any]:
        log = await open_log(str(live))
        found = {topic: await log.end_positions(topic) for topic in await log.topics()}
        groups = await log.committed("timeline", "earwitness.events")
        await log.close()
        return {**found, "groups": groups}

    before = asyncio.run(state())
    assert main(["replay", "--since", "1d", "--into", str(tmp_path / "b.db"), "--log", str(live)]) == 0
    assert asyncio.run(state()) == before

    async def written() -> int:
        log = await open_log(str(tmp_path / "b.db"))
        found = await stored_records(log)
        await log.close()
        return len(found)

    assert asyncio.run(written()) > 2
    capsys.readouterr()
