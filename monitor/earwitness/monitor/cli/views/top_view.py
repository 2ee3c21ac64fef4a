"""The live view as lines of text: what a tired person needs first stands first. Colour only underlines the words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from datetime import tzinfo

from rich.text import Text

from earwitness.monitor import wording
from earwitness.monitor.call_names import call_name
from earwitness.monitor.cli.views.call_words import REASON_WORDS, subject_words
from earwitness.monitor.cli.views.top_data import TREND_STEP_S, AgentRow, OpenAlert, TopData
from earwitness.monitor.measures.reading import Reading

LEAST_N = {"p50": 1, "p90": 10, "p95": 20, "p99": 100}
"""With fewer values a percentile is not shown: it would be a guess."""
LEAST_DENOMINATOR = 10
BARS = "▁▂▃▄▅▆▇"
GAP = "·"
PARTS = (
    ("endpointing", "endpoint"), ("recognition", "recogniser"), ("hold", "hold"), ("queue", "queue"), ("llm", "LLM"),
    ("tools", "tools"), ("aggregation", "text"), ("tts", "TTS"), ("output", "output"), ("model", "model"),
    ("unattributed", "other"),
)  # fmt: skip
AGENT_WIDTH = 15
WHOLE_WIDTH = 100
"""With fewer columns the table goes without p99 and calls, and names are shorter, so that it fits in 80."""
LABEL_WIDTH = 28


def top_view(
    data: TopData, *, width: int = 100, height: int | None = None, zone: tzinfo | None = None, keys: bool = True
) -> list[Text]:
    """The lines of one frame; with ``height`` agents that do not fit are counted instead of shown. Without ``keys``
    nobody can press Enter, and the command stands there instead."""
    lines = [_title(data, width, zone), *_alerts(data), Text("─" * width, style="dim")]
    lower = _chosen(data, width) + _footer(data, keys=keys)
    if not data.rows:
        lines.append(Text(f" no calls in the last {wording.span(data.window_s)}", style="bold"))
        lines += [Text(f" {note}", style="dim") for note in data.notes]
        return lines
    lines += _headings(data, whole=width >= WHOLE_WIDTH)
    room = len(data.rows) if height is None else max(1, height - len(lines) - len(lower) - 1)
    first = max(0, min(data.selected - room + 1, len(data.rows) - room))
    for i, row in enumerate(data.rows[first : first + room], start=first):
        lines.append(_row(row, chosen=i == data.selected, whole=width >= WHOLE_WIDTH))
    if len(data.rows) > room:
        lines.append(Text(f"   {len(data.rows) - room} more agents: arrows scroll", style="dim"))
    return lines + lower


def _title(data: TopData, width: int, zone: tzinfo | None) -> Text:
    log = data.log
    if log.away:
        state = Text(f"the log does not answer: {wording.printable(log.away, 60)}", style="bold red")
    else:
        lag = f"lag {log.lag_s:.1f} s" if log.lag_s < 100 else f"lag {wording.compact_span(log.lag_s)}"
        state = Text(f"{lag} · {log.events_per_s:,.0f} ev/s", style="yellow" if log.lag_s > 5 else "")
    title = Text.assemble(
        (" earwitness", "bold"), " · ", wording.printable(log.name, max(20, width - 56)), " · ", state
    )
    now = wording.clock(data.now_ns, zone, seconds=True)
    return title + Text(" " * max(1, width - title.cell_len - len(now)) + now)


def _alerts(data: TopData) -> Iterable[Text]:
    firing = [alert for alert in data.alerts if alert.status == "firing"]
    for alert in firing[:5]:
        yield _alert(alert, data.now_ns, "bold red")
    if len(firing) > 5:
        yield Text(f" ALERT {len(firing) - 5} more firing: earwitness alerts list", style="bold red")
    for alert in [alert for alert in data.alerts if alert.status != "firing"][:2]:
        yield _alert(alert, data.now_ns, "yellow" if alert.status == "pending" else "green")
    if not data.alerts:
        yield Text(" no alert is open", style="dim")


def _alert(alert: OpenAlert, now_ns: int, style: str) -> Text:
    end_ns = now_ns if alert.until_ns is None else alert.until_ns
    age = wording.compact_span((end_ns - alert.since_ns) / 1e9)
    state = {"firing": f"firing {age}", "pending": f"pending {age}"}.get(alert.status, f"resolved, lasted {age}")
    bits = [f" ALERT {state}", alert.what, wording.group_name(alert.group)]
    if alert.cause:
        bits.append(alert.cause)
    return Text("  ".join(bits), style=style)


def _headings(data: TopData, *, whole: bool) -> list[Text]:
    minutes = _compact_window(data.window_s)
    if whole:
        first = f" {'agent':<{AGENT_WIDTH}}{'live':>5}{'calls/' + minutes:>9}   {'response latency, ms':<26}"
        second = f" {'':<{AGENT_WIDTH}}{'':>5}{'':>9}{'p50':>7}{'p95':>8}{'p99':>8}{'n':>6}"
    else:
        first = f" {'agent':<{AGENT_WIDTH - 3}}{'live':>5}  {'latency, ms':<13}{'(' + minutes + ')':>6}"
        second = f" {'':<{AGENT_WIDTH - 3}}{'':>5}{'p50':>7}{'p95':>8}{'n':>6}"
    return [
        Text(f"{first}{'missed':>10}{'false':>10}{'dead air':>10}{'contained':>11}", style="bold"),
        Text(f"{second}{'barge-in':>10}{'yield':>10}{'≥ 5 s':>10}", style="bold"),
    ]


def _row(row: AgentRow, *, chosen: bool, whole: bool) -> Text:
    latency = row["response_latency"]
    name = wording.group_name(row.group)
    room = AGENT_WIDTH if whole else AGENT_WIDTH - 3
    name = name if len(name) <= room else name[: room - 1] + "…"
    line = Text(f"{'▸' if chosen else ' '}{name:<{room}}{row['calls_in_progress'].count:>5}")
    if whole:
        line += Text(f"{row['calls'].count:>9}")
    why = _why_nothing(latency)
    if why and whole:
        line += Text(f"{wording.NOTHING:>6}{why:>17}", style="dim")
    elif why:
        line += Text(f"{why[:15]:>15}", style="dim")
    else:
        for stat, width in (("p50", 7), ("p95", 8), ("p99", 8)) if whole else (("p50", 7), ("p95", 8)):
            line += _percentile(latency, stat, width)
    line += Text(f"{latency.n:>6,}{_of(row['missed_barge_in']):>10}{_of(row['false_yield']):>10}")
    line += Text(f"{_calls_of(row['dead_air_calls']):>10}{_share(row['containment']):>11}")
    if chosen:
        line.stylize("reverse", 0, room)
    return line


def _percentile(reading: Reading, stat: str, width: int) -> Text:
    if not reading.n:
        return Text(f"{wording.NOTHING:>{width}}", style="dim")
    if reading.n < LEAST_N[stat]:
        return Text(f"{'n<' + str(LEAST_N[stat]):>{width}}", style="dim")
    found = reading.quantiles.get(stat)
    text = wording.quantile(found)
    more_s = found.more_than_s if found else None
    if more_s is not None and len(text) >= width:
        # Rounded down it still holds, and stands apart from its neighbour.
        text = f">{int(more_s)} s"
    return Text(f"{text:>{width}}", style="bold red" if more_s is not None else "")


def _why_nothing(reading: Reading) -> str:
    """Two words for the most frequent reason, where turns were there and none was measured."""
    reasons = {name: count for name, count in reading.by_class.items() if name in REASON_WORDS}
    if reading.n or not reading.eligible or not reasons:
        return ""
    return REASON_WORDS[max(reasons, key=lambda name: reasons[name])]


def _of(reading: Reading) -> str:
    return f"{reading.count} of {reading.denominator}" if reading.denominator else "none yet"


def _calls_of(reading: Reading) -> str:
    return wording.plural(reading.count, "call") if reading.denominator else "no calls"


def _share(reading: Reading) -> str:
    if not reading.denominator:
        return "no calls"
    if reading.denominator < LEAST_DENOMINATOR:
        return f"{reading.count} of {reading.denominator}"
    return f"{round(100 * reading.count / reading.denominator)} % of {reading.denominator}"


def _chosen(data: TopData, width: int) -> list[Text]:
    """The lower half: what is behind the chosen agent's numbers."""
    row = data.chosen
    if row is None:
        return []
    latency = row["response_latency"]
    bits = [f"unanswered {latency.censored}"]
    bits.append(
        f"coverage {wording.percent(latency.coverage)} of {latency.eligible:,}" if latency.eligible else "no turns yet"
    )
    if missing := latency.by_class.get("no_acoustic_anchor"):
        bits.append(f"{missing} without an acoustic anchor")
    if not latency.complete:
        bits.append("window not complete")
    name = wording.group_name(row.group)
    lines = [Text(f"{' · '.join(bits):>{width}}", style="dim"), Text(f" {name}", style="bold")]
    lines.append(_labelled("where the time goes (p50)", _parts(row["latency_part"], width - LABEL_WIDTH)))
    lines.append(_labelled("p95 of each minute", _spark(data.trend)))
    for label, text in (
        ("interruptions", _cells(row["overlaps"])),
        ("outcomes", _outcomes(row["calls"], row["escalation"])),
        ("dead air ≥ 3 s", _dead_air(row["dead_air"])),
    ):
        first, *more = textwrap.wrap(text, width - LABEL_WIDTH)
        lines += [_labelled(label, first), *(_labelled("", rest) for rest in more)]
    return lines


