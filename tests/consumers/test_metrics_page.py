"""What Prometheus is told, and when a process calls itself well."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from earwitness.consumers.metrics_collector import MonitorCollector
from earwitness.consumers.metrics_page import MetricsPage
from earwitness.consumers.own_metrics import OWN_METRICS
from earwitness.consumers.self_metrics import SelfMetrics
from earwitness.consumers.timeline import FoldStats
from earwitness.consumers.totals import Totals
from earwitness.monitor.contract.records import Call, Overlap, Turn, Unheard
from earwitness.monitor.errors import BadInput
from earwitness.monitor.measures.catalogue import MEASURES
from earwitness.monitor.measures.windows import Windows

S = 1_000_000_000
NOON_NS = 1_700_006_400 * S


class Scene:
    """A metrics page over windows and totals that a test fills itself."""

    def __init__(self) -> None:
        self.windows = Windows(labels={"route": None})
        self.totals = Totals()
        self.own = SelfMetrics(ready=True)
        self.now_ns = NOON_NS
        self.collector = MonitorCollector(
            self.windows, self.totals, self.own, gauge_windows_s=(300,), clock_ns=lambda: self.now_ns
        )
        self.page = MetricsPage(
            self.collector,
            self.own,
            host="127.0.0.1",
            port=0,
            clock_ns=lambda: self.now_ns,
            stalled_s=self.own.stalled_s,
        )

    def apply(self, record: Any) -> None:
        self.windows.apply(None, record)
        if record.final:
            self.totals.add(self.windows.label_sets.number_of(record), record)

    def turn(self, latency_s: float | None, *, final: bool = True, call_id: str = "c", **fields: Any) -> None:
        made: dict[str, Any] = {"id": "t1", "u_on_ns": 0, "u_off_ns": S, "a_on_ns": 99 * S}
        answer: dict[str, Any] = (
            {"unanswered": True, "waited_ns": 3 * S}
            if latency_s is None
            else {"response_latency_ns": round(latency_s * S), "parts_ns": {"llm": round(latency_s * S)}}
        )
        common: dict[str, Any] = {
            "call_id": call_id,
            "event_wall_ns": self.now_ns - S,
            "agent": "clinic",
            "version": "42",
        }
        self.apply(Turn(**{**common, **made, **answer, "final": final, **fields}))

    async def get(self, path: str, **headers: str) -> tuple[int, str, str]:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.page.port}{path}", headers=headers) as answer,
        ):
            return answer.status, await answer.text(), answer.headers["Content-Type"]

    async def samples(self) -> dict[str, float]:
        """Name and labels (those that are not empty) to value."""
        _, text, _ = await self.get("/metrics")
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()) if v and k not in ("mode",))
                found[f"{sample.name}{{{labels}}}"] = sample.value
        return found


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    await made.page.start()
    yield made
    await made.page.close()


BASE = "agent=clinic"


async def test_latencies_are_a_histogram_with_the_unanswered_in_its_last_bucket(scene: Scene) -> None:
    scene.turn(0.9)
    scene.turn(1.3, id="t2")
    scene.turn(None, id="t3")

    found = await scene.samples()

    name = "earwitness_response_latency_seconds"
    assert found[f"{name}_bucket{{{BASE},le=1.0,version=42}}"] == 1
    assert found[f"{name}_bucket{{{BASE},le=60.0,version=42}}"] == 2
    assert found[f"{name}_bucket{{{BASE},le=+Inf,version=42}}"] == 3
    assert found[f"{name}_count{{{BASE},version=42}}"] == 3
    assert found[f"{name}_sum{{{BASE},version=42}}"] == pytest.approx(2.2)
    assert found[f"earwitness_unanswered_total{{{BASE},version=42}}"] == 1
    assert found[f"earwitness_latency_part_seconds_count{{{BASE},part=llm,version=42}}"] == 2


async def test_counters_take_final_records_only_and_gauges_take_all(scene: Scene) -> None:
    scene.turn(0.9, final=False)

    found = await scene.samples()

    assert f"earwitness_response_latency_seconds_count{{{BASE},version=42}}" not in found
    assert found[f"earwitness_window_response_latency_turns{{{BASE},version=42,window=5m}}"] == 1
    assert found[
        f"earwitness_window_response_latency_seconds{{{BASE},quantile=0.5,version=42,window=5m}}"
    ] == pytest.approx(0.9, rel=0.01)
    assert found[f"earwitness_coverage_ratio{{{BASE},measure=response_latency,version=42,window=5m}}"] == 1


@pytest.mark.parametrize(
    ("torn", "whole"),
    [
        ([], 1),
        ([("mine", (-90, -60))], 0),
        ([("mine", (-900, -600))], 1),
        ([("another", (-90, -60))], 1),
        ([(None, (-90, -60))], 0),
    ],
)
async def test_a_window_says_whether_it_has_all_events(
    scene: Scene, torn: list[tuple[str | None, tuple[int, int]]], whole: int
) -> None:
    scene.turn(0.9)
    scene.turn(0.9, id="t9", call_id="d", version="43")
    mine, another = (scene.windows.label_sets.number_of(turn(v)) for v in ("42", "43"))
    for whose, (from_s, to_s) in torn:
        number = {"mine": mine, "another": another, None: None}[whose]
        scene.windows.note_torn("c", number, [(NOON_NS + from_s * S, NOON_NS + to_s * S)])

    found = await scene.samples()

    assert found[f"earwitness_window_complete{{{BASE},version=42,window=5m}}"] == whole


async def test_a_window_says_that_it_changed_after_it_was_published(scene: Scene) -> None:
    name = f"earwitness_window_restated{{{BASE},version=42,window=5m}}"
    scene.turn(0.9)
    assert (await scene.samples())[name] == 0

    came = {"id": "t7", "call_id": "e", "event_wall_ns": NOON_NS - 200 * S, "response_latency_ns": S}
    late = turn("42").model_copy(update=came)
    scene.windows.apply(None, late, arrived_ns=NOON_NS)
    assert (await scene.samples())[name] == 1


async def test_what_of_the_alerts_reached_nobody_is_told_by_sink(scene: Scene) -> None:
    assert not [name for name in await scene.samples() if name.startswith("earwitness_alert")]

    scene.own.deliveries = SimpleNamespace(
        delivered={"console": 3, "webhook-1:pager": 0},
        failures={"console": 0, "webhook-1:pager": 7},
        given_up={"console": 0, "webhook-1:pager": 2},
        waiting={"console": 0, "webhook-1:pager": 1},
    )
    found = await scene.samples()

    assert found["earwitness_alerts_delivered_total{sink=console}"] == 3
    assert found["earwitness_alert_delivery_failures_total{sink=webhook-1:pager}"] == 7
    assert found["earwitness_alerts_given_up_total{sink=webhook-1:pager}"] == 2
    assert found["earwitness_alerts_waiting{sink=webhook-1:pager}"] == 1


async def test_a_window_that_began_before_what_is_still_known_is_not_complete(scene: Scene) -> None:
    scene.turn(0.9)
    name = f"earwitness_window_complete{{{BASE},version=42,window=5m}}"

    scene.windows.since_ns = NOON_NS - 299 * S
    assert (await scene.samples())[name] == 0
    scene.windows.since_ns = NOON_NS - 310 * S
    assert (await scene.samples())[name] == 1


def turn(version: str) -> Turn:
    return Turn(
        call_id="c", id="t1", event_wall_ns=NOON_NS, agent="clinic", version=version, u_on_ns=0, u_off_ns=S, a_on_ns=S
    )


async def test_a_censored_percentile_is_infinite(scene: Scene) -> None:
    scene.turn(None)

    found = await scene.samples()

    assert found[f"earwitness_window_response_latency_seconds{{{BASE},quantile=0.95,version=42,window=5m}}"] == float(
        "inf"
    )


async def test_d16_d17_a_gauge_without_new_data_disappears_and_a_counter_stays(scene: Scene) -> None:
    scene.turn(0.9)
    scene.windows.live = {(("agent", "clinic"), ("mode", "unknown"), ("route", ""), ("version", "42")): 7}
    found = await scene.samples()
    assert found[f"earwitness_calls_in_progress{{{BASE},version=42}}"] == 7

    scene.now_ns += 3_600 * S
    scene.windows.live = {}
    found = await scene.samples()

    assert not [name for name in found if name.startswith(("earwitness_window", "earwitness_calls_in_progress"))]
    assert found[f"earwitness_response_latency_seconds_count{{{BASE},version=42}}"] == 1


async def test_d15_the_number_of_series_does_not_grow_with_the_number_of_calls(scene: Scene) -> None:
    async def after(calls: range) -> int:
        for i in calls:
            scene.turn(0.9, call_id=f"c{i}", labels={"route": f"+49 170 {i}"})
        return len(await scene.samples())

    many = await after(range(300))

    assert await after(range(300, 3_000)) == many
    assert (await scene.samples())["earwitness_label_values_refused_total{key=route}"] > 2_000


async def test_overlaps_and_calls_are_counted_by_their_classes(scene: Scene) -> None:
    common: dict[str, Any] = {"call_id": "c", "event_wall_ns": NOON_NS, "agent": "clinic", "final": True}
    scene.apply(Overlap(**common, id="o1", u_on_ns=0, u_off_ns=1, cell="FP", wanted="no", want_class="noise"))
    scene.apply(Overlap(**common, id="o2", u_on_ns=0, u_off_ns=1))
    scene.apply(
        Call(**common, id="call", started_wall_ns=0, ended_ns=1, end_cause="agent", outcome="cut_off", in_scope=True)
    )

    found = await scene.samples()

    assert found[f"earwitness_overlaps_total{{{BASE},cell=FP,class=noise}}"] == 1
    assert found[f"earwitness_overlaps_total{{{BASE},cell=unknown}}"] == 1
    assert found[f"earwitness_calls_total{{{BASE},end_cause=agent,outcome=cut_off}}"] == 1


async def test_calls_whose_audio_reached_nobody_are_counted_by_what_shows_it(scene: Scene) -> None:
    asks = Unheard(what="one_way_audio", by="caller_asks", lost="agent", at_ns=0)
    dead = Unheard(what="dead_not_failed", by="no_playout", lost="agent", at_ns=0)
    common: dict[str, Any] = {"event_wall_ns": NOON_NS, "agent": "clinic", "final": True, "started_wall_ns": 0}
    scene.apply(Call(**common, call_id="c1", id="call", ended_ns=9, unheard=(asks, dead)))
    scene.apply(Call(**common, call_id="c2", id="call", ended_ns=9, talk_ns={"caller": 1}))

    found = await scene.samples()

    assert found[f"earwitness_one_way_audio_calls_total{{{BASE},shown_by=caller_asks}}"] == 1
    assert found[f"earwitness_dead_not_failed_calls_total{{{BASE}}}"] == 1


async def test_every_name_in_the_catalogue_is_on_the_page(scene: Scene) -> None:
    _, text, _ = await scene.get("/metrics")
    shown = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}

    assert {name for measure in MEASURES for name in measure.prometheus} <= shown


async def test_the_page_speaks_open_metrics_to_those_who_ask(scene: Scene) -> None:
    _, text, kind = await scene.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")

    assert kind.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


async def test_the_monitor_says_of_itself_what_it_is(scene: Scene) -> None:
    scene.own.events["call_started"] = 3

    found = await scene.samples()

    assert found["earwitness_events_total{kind=call_started}"] == 3
    assert found["earwitness_lag_records{}"] == 0
    assert any(name.startswith("earwitness_build_info{version=") for name in found)


async def test_readiness_waits_for_the_past_and_for_the_log(scene: Scene) -> None:
    scene.own.ready = False
    assert (await scene.get("/readyz"))[0] == 503
    scene.own.ready = True
    assert (await scene.get("/readyz"))[0] == 200
    scene.own.log_away = True
    assert (await scene.get("/readyz"))[0] == 503


async def test_health_is_lost_when_the_clock_is_no_longer_looked_at(scene: Scene) -> None:
    scene.own.ticked_ns = NOON_NS
    assert (await scene.get("/healthz"))[0] == 200
    scene.now_ns += 60 * S
    assert (await scene.get("/healthz"))[0] == 503


async def test_a_port_that_is_taken_is_one_clear_line(scene: Scene) -> None:
    other = MetricsPage(
        scene.collector, scene.own, host="127.0.0.1", port=scene.page.port, clock_ns=lambda: scene.now_ns
    )

    with pytest.raises(BadInput, match=r"metrics\.port: cannot serve metrics at 127\.0\.0\.1:\d+ \(.*in use\)"):
        await other.start()


async def test_what_the_monitor_says_of_itself_is_what_the_reference_lists(scene: Scene) -> None:
    _, text, _ = await scene.get("/metrics")
    shown = {line.split()[2]: line.split()[3] for line in text.splitlines() if line.startswith("# TYPE")}

    assert {own.name: own.kind for own in OWN_METRICS}.items() <= shown.items()


async def test_the_page_is_what_prometheus_itself_takes_for_well_formed(scene: Scene) -> None:
    scene.turn(0.9)
    scene.own.events["call_started"] = 3
    scene.own.partitions = {"events": 12, "state": 6}
    scene.own.health.dropped["spool_full"] = 4
    scene.own.skews.note('odd "agent"\n\\', 2 * S, scene.now_ns)
    _, text, _ = await scene.get("/metrics")

    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert [dict(s.labels) for s in families["earwitness_clock_skew_seconds"].samples] == [{"agent": 'odd "agent"\n\\'}]
    if promtool := shutil.which("promtool"):  # Prometheus' own reader and linter, where there is one
        said = await asyncio.to_thread(
            subprocess.run, [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        # Its linter would keep that label for summaries, which cannot say what a window's percentiles are.
        lints = [line for line in said.stderr.splitlines() if 'not have "quantile" label' not in line]
        assert said.returncode in (0, 3), "cannot be read"
        assert lints == []


async def test_partition_counts_that_differ_can_be_seen(scene: Scene) -> None:
    scene.own.partitions = {"events": 12, "records": 12, "state": 6}

    found = await scene.samples()

    assert found["earwitness_topic_partitions{topic=events}"] == 12
    assert found["earwitness_topic_partitions{topic=state}"] == 6


async def test_d01_a_position_that_stands_still_while_the_log_grows_is_neither_well_nor_fresh(scene: Scene) -> None:
    def tick(seconds: int, records: int, lag: int) -> None:
        scene.now_ns = NOON_NS + seconds * S
        scene.own.ticked_ns = scene.now_ns
        scene.own.stats = FoldStats(lag_records=lag)
        scene.own.note_progress(scene.now_ns, records, lag)

    tick(0, 100, 0)
    scene.windows.watermark_ns = scene.now_ns
    tick(10, 100, 5)
    tick(70, 100, 600)
    found = await scene.samples()
    assert found["earwitness_position_stalled_seconds{}"] == 70
    assert found["earwitness_watermark_age_seconds{}"] == 70
    assert (await scene.get("/healthz"))[:2] == (503, "stuck: events wait and none was read for 70 s\n")

    scene.own.log_away = True  # starting anew would mend nothing: it is not ready, and it lives
    assert (await scene.get("/healthz"))[0] == 200
    assert (await scene.get("/readyz"))[0] == 503

    scene.own.log_away = False
    tick(71, 400, 300)
    assert (await scene.get("/healthz"))[0] == 200
    assert (await scene.samples())["earwitness_position_stalled_seconds{}"] == 0


async def test_nothing_known_is_no_sample(scene: Scene) -> None:
    found = await scene.samples()

    assert not [name for name in found if "watermark" in name or "_agent_last" in name or "_bot_" in name]
    assert not [name for name in found if name.startswith(("earwitness_clock_skew", "earwitness_calls_silent"))]
    assert found["earwitness_position_stalled_seconds{}"] == 0


async def test_events_that_are_missing_by_their_numbers_are_counted_by_label(scene: Scene) -> None:
    common: dict[str, Any] = {"event_wall_ns": NOON_NS, "agent": "clinic", "final": True, "started_wall_ns": 0}
    scene.apply(Call(**common, call_id="c1", id="call", ended_ns=9, events=7, missing_events=3, dropped_events=2))

    found = await scene.samples()

    assert found[f"earwitness_missing_events_total{{{BASE}}}"] == 3
    assert found[f"earwitness_dropped_events_total{{{BASE}}}"] == 2
