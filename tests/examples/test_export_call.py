"""A call is taken out of a log as the JSON lines that it was written as."""

import json
from pathlib import Path

import pytest
from examples.demo.export_call import events_of

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Outgoing
from earwitness.monitor.log.topics import EVENTS, topic_name

RECORDED = Path(__file__).parents[1] / "data" / "demo_call.jsonl"


async def log_with_two_calls(folder: Path) -> str:
    url = f"sqlite://{folder / 'log.db'}"
    lines = RECORDED.read_text().splitlines()
    other = [json.dumps(json.loads(line) | {"call_id": "x99"}) for line in lines[:5]]
    log = await open_log(url)
    records = [Outgoing("c07", line.encode()) for line in reversed(lines)]
    await log.append(topic_name(log.prefix, EVENTS), [*records, *(Outgoing("x99", line.encode()) for line in other)])
    await log.append(topic_name(log.prefix, EVENTS), records[:3])
    await log.close()
    return url


async def test_it_gives_each_event_of_the_call_once_and_in_order(tmp_path: Path) -> None:
    url = await log_with_two_calls(tmp_path)
    assert await events_of(url, "c0") == RECORDED.read_text().splitlines()


async def test_a_call_that_is_not_there_is_named(tmp_path: Path) -> None:
    url = await log_with_two_calls(tmp_path)
    with pytest.raises(BadInput, match="nobody"):
        await events_of(url, "nobody")


async def test_a_log_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "no.db"
    with pytest.raises(BadInput, match="no such log"):
        await events_of(str(path), "c07")
    assert not path.exists()
