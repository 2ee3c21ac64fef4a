"""A person's label changes windows for two hours after the call's end, and no window after that."""

from __future__ import annotations

from typing import Any

import pytest

from earwitness.consumers.monitor_settings import MonitorSettings
from earwitness.consumers.timeline import LogFold
from earwitness.monitor.calls.labels import Word, label_event
from earwitness.monitor.contract import events as ev

S = 1_000_000_000


def talked_over(bot: Any) -> Any:
    """The caller says "mhm" while the agent answers, which talks on."""
    bot.start().asks(2, for_s=4.0)
    bot.add(ev.SpeechStarted, 5.2, party="caller", evidence="vad", edge_ns=5 * S)
    bot.add(ev.SpeechEnded, 5.7, party="caller", evidence="vad", edge_ns=round(5.5 * S), voiced_ns=S // 2)
    bot.add(ev.Transcript, 5.8, party="caller", text="mhm", final=True)
    bot.made.sort(key=lambda e: e.at_ns)
    bot.made = [e.model_copy(update={"seq": n}) for n, e in enumerate(bot.made)]
    return bot.ends(10)


def label(bot: Any, said: str, wall_ns: int, token: str = "a", **more: Any) -> ev.HumanLabel:
    return label_event(Word("o1", said, **more), bot.call_id, bot.made, u_on_ns=5 * S, wall_ns=wall_ns, token=token)


def cells(fold: LogFold, now_ns: int) -> dict[str, int]:
    found = fold.windows.read("overlaps", window_s=86_400, as_of_ns=now_ns).by_class
    return {name: count for name, count in found.items() if count and "/" in name}


async def following(site: Any) -> LogFold:
    settings = MonitorSettings()
    fold = await LogFold.open(site.log, settings, since_ns=0, clock_ns=site.clock)
    await fold.catch_up()
    return fold


@pytest.mark.parametrize(("hours", "expected"), [(0.1, {"FN/": 1}), (1.9, {"FN/": 1}), (2.1, {"TN/backchannel": 1})])
async def test_a_label_changes_windows_up_to_two_hours_after_the_end(
    site: Any, make_bot: Any, hours: float, expected: dict[str, int]
) -> None:
    bot = talked_over(make_bot("c1"))
    await site.report([bot])
    fold = await following(site)
    assert cells(fold, site.clock()) == {"TN/backchannel": 1}

    site.clock.set(10 + hours * 3_600)
    await site.send(label(bot, "wanted", site.clock()))
    await fold.catch_up()

    assert cells(fold, site.clock()) == expected
    assert fold.stats.late_facts == (0 if "FN/" in expected else 1)
    again = await following(site)
    assert cells(again, site.clock()) == expected


async def test_windows_follow_every_change_of_mind(site: Any, make_bot: Any) -> None:
    bot = talked_over(make_bot("c1"))
    await site.report([bot])
    fold = await following(site)
    seen: list[dict[str, int]] = []
    for n, (said, more) in enumerate([("wanted", {}), ("not", {"want_class": "noise"}), ("cleared", {})]):
        event = label(bot, said, site.clock(), token=f"t{9 - n}", **more)
        bot.made.append(event)
        await site.send(event, event)
        await fold.catch_up()
        seen.append(cells(fold, site.clock()))

    assert seen == [{"FN/": 1}, {"TN/noise": 1}, {"TN/backchannel": 1}]
    rate = fold.windows.read("missed_barge_in", window_s=86_400, as_of_ns=site.clock())
    assert (rate.count, rate.denominator) == (0, 0)
