"""Small words of telephone talk per language: backchannels, stop words, farewells, promises, announced waits.

The lists are data (``words/<language>.toml``). A language without a list is not judged by words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

_TOKEN = re.compile(r"<[^<>\s]*>|[^\W_]+(?:['’][^\W_]+)*")

Phrases = frozenset[tuple[str, ...]]


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Words of a text in one form: NFC, lower case, no punctuation; a redaction's placeholder is one word."""
    folded = unicodedata.normalize("NFC", text).casefold().replace("’", "'")
    return tuple(_TOKEN.findall(folded))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists of one language. ``known`` is False where there are none: then words decide nothing."""

    language: str
    known: bool
    backchannels: Phrases
    stops: Phrases
    closings: Phrases
    farewells: Phrases
    holds: Phrases
    transfers: Phrases
    promises: Phrases

    def is_backchannel(self, words: Sequence[str]) -> bool:
        """Whether all the words are backchannels ("yeah", "uh-huh", "okay right")."""
        return bool(words) and _covered(words, self.backchannels)

    def is_stop(self, words: Sequence[str]) -> bool:
        """Whether the words begin as one begins to stop somebody ("wait", "no", "hold on")."""
        return any(tuple(words[:n]) in self.stops for n in range(1, min(len(words), 5) + 1))

    def is_closing(self, words: Sequence[str]) -> bool:
        """Whether the words take leave ("bye", "thank you, goodbye")."""
        return _contains(words, self.closings)

    def is_farewell(self, words: Sequence[str]) -> bool:
        """Whether an agent's words take leave: thanks alone, and "that's all", do not."""
        return _contains(words, self.farewells)

    def announces_wait(self, words: Sequence[str]) -> bool:
        """Whether the agent asked the caller to wait ("one moment", "let me check")."""
        return _contains(words, self.holds)

    def promises_action(self, words: Sequence[str]) -> bool:
        """Whether the agent promised to do something now ("let me look that up")."""
        return _contains(words, self.promises)

    def promises_transfer(self, words: Sequence[str]) -> bool:
        """Whether the agent promised a hand-over ("I'll transfer you")."""
        return _contains(words, self.transfers)


@cache
def lexicon(language: str | None) -> Lexicon:
    """The lists of a language tag (``en-US`` is ``en``); English where no language is known."""
    name = re.split(r"[-_]", language or "en")[0].casefold()
    source = files("earwitness.monitor.calls").joinpath("words", f"{name}.toml")
    if not re.fullmatch(r"[a-z]{2,3}", name) or not source.is_file():
        none: Phrases = frozenset()
        return Lexicon(name, False, none, none, none, none, none, none, none)
    lists: dict[str, list[str]] = tomllib.loads(source.read_text(encoding="utf-8"))
    return Lexicon(
        name,
        True,
        _phrases(lists["backchannels"]),
        _phrases(lists["stops"]),
        _phrases(lists["closings"]),
        _phrases(lists["farewells"]),
        _phrases(lists["holds"]),
        _phrases(lists["transfers"]),
        _phrases(lists["promises"]),
    )


def _phrases(texts: Iterable[str]) -> Phrases:
    return frozenset(tokens(text) for text in texts)


def _contains(words: Sequence[str], phrases: Phrases) -> bool:
    """Whether any phrase stands somewhere in the words."""
    lengths = {len(p) for p in phrases}
    return any(tuple(words[i : i + n]) in phrases for n in lengths for i in range(len(words) - n + 1))


def _covered(words: Sequence[str], phrases: Phrases) -> bool:
    """Whether the words are phrases from end to end."""
    longest = max(map(len, phrases), default=0)
    reached = {0}
    for i in range(len(words)):
        if i in reached:
            reached |= {i + n for n in range(1, longest + 1) if tuple(words[i : i + n]) in phrases}
    return len(words) in reached
