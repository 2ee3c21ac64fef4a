"""Commands as they are typed, on a real embedded log."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from earwitness.monitor.cli import main
from earwitness.monitor.cli.commands.run import sinks_of
from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.settings import Sources, load_settings

Capture = pytest.CaptureFixture[str]
MakeCall = Callable[..., list[AnyEvent]]


def wrong(arguments: list[str], capsys: Capture) -> str:
    """The one line that a mistake gives."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("earwitness: ")
    assert said.err.count("\n") == 1
    return said.err.strip()


def as_lines(events: list[AnyEvent]) -> bytes:
    return b"".join(encode(event) + b"\n" for event in events)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["frobnicate"], "invalid choice: 'frobnicate'", id="no such command"),
        pytest.param(["run", "--lgo", "x"], "unrecognized arguments: --lgo x", id="no such option"),
        pytest.param(
            ["calls", "--log", "redis://x"], "log: redis:// is no log that Earwitness knows", id="no such log"
        ),
        pytest.param(
            ["top", "--log", "/none/log.db"], "/none/log.db: no log is there yet", id="a log that is not there"
        ),
        pytest.param(["top", "--window", "7m"], "--window: choose 1m, 5m", id="a window that is not kept"),
        pytest.param(["top", "--window", "soon"], '--window: "soon" is no duration', id="no length of time"),
        pytest.param(
            ["run", "--set", "metrics.prt=1"], 'unknown key "prt". Did you mean "port"?', id="unknown setting"
        ),
        pytest.param(["run", "--set", "bounds.turn_gab_s=1"], 'Did you mean "turn_gap_s"?', id="unknown bound"),
        pytest.param(["run", "--rules", "/none.yaml"], "/none.yaml: no such file", id="rules that are not there"),
        pytest.param(["analyze", "/none.jsonl"], "/none.jsonl: no such file", id="an event file that is not there"),
        pytest.param(["analyze", "/"], "/: is a folder", id="a folder"),
        pytest.param(["analyze", "/a\x1b[31m\u202e\nb"], "/a[31m b: no such file", id="a name that colours and turns"),
        pytest.param(["alerts", "silence", "xyz!"], "is no alert's id", id="an id that is none"),
        pytest.param(["topics", "create", "--partitions", "0"], "--partitions: choose 1 to 1000", id="no partitions"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments: list[str], says: str, capsys: Capture) -> None:
    assert says in wrong(arguments, capsys)


def test_a_settings_file_with_a_mistake_names_its_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "earwitness.yaml").write_text("alerts:\n  evry_s: 5\n")

    assert wrong(["run"], capsys) == (
        'earwitness: earwitness.yaml:2: alerts.evry_s: unknown key "evry_s". Did you mean "every_s"?'
    )


