"""The rights that docs/operations.md says to grant, granted as they stand there: each part does its work, no more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog.testing
from pipecat_calls.fixtures import RunCall
from pipecat_calls.script import Reply, Say, Script
from relay_bot import outbound
from secured_kafka import Secured

from earwitness.consumers.monitor import Monitor
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.cli import main
from earwitness.monitor.contract import events as ev
from earwitness.monitor.contract.wire import decode_event, decode_record, encode
from earwitness.monitor.log.protocol import LogRefused, Outgoing
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import MemorySink, Outbound
from earwitness.processors.writer import Writer

pytestmark = [pytest.mark.kafka, pytest.mark.realtime]

S = 1_000_000_000
WITHIN_S = 60.0
PREFIX = "earwitness"
KINDS = ("events", "records", "state", "alerts", "dead")
DOC = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
MAY: dict[str, dict[str, str]] = {
    "bot": {"events": "w"},
    "relay": {"events": "rw"},
    "worker": {"events": "r", "records": "rw", "state": "rw", "alerts": "rw", "dead": "rw"},
    "looker": {"events": "r", "records": "r", "alerts": "r"},
}
"""The table of the same page."""

Capture = pytest.CaptureFixture[str]
Typed = Callable[..., int]


def documented() -> list[str]:
    """The commands of docs/operations.md."""
    return re.findall(r"^kafka-acls\.sh .*$", DOC.read_text(), re.MULTILINE)


def without(user: str, what: str) -> list[str]:
    """The worker's commands for another user, but for one right."""
    own = [line.replace("User:worker", f"User:{user}") for line in documented() if "User:worker" in line]
    lacking = [line for line in own if what not in line]
    assert len(lacking) == len(own) - 1
    return lacking


