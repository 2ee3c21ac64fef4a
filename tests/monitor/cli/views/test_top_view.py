from __future__ import annotations

from datetime import UTC

import pytest

from earwitness.monitor.cli.views.top_data import MEASURES, AgentRow, LogState, OpenAlert, TopData
from earwitness.monitor.cli.views.top_view import top_view
from earwitness.monitor.measures.reading import Exemplar, Labels, Quantile, Reading

S = 1_000_000_000
NOW_NS = 1_764_511_407 * S
CLINIC: Labels = (("agent", "clinic"), ("version", "42"))


def reading(**fields: object) -> Reading:
    return Reading("x", 300, NOW_NS, **fields)  # type: ignore[arg-type]


def row(group: Labels = CLINIC, **readings: Reading) -> AgentRow:
    return AgentRow(group, {measure: readings.get(measure, reading()) for measure in MEASURES})


def busy(group: Labels = CLINIC) -> AgentRow:
    quantiles = {"p50": Quantile(0.91), "p95": Quantile(1.84), "p99": Quantile(more_than_s=10.0)}
    return row(
        group,
        response_latency=reading(
            n=731, eligible=754, censored=4, coverage=0.97, quantiles=quantiles, by_class={"no_acoustic_anchor": 23}
        ),
        calls_in_progress=reading(count=14),
        calls=reading(count=96, by_class={"contained": 59, "contained/caller": 59, "cut_off": 37}),
        missed_barge_in=reading(count=2, denominator=31),
        false_yield=reading(count=4, denominator=19),
        dead_air_calls=reading(count=3, denominator=96),
        containment=reading(count=59, denominator=96),
        escalation=reading(count=1, denominator=9),
        latency_part=reading(n=731, by_class={"endpointing": 310, "llm": 410, "tts": 120, "output": 70, "queue": 3}),
        overlaps=reading(count=50, by_class={"TP": 29, "FN": 2, "FP": 4, "TN": 15, "unknown": 3}),
        dead_air=reading(n=5, max_s=6.1, by_class={"agent": 9_100, "tool": 5_200}),
    )


def frame(*rows: AgentRow, width: int = 100, height: int | None = None, **more: object) -> list[str]:
    fields: dict[str, object] = {"log": LogState("embedded log ~/log.db", 0.2, 412.0), **more}
    data = TopData(NOW_NS, 300, rows=rows, **fields)  # type: ignore[arg-type]
    return [line.plain for line in top_view(data, width=width, height=height, zone=UTC)]


def test_a_frame_says_what_matters_first_and_fits_100_columns() -> None:
    alert = OpenAlert(
        "firing", NOW_NS - 130 * S, None, "response latency p95 1,840 ms > 1,500 ms", CLINIC, "LLM first token +610 ms"
    )
    lines = frame(
        busy(),
        busy((("agent", "hotel"),)),
        alerts=[alert],
        trend=[0.5, None, 3.0, float("inf")],
        worst=Exemplar("c-7f3a", "t4", 2.41, 41.0),
    )

    assert max(len(line) for line in lines) <= 100
    assert lines[0].startswith(" earwitness · embedded log ~/log.db · lag 0.2 s · 412 ev/s")
    assert lines[0].endswith("14:03:27")
    assert (
        lines[1] == " ALERT firing 2m10s  response latency p95 1,840 ms > 1,500 ms  clinic v42  LLM first token +610 ms"
    )
    text = "\n".join(lines)
    assert "▸clinic v42" in text
    assert "731   2 of 31   4 of 19   3 calls 61 % of 96" in text
    assert "unanswered 4 · coverage 97 % of 754 · 23 without an acoustic anchor" in text
    assert "yielded 29 · missed 2 · false yield 4 · talked through 15 · unknown 3" in text
    assert "contained 59 · cut off 37   (escalated 1 of 9)" in text
    assert "5 stretches, longest 6.1 s; owed by agent 9.1 s, tool 5.2 s" in text
    assert "▁·▇█   500 … 3,000 ms, last 2 min" in text
    assert "c-7f3a turn 4 2,410 ms   (Enter opens it)" in text


def test_a_percentile_that_touches_the_unanswered_says_so() -> None:
    assert "> 10 s" in "\n".join(frame(busy()))


