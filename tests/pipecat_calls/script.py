"""What happens in a scripted call: who says what, when, and how it ends. Plain data, no Pipecat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

SECONDS_A_WORD = 0.3


@dataclass(frozen=True)
class Say:
    """A line of the caller. It begins ``after_s`` after the agent fell silent, or ``into_s`` into its speech, or at
    ``at_s`` of the call. ``heard`` is what the recogniser makes of it (None: the text itself). ``patient``: where the
    agent has said nothing new since the line before, the caller waits 6 s first; not so after a line that asks for no
    answer."""

    text: str
    after_s: float | None = None
    into_s: float | None = None
    at_s: float | None = None
    lasts_s: float | None = None
    heard: str | None = None
    participant: str = "caller"
    patient: bool = True

    @property
    def seconds(self) -> float:
        return self.lasts_s if self.lasts_s is not None else SECONDS_A_WORD * max(1, len(self.text.split()))

    @property
    def words(self) -> str:
        return self.text if self.heard is None else self.heard


@dataclass(frozen=True)
class Reply:
    """What the model says. ``ends`` asks for the end of the call behind it."""

    text: str
    first_token_s: float = 0.25
    token_s: float = 0.01
    ends: bool = False
    reason: str | None = None


@dataclass(frozen=True)
class CallTool:
    """The model calls a tool, after saying ``text`` if there is any."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    first_token_s: float = 0.25
    token_s: float = 0.01


@dataclass(frozen=True)
class Tool:
    """A tool: answers after ``takes_s`` with ``result``, or raises ``error``."""

    takes_s: float = 0.5
    result: Any = None
    error: str | None = None
    cancel_on_interruption: bool = True
    timeout_s: float | None = None


@dataclass(frozen=True)
class At:
    """Something done to the running call at a moment: ``do(call)``, sync or async."""

    at_s: float
    do: Callable[[Any], Any]


@dataclass(frozen=True)
class Script:
    """A whole call. ``ends_s`` is the moment at which it is cut off if nothing ended it before."""

    lines: tuple[Say, ...] = ()
    replies: tuple[Reply | CallTool, ...] = ()
    greets: bool = True
    tools: dict[str, Tool] = field(default_factory=dict)
    events: tuple[At, ...] = ()
    ends_s: float = 60.0
    mode: Literal["cascade", "realtime"] = "cascade"
    vad: Literal["energy", "none"] = "energy"
    speech: Literal["words", "segments"] = "words"
    """Whether the synthesis gives word times, or whole segments only."""
    finals: bool = True
    interims: bool = True
    transcript_s: float = 0.15
    min_words: int = 0
    mute: tuple[str, ...] = ()
    idle_s: float = 0.0
    verdicts: tuple[bool, ...] = ()
    """What the turn model says at each pause; True when they run out."""
    paced: bool = True
    sound: Literal["tone", "voice"] = "tone"
    """What both sides sound like."""
    trailing_silence_s: float = 0.0
    """Silence that the synthesis puts behind each segment."""
    metrics: bool = True
    rtvi: bool = False


def order_call(reason: str | None = None) -> Script:
    """A short call with everything in it: a greeting, a tool, a barge-in, a farewell that ends it (for ``reason``)."""
    return Script(
        lines=(
            Say("where is my order please"),
            Say("no wait I meant the other one", into_s=0.8),
            Say("thank you goodbye"),
        ),
        replies=(
            Reply("Thanks for calling. How can I help you?"),
            CallTool("lookup", {"id": 7}),
            Reply("Your order is on its way and will arrive on Thursday."),
            Reply("The other one is in the shop."),
            Reply("You are welcome. Goodbye.", ends=True, reason=reason),
        ),
        tools={"lookup": Tool()},
    )
