"""``earwitness topics create``."""

from __future__ import annotations

import argparse
import asyncio

from earwitness.monitor import wording
from earwitness.monitor.cli.composing import log_url, opened_log, or_stopped, run_async, settings_of
from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import EMBEDDED_PARTITIONS
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.log.url import SqliteUrl
from earwitness.monitor.settings import Settings


def execute(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    if arguments.partitions is not None and not 1 <= arguments.partitions <= 1000:
        raise BadInput("choose 1 to 1000", where="--partitions")

    async def work(stop: asyncio.Event) -> int:
        return await or_stopped(_create(settings, arguments.partitions), stop)

    return run_async(work)


async def _create(settings: Settings, partitions: int | None) -> int:
    url = log_url(settings)
    # Opening the embedded log makes it, with its topics.
    is_new = isinstance(url, SqliteUrl) and not url.path.exists()
    async with opened_log(settings, sets_retention=True) as log:
        embedded = not log.url.startswith("kafka")
        count = partitions or (EMBEDDED_PARTITIONS if embedded else settings.kafka.partitions)
        retention_ms = None if embedded else round(settings.retention.days * 86_400_000)
        specs = topic_specs(log.prefix, count, retention_ms=retention_ms)
        created = set(await log.create_topics(specs))
        found = await log.topics()
        for spec in specs:
            state = "created" if is_new or spec.name in created else "was there"
            # A cluster may take a moment to tell of what it has just made.
            have = found[spec.name].partitions if spec.name in found else spec.partitions
            print(f"{spec.name:<24} {state:<10} {wording.plural(have, 'partition')}")
    return 0
