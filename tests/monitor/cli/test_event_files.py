from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from earwitness.monitor.cli import event_files
from earwitness.monitor.cli.event_files import BrokenLine, named_lines, read_events
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode

MakeCall = Callable[..., list[AnyEvent]]


def test_events_are_gathered_by_call_whatever_their_order(tmp_path: Path, make_call: MakeCall) -> None:
    one, two = make_call("a"), make_call("b")
    mixed = [event for pair in zip(one, two, strict=True) for event in pair]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(encode(event) for event in mixed))

    found = read_events(str(path))
    assert found.calls == {"a": one, "b": two}
    assert (found.events, found.broken) == (len(mixed), [])


def test_a_line_without_end_is_bounded_and_the_next_is_read(
    tmp_path: Path, make_call: MakeCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_files, "MAX_LINE_BYTES", 1_000)
    path = tmp_path / "x.jsonl"
    good = encode(make_call()[0])
    path.write_bytes(good + b"\n" + b"x" * 5_000 + b"\n" + good.replace(b'"seq":0', b'"seq":1') + b"\n")

    found = read_events(str(path))
    assert found.events == 2
    assert [(line.line, line.reason) for line in found.broken] == [(2, "invalid")]


def test_a_broken_line_never_repeats_what_was_said(tmp_path: Path, make_call: MakeCall) -> None:
    path = tmp_path / "x.jsonl"
    good = encode(make_call(text="my number is 12345")[4])
    path.write_bytes(good + b"\n" + good.replace(b'"final":true', b'"final":"my secret"') + b"\n" + good[:-9] + b"\n")

    broken = read_events(str(path)).broken
    assert len(broken) == 2
    assert all("12345" not in str(line) and "secret" not in str(line) for line in broken)


def test_ten_broken_lines_are_named_and_the_others_counted() -> None:
    broken = [BrokenLine("f", n, "not_json" if n % 2 else "invalid", "x") for n in range(1, 16)]

    assert len(named_lines(broken)) == 11
    assert named_lines(broken)[0] == "f:1: not_json: x"
    assert named_lines(broken)[-1] == "5 more broken lines (3 not_json, 2 invalid)"
    assert named_lines([]) == []
