from __future__ import annotations

import io
import json

from earwitness.alerts.notification import Notice
from earwitness.alerts.sinks.console import ConsoleSink
from earwitness.monitor.logging import configure

NOTICE = Notice(
    status="firing", fingerprint="5e1c0d0d0d0d0d0d", rule="slow", severity="page", measure="unanswered.rate",
    title="unanswered", unit="ratio", direction="above", threshold=0.05, window_s=300, value=0.1, n=50,
    since_ns=10**18, as_of_ns=10**18,
)  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_a_terminal_gets_the_message() -> None:
    out = Terminal()
    await ConsoleSink(out).send(NOTICE)

    assert out.getvalue().startswith("FIRING  all agents: unanswered 10 %")


async def test_a_collector_gets_one_structured_line() -> None:
    err = io.StringIO()
    configure(stream=err)
    await ConsoleSink(io.StringIO()).send(NOTICE)

    line = json.loads(err.getvalue())
    assert (line["event"], line["rule"], line["status"]) == ("alert", "slow", "firing")
