"""The parts of a response latency and who owns each (definitions, "Where the time goes"): the one list of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

Owner = Literal["setting", "service", "bot", "tool", "transport", "unknown"]
"""Whose time a part is: what a setting makes it wait for, a service's, the bot's own code, a tool's, the transport's;
``unknown`` where no milestone tells."""


class LatencyPart(NamedTuple):
    """A part: from one milestone on the way to the answer to the next."""

    name: str
    begins: str
    ends: str
    owner: Owner


LATENCY_PARTS: Final = (
    LatencyPart("endpointing", "`u_off`", "`d`, less the two below", "setting"),
    LatencyPart("recognition", "the turn model has said “over”", "the final transcript, before `d`", "service"),
    LatencyPart("hold", "the turn model has said “not finished”", "it says “over”, or `d`", "setting"),
    LatencyPart("queue", "`d`", "first request to the model", "bot"),
    LatencyPart("llm", "request", "first token, summed over the runs of the answer", "service"),
    LatencyPart("tools", "end of a run that called tools", "next request (speech-to-speech: last result)", "tool"),
    LatencyPart("aggregation", "first token", "first text sent to speech synthesis", "bot"),
    LatencyPart("tts", "text sent", "first audio", "service"),
    LatencyPart("output", "first audio", "`a_on`", "transport"),
    LatencyPart("model", "speech-to-speech: `d`, else `u_off`", "first audio, tools taken out", "service"),
    LatencyPart("unattributed", "a milestone", "the one after a missing one", "unknown"),
)
"""In the order in which they lie in time."""

OWNER_OF: Final[dict[str, Owner]] = {part.name: part.owner for part in LATENCY_PARTS}


def by_owner(parts: Mapping[str, int]) -> dict[Owner, int]:
    """Time by owner out of time by part; both sum to the same."""
    owned: dict[Owner, int] = {}
    for name, spent in parts.items():
        owner = OWNER_OF.get(name, "unknown")
        owned[owner] = owned.get(owner, 0) + spent
    return owned
