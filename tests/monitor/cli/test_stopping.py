"""Commands as processes of their own: they stop as they are told, and end well whatever reads them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from started_commands import started

from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode


@pytest.mark.realtime
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_run_stops_cleanly_on_a_signal(number: signal.Signals, log_path: Path) -> None:
    process = started(["run", "--log", str(log_path), "--port", "0"])
    assert process.stderr is not None
    for line in process.stderr:
        if b"monitor runs" in line:
            break
    began_s = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=20)

    assert process.returncode == 0
    assert time.monotonic() - began_s < 5
    assert b"Traceback" not in err
    assert b"monitor stopped" in err


@pytest.mark.realtime
def test_the_page_of_a_running_monitor_tells_of_its_alerts_by_sink(log_path: Path) -> None:
    hook = 'alerts.webhooks=[{"url": "https://pager.example/x"}]'
    process = started(["run", "--log", str(log_path), "--port", "0", "--set", hook])
    assert process.stderr is not None
    page = next(re.search(rb"http://\S+/metrics", line) for line in process.stderr if b"monitor runs" in line)
    assert page is not None
    try:
        with urllib.request.urlopen(page[0].decode(), timeout=10) as answer:
            told = answer.read().decode()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)

    for sink in ("console", "webhook-0:pager.example"):
        assert f'earwitness_alerts_given_up_total{{sink="{sink}"}} 0.0' in told


@pytest.mark.realtime
def test_plain_frames_stop_cleanly_on_ctrl_c(log_path: Path) -> None:
    process = started(["top", "--log", str(log_path), "--every", "0.2"])
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (0, b"")


@pytest.mark.realtime
def test_a_reader_that_has_had_enough_is_no_error(log_path: Path) -> None:
    with started(["top", "--log", str(log_path), "--every", "0.1"]) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()

    assert (process.returncode, err) == (0, b"")


@pytest.mark.realtime
def test_a_stop_does_not_wait_for_a_broker_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"kafka://127.0.0.1:{silent.getsockname()[1]}"
        process = started(["run", "--log", url, "--port", "0"])
        silent.settimeout(20)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGTERM)
            began_s = time.monotonic()
            _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (0, b"")
    assert time.monotonic() - began_s < 3


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("analyze {file} >&-", 0),
        ("calls --log {log} >&- 2>&- <&-", 0),
        ("analyze - <&-", 2),
        ("analyze {file} >/dev/full", 2),
        ("calls --log {log} >/dev/full", 2),
        ("analyze /none 2>/dev/full", 2),
        ("analyze {file} | grep -q response", 0),
    ],
)
def test_streams_that_are_closed_or_full_give_no_traceback(
    command: str, code: int, tmp_path: Path, log_path: Path, make_call: Callable[..., list[AnyEvent]]
) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_bytes(b"".join(encode(event) + b"\n" for event in make_call("a")))
    code_line = "import sys; from earwitness.monitor.cli import main; sys.exit(main())"
    line = f"{sys.executable} -c '{code_line}' {command.format(file=file, log=log_path)}"
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}

    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=30, check=False, env=environ)

    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1
