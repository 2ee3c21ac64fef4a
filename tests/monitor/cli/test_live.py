from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from earwitness.alerts.evaluator import Alert
from earwitness.alerts.lifecycle import Firing, Pending, Quiet
from earwitness.alerts.notification import Cause, Notice, Part
from earwitness.monitor.cli.live import log_name, open_alerts, settled_ns
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
NOTICE = Notice(
    status="firing", fingerprint="ab", rule="slow", severity="page", labels={"agent": "clinic"},
    measure="response_latency.p95", title="response latency p95", unit="s", direction="above", threshold=1.5,
    window_s=300, value=1.84, n=731, since_ns=100 * S, as_of_ns=200 * S,
    cause=Cause(part=Part(name="llm", now_s=1.02, before_s=0.41)),
)  # fmt: skip


def alert(mark: str, state: Firing | Pending | Quiet, notice: Notice | None = NOTICE) -> Alert:
    return Alert(fingerprint=mark, rule="slow", labels={"agent": "clinic"}, state=state, notice=notice)


def test_firing_alerts_come_first_the_oldest_on_top() -> None:
    shown = open_alerts(
        [alert("a", Pending(10 * S), None), alert("b", Firing(90 * S)), alert("c", Firing(50 * S))], 200 * S
    )

    assert [(one.status, one.since_ns // S) for one in shown] == [("firing", 50), ("firing", 90), ("pending", 10)]
    assert shown[0].what == "response latency p95 1,840 ms > 1,500 ms (n 731)"
    assert shown[0].cause == "LLM first token +610 ms"


def test_an_alert_that_fires_on_under_its_limit_does_not_claim_to_be_over_it() -> None:
    between = NOTICE.model_copy(update={"value": 1.42})
    share = NOTICE.model_copy(update={"title": "dead air calls", "unit": "ratio", "threshold": 0.2, "value": 0.33})
    share = share.model_copy(update={"count": 1, "n": 3})

    (slow, dead) = open_alerts([alert("a", Firing(50 * S), between), alert("b", Firing(60 * S), share)], 200 * S)

    assert slow.what == "response latency p95 1,420 ms (limit 1,500 ms, n 731)"
    assert dead.what == "dead air calls 33 % > 20 % (1 of 3)"


def test_a_resolved_alert_is_shown_for_five_minutes() -> None:
    ended = alert("a", Quiet(), NOTICE.model_copy(update={"status": "resolved", "until_ns": 200 * S}))

    assert [one.status for one in open_alerts([ended], 400 * S)] == ["resolved"]
    assert open_alerts([ended], 501 * S) == []


def test_a_log_is_named_as_people_know_it() -> None:
    assert log_name(f"sqlite://{Path.home()}/x/log.db") == "embedded log ~/x/log.db"
    assert log_name("sqlite:///var/log.db") == "embedded log /var/log.db"
    assert log_name("kafka://host:9092/earwitness") == "kafka://host:9092/earwitness"


def test_numbers_are_read_at_the_moment_up_to_which_everything_was_folded() -> None:
    windows = Windows()
    assert settled_ns(windows, 100 * S) == 100 * S
    windows.watermark_ns = 99 * S
    assert settled_ns(windows, 100 * S) == 99 * S
    assert settled_ns(windows, 200 * S) == 200 * S


class Terminal:
    """A terminal of 100 columns in which a command runs."""

    def __init__(self, arguments: list[str]) -> None:
        self._master, slave = pty.openpty()
        code = "import sys; from earwitness.monitor.cli import main; sys.exit(main())"
        environ = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], stdin=slave, stdout=slave, stderr=slave, env=environ
        )
        os.close(slave)
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, *, within_s: float = 30.0) -> None:
        """Read what is drawn until a text appears after what was seen before."""
        self.seen = ""
        deadline = time.monotonic() + within_s
        while text not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} was not drawn; last drawn: {self.seen[-2000:]!r}"
            if select.select([self._master], [], [], left)[0]:
                self.seen += os.read(self._master, 65536).decode("utf-8", "replace")

    def close(self) -> int:
        code = self.process.wait(20)
        os.close(self._master)
        return code


@pytest.mark.realtime
def test_the_live_view_answers_to_its_keys(log_path: Path) -> None:
    terminal = Terminal(["top", "--log", str(log_path), "--every", "0.3"])
    terminal.wait_for("▸clinic v42")
    terminal.press("\x1b[B")
    terminal.press("\r")
    terminal.wait_for("ended: by caller")
    terminal.press("\x1b")
    terminal.wait_for("▸clinic v42")
    terminal.press("q")

    assert terminal.close() == 0
