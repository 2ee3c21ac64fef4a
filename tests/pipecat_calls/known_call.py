"""The scripted call with known truth: twenty questions to an order desk, and the script's own word on each overlap.

Every question is answered 450 ms after its last sound: 200 ms of silence for the VAD, 50 ms for the final transcript,
80 ms for the model (a tool that runs before any word included), 120 ms for the synthesis. Two words interrupt the
agent, one does not (Pipecat's `MinWordsUserTurnStartStrategy`): "mm hmm" stops it, "mhm" does not, nor does "stop".

``known_call.json`` holds what the far end of a run said and heard. After a change of the script:
``python tests/pipecat_calls/known_call.py --write``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from pipecat_calls.script import CallTool, Reply, Say, Script, Tool

TRUTH = Path(__file__).with_suffix(".json")
GAP_S = 0.45
DECIDED_S = 0.25
"""From the last sound of a question to the first request to the model."""
Cell = Literal["TP", "FP", "TN", "FN"]


@dataclass(frozen=True)
class Line:
    """What the caller says and what the model makes of it. ``cell``: its place in the 2×2, where it begins ``into_s``
    into the agent's speech; ``asks``: it is a question, and its answer counts."""

    text: str
    replies: tuple[Reply | CallTool, ...] = ()
    cell: Cell | None = None
    into_s: float | None = None
    asks: bool = True

    @property
    def tool(self) -> CallTool | None:
        """The tool that is called for it."""
        return next((reply for reply in self.replies if isinstance(reply, CallTool)), None)


def _asks(text: str, answer: str, *, ends: bool = False) -> Line:
    reply = Reply(answer, first_token_s=0.08, token_s=0.0, ends=ends, reason="done" if ends else None)
    return Line(text, (reply,))


def _asks_for_tool(text: str, name: str, answer: str) -> Line:
    """30 ms for the call, 20 ms for the tool and 30 ms for the answer: together the model's 80 ms."""
    return Line(text, (CallTool(name, first_token_s=0.03), Reply(answer, first_token_s=0.03, token_s=0.0)))


def _barges_in(text: str, answer: str) -> Line:
    return Line(text, _asks(text, answer).replies, cell="TP", into_s=1.2)


def _stops_by_mm_hmm(goes_on: str) -> Line:
    return Line("mm hmm", _asks("", goes_on).replies, cell="FP", into_s=1.0, asks=False)


MHM = Line("mhm", cell="TN", into_s=0.9, asks=False)
STOP = Line("stop", cell="FN", into_s=1.0, asks=False)

GREETING = Reply("Thanks for calling the order desk. How can I help you?")
LINES = (
    _asks("do you have desk lamps", "We do, there are four of them."),
    _asks(
        "which colours are there", "They come in red, in green, in a dark blue, and in plain brass with a black cord."
    ),
    MHM,
    _asks_for_tool("how much is the green one", "price", "The green one is thirty two pounds."),
    _asks(
        "can I return it", "You can bring it back within sixty days if it has not been used or taken out of its box."
    ),
    _barges_in("but not in a box", "Then without the box it is thirty days."),
    Line(
        "where is my last order",
        (
            CallTool("orders", text="Let me look through the orders of this year.", first_token_s=0.08, token_s=0.0),
            Reply("It left the shop this morning.", first_token_s=0.08, token_s=0.0),
        ),
    ),
    MHM,
    _asks("when will it be here", "It will be with you on Thursday."),
    _asks("what was in it", "There are two lamps in it, a set of four chairs, a round table, and a rug for the hall."),
    _stops_by_mm_hmm("As I said, a table, four chairs and a rug."),
    _asks_for_tool("is that all of it", "parcels", "That is all of it, in three boxes."),
    _asks("can somebody carry it upstairs", "They can carry it up to the third floor, but no further."),
    STOP,
    _asks("what does that cost", "It costs ten pounds a floor."),
    _asks("is the shop open today", "The shop at the harbour is open from nine in the morning until half past six."),
    Line(
        "no I mean the one in town",
        _asks_for_tool("", "opening", "The one in town closes at five.").replies,
        cell="TP",
        into_s=1.2,
    ),
    _asks("can I park there", "There is a car park behind the building, and the first hour is free of charge."),
    _stops_by_mm_hmm("I was saying that the first hour is free."),
    _asks("and on Sunday", "On Sunday it is closed."),
    _asks("do you repair lamps too", "We repair lamps that were bought here, and others if we can get the parts."),
    MHM,
    _asks("how long does that take", "It takes about a week."),
    _asks("can you send me two bulbs", "I have put two of them on your order."),
    _asks("what is my number there", "Your number is five five two."),
    _asks("is it on the same bill", "It is all on the same bill. Goodbye.", ends=True),
)
TOOLS = {name: Tool(takes_s=0.02) for name in ("price", "parcels", "opening")} | {"orders": Tool(takes_s=3.2)}


