"""One stateless job in several engines on the same Kafka: p95 of response latency per label set in windows of 10 s,
from the turn records on a topic.

    python tests/benchmarks/bench_engines.py [--records 150000] [--label-sets 100] [--rounds 3]

By CPU of the reading process per record, each engine in a process of its own, in turn, the best of some rounds. Ours
and ``bare`` look for cycles of garbage as seldom as `earwitness run` does; the others gained nothing by it.
``bare`` polls and decodes every record and does nothing else; with a lens, what the job does not need is skipped in
decoding. The topic is keyed by label set, so that no engine has to
sort its input anew. Two mixes: all records of demo calls as a timeline worker publishes them (a twentieth are turns),
and turns alone. Every engine's results are held against the exact percentiles.

The other engines are installed once, as ``requirements/engines.txt`` says, into .run/engines; where that cannot be done
they are left out, loudly.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.garbage import collect_seldom
from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.monitor.contract.decoder import decode_event_fast, decode_record_fast
from earwitness.monitor.contract.lens import record_lens
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.contract.wire import encode
from earwitness.monitor.log.kafka_library import kafka
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import Entry, Outgoing
from earwitness.monitor.log.topics import topic_specs
from earwitness.monitor.measures.windows import Windows

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peer_engines import Results, is_sample, p95
from demo_calls import HOUR_NS, S, demo_call
from kafka_broker import broker_for_a_bench

ROOT = Path(__file__).resolve().parents[2]
PEERS, PINS = ROOT / ".run" / "engines", ROOT / "requirements" / "engines.txt"
PARTITIONS, SPAN_S, WITHIN_S = 4, 400, 300
BATCH = 500
"""So many records stay in the processor's cache from the poll to the window; 2,000 cost ours a third more, the bare
loop a tenth, and faststream the same."""
Decode = Callable[[bytes], AnyRecord | None]
NEEDED = {
    "turn": (
        "agent", "version", "mode", "labels", "bounds", "event_wall_ns", "final", "retracted", "turn_class",
        "response_latency_ns", "reason", "unanswered", "overdue", "waited_ns", "at_least_ns", "premature_endpoint",
        "a_on_ns",
    )
}  # fmt: skip
Job = Callable[[str, str, int], Coroutine[Any, Any, tuple[float, Results]]]


def published() -> list[AnyRecord]:
    """The records of one demo call, revision by revision."""
    fold, found = TimelineFold(MonitorSettings()), list[AnyRecord]()
    for number, one in enumerate(demo_call(0, HOUR_NS, 60)):
        entry = Entry("events", 0, number, one.call_id, one.payload, one.wall_ns + S // 20)
        fold.add(entry, decode_event_fast(one.payload))
        found += [change.new for change in fold.settle()]
    return found + [change.new for change in fold.advance(HOUR_NS + 3_600 * S)]


def calls(count: int, label_sets: int, *, only_turns: bool) -> Iterator[Outgoing]:
    """So many records of calls that begin all the time, by event time."""
    draw = random.Random(1)
    records = [json.loads(encode(record)) for record in published()]
    if only_turns:
        records = [record for record in records if is_sample(record)]
    starts = sorted(draw.randrange((SPAN_S - 70) * S) for _ in range(count // len(records) + 1))
    made: list[tuple[int, Outgoing]] = []
    for call, start_ns in enumerate(starts):
        number, factor = draw.randrange(label_sets), draw.lognormvariate(0, 0.4)
        own = {"call_id": f"call-{call:06d}-7d0c2b1a", "agent": f"a{number // 10}", "version": str(number % 10)}
        for record in records:
            wall_ns = min(record["event_wall_ns"], HOUR_NS + 69 * S) + start_ns
            told = record | own | {"event_wall_ns": wall_ns}
            if told.get("response_latency_ns") is not None:
                told["response_latency_ns"] = round(told["response_latency_ns"] * factor)
                told["a_on_ns"] = 10**12
            labels = f"{own['agent']}/{own['version']}/{record['mode']}"
            made.append((wall_ns, Outgoing(labels, json.dumps(told, separators=(",", ":")).encode())))
    made.sort(key=lambda one: one[0])
    return (record for _, record in made[:count])


def exact(sent: Sequence[Outgoing]) -> dict[tuple[int, str], float]:
    """What every engine should say."""
    windows: dict[tuple[int, str], list[float]] = {}
    for outgoing in sent:
        record = json.loads(outgoing.value or b"")
        if is_sample(record):
            begin = record["event_wall_ns"] // (10 * S) * 10_000
            windows.setdefault((begin, outgoing.key), []).append(record["response_latency_ns"] / S)
    return {key: p95(values) for key, values in windows.items()}


async def bare(bootstrap: str, topic: str, records: int, decode: Decode = decode_record_fast) -> tuple[float, Results]:
    """Poll and decode: what no consumer can go below."""
    began = time.process_time()
    consumer: Any = kafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, max_partition_fetch_bytes=4 * 1024 * 1024)
    await consumer.start()
    parts = [kafka.TopicPartition(topic, number) for number in range(PARTITIONS)]
    consumer.assign(parts)
    await consumer.seek_to_beginning(*parts)
    seen = 0
    while seen < records:
        for batch in (await consumer.getmany(timeout_ms=5_000, max_records=BATCH)).values():
            for record in batch:
                decode(record.value)
            seen += len(batch)
    spent_s = time.process_time() - began
    await consumer.stop()
    return spent_s, []


async def bare_lens(bootstrap: str, topic: str, records: int) -> tuple[float, Results]:
    """Poll, and decode what the job needs."""
    return await bare(bootstrap, topic, records, record_lens(NEEDED))


async def earwitness_lens(bootstrap: str, topic: str, records: int) -> tuple[float, Results]:
    """The log's reader, a decoder of what the job needs, and the windows."""
    return await earwitness(bootstrap, topic, records, record_lens(NEEDED))