def _labelled(label: str, text: str) -> Text:
    return Text.assemble((f"  {label:<{LABEL_WIDTH - 2}}", "dim"), text)


def _parts(reading: Reading, width: int) -> str:
    """Parts with bars, the bars as long as the line allows; the smallest are left out where it does not."""
    found = [(label, reading.by_class[name]) for name, label in PARTS if reading.by_class.get(name)]
    if not found:
        return "nothing measured yet"
    longest = max(ms for _, ms in found)
    end = f"  (n {reading.n:,})"
    while True:
        for bar in (8, 6, 4, 3, 2):
            shown = (f"{label} {ms:,} {'▇' * max(1, round(bar * ms / longest))}" for label, ms in found)
            text = "  ".join(shown) + end
            if len(text) <= width:
                return text
        if len(found) == 1:
            return text
        found.remove(min(found, key=lambda part: part[1]))


def _spark(trend: Sequence[float | None]) -> str:
    known = [value for value in trend if value is not None and math.isfinite(value)]
    if not any(value is not None for value in trend):
        return f"no turns in the last {wording.span(len(trend) * TREND_STEP_S)}"
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    cells = "".join(_bar(value, low, high) for value in trend)
    span = f"{wording.milliseconds(low)} … {wording.milliseconds(high)} ms" if known else "> 10 s throughout"
    return f"{cells}   {span}, last {wording.span(len(trend) * TREND_STEP_S)}"


