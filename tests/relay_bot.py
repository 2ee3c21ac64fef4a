"""A bot of one call as a process: reports its events to the host's log, and ends. Prints whether it knows of Kafka."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.sink import Outbound
from earwitness.processors.writer import Writer


def settings_of(home: Path, log: str) -> BotSettings:
    """What the bots of a host are told."""
    return BotSettings.from_env({"EARWITNESS_HOME": str(home)}, strict=True, log=log, linger_s=0.05)


def outbound(payload: bytes) -> Outbound:
    """An event on its way out."""
    e = json.loads(payload)
    return Outbound(e["call_id"], e["source"], e["seq"], e["kind"], e["at_ns"], e["wall_ns"], payload)


def report(settings: BotSettings, payloads: list[bytes]) -> None:
    """The whole life of a bot, as far as its writer goes."""
    writer = Writer(settings)
    for payload in payloads:
        writer.put(outbound(payload))
    writer.close(10.0)


if __name__ == "__main__":
    report(settings_of(Path(sys.argv[1]), sys.argv[2]), Path(sys.argv[3]).read_bytes().splitlines())
    print("aiokafka" in sys.modules)