def _said(line: Line, before: Line | None) -> Say:
    patient = before is None or bool(before.replies)
    return Say(line.text, into_s=line.into_s, after_s=0.8 if line.into_s is None else None, patient=patient)


SCRIPT = Script(
    lines=tuple(_said(line, before) for before, line in zip((None, *LINES), LINES, strict=False)),
    replies=(GREETING, *(reply for line in LINES for reply in line.replies)),
    tools=TOOLS,
    transcript_s=0.05,
    min_words=2,
    sound="voice",
    ends_s=300.0,
)


@dataclass(frozen=True)
class Said:
    """A line as the far end said it, in seconds of the pipeline's clock. ``a_on_s``: the first sound of the answer to
    a question. ``a_off_s``: where the agent whom it spoke into fell silent. ``tool_s``: when its tool ran."""

    text: str
    cell: Cell | None
    u_on_s: float
    u_off_s: float
    a_on_s: float | None = None
    a_off_s: float | None = None
    tool_s: tuple[float, float] | None = None


@dataclass(frozen=True)
class KnownCall:
    """What is true of a run of the script: by the far end's clock and the script's own times, by nothing in between."""

    said: tuple[Said, ...]
    agent: tuple[tuple[float, float], ...]

    @property
    def questions(self) -> tuple[Said, ...]:
        """The lines whose answers count."""
        return tuple(said for said in self.said if said.a_on_s is not None)

    @property
    def ended_s(self) -> float:
        """The call ends with the agent's last word."""
        return self.agent[-1][1]

    def of_cell(self, *cells: Cell) -> tuple[Said, ...]:
        """The lines that begin while the agent is audible, of these cells."""
        return tuple(said for said in self.said if said.cell in cells)


def known_call(caller: Sequence[tuple[float, float]], agent: Sequence[tuple[float, float]]) -> KnownCall:
    """The truth of one run, from what its far end said and heard."""
    said: list[Said] = []
    for line, (on, off) in zip(LINES, caller, strict=True):
        answer = next((began for began, _ in agent if began >= off), None) if line.asks else None
        spoken_into = next((ended for began, ended in agent if began <= on < ended), None)
        ran = None
        if line.tool is not None:
            called = off + DECIDED_S + line.tool.first_token_s
            ran = (called, called + TOOLS[line.tool.name].takes_s)
        said.append(Said(line.text, line.cell, on, off, answer, spoken_into if line.cell else None, ran))
    return KnownCall(tuple(said), tuple(agent))


def written_truth() -> KnownCall:
    """The truth as it is written down, to the millisecond."""
    raw = json.loads(TRUTH.read_text(encoding="utf-8"))
    return KnownCall(
        tuple(Said(**{**said, "tool_s": said["tool_s"] and tuple(said["tool_s"])}) for said in raw["said"]),
        tuple((on, off) for on, off in raw["agent"]),
    )


def as_text(known: KnownCall) -> str:
    """The truth as `written_truth` reads it, a line of the call on a line."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return [plain(part) for part in value]
        return round(value, 3) if isinstance(value, float) else value

    said = ",\n".join(f"  {json.dumps({k: plain(v) for k, v in vars(one).items()})}" for one in known.said)
    return f'{{"said": [\n{said}\n], "agent": {json.dumps(plain(known.agent))}}}\n'


def main() -> None:
    """Run the script, and write down what its far end said and heard."""
    if sys.argv[1:] != ["--write"]:
        raise SystemExit("usage: python tests/pipecat_calls/known_call.py --write")
    from pipecat_calls.call import place_call

    heard = place_call(SCRIPT).truth
    TRUTH.write_text(as_text(known_call(heard.caller, heard.agent)), encoding="utf-8")


if __name__ == "__main__":
    main()
