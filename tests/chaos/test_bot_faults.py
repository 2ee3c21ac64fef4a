"""Whatever happens to the log, the disk or the bot itself: the call goes on, and each of its events arrives once or is
reported as dropped. Real calls in real time, in processes of their own; the long ones run with ``make chaos``."""

from __future__ import annotations

import asyncio
import signal
import time
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from chaos.account import Account, settled
from chaos.bot_process import BotProcess, next_process
from chaos.brokers import FaultyBroker
from chaos.live_bot import CallPlan, Plan
from chaos.places import Door, small_disk

from earwitness.monitor.log.open import LogSettings, open_log
from earwitness.monitor.log.protocol import Log
from earwitness.monitor.log.topics import topic_specs

pytestmark = [pytest.mark.kafka, pytest.mark.pipecat, pytest.mark.realtime, pytest.mark.timeout(600)]

LINGER_S = 0.2
SLACK_S = 3.0
"""How much later than it should a starved machine may run the writer's thread. Virtual time holds the exact bound."""
EXIT_WITHIN_S = 2.0 + 10.0
BUFFER = 64 * 1024
SMALL = {"EARWITNESS_BOT__BUFFER_BYTES": str(BUFFER), "EARWITNESS_BOT__EVENTS_PER_S": "1000"}


def _prefix() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


def _told(home: Path, name: str, log: str | None = None, **more: str) -> dict[str, str]:
    environ = {"EARWITNESS_HOME": str(home / name), "EARWITNESS_SECRET": "x", **more}
    return environ if log is None else {**environ, "EARWITNESS_LOG": log}


async def _log(url: str, **topic: str) -> Log:
    log = await open_log(url, settings=LogSettings(kafka={"topic_configs": topic} if topic else {}))
    await log.create_topics(topic_specs(log.prefix, 2))
    return log


async def _sent(home: Path) -> None:
    """Wait until nothing lies in the spool of a home."""
    async with asyncio.timeout(120):
        while list((home / "spool").glob("*.spool")):  # noqa: ASYNC110 - files are watched
            await asyncio.sleep(0.1)


def _whole(call: Account, *dropped: str) -> None:
    """Each event there once or reported, in order."""
    assert len(call.made) > 20
    assert call.missing == []
    assert call.both == []
    assert call.in_order
    assert set(call.dropped.values()) <= set(dropped)