def where(secured: Secured, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Where to go, and with which options: with ``shown`` to the listener that wants a certificate, which is shown."""
    changes = dict(changes)
    shown = changes.pop("shown", None)
    return (secured.address, changes) if shown is None else (secured.mutual, {**changes, **secured.shown(shown)})


def typed(monkeypatch: pytest.MonkeyPatch, secured: Secured, user: str, *arguments: str, **changes: object) -> int:
    """Run a command as somebody on a machine that is set up for that user."""
    at, changes = where(secured, changes)
    for name, value in secured.environ(user, **changes).items():
        monkeypatch.setenv(name, value)
    return main([*arguments, "--log", secured.url(PREFIX, at=at)])


@pytest.fixture(scope="module")
def granted(secured: Secured) -> Secured:
    """The broker with the documented rights, and the topics made by who may make them."""
    asyncio.run(secured.grant(documented()))
    for user, lacks in (("deafworker", ".events"), ("mutedworker", ".records"), ("lonelyworker", "--group")):
        asyncio.run(secured.grant(without(user, lacks)))
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert typed(monkeypatch, secured, "topicmaker", "topics", "create", "--partitions", "2") == 0
    return secured


@pytest.fixture
def type_in(granted: Secured, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """``type_in(user, *arguments, **changed options)``: the exit code."""
    return partial(typed, monkeypatch, granted)


def test_every_role_of_the_page_is_tried_here() -> None:
    users = {found for line in documented() for found in re.findall(r"User:(\w+)", line)}
    assert users == {*MAY, "topicmaker"}


@pytest.mark.parametrize("user", MAY)
async def test_a_role_may_do_what_the_table_says_and_nothing_else(granted: Secured, user: str) -> None:
    log = await granted.open(PREFIX, user)
    found: dict[str, str] = {}
    refusals: list[str] = []

    async def read(topic: str) -> None:
        reader = await log.reader(topic)
        await reader.poll(timeout_s=0.2)
        await reader.close()

    async def write(topic: str) -> None:
        await log.append(topic, [Outgoing("tried", b"{}")])

    try:
        for kind in KINDS:
            topic = f"{PREFIX}.{kind}"
            for letter, do in (("r", read), ("w", write)):
                try:
                    await do(topic)
                except LogRefused as error:
                    refusals.append(str(error))
                else:
                    found[kind] = found.get(kind, "") + letter
        with contextlib.suppress(LogRefused):
            await log.committed("timeline", f"{PREFIX}.events")
            found["group"] = "r"
    finally:
        await log.close()

    assert all(f"user {user} may not" in one and "\n" not in one for one in refusals)
    assert found == MAY[user] | ({"group": "r"} if user == "worker" else {})


def a_call(call_id: str, began_ns: int) -> list[Any]:
    made: list[Any] = []

    def add(kind: type[Any], at_s: float, **fields: Any) -> None:
        at_ns = round(at_s * S)
        common = {"call_id": call_id, "source": "bot", "seq": len(made), "at_ns": at_ns, "wall_ns": began_ns + at_ns}
        made.append(kind(**common, **fields))

    add(ev.CallStarted, 0, agent="clinic", caller_edges=("vad",), agent_edges=("playout",))
    add(ev.Connected, 0)
    add(ev.CallEnded, 1, cause="caller")
    return made


def bot_settings(secured: Secured, home: Path, user: str, **changes: object) -> BotSettings:
    at, changes = where(secured, changes)
    environ = {"EARWITNESS_HOME": str(home), **secured.environ(user, **changes)}
    return BotSettings.from_env(environ, strict=True, log=secured.url(PREFIX, at=at), linger_s=0.05)


async def test_bot_and_monitor_do_their_work_with_their_own_rights(granted: Secured, tmp_path: Path) -> None:
    events = a_call("c-roles", time.time_ns() - 10 * S)
    writer = Writer(bot_settings(granted, tmp_path, "bot"))
    for event in events:
        writer.put(outbound(encode(event)))
    assert await asyncio.to_thread(writer.flush_now, WITHIN_S)
    await asyncio.to_thread(writer.close)

    log, stop = await granted.open(PREFIX, "worker"), asyncio.Event()
    running = asyncio.create_task(Monitor(log, MonitorSettings(metrics=False), stop=stop).run())
    records: list[Any] = []
    reader = await log.reader(f"{PREFIX}.records")
    async with asyncio.timeout(WITHIN_S):
        while not any(record.call_id == "c-roles" and record.kind == "call" for record in records):
            assert not running.done()
            entries = await reader.poll(timeout_s=0.2)
            records += [decode_record(entry.value or b"") for entry in entries if entry.key != "tried"]
    stop.set()
    await running
    await log.close()

    assert not list((tmp_path / "spool").rglob("*.spool"))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl_password": "wrong"}, r"the broker refused user or password; see kafka\.sasl_username"),
        ({"ssl_cafile": None}, r"a certificate that is not trusted .*; see kafka\.ssl_cafile"),
        ({"shown": "late"}, r"refused our certificate \S+late\.pem, which expired on \S+; renew kafka\.ssl_certfile"),
        ({"user": "nobody"}, rf"user nobody may not write to topic {PREFIX}\.events; grant it: kafka-acls\.sh "),
    ],
)
def test_a_bot_that_is_refused_says_so_once_keeps_its_events_and_delivers_them_when_it_may(
    granted: Secured, tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], says: str
) -> None:
    call_id = f"c-{abs(hash(says)):x}"
    events = [outbound(encode(event)) for event in a_call(call_id, time.time_ns())]
    user = changes.pop("user", "bot")

    writer = Writer(bot_settings(granted, tmp_path, user, **changes))
    for item in events:
        writer.put(item)
    assert writer.flush_now(WITHIN_S), "not even on the disk"
    writer.close()

    (warning,) = (
        r.getMessage() for r in caplog.records if r.name == "earwitness.writer" and r.levelno >= logging.WARNING
    )
    assert re.search(says, warning)
    assert "\n" not in warning
    assert "-secret" not in warning
    renewed = {"shown": "client"} if "shown" in changes else {}
    heir = Writer(bot_settings(granted, tmp_path, "bot", **renewed))
    heir.put(outbound(encode(ev.Health(call_id=call_id, source="heir", seq=0, at_ns=S, wall_ns=time.time_ns()))))

    async def arrived() -> list[int]:
        log = await granted.open(PREFIX, "looker")
        reader = await log.reader(f"{PREFIX}.events")
        found: list[int] = []
        async with asyncio.timeout(WITHIN_S):
            while len(found) < len(events):
                own = [entry for entry in await reader.poll(timeout_s=0.2) if entry.key == call_id]
                theirs = [decode_event(entry.value or b"") for entry in own]
                found += [event.seq for event in theirs if event.source == "bot"]
        await log.close()
        return found

    assert asyncio.run(arrived()) == [item.seq for item in events]
    heir.close()


class Both(MemorySink):
    """Keeps what a call reports, and gives it to a writer as well."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self.writer = writer

    def put(self, item: Outbound) -> None:
        super().put(item)
        self.writer.put(item)


@pytest.mark.parametrize(
    "changes", [pytest.param({"sasl_password": "wrong"}, id="password"), pytest.param({"shown": "late"}, id="expired")]
)
def test_a_call_whose_bot_is_refused_is_the_call_that_it_would_have_been(
    granted: Secured, tmp_path: Path, run_call: RunCall, changes: dict[str, Any]
) -> None:
    at, options = where(granted, changes)

    async def refusal() -> LogRefused:
        with pytest.raises(LogRefused) as caught:
            await granted.open(PREFIX, at=at, **options)
        return caught.value

    error, asked = asyncio.run(refusal()), 0

    async def refuse() -> Any:
        nonlocal asked
        asked += 1
        raise error

    script = Script(
        lines=(Say("where is my order", after_s=0.5), Say("no wait the other one", into_s=1.0)),
        replies=(Reply("hello this is the order desk"), Reply("it left on Tuesday and will be with you on Thursday"),
                 Reply("the other one is being packed", ends=True)),
    )  # fmt: skip
    writer = Writer(BotSettings.from_env({"EARWITNESS_HOME": str(tmp_path)}), open_log=refuse)

    alone, refused = run_call(script), run_call(script, sink=Both(writer))
    writer.close()

    assert asked
    assert refused.truth == alone.truth
    assert [(e.kind, e.at_ns) for e in refused.events] == [(e.kind, e.at_ns) for e in alone.events]


@pytest.mark.parametrize(
    ("user", "changes", "says"),
    [
        ("worker", {"sasl_password": "wrong"}, "the broker refused user or password"),
        ("worker", {"ssl_cafile": None}, "a certificate that is not trusted"),
        ("worker", {"shown": "late"}, "late.pem, which expired on "),
        ("deafworker", {}, "user deafworker may not read topic earwitness.events; grant it: kafka-acls.sh "),
        ("mutedworker", {}, "user mutedworker may not read topic earwitness.records; grant it: kafka-acls.sh "),
        ("lonelyworker", {}, "user lonelyworker may not use consumer group earwitness.timeline; grant it: kafka-acls"),
        ("bot", {}, "user bot may not read topic earwitness.events; grant it: kafka-acls.sh "),
    ],
)
def test_a_monitor_that_is_refused_ends_with_one_line(
    type_in: Typed, capsys: Capture, user: str, changes: dict[str, Any], says: str
) -> None:
    assert type_in(user, "run", "--port", "0", **changes) == 2

    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert says in line
    assert "-secret" not in line


async def test_a_monitor_that_may_not_publish_waits_says_so_once_and_is_not_ready(granted: Secured) -> None:
    log, stop = await granted.open(PREFIX, "mutedworker"), asyncio.Event()
    admin = await granted.open(PREFIX)
    events = a_call("c-muted", time.time_ns() - 10 * S)
    await admin.append(f"{PREFIX}.events", [Outgoing(event.call_id, encode(event)) for event in events])
    await admin.close()
    monitor = Monitor(log, MonitorSettings(metrics=False), stop=stop)
    with structlog.testing.capture_logs() as said:
        running = asyncio.create_task(monitor.run())
        async with asyncio.timeout(WITHIN_S):
            while not monitor.own.log_away:
                assert not running.done()
                await asyncio.sleep(0.05)
        stop.set()
        await running
    await log.close()

    (line,) = (entry["error"] for entry in said if entry["log_level"] == "warning" and "error" in entry)
    assert "user mutedworker may not look at topic earwitness.records; grant it: kafka-acls.sh " in line
    assert not monitor.own.ready


@pytest.mark.parametrize(
    "told",
    [
        ("worker", {}, 0, [r"ok +rights +user worker may do all that a monitor does"]),
        ("bot", {}, 0, [r"ok +rights +user bot may write earwitness\.events and nothing else, as a bot should"]),
        ("looker", {}, 0, [r"note +rights +user looker may read earwitness\.events"]),
        ("nobody", {}, 1, [r"FAULT +rights +user nobody may neither write earwitness\.events, as a bot must, nor"]),
        ("deafworker", {}, 1, [r"FAULT +rights +user deafworker may not read topic earwitness\.events\n +→ kafka-acls"
                               r"\.sh --add --allow-principal User:deafworker --operation Read --topic earwitness"]),
        ("mutedworker", {}, 1, [r"FAULT +rights +user mutedworker may not read topic earwitness\.records",
                                r"FAULT +rights +user mutedworker may not write to topic earwitness\.records"]),
        ("lonelyworker", {}, 1, [r"FAULT +rights +user lonelyworker may not use consumer group earwitness\.timeline"]),
        ("worker", {"sasl_password": "wrong"}, 1, [r"FAULT +log +.*refused user or password"]),
        ("worker", {"ssl_cafile": None}, 1, [r"FAULT +log +.*certificate that is not trusted"]),
        ("worker", {"shown": "late"}, 1, [r"FAULT +log +.*refused our certificate \S+late\.pem, which expired on "]),
    ],
)  # fmt: skip
def test_doctor_tells_each_missing_right_with_its_remedy(
    type_in: Typed, capsys: Capture, told: tuple[str, dict[str, Any], int, list[str]]
) -> None:
    user, changes, code, lines = told
    assert type_in(user, "doctor", **changes) == code

    said = capsys.readouterr().out
    for line in lines:
        assert re.search(line, said), said
    assert said.count("FAULT") == sum("FAULT" in line for line in lines), said


def test_who_may_only_read_can_look(type_in: Typed, capsys: Capture) -> None:
    assert type_in("looker", "calls") == 0
    assert type_in("looker", "top", "--once") == 0
    assert "-secret" not in capsys.readouterr().out