async def earwitness(
    bootstrap: str, topic: str, records: int, decode: Decode = decode_record_fast
) -> tuple[float, Results]:
    """The log's reader, the decoder of whole records and the windows."""
    log = await open_log(f"kafka://{bootstrap}/{topic.split('.', maxsplit=1)[0]}")
    began = time.process_time()
    reader = await log.reader(topic)
    windows = Windows(windows_s=(10,), measures=("response_latency",), max_label_values=1_000)
    seen, newest = 0, dict[int, int]()
    while seen < records:
        batch = await reader.poll(timeout_s=5, max_records=BATCH)
        for partition, entries in groupby(batch, key=attrgetter("partition")):
            read = [decode(entry.value or b"") for entry in entries]
            turns = [one for one in read if one is not None and one.kind == "turn" and one.final]
            windows.count(turns, part=partition)
            if turns:
                newest[partition] = turns[-1].event_wall_ns
        seen += len(batch)
    results: Results = []
    last_ns = max(newest.values()) + 10 * S
    for end_ns in range(last_ns - last_ns % (10 * S) - SPAN_S * S, last_ns, 10 * S):
        for labels, found in windows.percentiles("response_latency", 950, window_s=10, as_of_ns=end_ns).items():
            by = dict(labels)
            key = f"{by['agent']}/{by['version']}/{by['mode']}"
            results.append(((end_ns - 10 * S) // 1_000_000, key, found.value_s or 0.0))
    spent_s = time.process_time() - began
    await reader.close()
    await log.close()
    return spent_s, results


OWN: dict[str, Job] = {
    "bare": bare,
    "bare, lens": bare_lens,
    "earwitness": earwitness,
    "earwitness, lens": earwitness_lens,
}


def spent(engine: str, bootstrap: str, topic: str, records: int) -> dict[str, Any]:
    """One engine in a process of its own."""
    if engine in OWN:
        command = [sys.executable, __file__, "--engine", engine]
    else:
        command = [str(PEERS / "bin" / "python"), str(Path(__file__).with_name("peer_engines.py")), engine]
    command += [bootstrap, topic, str(records)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    if ran.returncode != 0:
        raise SystemExit(f"{engine} failed:\n{ran.stderr[-2_000:]}")
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def install_peers() -> list[str]:
    """The other engines that can be had here."""
    stamp = PEERS / "installed"
    if not stamp.exists() or stamp.read_text() != PINS.read_text():
        print(f"installing other engines into {PEERS.relative_to(ROOT)}: once, 150 MB ...", flush=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(PINS)]
        for command in ([sys.executable, "-m", "venv", str(PEERS)], [str(PEERS / "bin" / "python"), *install]):
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                print(f"other engines: NOT MEASURED: {ran.stderr.strip().splitlines()[-1]}")
                return []
        stamp.write_text(PINS.read_text())
    return ["quixstreams", "faststream"]


def agreement(results: Results, wanted: dict[tuple[int, str], float]) -> str:
    """How an engine's results differ from the exact ones."""
    found = {(begin, labels): value for begin, labels, value in results}
    if not found:
        return ""
    known = [key for key in found if key in wanted]
    worst = max(abs(found[key] / wanted[key] - 1) for key in known)
    return f"{len(known)} of {len(wanted)} windows, {len(found) - len(known)} strange, worst error {worst:.2%}"


async def bench(bootstrap: str, given: argparse.Namespace, engines: Sequence[str]) -> None:
    for name, only_turns in (("records as published", False), ("turns alone", True)):
        prefix = f"bench{uuid.uuid4().hex[:8]}"
        log = await open_log(f"kafka://{bootstrap}/{prefix}")
        await log.create_topics(topic_specs(prefix, PARTITIONS))
        topic, sent = f"{prefix}.records", list(calls(given.records, given.label_sets, only_turns=only_turns))
        for start in range(0, len(sent), 1_000):
            await log.append(topic, sent[start : start + 1_000])
        await log.close()
        wanted, size = exact(sent), sum(len(one.value or b"") for one in sent) / len(sent)
        rounds = [
            {engine: spent(engine, bootstrap, topic, len(sent)) for engine in engines} for _ in range(given.rounds)
        ]
        print(f"{name}: {len(sent):,} of {size:.0f} bytes, {given.label_sets} label sets")
        print(f"  {'':<18} {'us each':>7}" + "".join(f"{'x ' + other:>19}" for other in OWN))
        cost = {engine: min(one[engine]["cpu_s"] for one in rounds) / len(sent) * 1e6 for engine in engines}
        for engine in engines:
            told = agreement(rounds[-1][engine]["results"], wanted)
            ratios = [cost[engine] / cost[other] for other in OWN]
            print(f"  {engine:<18} {cost[engine]:>7.2f}" + "".join(f"{ratio:>19.2f}" for ratio in ratios) + f"  {told}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=150_000)
    parser.add_argument("--label-sets", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", nargs=4, metavar=("NAME", "BOOTSTRAP", "TOPIC", "RECORDS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        name, bootstrap, topic, records = given.engine
        collect_seldom()
        cpu_s, results = asyncio.run(OWN[name](bootstrap, topic, int(records)))
        print(json.dumps({"cpu_s": cpu_s, "results": results}))
        return
    with broker_for_a_bench() as bootstrap:
        asyncio.run(bench(bootstrap, given, [*OWN, *install_peers()]))


if __name__ == "__main__":
    main()
