"""The job of ``bench_engines.py`` in other stream processors, each in the way that its documentation shows.

Runs in an environment of its own, without Earwitness: ``python peer_engines.py quixstreams|faststream BOOTSTRAP TOPIC
RECORDS``. Prints JSON: CPU seconds of this process from before the first record to the last result, and the results.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
import uuid
from datetime import timedelta
from importlib import import_module
from typing import Any

Results = list[tuple[int, str, float]]
"""Begin of the window in ms, label set, p95 in seconds."""


def p95(values: list[float]) -> float:
    """Linear between the two neighbouring ranks."""
    ordered = sorted(values)
    rank = 0.95 * (len(ordered) - 1)
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def is_sample(record: dict[str, Any]) -> bool:
    """Whether a record is a final turn with a response latency."""
    return (
        record["kind"] == "turn"
        and record.get("final") is True
        and record.get("turn_class", "eligible") == "eligible"
        and record.get("response_latency_ns") is not None
        and not record.get("premature_endpoint")
    )


def with_quixstreams(bootstrap: str, topic_name: str, records: int) -> tuple[float, Results]:
    """A filter, a tumbling window by event time, its values collected, p95 of what it emits when it closes."""
    quixstreams = import_module("quixstreams")
    collect = import_module("quixstreams.dataframe.windows").Collect
    results: Results = []
    seen = 0

    def processed(_topic: str, _partition: int, _offset: int) -> None:
        nonlocal seen
        seen += 1
        if seen == records:
            app.stop()

    app = quixstreams.Application(
        bootstrap,
        consumer_group=f"bench-{uuid.uuid4().hex[:8]}",
        auto_offset_reset="earliest",
        state_dir=tempfile.mkdtemp(),
        on_message_processed=processed,
        consumer_extra_config={"receive.message.max.bytes": 1_000_000_000},
        loglevel="ERROR",
    )
    topic = app.topic(
        topic_name,
        key_deserializer="str",
        value_deserializer="json",
        timestamp_extractor=lambda value, *_: value["event_wall_ns"] // 1_000_000,
    )
    frame = app.dataframe(topic)
    frame = frame.filter(is_sample)
    frame = frame.apply(lambda record: {"latency_s": record["response_latency_ns"] / 1e9})
    window = frame.tumbling_window(timedelta(seconds=10), grace_ms=timedelta(seconds=10))
    closed = window.agg(values=collect("latency_s")).final(closing_strategy="partition")
    closed.update(
        lambda value, key, *_: results.append((value["start"], str(key), p95(value["values"]))), metadata=True
    )
    began = time.process_time()
    app.run()
    return time.process_time() - began, results


def with_faststream(bootstrap: str, topic: str, records: int) -> tuple[float, Results]:
    """A batch subscriber; it has no windows, so that the values of each lie in a dictionary."""
    faststream, kafka = import_module("faststream"), import_module("faststream.kafka")
    broker = kafka.KafkaBroker(bootstrap)
    app = faststream.FastStream(broker)
    windows: dict[tuple[int, str], list[float]] = {}
    seen = 0

    async def handle(batch: list[dict[str, Any]]) -> None:
        nonlocal seen
        for record in batch:
            if is_sample(record):
                labels = f"{record['agent']}/{record['version']}/{record['mode']}"
                window = windows.setdefault((record["event_wall_ns"] // 10**10 * 10_000, labels), [])
                window.append(record["response_latency_ns"] / 1e9)
        seen += len(batch)
        if seen >= records:
            app.exit()

    subscriber = broker.subscriber(
        topic, batch=True, max_records=2_000, auto_offset_reset="earliest", group_id=f"bench-{uuid.uuid4().hex[:8]}"
    )
    subscriber(handle)
    began = time.process_time()
    asyncio.run(app.run(log_level=50))
    found = [(begin, labels, p95(values)) for (begin, labels), values in windows.items()]
    return time.process_time() - began, found


def main() -> None:
    """Do the job and say what it cost."""
    engine, bootstrap, topic, records = sys.argv[1:]
    job = {"quixstreams": with_quixstreams, "faststream": with_faststream}[engine]
    cpu_s, results = job(bootstrap, topic, int(records))
    print(json.dumps({"cpu_s": cpu_s, "results": results}))


if __name__ == "__main__":
    main()
