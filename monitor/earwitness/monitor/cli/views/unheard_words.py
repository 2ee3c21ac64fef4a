"""What is said of audio that reached nobody, and of the line."""

from __future__ import annotations

from typing import Final

from earwitness.monitor import wording
from earwitness.monitor.cli.views.lanes import hundredths
from earwitness.monitor.contract.records import LineQuality, Unheard

UNHEARD_WORDS: Final = {"dead_not_failed": "dead, not failed", "one_way_audio": "one-way audio"}
SHOWN_BY_WORDS: Final = {
    "no_playout": "speech was synthesised and never played",
    "caller_asks": "the caller asks whether anybody is there while the agent talks",
    "audio_gap": "nothing arrives from the caller while the agent talks",
    "transport": "the transport says so",
}


def unheard_note(unheard: Unheard) -> str:
    """One stretch, with the responses or moments that show it."""
    note = f"{UNHEARD_WORDS[unheard.what]}: {SHOWN_BY_WORDS[unheard.by]}"
    shown = [wording.printable(name, 20) for name in unheard.responses[:5]]
    shown += [hundredths(at) for at in unheard.moments_ns[:5]]
    rest = len(unheard.responses) + len(unheard.moments_ns) - len(shown)
    if shown:
        note += f" ({', '.join(shown)}{f' and {rest} more' if rest else ''})"
    return note + (f", until {hundredths(unheard.until_ns)}" if unheard.until_ns is not None else ", to the end")


def line_words(line: LineQuality) -> str:
    """Mean and worst of what was told."""
    bits: list[str] = []
    if line.loss_ratio_mean is not None:
        bits.append(f"loss {line.loss_ratio_mean * 100:.1f} % (worst {(line.loss_ratio_worst or 0) * 100:.1f} %)")
    for label, mean, worst in (
        ("jitter", line.jitter_ms_mean, line.jitter_ms_worst),
        ("round trip", line.round_trip_ms_mean, line.round_trip_ms_worst),
    ):
        if mean is not None:
            bits.append(f"{label} {mean:.0f} ms (worst {worst or 0:.0f} ms)")
    return " · ".join((*bits, wording.plural(line.reports, "report")))
