"""`earwitness relay` as it is typed, and what doctor says of it; no broker is there."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from earwitness.monitor.cli import main
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Log
from earwitness.processors.relay import relay_group
from earwitness.processors.relay_mark import RelayMark, mark_path

Capture = pytest.CaptureFixture[str]
NOWHERE = "kafka://127.0.0.1:1/earwitness"
RUN = "import sys; from earwitness.monitor.cli import main; sys.exit(main())"
NO_PIPECAT = """
import sys
sys.modules["pipecat"] = None
import earwitness.monitor.cli.commands.relay, earwitness.processors.relay_collector
assert "aiokafka" not in sys.modules, "loaded when it is needed"
"""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "relay: say where to ship: --to kafka://host:9092"),
        (["--to", "/a/log.db"], "--to: a relay ships to Kafka"),
        (["--to", "kafka://user@host"], "--to: a kafka:// URL carries no user"),
        (["--from", "kafka://a", "--to", "kafka://b"], "--from: only an embedded log can be shipped"),
        (["--to", "kafka://b", "--port", "70000"], "--port:"),
        (["--to", "kafka://b", "--log", "x"], "unrecognized arguments: --log"),
        (["--to", "kafka://b", "--set", "relay.too=1"], 'unknown key "too". Did you mean "to"?'),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], says: str, capsys: Capture) -> None:
    assert main(["relay", *arguments]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 1


def test_a_second_relay_of_a_log_is_refused(log_path: Path, capsys: Capture) -> None:
    mark = RelayMark.take(mark_path(log_path, NOWHERE))
    assert main(["relay", "--from", str(log_path), "--to", NOWHERE]) == 2
    assert "another relay ships this log to this target" in capsys.readouterr().err
    mark.close()


def test_the_environment_may_say_it_all(log_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("EARWITNESS_RELAY__SOURCE", str(log_path))
    monkeypatch.setenv("EARWITNESS_LOG", NOWHERE)
    # Its options are no part of a target's name: the settings of a restart may differ.
    mark = RelayMark.take(mark_path(log_path, NOWHERE))
    monkeypatch.setenv("EARWITNESS_LOG", NOWHERE + "?request_timeout_ms=3000")
    assert main(["relay"]) == 2
    assert f"{mark_path(log_path, NOWHERE)}: another relay" in capsys.readouterr().err
    mark.close()


@pytest.fixture
def relay(log_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A relay whose target is not there, and the address of its page."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "relay", "--from", str(log_path), "--to", NOWHERE, "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stderr is not None
    runs = next(line for line in process.stderr if "relay runs" in line)
    yield process, json.loads(runs)["metrics"].removesuffix("/metrics")
    process.kill()
    process.communicate()


def asked(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.realtime
def test_a_relay_whose_target_is_away_waits_says_so_and_ends_at_a_signal(
    relay: tuple[subprocess.Popen[str], str],
) -> None:
    process, page = relay
    status, text = asked(f"{page}/readyz")
    metrics = asked(f"{page}/metrics")[1]
    while "the log does not answer" not in text or "lag_records 30.0" not in metrics:
        with pytest.raises(subprocess.TimeoutExpired):  # it looks once a second, and does not end by itself
            process.wait(0.1)
        status, text = asked(f"{page}/readyz")
        metrics = asked(f"{page}/metrics")[1]
    assert status == 503
    assert asked(f"{page}/healthz") == (200, "ok\n")
    assert "earwitness_relay_lag_records 30.0" in metrics
    assert "earwitness_relay_target_up 0.0" in metrics
    assert 'earwitness_relay_lost_total{reason="retention"} 0.0' in metrics
    assert "earwitness_relay_shipped_total 0.0" in metrics

    began_s = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert time.monotonic() - began_s < 8
    assert "the log does not take events, the embedded log keeps them" in said
    assert "relay stopped" in said
    assert "Traceback" not in said


async def _committed(log: Log, share: int) -> None:
    reader = await log.reader("earwitness.events", group=relay_group(NOWHERE))
    ends = await log.end_positions("earwitness.events")
    await reader.commit({partition: end * share // 100 for partition, end in ends.items()})
    await reader.close()


@pytest.mark.parametrize(
    ("share", "running", "says"),
    [
        (100, True, f"ok     relay         has shipped every event to {NOWHERE}"),
        (0, True, "FAULT  relay         30 events are not shipped to"),
        (0, False, "no relay runs"),
    ],
)
def test_doctor_tells_of_the_relay_and_needs_no_monitor_beside_it(
    log_path: Path, share: int, running: bool, says: str, capsys: Capture
) -> None:
    async def ship() -> Any:
        log = await open_log(
            str(log_path),
        )
        await _committed(log, share)
        if share < 100:  # as if it had lain there for a while
            await log.work(lambda file: [  # type: ignore[attr-defined]
                file.db.execute(f"UPDATE records_{id_} SET append_ns = append_ns - 600000000000")
                for id_ in file.topic("earwitness.events").partition_ids
            ])  # fmt: skip
        await log.close()

    asyncio.run(ship())
    mark = RelayMark.take(mark_path(log_path, NOWHERE)) if running else None
    main(["doctor", "--log", str(log_path)])
    if mark is not None:
        mark.close()

    report = capsys.readouterr().out
    assert says in report
    assert "monitor       has never run" not in report


def test_a_relay_needs_no_pipecat() -> None:
    done = subprocess.run([sys.executable, "-c", NO_PIPECAT], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