def test_help_and_version_are_no_mistakes(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    assert "analyze" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("earwitness ")


def test_calls_are_listed_newest_first(log_path: Path, capsys: Capture) -> None:
    assert main(["calls", "--log", str(log_path)]) == 0

    heading, first, second = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["began", "call", "agent"]
    assert ("c-81c0" in first, "2,400" in first) == (True, True)
    assert ("c-7f3a" in second, "clinic v42" in second, "900" in second) == (True, True, True)


def test_a_list_may_be_of_one_agent_and_may_be_short(log_path: Path, capsys: Capture) -> None:
    assert main(["calls", "--log", str(log_path), "--limit", "1"]) == 0
    assert "1 more: --limit 2 shows them" in capsys.readouterr().out
    assert main(["calls", "--log", str(log_path), "--agent", "hotel"]) == 0
    assert capsys.readouterr().out.startswith("no calls of hotel in the last 1 h")


def test_a_call_is_found_by_the_beginning_of_its_id(log_path: Path, capsys: Capture) -> None:
    assert main(["calls", "c-7f", "--log", str(log_path)]) == 0

    shown = capsys.readouterr().out
    assert shown.startswith("c-7f3a  clinic v42")
    assert 'caller "good morning"' in shown
    assert "response 900 ms = " in shown


def test_a_call_that_is_not_there_or_not_the_only_one_is_named(log_path: Path, capsys: Capture) -> None:
    assert "c-99: no such call in this log" in wrong(["calls", "c-99", "--log", str(log_path)], capsys)
    assert "c-: 2 calls begin so: c-7f3a, c-81c0" in wrong(["calls", "c-", "--log", str(log_path)], capsys)


def test_top_prints_one_frame(log_path: Path, capsys: Capture) -> None:
    assert main(["top", "--once", "--log", str(log_path)]) == 0

    frame = capsys.readouterr().out
    assert "\x1b" not in frame
    assert "no alert is open" in frame
    row = next(line for line in frame.splitlines() if "clinic v42" in line)
    live, calls, p50 = row.split()[2:5]
    assert (live, calls) == ("0", "2")
    assert 1_633 <= int(p50.replace(",", "")) <= 1_667


def test_analyze_gives_the_same_numbers_as_the_log(tmp_path: Path, make_call: MakeCall, capsys: Capture) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(as_lines(make_call("a")) + as_lines(make_call("b", latency_s=2.4)))

    assert main(["analyze", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["v"] == 1
    assert [call["turns"][0]["response_latency_s"] for call in found["calls"]] == [0.9, 2.4]
    latency = found["summary"]["response_latency"]
    assert (latency["n"], latency["p50_s"], latency["unanswered"]) == (2, 1.65, 0)

    assert main(["analyze", str(path)]) == 0
    table = capsys.readouterr().out
    assert "response latency    n 2   unanswered 0   coverage 100 % of 2   p50 1,650 ms" in table


def test_broken_lines_are_named_and_the_rest_is_analysed(tmp_path: Path, make_call: MakeCall, capsys: Capture) -> None:
    path = tmp_path / "calls.jsonl"
    broken = b'{"kind": "call_sta\n' + b'{"v": 1, "kind": "novelty"}\n' * 14
    path.write_bytes(as_lines(make_call("a")) + broken + b"\n" + as_lines(make_call("b")))

    assert main(["analyze", str(path), "--json"]) == 1
    said = capsys.readouterr()
    assert len(json.loads(said.out)["calls"]) == 2
    lines = said.err.splitlines()
    assert len(lines) == 11
    assert lines[0].startswith(f"earwitness: {path}:16: not_json: ")
    assert lines[1].startswith(f"earwitness: {path}:17: unknown_kind: ")
    assert lines[-1] == "earwitness: 5 more broken lines (5 unknown_kind)"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(
            b"RIFF\x24\x00\x00\x00WAVEfmt ", "is no audio that can be read", id="a recording that was cut off"
        ),
        pytest.param(
            b"\x1f\x8b\x08\x00",
            "is no recording and no event log: compressed by gzip; unpack it first",
            id="compressed",
        ),
        pytest.param('{"caller": []}'.encode("utf-16"), "UTF-16 text; save it as UTF-8", id="UTF-16"),
        pytest.param(b"PNG\x00\x01\x02", "no event log: binary", id="binary"),
        pytest.param(b"name,value\n1,2\n", "holds no event; expected one JSON object a line", id="another text"),
        pytest.param(b'{"kind": "turn"}\n', "holds no event", id="JSON of another kind"),
        pytest.param(b"", "is empty", id="empty"),
    ],
)
def test_a_file_of_a_wrong_kind_is_one_line(content: bytes, says: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)

    assert says in wrong(["analyze", str(path)], capsys)


def test_rules_are_checked_without_running_them(tmp_path: Path, capsys: Capture) -> None:
    assert main(["alerts", "check"]) == 0
    assert "no mistakes" in capsys.readouterr().out
    path = tmp_path / "alerts.yaml"
    path.write_text("rules:\n  - name: slow\n    measure: response_latancy.p95\n    window: 5m\n    above: 1s\n")

    assert wrong(["alerts", "check", str(path)], capsys) == (
        f'earwitness: {path}:3: rules[0].measure: unknown measure "response_latancy". Did you mean "response_latency"?'
    )


def test_the_shipped_rules_can_be_copied_and_checked(tmp_path: Path, capsys: Capture) -> None:
    assert main(["alerts", "defaults"]) == 0
    path = tmp_path / "mine.yaml"
    path.write_text(capsys.readouterr().out)

    assert main(["alerts", "check", str(path)]) == 0


def test_alerts_of_a_quiet_log(log_path: Path, capsys: Capture) -> None:
    assert main(["alerts", "list", "--log", str(log_path)]) == 0
    assert capsys.readouterr().out == "no alert is open\n"
    assert "abcd: no alert has this id" in wrong(["alerts", "silence", "abcd", "--log", str(log_path)], capsys)


def test_topics_are_made_once(tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / "new.db")
    assert main(["topics", "create", "--log", path]) == 0
    assert capsys.readouterr().out.count("created") == 5
    assert main(["topics", "create", "--log", path]) == 0
    assert capsys.readouterr().out.count("was there") == 5


def test_the_setup_file_and_the_schemas_are_printed(capsys: Capture) -> None:
    assert main(["setup-file"]) == 0
    assert Path(capsys.readouterr().out.strip()).is_file()
    assert main(["schema", "record"]) == 0
    assert json.loads(capsys.readouterr().out)["title"].startswith("Earwitness record")


def test_doctor_finds_what_is_wrong_and_says_how_to_mend_it(log_path: Path, capsys: Capture) -> None:
    assert main(["doctor", "--log", str(log_path)]) == 0
    said = capsys.readouterr().out
    assert "5 topics as they should be" in said
    assert "has never run on this log, which holds 30 events" in said

    assert main(["doctor", "--log", str(log_path), "--set", "metrics.prt=1"]) == 1
    said = capsys.readouterr().out
    assert 'FAULT  settings      --set metrics.prt: unknown key "prt". Did you mean "port"?' in said
    assert said.splitlines()[-1].startswith("1 fault")


def test_doctor_names_a_broker_that_does_not_answer(unused_tcp_port: int, capsys: Capture) -> None:
    assert main(["doctor", "--log", f"kafka://127.0.0.1:{unused_tcp_port}"]) == 1
    assert f"127.0.0.1:{unused_tcp_port}" in capsys.readouterr().out


def test_a_broker_that_does_not_answer_is_one_line(unused_tcp_port: int, capsys: Capture) -> None:
    said = wrong(["run", "--log", f"kafka://127.0.0.1:{unused_tcp_port}", "--port", "0"], capsys)
    assert f"127.0.0.1:{unused_tcp_port}" in said
    assert said.endswith("`earwitness doctor` checks more.")


def test_without_the_service_side_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delitem(sys.modules, "earwitness.monitor.cli.commands.top", raising=False)

    class Missing:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "rich.text":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [
        name for name in sys.modules if name.startswith(("earwitness.monitor.cli.views", "earwitness.monitor.cli.live"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "rich.text", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])

    assert (
        wrong(["top"], capsys) == 'earwitness: earwitness top needs the service side: pip install "earwitness[monitor]"'
    )


def test_each_sink_is_given_what_is_set_for_it() -> None:
    hooks = [
        {"url": "https://a.example/x", "give_up_after_s": 60, "severities": ["page"]},
        {"url": "https://b.example"},
    ]
    settings = load_settings(Sources(options={"alerts.webhooks": (hooks, "--set alerts.webhooks")}))

    sinks = sinks_of(settings)

    assert [sink.name for sink in sinks] == ["console", "webhook-0:a.example", "webhook-1:b.example"]
    assert [sink.give_up_after_s for sink in sinks] == [0.0, 60.0, 3_600.0]