@pytest.mark.parametrize("away_s", [2.5, pytest.param(60.0, marks=pytest.mark.chaos)])
async def test_seven_calls_of_one_process_each_with_a_fault_of_its_own(
    away_s: float, faulty_kafka: FaultyBroker, kafka_bootstrap: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        shut = await stack.enter_async_context(Door(kafka_bootstrap, "shut"))
        deaf = await stack.enter_async_context(Door(kafka_bootstrap, "deaf"))
        urls = {
            "away": f"kafka://{faulty_kafka.address}/{_prefix()}",
            "never there": f"kafka://{shut.address}/{_prefix()}",
            "deaf": f"kafka://{deaf.address}/{_prefix()}",
            "no topic": f"kafka://{kafka_bootstrap}/{_prefix()}",
            "too large": f"kafka://{kafka_bootstrap}/{_prefix()}",
            "wrong password": f"kafka://{faulty_kafka.asks}/{_prefix()}",
        }
        behind = {**urls, "never there": urls["never there"].replace(shut.address, kafka_bootstrap)}
        behind["deaf"] = urls["deaf"].replace(deaf.address, kafka_bootstrap)
        behind["wrong password"] = urls["wrong password"].replace(faulty_kafka.asks, faulty_kafka.address)
        logs = {name: await _log(behind[name]) for name in ("away", "never there", "deaf", "wrong password")}
        logs["too large"] = await _log(behind["too large"], **{"max.message.bytes": "20000"})
        logs["well"] = await open_log(_told(tmp_path, "well")["EARWITNESS_HOME"] + "/log.db")
        sasl = {
            "EARWITNESS_KAFKA__SECURITY_PROTOCOL": "SASL_PLAINTEXT",
            "EARWITNESS_KAFKA__SASL_USERNAME": "bot",
            "EARWITNESS_KAFKA__SASL_PASSWORD": "PassWord0",
        }
        told = {name: _told(tmp_path, name, url) for name, url in urls.items()} | {"well": _told(tmp_path, "well")}
        told["wrong password"] |= sasl
        calls = [
            CallPlan(name.replace(" ", "_"), environ, lasts_s=600.0, large_at=5 if name == "too large" else None)
            for name, environ in told.items()
        ]
        made = tmp_path / "made"
        bot = await stack.enter_async_context(await BotProcess.start(Plan(calls, str(made)), tmp_path))
        for call in calls:
            await bot.until(call=call.name, say="begins")
        for words in ("refused user or password", "earwitness topics create", "too large for the log and is given up"):
            await bot.until_it_complains(words)
        try:
            await asyncio.to_thread(faulty_kafka.tell, "kill")
            await asyncio.sleep(away_s)
        finally:
            await asyncio.to_thread(faulty_kafka.tell, "start")
        await shut.open()
        await deaf.open()
        logs["no topic"] = await _log(behind["no topic"])
        # Each finds its way back while its call goes on, but for the one that will never be let in.
        for name in told:
            if name != "wrong password":
                await _sent(tmp_path / name)
        over = await bot.enough()
        assert await bot.end() == 0, bot.complained
        assert bot.exit_took_s < EXIT_WITHIN_S
        for name, environ in told.items():
            right = {**environ, "EARWITNESS_KAFKA__SASL_PASSWORD": "right"} if name == "wrong password" else environ
            if list((tmp_path / name / "spool").glob("*.spool")):
                await next_process(right)
        for name, log in logs.items():
            key = name.replace(" ", "_")
            account = (await settled(log, made, [key]))[key]
            if name == "too large":
                assert len(account.dropped) == 1
            _whole(account, *(["too_large"] if name == "too large" else []))
            record = account.record()
            assert (record.end_cause, record.tail_incomplete, record.missing_events) == ("agent", False, 0)
            # The call itself went on to its end.
            ended = await bot.until(call=key, say="ended")
            assert ended["finished"]
            assert ended["answers"] > 1
            assert account.repeats == 0 or name in {"away", "never there", "deaf"}
            await log.close()
        assert over["buffer_bytes"] < 8 * 2**20
        assert over["rss_mb"] - over["began_mb"] < 8 * len(calls) + 100
        words = bot.complained
    assert "cannot connect to" in words
    assert "does not answer" in words or away_s < 30
    assert "Traceback" not in words
    assert "was destroyed" not in words
    assert "sasl_password" in words
    assert "PassWord0" not in words, "a secret was told"


@pytest.mark.parametrize("away_s", [0.5, pytest.param(60.0, marks=pytest.mark.chaos)])
async def test_with_the_disk_full_and_the_log_away_what_finds_no_room_is_reported(
    away_s: float, kafka_bootstrap: str, tmp_path: Path
) -> None:
    prefix, made = _prefix(), tmp_path / "made"
    with small_disk(tmp_path / "full" / "spool", 64) as mounted:
        async with Door(kafka_bootstrap, "shut") as door:
            log = await _log(f"kafka://{kafka_bootstrap}/{prefix}")
            environ = _told(tmp_path, "full", f"kafka://{door.address}/{prefix}", **SMALL)
            call = CallPlan("full", environ, lasts_s=600.0, facts_per_s=150)
            plan = Plan([call], str(made), file_bytes=None if mounted else 64 * 1024)
            async with await BotProcess.start(plan, tmp_path) as bot:
                await bot.until(say="losing")
                await asyncio.sleep(away_s)
                await door.open()
                await _sent(tmp_path / "full")
                over = await bot.enough()
                assert await bot.end() == 0, bot.complained
            if list((tmp_path / "full" / "spool").glob("*.spool")):
                await next_process(environ)
            account = (await settled(log, made, ["full"]))["full"]
            await log.close()
    _whole(account, "spool_full", "buffer_full")
    assert account.dropped != {}
    assert over["buffer_bytes"] <= BUFFER + 256 * 1024
    record = account.record()
    assert (record.end_cause, record.tail_incomplete, record.missing_events) == ("agent", False, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("after_s", [2.0, pytest.param(30.0, marks=pytest.mark.chaos)])
async def test_of_a_bot_that_is_ended_in_its_call_nothing_older_than_a_linger_is_lost(
    number: signal.Signals, after_s: float, kafka_bootstrap: str, tmp_path: Path
) -> None:
    prefix, made = _prefix(), tmp_path / "made"
    async with Door(kafka_bootstrap, "shut") as door:
        logs: dict[str, Any] = {"there": await _log(f"kafka://{kafka_bootstrap}/{prefix}")}
        away = f"{prefix}away"
        logs["away"] = await _log(f"kafka://{kafka_bootstrap}/{away}")
        told = {
            "there": _told(tmp_path, "there", f"kafka://{kafka_bootstrap}/{prefix}"),
            "away": _told(tmp_path, "away", f"kafka://{door.address}/{away}"),
        }
        calls = [CallPlan(name, environ, lasts_s=600.0) for name, environ in told.items()]
        plan = Plan(calls, str(made), on_sigterm=number == signal.SIGTERM)
        async with await BotProcess.start(plan, tmp_path) as bot:
            for name in told:
                await bot.until(call=name, say="begins")
            await asyncio.sleep(after_s)
            ended_ns = time.monotonic_ns()
            assert await bot.end(number) == -number, bot.complained
            assert bot.exit_took_s < EXIT_WITHIN_S
        await door.open()
        for name, log in logs.items():
            if list((tmp_path / name / "spool").glob("*.spool")):
                await next_process(told[name])
            account = (await settled(log, made, [name], within_s=3.0))[name]
            late = [account.made[identity] for identity in account.missing]
            if number == signal.SIGTERM:
                # What it still said while it flushed may be lost; what it had said by then is not.
                assert [at_ns for at_ns in late if at_ns < ended_ns] == []
            assert all(at_ns > ended_ns - (LINGER_S + SLACK_S) * 1e9 for at_ns in late)
            assert account.in_order
            assert len(account.arrived) > 20
            record = account.record()
            assert (record.end_cause, record.tail_incomplete) == ("unknown", True)
            await log.close()
