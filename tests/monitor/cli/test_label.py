"""``earwitness label`` as it is typed, on a real embedded log."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from earwitness.monitor.cli import main
from earwitness.monitor.cli.stored_calls import StoredCall
from earwitness.monitor.contract.events import AnyEvent, CallEnded, SpeechEnded, SpeechStarted, Transcript
from earwitness.monitor.contract.wire import decode_event, encode
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing

Capture = pytest.CaptureFixture[str]
S = 1_000_000_000
TOPIC = "earwitness.events"


def overlapped(call: Sequence[AnyEvent], *words: str) -> list[AnyEvent]:
    """The call, in which the caller says something over the agent's answer, which goes from 2.9 to 4.9 s."""
    first, events = call[0], [e for e in call if not isinstance(e, CallEnded)]

    def add(kind: type[Any], at_s: float, **fields: Any) -> None:
        at_ns = round(at_s * S)
        common = {"call_id": first.call_id, "source": "bot", "seq": 0, "at_ns": at_ns, "wall_ns": first.wall_ns + at_ns}
        events.append(kind(**common, **fields))

    for n, text in enumerate(words):
        on_s = 3.2 + 0.8 * n
        add(SpeechStarted, on_s + 0.2, party="caller", evidence="vad", edge_ns=round(on_s * S))
        add(SpeechEnded, on_s + 0.35, party="caller", evidence="vad", edge_ns=round((on_s + 0.3) * S))
        add(Transcript, on_s + 0.36, party="caller", text=text, final=True)
    add(CallEnded, 8.0, cause="caller")
    events.sort(key=lambda e: e.at_ns)
    return [e.model_copy(update={"seq": n}) for n, e in enumerate(events)]


def write(path: Path, events: Sequence[AnyEvent]) -> None:
    async def append() -> None:
        log = await open_log(str(path))
        await log.append(TOPIC, [Outgoing(event.call_id, encode(event)) for event in events])
        await log.close()

    asyncio.run(append())


def labels(path: Path) -> list[Any]:
    async def read() -> list[Any]:
        log = await open_log(str(path))
        reader = await log.reader(TOPIC)
        found: list[Any] = []
        while batch := await reader.poll(timeout_s=0.1):
            found += [decode_event(entry.value or b"") for entry in batch]
        await reader.close()
        await log.close()
        return [event for event in found if event.kind == "human_label"]

    return asyncio.run(read())


@pytest.fixture
def log(tmp_path: Path, make_call: Any) -> Path:
    """A log with two calls; in the first the caller speaks over the agent twice."""
    path, now_ns = tmp_path / "log.db", time.time_ns()
    write(path, overlapped(make_call("c-7f3a", began_ns=now_ns - 60 * S), "uh huh", "no \x1b[31mwait"))
    write(path, make_call("c-81c0", began_ns=now_ns - 50 * S))
    return path


def typed(log: Path, capsys: Capture, *arguments: str) -> str:
    assert main(["label", *arguments, "--log", str(log)]) == 0
    return capsys.readouterr().out


def test_an_overlap_is_named_in_any_case(log: Path, capsys: Capture) -> None:
    assert main(["label", "c-7f3a", "O1", "not", "--log", str(log)]) == 0
    assert "human" in capsys.readouterr().out


def test_alone_it_lists_overlaps_with_who_decided(log: Path, capsys: Capture) -> None:
    heading, first, second = typed(log, capsys, "c-7f").splitlines()
    assert heading.split()[:3] == ["id", "at", "the"]
    assert first.split() == [
        "o1",
        "0:03.20",
        "not",
        "backchannel",
        "kept",
        "the",
        "floor",
        "TN",
        "backchannel",
        '"uh',
        'huh"',
    ]
    assert second.split()[:3] == ["o2", "0:04.00", "wanted"]
    assert "\x1b" not in second


def test_a_label_is_kept_on_the_log_and_shown(log: Path, capsys: Capture) -> None:
    said = typed(log, capsys, "c-7f3a", "o1", "wanted", "--author", "Anna")
    assert said.split()[:3] == ["o1", "0:03.20", "wanted"]
    assert "FN" in said
    assert "human (Anna)" in said

    (event,) = labels(log)
    assert (event.call_id, event.subject, event.label, event.author) == ("c-7f3a", "o1", "wanted", "Anna")
    assert event.source.startswith("label:")
    assert main(["calls", "c-7f3a", "--log", str(log)]) == 0
    assert "label by human (Anna)" in " ".join(capsys.readouterr().out.split())


