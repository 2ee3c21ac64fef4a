"""The relay's numbers for Prometheus. Needs prometheus-client, which comes with the service side."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from earwitness.processors.relay_stats import RelayStats

LOST_REASONS = ("retention", "too_large")


class RelayCollector(Collector):
    """Reads the stats at each scrape. ``version``: of Earwitness."""

    def __init__(self, stats: RelayStats, version: str) -> None:
        self._stats = stats
        self._version = version

    def collect(self) -> Iterable[Metric]:
        """One sample of everything."""
        stats = self._stats
        yield GaugeMetricFamily(
            "earwitness_relay_lag_records", "Events on the embedded log that are not shipped yet", stats.lag_records
        )
        yield GaugeMetricFamily("earwitness_relay_lag_seconds", "Age of the oldest event not shipped yet", stats.lag_s)
        yield GaugeMetricFamily("earwitness_relay_target_up", "1: the target takes events", int(not stats.log_away))
        yield CounterMetricFamily("earwitness_relay_shipped", "Events that the target has acknowledged", stats.shipped)
        yield CounterMetricFamily(
            "earwitness_relay_found_there",
            "Events that the target had already when an acknowledgement was missing, and that were not sent again",
            stats.found_there,
        )
        yield CounterMetricFamily("earwitness_relay_retries", "Attempts that failed", stats.retries)
        yield CounterMetricFamily(
            "earwitness_relay_adopted", "Events taken from the spools of dead processes", stats.adopted
        )
        lost = CounterMetricFamily("earwitness_relay_lost", "Events that will never arrive", labels=["reason"])
        for reason in LOST_REASONS:
            lost.add_metric([reason], stats.lost[reason])
        yield lost
        info = GaugeMetricFamily("earwitness_build_info", "What runs", labels=["version"])
        info.add_metric([self._version], 1)
        yield info
