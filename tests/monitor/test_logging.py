from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import structlog
from pydantic import SecretStr

from earwitness.monitor.logging import configure


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def said(level: str = "info", **fields: Any) -> dict[str, Any]:
    out = io.StringIO()
    configure(level="debug", stream=out)
    getattr(structlog.get_logger(), level)("something happened", **fields)
    line: dict[str, Any] = json.loads(out.getvalue())
    return line


def test_a_pipe_gets_one_json_object_a_line() -> None:
    line = said(call_id="c-1", n=3)

    assert (line["event"], line["level"], line["call_id"], line["n"]) == ("something happened", "info", "c-1", 3)
    assert line["timestamp"].endswith("Z")


def test_a_terminal_gets_words() -> None:
    out = Terminal()
    configure(stream=out)
    structlog.get_logger().info("started", port=9464)

    assert not out.getvalue().startswith("{")
    assert "started" in out.getvalue()


def test_what_is_below_the_level_is_silent() -> None:
    out = io.StringIO()
    configure(level="warning", stream=out)
    structlog.get_logger().info("no")

    assert out.getvalue() == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"sasl_password": "hunter2"},
        {"settings": {"kafka": {"sasl_password": "hunter2"}}},
        {"hooks": [{"bearer_token": "hunter2"}]},
        {"value": SecretStr("hunter2")},
        {"values": (SecretStr("hunter2"),)},
        {"url": "kafka://ann:hunter2@host:9092/x"},
        {"Authorization": "Bearer hunter2"},
    ],
)
def test_secrets_never_come_out(fields: dict[str, Any]) -> None:
    assert "hunter2" not in json.dumps(said(**fields))
    assert "hunter2" not in json.dumps(said("debug", **fields))


def test_what_a_caller_said_comes_out_at_debug_only() -> None:
    assert said("info", text="my name is Ann")["text"] == "<14 characters>"
    assert said("error", transcript="my name is Ann")["transcript"] == "<14 characters>"
    assert said("debug", text="my name is Ann")["text"] == "my name is Ann"


def test_an_error_carries_its_traceback_in_json() -> None:
    out = io.StringIO()
    configure(stream=out)
    try:
        raise ValueError("no")
    except ValueError:
        structlog.get_logger().exception("failed")

    assert "ValueError: no" in json.loads(out.getvalue())["exception"]


def test_a_log_on_a_full_disk_harms_nobody_and_what_comes_elsewhere_is_heard() -> None:
    full = Path("/dev/full").open("w")  # noqa: SIM115 - closing it fails too
    configure(stream=full)

    structlog.get_logger("t").warning("nobody hears this")

    with suppress(OSError):
        full.close()
    assert _heard_after() == "heard"


def test_a_stream_that_was_closed_harms_nobody() -> None:
    stream = io.StringIO()
    configure(stream=stream)
    stream.close()

    structlog.get_logger("t").warning("nobody hears this")

    assert _heard_after() == "heard"


def _heard_after() -> str:
    """What one more message says, given to a stream that takes it."""
    out = io.StringIO()
    configure(stream=out)
    structlog.get_logger("t").warning("heard")
    return str(json.loads(out.getvalue())["event"])