def test_the_same_command_again_writes_nothing(log: Path, capsys: Capture) -> None:
    typed(log, capsys, "c-7f3a", "1", "not", "--class", "noise", "--author", "Anna")
    assert "nothing was written" in typed(log, capsys, "c-7f3a", "o1", "not", "--class", "noise", "--author", "Anna")
    assert len(labels(log)) == 1


def test_the_last_word_counts_and_can_be_taken_back(log: Path, capsys: Capture) -> None:
    typed(log, capsys, "c-7f3a", "o1", "wanted")
    assert "not_addressed".replace("_", " ") in typed(log, capsys, "c-7f3a", "o1", "not", "--class", "not_addressed")
    assert typed(log, capsys, "c-7f3a", "o1", "--clear").split()[8] == "backchannel"
    assert "nothing was written" in typed(log, capsys, "c-7f3a", "o1", "--clear")
    assert [event.label for event in labels(log)] == ["wanted", "not", "cleared"]


def test_a_call_that_ended_long_ago_changes_and_the_command_says_that_windows_do_not(
    log: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StoredCall, "now_ns", lambda call: time.time_ns() - call.offset_ns + 3 * 3_600 * S)
    line, note = typed(log, capsys, "c-7f3a", "o1", "wanted").splitlines()
    assert "FN" in line
    assert note == "the call ended over 2 h ago: its record and reports change, windows no longer do"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["c-9"], "c-9: no such call in this log", id="no such call"),
        pytest.param(["c-"], "2 calls begin so", id="more than one"),
        pytest.param(
            ["c-7f3a", "o9", "wanted"],
            'c-7f3a: no overlap "o9"; the call\'s overlaps: o1 at 0:03.20, o2 at 0:04.00',
            id="no such overlap",
        ),
        pytest.param(["c-81c0", "1", "wanted"], 'no overlap "o1"; the call\'s overlaps: none', id="no overlaps"),
        pytest.param(["c-7f3a", "o1"], "o1: say wanted or not, or --clear", id="nothing said"),
        pytest.param(["c-7f3a", "o1", "wanted", "--clear"], "say wanted or not, or --clear", id="both said"),
        pytest.param(["c-7f3a", "o1", "wanted", "--class", "noise"], "--class: only what did not want", id="class"),
        pytest.param(["c-7f3a", "--author", "x"], "name the overlap too", id="no overlap"),
        pytest.param(["c-7f3a", "o1", "not", "--author", " "], "--author: write a name", id="no name"),
        pytest.param(
            ["c-7f3a", "o1", "not", "--author", "\udcff"], "--author: write a name", id="a name that is no text"
        ),
        pytest.param(["", "o1", "not"], '"": no such call in this log', id="an empty name is not the beginning of all"),
        pytest.param(["…", "o1", "not"], "no such call in this log", id="nor is what a cut one leaves"),
        pytest.param(["c-7f3a", "o1", "maybe"], "invalid choice: 'maybe'", id="no such word"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(log: Path, arguments: list[str], says: str, capsys: Capture) -> None:
    assert main(["label", *arguments, "--log", str(log)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert says in said.err
    assert labels(log) == []


def test_analyze_heeds_labels_in_event_files(tmp_path: Path, make_call: Any, capsys: Capture) -> None:
    events = overlapped(make_call("c-7f3a"), "uh huh")
    words = (
        b'{"v":1,"kind":"human_label","call_id":"c-7f3a","source":"label","seq":%d,"at_ns":%d,'
        b'"wall_ns":0,"subject":"o1","label":"%s"}\n'
    )
    lines = b"".join(encode(event) + b"\n" for event in events) + words % (1, 9, b"wanted") + words % (0, 8, b"not")
    (tmp_path / "call.jsonl").write_bytes(lines)

    assert main(["analyze", "call.jsonl", "--json"]) == 0

    assert '"decided_by": "human"' in (out := capsys.readouterr().out)
    assert '"cell": "FN"' in out
