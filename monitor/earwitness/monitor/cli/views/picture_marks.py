"""What a picture says in words: waits between the lanes, marks under them, what each side said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from earwitness.monitor import wording
from earwitness.monitor.calls.bounds import S
from earwitness.monitor.calls.intervals import Span
from earwitness.monitor.cli.views.call_words import overlap_class, owner, owners, subject_words, tool_words
from earwitness.monitor.cli.views.picture_rows import LEFT, TRACK, Row
from earwitness.monitor.cli.views.picture_text import BOLD, width_of
from earwitness.monitor.cli.views.picture_words import Words
from earwitness.monitor.contract.records import (
    AgentInterruption,
    AgentTurn,
    AnyRecord,
    DeadAir,
    Overlap,
    ToolCall,
    Turn,
)

MOST_LINES = 24
"""Of marks, and of tools, under one row: more than that nobody reads, and a picture must end somewhere."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The caller waited from ``from_ns`` to ``until_ns``, for an answer or in vain."""

    from_ns: int
    until_ns: int
    text: str
    answered: bool
    tip: str
    """Its edges, and what each rests on."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at a moment, in a few words; ``alarm`` where the agent did wrong."""

    at_ns: int
    text: str
    alarm: bool

    def leftwards(self, row: Row) -> bool:
        """Whether its words stand left of it: where they would run over the right edge."""
        return row.x(self.at_ns) + 8 + width_of(self.text, BOLD) > LEFT + TRACK


def waits_of(found: Sequence[AnyRecord], length_ns: int) -> Iterator[Waiting]:
    """A bracket for every turn whose wait is known."""
    for r in found:
        if not isinstance(r, Turn) or r.u_off_ns is None:
            continue
        if r.response_latency_ns is not None and r.a_on_ns is not None:
            yield Waiting(r.u_off_ns, r.a_on_ns, wording.short_time(r.response_latency_ns / S), True, _edges(r))
        elif r.unanswered or (r.overdue and r.a_on_ns is None):
            waited = r.waited_ns if r.waited_ns is not None else length_ns - r.u_off_ns
            said = "unanswered" if r.unanswered else "waiting"
            yield Waiting(r.u_off_ns, min(r.u_off_ns + max(waited, 0), length_ns),
                          f"{said} {wording.short_time(waited / S)}", False, _edges(r))  # fmt: skip


def _edges(turn: Turn) -> str:
    moments = {"u_on": turn.u_on_ns, "u_off": turn.u_off_ns, "a_on": turn.a_on_ns}
    known = (
        f"{name} {at / S:.2f} s" + (f" by {turn.evidence[name]}" if name in turn.evidence else "")
        for name, at in moments.items()
        if at is not None
    )
    return f"{subject_words(turn.id)}: {', '.join(known)}"


def marks_of(found: Sequence[AnyRecord]) -> Iterator[Mark]:
    """Overlaps with their cell, and where the agent interrupted, in order of time."""
    marks: list[Mark] = []
    for r in found:
        if isinstance(r, Overlap):
            marks.append(Mark(r.u_on_ns, overlap_mark(r), r.cell in ("FN", "FP")))
        elif isinstance(r, AgentInterruption):
            cause = "" if r.cause == "overlap" else f" ({r.cause.replace('_', ' ')})"
            marks.append(Mark(r.at_ns, f"agent interrupts{cause}", True))
        elif isinstance(r, Turn) and r.turn_class != "eligible" and r.u_off_ns is not None:
            marks.append(
                Mark(r.u_off_ns, f"{subject_words(r.id)} not counted: {r.turn_class.replace('_', ' ')}", False)
            )
    return iter(sorted(marks, key=lambda m: (m.at_ns, m.text)))


def overlap_mark(overlap: Overlap) -> str:
    """``missed barge-in, both talked 1,700 ms``."""
    words = overlap_class(overlap)
    if overlap.cell is None:
        words = (
            f"overlap, {words}"
            + {True: ", agent gave way", False: ", agent kept the floor", None: ""}[overlap.gave_way]
        )
    if overlap.stop_latency_ns is not None and overlap.cell in ("TP", None):
        return f"{words} after {wording.short_time(overlap.stop_latency_ns / S)}"
    if overlap.cell in ("FN", None) and overlap.talk_over_ns:
        return f"{words}, both talked {wording.short_time(overlap.talk_over_ns / S)}"
    return words


