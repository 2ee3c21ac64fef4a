"""The state of a monitor as Prometheus metrics, worked out at the scrape.

Counters and histograms count final records since the process began; gauges are read off the windows at that moment,
so what has no data is absent and never an old value (D16, D17). Labels are the bounded ones of the label sets (D15).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from earwitness.consumers.own_metrics import own_metrics
from earwitness.consumers.self_metrics import SelfMetrics
from earwitness.consumers.totals import EDGES_S, Key, Totals
from earwitness.monitor.measures.catalogue import BY_NAME, MEASURES
from earwitness.monitor.measures.histogram import PERMILLES
from earwitness.monitor.measures.measure import WINDOW_RATE, Measure
from earwitness.monitor.measures.reading import Labels, Quantile
from earwitness.monitor.measures.windows import Windows

S: Final = 1_000_000_000
QUANTILES: Final = {"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99"}
_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_]")

WINDOW_METRICS: Final = (
    (
        "earwitness_window_response_latency_turns",
        "Turns that the percentiles of the window rank, the unanswered among them.",
    ),
    (
        "earwitness_window_complete",
        "1 where the window has all events of its calls that were read; 0 where some are missing, or lie before what"
        " the monitor still knows.",
    ),
    (
        "earwitness_window_restated",
        "Changes of the window's response latency that came after their minute was published.",
    ),
)
"""What is said of every window of a label set, beside the measures: name, meaning."""

Split: TypeAlias = Callable[[str], Sequence[str]]

HISTOGRAMS: Final[tuple[tuple[str, str | None], ...]] = (
    ("response_latency", None),
    ("greeting_latency", None),
    ("stop_latency", None),
    ("latency_part", "part"),
    ("dead_air", "owner"),
)
"""Measures shown as histograms, and the label of their classes."""


def _cell(klass: str) -> Sequence[str]:
    return klass.split("/", 1)


def _whole(klass: str) -> Sequence[str]:
    return () if klass == "" else ("?",)


def _cause(klass: str) -> Sequence[str]:
    return (klass,) if klass else ()


COUNTERS: Final[tuple[tuple[str, tuple[str, ...], Split], ...]] = (
    ("unanswered", (), _whole),
    ("overlaps", ("cell", "class"), _cell),
    ("agent_interruption", ("cause",), _cause),
    ("calls", ("outcome", "end_cause"), _cell),
    ("dead_not_failed", (), _whole),
    ("one_way_audio", ("shown_by",), _cause),
    ("events_dropped", (), _whole),
    ("events_missing", (), _whole),
)
"""Measures shown as counters, the labels of their classes and how a class becomes their values."""


class MonitorCollector(Collector):
    """Reads windows, totals and the monitor's own state when it is scraped."""

    def __init__(
        self,
        windows: Windows,
        totals: Totals,
        own: SelfMetrics,
        *,
        gauge_windows_s: Sequence[int],
        clock_ns: Callable[[], int],
    ) -> None:
        self._windows = windows
        self._totals = totals
        self._own = own
        self._gauge_windows_s = gauge_windows_s
        self._clock_ns = clock_ns
        self._keys = windows.label_sets.keys
        self._names = [_label_name(key) for key in self._keys]

    def collect(self) -> Iterable[Metric]:
        """All metrics as of now."""
        yield from self._histograms()
        yield from self._counters()
        yield from self._gauges(self._clock_ns())
        yield from own_metrics(self._own, self._windows, self._clock_ns())

    def _histograms(self) -> Iterator[Metric]:
        for name, label in HISTOGRAMS:
            measure = BY_NAME[name]
            family = HistogramMetricFamily(
                measure.prometheus[0], measure.help, labels=[*self._names, *([label] if label else [])]
            )
            for key, total in self._totals.histograms.items():
                if key.measure != name or (label is None) != (key.klass == ""):
                    continue
                seen = 0
                buckets: list[tuple[str, float]] = []
                for edge, count in zip([*map(str, EDGES_S), "+Inf"], total.buckets, strict=True):
                    seen += count
                    buckets.append((edge, float(seen)))
                values = [*self._values(key), *([key.klass] if label else [])]
                family.add_metric(values, buckets, sum_value=total.sum_ns / S)
            yield family

    def _counters(self) -> Iterator[Metric]:
        for measure, labels, split in COUNTERS:
            name = BY_NAME[measure].prometheus[0].removesuffix("_total")
            family = CounterMetricFamily(name, BY_NAME[measure].help, labels=[*self._names, *labels])
            for key, count in self._totals.counts.items():
                if key.measure == measure and len(values := split(key.klass)) == len(labels):
                    family.add_metric([*self._values(key), *values], count)
            yield family

    def _gauges(self, now_ns: int) -> Iterator[Metric]:
        latency = GaugeMetricFamily(
            BY_NAME["response_latency"].prometheus[1],
            "Percentiles of response latency in a window; +Inf where one touches an unanswered turn.",
            labels=[*self._names, "window", "quantile"],
        )
        ranked, complete, restated = (
            GaugeMetricFamily(name, about, labels=[*self._names, "window"]) for name, about in WINDOW_METRICS
        )
        coverage = GaugeMetricFamily(
            BY_NAME["coverage"].prometheus[0],
            "Measured of what was eligible, in a window.",
            labels=[*self._names, "measure", "window"],
        )
        ratio = GaugeMetricFamily(
            WINDOW_RATE,
            "Rates in a window; absent where fewer than 10 stand below the line.",
            labels=[*self._names, "measure", "window"],
        )
        for window_s in self._gauge_windows_s:
            shown, found = _window_name(window_s), self._windows.by_set(window_s=window_s, as_of_ns=now_ns)
            late = found.restated("response_latency")
            turns, lacking = found.ranked("response_latency"), self._windows.lacking(window_s=window_s, as_of_ns=now_ns)
            quantiles = [(q, found.percentiles("response_latency", PERMILLES[name])) for name, q in QUANTILES.items()]
            coverages = [(measure.name, found.coverage(measure.name)) for measure in _covered()]
            rates = [(measure.name, found.rates(measure.name)) for measure in _rates()]
            by_labels = [(self._windows.label_sets.labels_of(number), number) for number in found.sets()]
            for labels, number in sorted(by_labels):
                values = self._of(labels)
                ranked.add_metric([*values, shown], turns.get(number, 0))
                complete.add_metric([*values, shown], None not in lacking and number not in lacking)
                restated.add_metric([*values, shown], late.get(number, 0))
                for name, by_set in quantiles:
                    value = _shown_quantile(by_set.get(number, Quantile()))
                    if value is not None:
                        latency.add_metric([*values, shown, name], value)
                for family, shares in ((coverage, coverages), (ratio, rates)):
                    for name, by_number in shares:
                        if number in by_number:
                            family.add_metric([*values, name, shown], by_number[number])
        yield from (latency, ranked, complete, restated, coverage, ratio)
        live = GaugeMetricFamily(
            BY_NAME["calls_in_progress"].prometheus[0], BY_NAME["calls_in_progress"].help, labels=self._names
        )
        for where, count in self._windows.live.items():
            live.add_metric(self._of(where), count)
        yield live

    def _values(self, key: Key) -> list[str]:
        return self._of(self._windows.label_sets.labels_of(key.number))

    def _of(self, labels: Labels) -> list[str]:
        found = dict(labels)
        return [found.get(key, "") for key in self._keys]


def _shown_quantile(quantile: Quantile) -> float | None:
    return float("inf") if quantile.more_than_s is not None else quantile.value_s


def _covered() -> list[Measure]:
    return [m for m in MEASURES if m.name in ("response_latency", "greeting_latency", "stop_latency")]


def _rates() -> list[Measure]:
    return [m for m in MEASURES if WINDOW_RATE in m.prometheus]


def _window_name(window_s: int) -> str:
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if window_s % seconds == 0 and (unit != "d" or window_s > 86_400):
            return f"{window_s // seconds}{unit}"
    return f"{window_s}s"


def _label_name(key: str) -> str:
    name = _NOT_A_NAME.sub("_", key)
    return f"_{name}" if name[:1].isdigit() else name
