"""`earwitness dead` as it is typed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from earwitness.consumers.dead_letters import dead_letter
from earwitness.monitor.cli import main
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Entry

Capture = pytest.CaptureFixture[str]
MakeCall = Callable[..., list[AnyEvent]]
HOSTILE = b'{"text": "my card is 4111 1111\x1b[31m\xe2\x80\xae"}'


@pytest.fixture
def log(log_path: Path, make_call: MakeCall) -> str:
    """A log whose dead-letter topic holds one record that can be read by now and two that cannot."""

    async def write() -> None:
        log = await open_log(str(log_path))
        readable = encode(make_call("c-late")[0])
        for offset, reason, value in (
            (3, "unknown_version", readable),
            (4, "not_json", HOSTILE),
            (5, "not_json", b"\xff"),
        ):
            entry = Entry("earwitness.events", 1, offset, "c-late", value, 10**18)
            await log.append("earwitness.dead", [dead_letter(entry, reason, "what was \x1b[2Jwrong")])
        await log.close()

    asyncio.run(write())
    return str(log_path)


def told(capsys: Capture, *arguments: str, code: int = 0) -> str:
    assert main(["dead", *arguments]) == code
    return capsys.readouterr().out


def test_the_list_counts_by_reason_and_place_and_shows_the_newest(log: str, capsys: Capture) -> None:
    shown = told(capsys, "list", "--log", log)

    assert shown.startswith("3 dead letters, 0 of them replayed\n")
    lines = shown.splitlines()
    assert [line.split()[:3] for line in lines if line.startswith(("not_json ", "unknown_version "))] == [
        ["not_json", "2", "0"], ["unknown_version", "1", "0"],
    ]  # fmt: skip
    assert any(line.split()[:3] == ["earwitness.events/1", "3", "0"] for line in lines)
    assert [line.split()[0] for line in lines if line.startswith("earwitness.events/1/")] == [
        "earwitness.events/1/5", "earwitness.events/1/4", "earwitness.events/1/3",
    ]  # fmt: skip
    assert "→ unknown_version: a newer bot wrote it" in shown
    assert "4111" not in shown
    assert "\x1b" not in shown
    assert "2 more: --limit 3 shows them" in told(capsys, "list", "--log", log, "--limit", "1")


def test_the_list_for_scripts_holds_no_payload(log: str, capsys: Capture) -> None:
    found = json.loads(told(capsys, "list", "--json", "--log", log))

    assert found["counts"] == {
        "not_json": {"waiting": 2, "replayed": 0}, "unknown_version": {"waiting": 1, "replayed": 0},
    }  # fmt: skip
    assert [letter["offset"] for letter in found["letters"]] == [5, 4, 3]
    assert "4111" not in json.dumps(found)


def test_a_list_of_nothing_says_so(log_path: Path, capsys: Capture) -> None:
    assert told(capsys, "list", "--log", str(log_path)) == "no dead letters\n"


def test_one_letter_is_shown_without_its_payload_unless_asked(log: str, capsys: Capture) -> None:
    shown = told(capsys, "show", "earwitness.events/1/4", "--log", log)

    assert "reason     not_json: what was [2Jwrong" in shown
    assert "stood at   earwitness.events, partition 1, offset 4" in shown
    assert f"size       {len(HOSTILE)} bytes" in shown
    assert "payload    withheld: it may hold what somebody said, unredacted; --payload prints it" in shown
    assert "now        not_json" in shown
    assert "4111" not in shown

    shown = told(capsys, "show", "1/4", "--payload", "--log", log)
    assert 'payload    {"text": "my card is 4111 1111[31m"}' in shown
    assert "\x1b" not in shown
    assert "payload    \\xff" in told(capsys, "show", "1/5", "--payload", "--log", log)
    assert "now        can be read: earwitness dead replay" in told(capsys, "show", "1/3", "--log", log)


def test_replay_puts_back_once_and_says_what_stays(log: str, capsys: Capture) -> None:
    assert told(capsys, "replay", "--dry-run", "--log", log, code=1).startswith("1 letter could be put back\nstays ")
    assert told(capsys, "replay", "--reason", "unknown_version", "--log", log) == "1 letter put back\n"
    assert told(capsys, "replay", "1/3", "--log", log) == "0 letters put back; 1 were before\n"
    again = told(capsys, "replay", "--log", log, code=1)
    assert again.startswith("0 letters put back; 1 were before\n")
    assert again.count("stays  earwitness.events/1/") == 2
    assert "c-late" in told_calls(capsys, log)
    assert "3 dead letters, 1 of them replayed" in told(capsys, "list", "--log", log)


def told_calls(capsys: Capture, log: str) -> str:
    assert main(["calls", "c-late", "--log", log]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "9/9"], "9/9: no such dead letter"),
        (["replay", "9/9"], "9/9: no such dead letter"),
        (["replay", "--reason", "boredom"], "--reason: no such reason; one of not_json"),
        (["replay", "1/3", "--reason", "invalid"], "--reason: name letters or a reason, not both"),
        (["list", "--since", "soon"], '--since: "soon" is no duration'),
        (["list", "--limit", "-1"], "--limit: choose 0 or more"),
    ],
)
def test_wrong_use_is_one_line(log: str, arguments: list[str], says: str, capsys: Capture) -> None:
    assert main(["dead", *arguments, "--log", log]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
