"""How far kinds of evidence agree: one line for each two of a side, of the second against the first."""

from __future__ import annotations

from typing import Any

from earwitness.monitor import wording

Json = dict[str, Any]
_EDGES = {"u_on": "onset", "u_off": "end", "a_on": "onset", "a_off": "end"}


def agreement_lines(agreement: Json | None) -> list[tuple[str, str]]:
    """Label and text of each line; none where no edge has two witnesses."""
    if agreement is None or not agreement["edges"]:
        return []
    rows: dict[tuple[str, str, str], list[Json]] = {}
    for edge in agreement["edges"]:
        rows.setdefault((edge["party"], *edge["kinds"]), []).append(edge)
    lines: list[tuple[str, str]] = []
    for (party, first, second), edges in rows.items():
        shown = [f"{_EDGES[edge['edge']]} {_apart(edge)}" for edge in edges]
        alone = [f"{n} onsets only {kind}" for kind, n in zip((first, second), edges[0]["only"], strict=True) if n]
        label = "" if lines else "evidence"
        lines.append((label, f"{party} {second} − {first}: " + " · ".join((*shown, *alone))))
    if (latency := agreement["response_latency"]) is not None:
        counted = (("only_live", "live"), ("only_recording", "recorded"))
        alone = [f"{latency[key]} only {name}" for key, name in counted if latency[key]]
        lines.append(("", "response latency recording − live: " + " · ".join((_apart(latency), *alone))))
    for one in agreement["recordings"]:
        if one["offset_s"]:
            name = wording.printable(one["recording"], 40)
            lines.append(("", f"{name} is moved by {one['offset_s']:+.2f} s to lie on the call's clock"))
    return lines


def _apart(found: Json) -> str:
    """``+45 ms (p90 60, n 31)``."""
    if found["median_s"] is None:
        return wording.NOTHING
    sign = "−" if found["median_s"] < 0 else "+"
    size = wording.milliseconds(found["p90_abs_s"])
    return f"{sign}{wording.milliseconds(abs(found['median_s']))} ms (p90 {size}, n {found['n']})"