def test_a_long_bound_does_not_run_into_its_neighbour() -> None:
    quantiles = {name: Quantile(more_than_s=11.6) for name in ("p50", "p95", "p99")}
    bounded = row(calls=reading(count=96), response_latency=reading(n=731, eligible=731, quantiles=quantiles))
    line = next(line for line in frame(bounded) if "clinic v42" in line)
    assert line.split()[3:10] == ["96", ">11", "s", ">11", "s", ">11", "s"]


def test_too_few_values_and_none_are_said_not_shown_as_numbers() -> None:
    few = row(
        response_latency=reading(
            n=12,
            eligible=12,
            coverage=1.0,
            quantiles={"p50": Quantile(0.9), "p95": Quantile(2.0), "p99": Quantile(2.0)},
        )
    )
    none = row((("agent", "new"),))
    text = frame(few, none)

    first = next(line for line in text if "clinic v42" in line)
    assert first.split()[4:8] == ["900", "n<20", "n<100", "12"]
    second = next(line for line in text if line.startswith(" new"))
    assert second.split()[3:6] == ["–", "–", "–"]
    assert "none yet" in second


def test_turns_that_cannot_be_measured_say_why_in_two_words() -> None:
    blind = row(
        response_latency=reading(n=0, eligible=10, coverage=0.0, by_class={"no_acoustic_anchor": 9, "muted": 1})
    )

    assert "–        no anchor     0" in next(line for line in frame(blind) if "clinic" in line)
    assert " no anchor     0" in next(line for line in frame(blind, width=80) if "clinic" in line)


def test_a_frame_fits_80_columns_too() -> None:
    lines = frame(busy(), busy((("agent", "a hotel with a long name"),)), width=80, log=LogState("x" * 90, 0.2, 412.0))

    assert max(len(line) for line in lines) <= 80
    assert "▸clinic v42     14    910   1,840   731   2 of 31   4 of 19   3 calls 61 % of 96" in lines


def test_a_call_with_a_random_id_is_named_by_what_can_be_typed() -> None:
    worst = Exemplar("82764a0813e24c8eb203cf5e40c32d19", "t1", 2.906, 41.0)
    data = TopData(NOW_NS, 300, log=LogState("x"), rows=[busy()], worst=worst)

    text = "\n".join(line.plain for line in top_view(data, keys=False, zone=UTC))

    assert "worst call                82764a08 turn 1 2,906 ms   (earwitness calls 82764a08)" in text
    assert "Enter" not in text


@pytest.mark.parametrize("width", [80, 90, 100, 140])
def test_parts_fit_their_line(width: int) -> None:
    line = next(line for line in frame(busy(), width=width) if "where the time goes" in line)

    assert len(line) <= width
    assert "LLM 410" in line
    assert "(n 731)" in line


def test_agents_that_do_not_fit_are_counted_and_the_chosen_one_is_always_there() -> None:
    rows = [busy((("agent", f"agent{i:02}"),)) for i in range(40)]
    lines = frame(*rows, height=24, selected=30)

    assert len(lines) <= 24
    assert any(line.startswith("▸agent30") for line in lines)
    assert any("more agents: arrows scroll" in line for line in lines)


def test_a_log_that_does_not_answer_and_records_that_cannot_be_used_are_told() -> None:
    lines = frame(busy(), log=LogState("kafka://x", away="connection refused", set_aside=3))

    assert "the log does not answer: connection refused" in lines[0]
    assert any("3 records could not be used" in line for line in lines)


def test_without_calls_the_view_says_so() -> None:
    assert " no calls in the last 5 min" in frame()


def test_hostile_names_are_harmless() -> None:
    bad = "x\x1b[2J\n\u202e"
    lines = frame(
        busy((("agent", bad),)),
        log=LogState(bad, away=bad),
        alerts=[OpenAlert("firing", NOW_NS, None, "latency", (("agent", bad),))],
        worst=Exemplar(bad, bad, 1.0, 0.0),
    )

    assert all(c.isprintable() for line in lines for c in line)


def test_many_alerts_leave_room_for_the_numbers() -> None:
    alerts = [OpenAlert("firing", NOW_NS, None, f"rule {i}", CLINIC) for i in range(20)]
    lines = frame(busy(), alerts=alerts)

    assert sum("ALERT" in line for line in lines) == 6
    assert any("15 more firing: earwitness alerts list" in line for line in lines)
