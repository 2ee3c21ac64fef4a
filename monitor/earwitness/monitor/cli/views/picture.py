"""One call as a picture: two lanes of speech over time, what was said, how long the caller waited, where both talked,
where nobody did. Made to be read at a glance, on a screen or in a ticket.

Nothing rests on colour alone: who spoke is a lane, what happened is a word, kinds of time are hatches.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from earwitness.monitor.calls.sides import Sides
from earwitness.monitor.cli.views.call_view import call_view, head_lines, length_ns
from earwitness.monitor.cli.views.picture_marks import agent_words, caller_words, marks_of, waits_of
from earwitness.monitor.cli.views.picture_row import DrawnRow, Shown
from earwitness.monitor.cli.views.picture_rows import LEFT, WIDTH, rows_of
from earwitness.monitor.cli.views.picture_svg import AGENT, CALLER, FAINT, INK, SOFT, Drawing, hatch
from earwitness.monitor.cli.views.picture_text import cut, width_of
from earwitness.monitor.cli.views.picture_words import placed_words
from earwitness.monitor.contract.records import AnyRecord, Call

HEAD_LINE, LEGEND = 18.0, 34.0


def picture(records: Sequence[AnyRecord], sides: Sides) -> str:
    """The SVG of one call, the same bytes on every machine. ``records`` are the latest revisions; ``sides`` says when
    who was audible."""
    found = [r for r in records if not r.retracted]
    call = next((r for r in found if isinstance(r, Call)), None)
    rows = rows_of(max(length_ns(found, call), sides.length_ns))
    head = head_lines(found, call, dated=True)
    words = [*placed_words(rows, caller_words(found), "caller"), *placed_words(rows, agent_words(found), "agent")]
    shown = Shown(sides, found, words, list(waits_of(found, sides.length_ns)), list(marks_of(found)))
    drawn = [DrawnRow(row, shown) for row in rows]
    top = 16 + HEAD_LINE * len(head) + 12
    height = top + sum(row.height for row in drawn) + LEGEND
    text = "\n".join(call_view(found, sides, width=100, zone=UTC))
    drawing = Drawing(WIDTH, height, title=f"Timeline of a call: {head[0]}", description=text)
    for n, line in enumerate(head):
        size, weight = (16, "bold") if n == 0 else (12, "normal")
        fitted = cut(" · ".join(line.strip().split("  ")), WIDTH - 32, size)
        drawing.text(16, 28 + HEAD_LINE * n, fitted, font_size=size, font_weight=weight)
    for row in drawn:
        row.draw(drawing, top)
        top += row.height
    _legend(drawing, top + 6, shown)
    return drawing.svg()


def height_of(svg: str) -> float:
    """The height of a picture made here, in pixels."""
    return float(svg.split('height="', 1)[1].split('"', 1)[0])


def _legend(d: Drawing, y: float, shown: Shown) -> None:
    """What the shapes mean; only those that are there."""
    d.line(16, y, WIDTH - 16, y, stroke=FAINT)
    x, base = LEFT, y + 18
    entries = (
        ("speech", True), ("both", bool(shown.both)), ("bracket", bool(shown.waits)), ("dead", bool(shown.dead)),
        ("tool", bool(shown.tools)), ("others", bool(shown.sides.others)),
    )  # fmt: skip
    for name, there in entries:
        if not there:
            continue
        if name == "speech":
            d.rect(x, base - 10, 11, 11, fill=CALLER)
            d.rect(x + 13, base - 10, 11, 11, fill=AGENT)
        elif name == "bracket":
            d.path(f"M{x:.1f} {base - 10:.1f} v5 h20 v7 m-3 -5 l3 5 l3 -5", stroke_width=1.6)
        else:
            d.rect(x, base - 10, 24, 11, fill=hatch(name), stroke=SOFT if name == "dead" else INK)
        d.text(x + 30, base, LEGEND_WORDS[name], fill=SOFT)
        x += 30 + width_of(LEGEND_WORDS[name], 12) + 22


LEGEND_WORDS = {
    "speech": "caller, agent audible",
    "both": "both talk",
    "bracket": "response latency: caller's last sound to agent's first",
    "dead": "dead air",
    "tool": "tool runs",
    "others": "somebody else",
}
