"""One row of a call's picture: axis, two lanes with the words beside them, and what happened between and under them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.intervals import Span, intersect
from earwitness.monitor.calls.sides import Sides
from earwitness.monitor.cli.views.lanes import minutes
from earwitness.monitor.cli.views.picture_marks import (
    Mark,
    Waiting,
    dead_air_lines,
    lines_of_marks,
    lines_of_tools,
    unseen_words,
)
from earwitness.monitor.cli.views.picture_rows import LEFT, TRACK, Row
from earwitness.monitor.cli.views.picture_svg import (
    AGENT,
    ALARM,
    BOTH,
    CALLER,
    FAINT,
    INK,
    SOFT,
    TOOL,
    Drawing,
    hatch,
)
from earwitness.monitor.cli.views.picture_text import BOLD, width_of
from earwitness.monitor.cli.views.picture_words import LINE, Placed
from earwitness.monitor.contract.records import AnyRecord, DeadAir, ToolCall

BAR, BAND, AXIS, GAP = 18.0, 62.0, 20.0, 20.0
TOOL_LINE, MARK_LINE = 17.0, 16.0


@dataclass(slots=True)
class Shown:
    """What the rows of a picture share, worked out once for all of them."""

    sides: Sides
    found: Sequence[AnyRecord]
    words: Sequence[Placed]
    waits: Sequence[Waiting]
    marks: Sequence[Mark]
    both: list[Span] = field(init=False)
    dead: list[tuple[DeadAir, Span]] = field(init=False)
    tools: list[ToolCall] = field(init=False)

    def __post_init__(self) -> None:
        end_ns = self.sides.length_ns
        self.both = intersect(self.sides.caller, self.sides.agent)
        self.dead = [
            (r, (r.start_ns, end_ns if r.end_ns is None else r.end_ns)) for r in self.found if isinstance(r, DeadAir)
        ]
        self.tools = [r for r in self.found if isinstance(r, ToolCall)]


class DrawnRow:
    """What one row shows, and how high it gets."""

    def __init__(self, row: Row, shown: Shown) -> None:
        self.row, self.sides, self.dead, self.both = row, shown.sides, shown.dead, shown.both
        self.caller_words = [w for w in shown.words if w.row is row and w.who == "caller"]
        self.agent_words = [w for w in shown.words if w.row is row and w.who == "agent"]
        self.waits = [w for w in shown.waits if w.until_ns > row.start_ns and w.from_ns < row.end_ns]
        self.tools, unseen_tools = lines_of_tools(row, shown.tools, shown.sides.length_ns)
        self.marks, unseen_marks = lines_of_marks(row, [m for m in shown.marks if row.holds(m.at_ns)])
        self.unseen = unseen_words(unseen_tools, unseen_marks)
        above = max((len(w.lines) for w in self.caller_words), default=0)
        below = max((len(w.lines) for w in self.agent_words), default=0)
        self.caller_y = AXIS + 6 + above * LINE
        self.agent_y = self.caller_y + BAR + BAND
        self.tools_y = self.agent_y + BAR + 6 + below * LINE
        self.marks_y = self.tools_y + TOOL_LINE * len(self.tools)
        self.unseen_y = self.marks_y + MARK_LINE * len(self.marks)
        self.height = self.unseen_y + (MARK_LINE if self.unseen else 0) + GAP

    def draw(self, d: Drawing, top: float) -> None:
        """Draw the row with its upper edge at ``top``."""
        caller, agent = top + self.caller_y, top + self.agent_y
        self._axis(d, top, agent + BAR)
        self._dead_air(d, caller, agent)
        self._both(d, caller, agent)
        self._leaders(d, top, agent)
        self._bars(d, self.sides.caller, caller, CALLER, "caller")
        for (start, end), left, wide in self.row.pieces(self.sides.others):
            d.rect(left, caller, wide, BAR, fill=hatch("others"), stroke=CALLER, tip=_tip("somebody else", start, end))
        self._bars(d, self.sides.agent, agent, AGENT, "agent")
        self._words(d, caller, agent)
        for wait in self.waits:
            self._wait(d, wait, caller, agent)
        self._tools(d, top + self.tools_y)
        self._marks(d, top + self.marks_y)
        if self.unseen:
            d.text(LEFT, top + self.unseen_y + 12, self.unseen, fill=SOFT)

    def _axis(self, d: Drawing, top: float, bottom: float) -> None:
        row = self.row
        d.line(LEFT, top + AXIS, row.x(row.end_ns), top + AXIS, stroke=SOFT)
        ticks = list(row.ticks())
        first = next((at_ns for at_ns, written in ticks if written), row.end_ns)
        if row.x(first) - LEFT > 44:
            d.text(LEFT, top + AXIS - 8, minutes(row.start_ns), fill=SOFT, font_size=11, text_anchor="middle")
        for at_ns, written in ticks:
            x = row.x(at_ns)
            d.line(x, top + AXIS - (5 if written else 3), x, top + AXIS, stroke=SOFT)
            if written:
                d.line(x, top + AXIS, x, bottom, stroke=FAINT)
                d.text(x, top + AXIS - 8, minutes(at_ns), fill=SOFT, font_size=11, text_anchor="middle")
        for name, y, colour in (("caller", self.caller_y, CALLER), ("agent", self.agent_y, AGENT)):
            d.rect(LEFT, top + y, row.x(row.end_ns) - LEFT, BAR, fill="#f1f3f5")
            d.text(LEFT - 10, top + y + 13, name, fill=colour, font_weight="bold", text_anchor="end")

    def _bars(self, d: Drawing, spans: Sequence[Span], y: float, colour: str, who: str) -> None:
        for (start, end), left, wide in self.row.pieces(spans):
            d.rect(left, y, wide, BAR, rx=min(3.0, wide / 2), fill=colour, tip=_tip(who, start, end))

    def _both(self, d: Drawing, caller: float, agent: float) -> None:
        for (start, end), left, wide in self.row.pieces(self.both):
            y, high = caller + BAR, agent - caller - BAR
            d.rect(left, y, wide, high, fill="#f3eefc")
            d.rect(left, y, wide, high, fill=hatch("both"), stroke=BOTH, tip=_tip("both talk", start, end))

    def _dead_air(self, d: Drawing, caller: float, agent: float) -> None:
        for record, span in self.dead:
            for _, left, wide in self.row.pieces([span]):
                y, high = caller - 2, agent + BAR - caller + 4
                d.rect(left, y, wide, high, fill=hatch("dead"), stroke=SOFT, stroke_dasharray="4 3")
                lines = dead_air_lines(record, span, wide - 8)
                for n, line in enumerate(reversed(lines)):
                    said = f"… {line}" if span[0] < self.row.start_ns and n == len(lines) - 1 else line
                    d.text(
                        left + wide / 2, agent - 7 - n * 13, said, halo=True, text_anchor="middle", font_weight="bold"
                    )

    def _wait(self, d: Drawing, wait: Waiting, caller: float, agent: float) -> None:
        """A bracket from the caller's end to the agent's beginning, or to nothing."""
        row = self.row
        x1, x2 = row.x(wait.from_ns), row.x(wait.until_ns)
        begins, ends = row.holds(wait.from_ns), wait.until_ns <= row.end_ns
        colour = INK if wait.answered else ALARM
        y, foot = caller + BAR + 22, agent - 1
        points = (f"M{x1:.1f} {caller + BAR + 1:.1f} V{y:.1f} " if begins else f"M{x1:.1f} {y:.1f} ") + f"H{x2:.1f}"
        if ends and wait.answered:
            points += f" V{foot:.1f} M{x2 - 3:.1f} {foot - 6:.1f} L{x2:.1f} {foot:.1f} L{x2 + 3:.1f} {foot - 6:.1f}"
        look: dict[str, str | float] = {} if wait.answered else {"stroke_dasharray": "5 3"}
        d.path(points, tip=wait.tip, stroke=colour, stroke_width=1.6, **look)
        if ends and not wait.answered:
            d.path(f"M{x2 - 4:.1f} {y - 4:.1f} L{x2 + 4:.1f} {y + 4:.1f} M{x2 - 4:.1f} {y + 4:.1f} L{x2 + 4:.1f} "
                   f"{y - 4:.1f}", stroke=colour, stroke_width=1.8)  # fmt: skip
        longest = max(min(wait.until_ns, r.end_ns) - max(wait.from_ns, r.start_ns) for r in _rows_like(row, wait))
        if min(wait.until_ns, row.end_ns) - max(wait.from_ns, row.start_ns) < longest:
            return  # said in the row that shows more of it
        half = width_of(wait.text, BOLD) / 2
        # Wider than its bracket, it begins at the bracket's foot: the line down from there stays to be seen.
        middle = max((x1 + x2) / 2, x1 + 4 + half) if begins else (x1 + x2) / 2
        middle = min(max(middle, LEFT + half), LEFT + TRACK + 14 - half)
        d.text(middle, y - 6, wait.text, halo=True, fill=colour, font_weight="bold", text_anchor="middle")

    def _words(self, d: Drawing, caller: float, agent: float) -> None:
        for words in self.caller_words:
            for n, line in enumerate(reversed(words.lines)):
                d.text(words.x, caller - 5 - n * LINE, line, halo=True)
        for words in self.agent_words:
            for n, line in enumerate(words.lines):
                d.text(words.x, agent + BAR + 13 + n * LINE, line, halo=True)

    def _leaders(self, d: Drawing, top: float, agent: float) -> None:
        for n, marks in enumerate(self.marks):
            for mark in marks:
                x = self.row.x(mark.at_ns)
                d.line(x, agent + BAR, x, top + self.marks_y + MARK_LINE * n + 3, stroke=SOFT, stroke_dasharray="2 2")

    def _tools(self, d: Drawing, y: float) -> None:
        if self.tools:
            d.text(LEFT - 10, y + 11, "tools", fill=TOOL, font_weight="bold", text_anchor="end")
        for n, line in enumerate(self.tools):
            for bar in line:
                top = y + n * TOOL_LINE
                d.rect(bar.left, top + 1, bar.wide, TOOL_LINE - 5, fill=hatch("tool"), stroke=TOOL)
                x, anchor = (bar.left - 5, "end") if bar.leftwards else (bar.left + bar.wide + 5, "start")
                d.text(x, top + 11, bar.text, halo=True, fill=TOOL, text_anchor=anchor)

    def _marks(self, d: Drawing, y: float) -> None:
        for n, marks in enumerate(self.marks):
            for mark in marks:
                x, base = self.row.x(mark.at_ns), y + n * MARK_LINE + 12
                colour = ALARM if mark.alarm else INK
                d.path(f"M{x:.1f} {base - 9:.1f} l4 8 h-8 z", fill=colour, stroke="none")
                left = mark.leftwards(self.row)
                d.text(x - 8 if left else x + 8, base, mark.text, halo=True, fill=colour, font_weight="bold",
                       text_anchor="end" if left else "start")  # fmt: skip


def _rows_like(row: Row, wait: Waiting) -> list[Row]:
    """The rows over which a wait goes, by the row's own scale."""
    first, last = wait.from_ns // row.wide_ns, max(wait.until_ns - 1, wait.from_ns) // row.wide_ns
    return [Row(n * row.wide_ns, (n + 1) * row.wide_ns, row.wide_ns) for n in range(first, last + 1)]


def _tip(who: str, start_ns: int, end_ns: int) -> str:
    return f"{who} {start_ns / S:.2f} s to {end_ns / S:.2f} s ({(end_ns - start_ns) / S:.2f} s)"