def lines_of_marks(row: Row, marks: Sequence[Mark]) -> tuple[list[list[Mark]], int]:
    """Marks in as few lines as they need, none over another, and how many have no room in ``MOST_LINES``."""
    lines: list[list[Mark]] = []
    unseen = 0
    taken: list[list[tuple[float, float]]] = []
    for mark in marks:
        x, wide = row.x(mark.at_ns), width_of(mark.text, BOLD) + 8
        lo, hi = (x - wide, x + 6) if mark.leftwards(row) else (x - 6, x + wide)
        n = next((n for n, line in enumerate(taken) if all(hi + 6 < a or b + 6 < lo for a, b in line)), len(lines))
        if n == MOST_LINES:
            unseen += 1
            continue
        if n == len(lines):
            lines.append([])
            taken.append([])
        lines[n].append(mark)
        taken[n].append((lo, hi))
    return lines, unseen


@dataclass(frozen=True, slots=True)
class ToolBar:
    """A tool call in a row; its label beside it, on the left where the right has no room."""

    left: float
    wide: float
    text: str
    leftwards: bool

    def reach(self) -> tuple[float, float]:
        """From where to where it takes room."""
        label = width_of(self.text, 12) + 5
        return (
            (self.left - label, self.left + self.wide) if self.leftwards else (self.left, self.left + self.wide + label)
        )


def lines_of_tools(row: Row, tools: Sequence[ToolCall], end_ns: int) -> tuple[list[list[ToolBar]], int]:
    """Tool calls of a row in as few lines as they need, and how many have no room in ``MOST_LINES``."""
    lines: list[list[ToolBar]] = []
    unseen = 0
    for tool in sorted(tools, key=lambda t: (t.called_ns, t.id)):
        span = (tool.called_ns, max(end_ns if tool.ended_ns is None else tool.ended_ns, tool.called_ns + 1))
        for _, left, wide in row.pieces([span]):
            text = ("… " if span[0] < row.start_ns else "") + tool_words(tool).removeprefix("tool ")
            bar = ToolBar(left, wide, text, left + wide + 5 + width_of(text, 12) > LEFT + TRACK + 14)
            lo, hi = bar.reach()
            free = (line for line in lines if all(hi + 8 < o.reach()[0] or o.reach()[1] + 8 < lo for o in line))
            line = next(free, None)
            if line is not None:
                line.append(bar)
            elif len(lines) < MOST_LINES:
                lines.append([bar])
            else:
                unseen += 1
    return lines, unseen


def unseen_words(tools: int, marks: int) -> str:
    """What a row has no room for; nothing where all is shown."""
    bits = [wording.plural(n, name) for n, name in ((tools, "tool call"), (marks, "mark")) if n]
    return f"… and {' and '.join(bits)} more: the call's text names them all" if bits else ""


def dead_air_lines(record: DeadAir, span: Span, room: float) -> list[str]:
    """``dead air 25.9 s: owed by agent 20.0 s, tool 5.9 s``, in two lines or shorter where there is less room."""
    length = f"dead air {(span[1] - span[0]) / S:.1f} s"
    variants = (
        [f"{length}: {owners(record)}"],
        [length, owners(record)],
        [length, f"mostly {owner(record)}"],
        [length],
    )
    return next(
        (v for v in variants if max(width_of(line, BOLD) for line in v) <= room), [length.removeprefix("dead air ")]
    )


def caller_words(found: Sequence[AnyRecord]) -> list[Words]:
    """What the caller said: turns, and overlaps that opened none and lie in none."""
    said = [
        (r.u_on_ns, isinstance(r, Overlap), r.u_off_ns or r.u_on_ns, r.text)
        for r in found
        if isinstance(r, Turn | Overlap) and r.text and r.u_on_ns is not None
    ]
    words: list[Words] = []
    reach = -1
    for start_ns, overlap, end_ns, text in sorted(said):
        if overlap and (start_ns < reach or (words and words[-1].start_ns == start_ns)):
            continue  # a turn's words have it
        words.append(Words(start_ns, end_ns, text))
        reach = max(reach, end_ns)
    return words


def agent_words(found: Sequence[AnyRecord]) -> list[Words]:
    """What the agent made audible."""
    return [
        Words(r.a_on_ns, r.a_off_ns or r.a_on_ns, r.text)
        for r in found
        if isinstance(r, AgentTurn) and r.audible and r.text and r.a_on_ns is not None
    ]
