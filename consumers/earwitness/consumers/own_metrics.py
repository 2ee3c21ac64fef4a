"""What the monitor tells Prometheus of itself and of the bots, by name; the reference docs take their table from here.

What is not known or no longer so has no sample: an old value would look alive (D16, D17).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from earwitness.consumers.bot_health import Bots
from earwitness.consumers.self_metrics import SelfMetrics
from earwitness.monitor.measures.windows import Windows
from earwitness.monitor.release import release

S: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class State:
    """What the metrics are read off, at one moment."""

    own: SelfMetrics
    windows: Windows
    bots: Bots
    now_ns: int


Value = float | Mapping[str, float] | None
"""One value, values by the one label, or nothing to tell."""


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """One metric: its name as it is scraped, kind, meaning, and the label that tells its samples apart, if any."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    read: Callable[[State], Value]
    label: str | None = None

    def family(self, state: State) -> Metric:
        """As of that state."""
        labels = [self.label] if self.label else []
        family: CounterMetricFamily | GaugeMetricFamily = (
            CounterMetricFamily(self.name.removesuffix("_total"), self.help, labels=labels)
            if self.kind == "counter"
            else GaugeMetricFamily(self.name, self.help, labels=labels)
        )
        found = self.read(state)
        if isinstance(found, Mapping):
            for value, number in sorted(found.items()):
                family.add_metric([value], number)
        elif found is not None:
            family.add_metric([], found)
        return family


def _watermark_age_s(state: State) -> float | None:
    at_ns = state.windows.watermark_ns
    return None if not at_ns else max(0, state.now_ns - at_ns) / S


OWN_METRICS: Final[tuple[OwnMetric, ...]] = (
    OwnMetric("earwitness_events_total", "counter", "Events handled, by kind.", lambda s: s.own.events, "kind"),
    OwnMetric(
        "earwitness_dead_letters_total",
        "counter",
        "Records that could not be read or handled.",
        lambda s: s.own.stats.dead_letters,
        "reason",
    ),
    OwnMetric(
        "earwitness_lag_seconds",
        "gauge",
        "Age of the newest folded event where more wait; else 0.",
        lambda s: s.own.stats.lag_s,
    ),
    OwnMetric(
        "earwitness_lag_records",
        "gauge",
        "Events that the log has and the monitor has not folded.",
        lambda s: s.own.stats.lag_records,
    ),
    OwnMetric(
        "earwitness_position_stalled_seconds",
        "gauge",
        "For how long the position stands still though the log has more; over 60 s /healthz says so too.",
        lambda s: s.own.stalled_s(s.now_ns),
    ),
    OwnMetric(
        "earwitness_watermark_age_seconds",
        "gauge",
        "How long ago everything that the log had was folded: numbers of windows since then may be incomplete.",
        _watermark_age_s,
    ),
    OwnMetric(
        "earwitness_log_away", "gauge", "1 while the log does not answer or refuses.", lambda s: int(s.own.log_away)
    ),
    OwnMetric(
        "earwitness_commits_refused_total",
        "counter",
        "Positions that were not remembered, since their partition had moved to another worker.",
        lambda s: s.own.commits_refused,
    ),
    OwnMetric(
        "earwitness_topic_partitions",
        "gauge",
        "Partitions of each topic; those of events, records and state must agree.",
        lambda s: s.own.partitions,
        "topic",
    ),
    OwnMetric(
        "earwitness_events_lost_total",
        "counter",
        "Events that retention removed before they were read.",
        lambda s: s.own.stats.lost,
    ),
    OwnMetric(
        "earwitness_events_set_aside_total",
        "counter",
        "Events that claimed to be over 60 s ahead of their arrival.",
        lambda s: s.own.stats.set_aside,
    ),
    OwnMetric(
        "earwitness_events_stray_total",
        "counter",
        "Events of calls that were over for good.",
        lambda s: s.own.stats.stray,
    ),
    OwnMetric(
        "earwitness_late_changes_total",
        "counter",
        "Changes that came after their minute was published.",
        lambda s: s.windows.late,
    ),
    OwnMetric(
        "earwitness_clock_skew_seconds",
        "gauge",
        "How far an agent's wall clock is ahead of the log's; agents with calls in the last hour.",
        lambda s: s.own.skews.by_agent(s.now_ns),
        "agent",
    ),
    OwnMetric(
        "earwitness_agent_last_event_age_seconds",
        "gauge",
        "How long ago an agent was last heard of, up to a day; then it disappears.",
        lambda s: s.bots.last_event_age_s,
        "agent",
    ),
    OwnMetric(
        "earwitness_calls_silent",
        "gauge",
        "Calls in progress of which nothing was heard for 150 s: a live bot reports every 60 s.",
        lambda s: s.bots.silent_calls,
        "agent",
    ),
    OwnMetric(
        "earwitness_bot_spooled_events",
        "gauge",
        "Most events that one of an agent's bots has waiting on its disk, as told in the last 3 min.",
        lambda s: s.bots.spooled_events,
        "agent",
    ),
    OwnMetric(
        "earwitness_bot_buffer_bytes",
        "gauge",
        "Most bytes that one of an agent's bots has waiting in memory, as told in the last 3 min.",
        lambda s: s.bots.buffer_bytes,
        "agent",
    ),
    OwnMetric(
        "earwitness_bot_loop_lag_seconds",
        "gauge",
        "Longest delay of the event loop of one of an agent's bots, as told in the last 3 min.",
        lambda s: s.bots.loop_lag_s,
        "agent",
    ),
    OwnMetric(
        "earwitness_bot_dropped_events_total",
        "counter",
        "Events that bots reported as dropped, at once and by reason.",
        lambda s: s.own.health.dropped,
        "reason",
    ),
    OwnMetric("earwitness_label_sets", "gauge", "Label sets that are kept.", lambda s: len(s.windows.label_sets)),
    OwnMetric(
        "earwitness_label_sets_refused_total",
        "counter",
        "Calls counted under ~other.",
        lambda s: s.windows.label_sets.refused_sets,
    ),
    OwnMetric(
        "earwitness_label_values_refused_total",
        "counter",
        "Calls whose value became other.",
        lambda s: s.windows.label_sets.refused_values,
        "key",
    ),
    OwnMetric(
        "earwitness_alerts_delivered_total",
        "counter",
        "Notices of alerts that a sink took.",
        lambda s: None if s.own.deliveries is None else s.own.deliveries.delivered,
        "sink",
    ),
    OwnMetric(
        "earwitness_alert_delivery_failures_total",
        "counter",
        "Attempts to deliver a notice that failed; it is tried again.",
        lambda s: None if s.own.deliveries is None else s.own.deliveries.failures,
        "sink",
    ),
    OwnMetric(
        "earwitness_alerts_given_up_total",
        "counter",
        "Notices that a sink refused, or did not take for as long as it was tried: nobody was told by it.",
        lambda s: None if s.own.deliveries is None else s.own.deliveries.given_up,
        "sink",
    ),
    OwnMetric(
        "earwitness_alerts_waiting",
        "gauge",
        "Notices that a sink has not taken yet.",
        lambda s: None if s.own.deliveries is None else s.own.deliveries.waiting,
        "sink",
    ),
    OwnMetric("earwitness_build_info", "gauge", "The version that runs.", lambda _: {release(): 1}, "version"),
)


def own_metrics(own: SelfMetrics, windows: Windows, now_ns: int) -> Iterable[Metric]:
    """All of them as of a wall time."""
    return _families(State(own, windows, own.bots(now_ns), now_ns))


def _families(state: State) -> Iterator[Metric]:
    return (metric.family(state) for metric in OWN_METRICS)