def _bar(value: float | None, low: float, high: float) -> str:
    if value is None:
        return GAP
    if math.isinf(value):
        return "█"
    return BARS[round((value - low) / (high - low) * (len(BARS) - 1))] if high > low else BARS[0]


def _cells(overlaps: Reading) -> str:
    if not overlaps.count:
        return "no overlaps yet"
    n = overlaps.by_class
    return (
        f"yielded {n.get('TP', 0)} · missed {n.get('FN', 0)} · false yield {n.get('FP', 0)} · "
        f"talked through {n.get('TN', 0)} · unknown {n.get('unknown', 0)}"
    )


def _outcomes(calls: Reading, escalation: Reading) -> str:
    totals: dict[str, int] = {}
    for name, count in calls.by_class.items():
        if "/" not in name:
            totals[name] = totals.get(name, 0) + count
    if not totals:
        return "no call has ended yet"
    ranked = sorted(totals.items(), key=lambda one: (-one[1], one[0]))
    text = " · ".join(f"{name.replace('_', ' ')} {count}" for name, count in ranked[:6])
    return f"{text}   (escalated {_share(escalation)})" if escalation.denominator else text


def _dead_air(reading: Reading) -> str:
    if not reading.n:
        return "none"
    owed = ", ".join(f"{owner} {ms / 1000:.1f} s" for owner, ms in reading.by_class.items() if owner in _OWNERS)
    longest = f", longest {reading.max_s:.1f} s" if reading.max_s is not None else ""
    return f"{wording.plural(reading.n, 'stretch', 'stretches')}{longest}; owed by {owed or 'nobody'}"


_OWNERS = ("agent", "tool", "hold", "caller")


def _footer(data: TopData, *, keys: bool) -> list[Text]:
    lines: list[Text] = []
    if data.worst is not None:
        value = "unanswered" if data.worst.censored else wording.short_time(data.worst.value_s)
        call = call_name(data.worst.call_id)
        how = "Enter opens it" if keys else f"earwitness calls {call}"
        lines.append(_labelled("worst call", f"{call} {subject_words(data.worst.subject)} {value}   ({how})"))
    if data.log.set_aside:
        lines.append(
            Text(f" {data.log.set_aside:,} records could not be used: earwitness doctor says more", style="yellow")
        )
    lines += [Text(f" {note}", style="dim") for note in data.notes]
    return lines


def _compact_window(seconds: int) -> str:
    return f"{seconds // 3600}h" if seconds % 3600 == 0 else f"{seconds // 60}m"
