"""Small words of telephone talk per language: backchannels, stop words, farewells, promises, announced waits, "hello?".

The lists are data (``words/<language>.toml``), read once a language: the ten languages with the most speakers by
Ethnologue's 28th edition (2025: English, Mandarin, Hindi, Spanish, Modern Standard Arabic with what is widely spoken
beside it, French, Bengali, Portuguese, Russian, Indonesian), German and Italian. A site may add to them. Words of a
language without a list, or in a script that the language's list is not written in, decide nothing: what the caller
wanted stays unknown rather than being guessed (definitions, "Interruptions").
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from earwitness.monitor.calls.phrases import Phrases
from earwitness.monitor.calls.tokens import script, tokens

__all__ = ["LISTS", "NOBODY_SAYS", "SHIPPED", "Lexicon", "WordsAdded", "language_of", "lexicon", "tokens"]

LISTS: Final = (
    "backchannels", "stops", "stops_alone", "closings", "farewells", "holds", "transfers", "promises", "hellos",
    "presence",
)  # fmt: skip
SHIPPED: Final = ("ar", "bn", "de", "en", "es", "fr", "hi", "id", "it", "pt", "ru", "zh")
NOBODY_SAYS: Final = "en"
"""Whose lists judge where neither call nor transcript names a language: what recognisers default to."""
LONGEST_ASK: Final = 12
"""More words than that are no question whether anybody is there."""

WordsAdded = tuple[tuple[str, str, tuple[str, ...]], ...]
"""A site's own phrases: (language, list, phrases), in order, so that equal additions are equal values."""

_JAPANESE: Final = frozenset({"HIRAGANA", "KATAKANA"})
_OTHER_CODES: Final = {
    "cmn": "zh", "zho": "zh", "chi": "zh", "hin": "hi", "spa": "es", "ara": "ar", "arb": "ar", "arz": "ar", "apc": "ar",
    "afb": "ar", "acm": "ar", "ajp": "ar", "ars": "ar", "fra": "fr", "fre": "fr", "ben": "bn", "por": "pt", "rus": "ru",
    "ind": "id", "in": "id", "eng": "en", "deu": "de", "ger": "de", "ita": "it",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The word lists of one language. ``known`` is False where there are none: then words decide nothing."""

    language: str
    known: bool
    lists: dict[str, Phrases]
    vocabulary: frozenset[str]
    scripts: frozenset[str]

    def reads(self, words: Sequence[str]) -> bool:
        """Whether the lists can tell anything of the words: they are there, and in the script that was heard."""
        return self.known and all(w.isascii() or (s := script(w)) is None or s in self.scripts for w in words)

    def is_backchannel(self, words: Sequence[str]) -> bool:
        """Whether all the words are backchannels ("yeah", "uh-huh", "okay right")."""
        return _is_backchannel(self, tuple(words))

    def is_stop(self, words: Sequence[str]) -> bool:
        """Whether the words begin as one begins to stop somebody ("wait", "no", "hold on")."""
        plain = self.plain(words)
        if not self.lists["stops"].begin(plain) and not self.lists["stops_alone"].cover(plain):
            return False
        return not self.lists["backchannels"].cover(plain)  # "no problem" begins with "no"

    def is_closing(self, words: Sequence[str]) -> bool:
        """Whether the words take leave ("bye", "thank you, goodbye")."""
        return self.lists["closings"].within(self.plain(words))

    def is_farewell(self, words: Sequence[str]) -> bool:
        """Whether an agent's words take leave: thanks alone, and "that's all", do not."""
        return self.lists["farewells"].within(self.plain(words))

    def announces_wait(self, words: Sequence[str]) -> bool:
        """Whether the agent asked the caller to wait ("one moment", "let me check")."""
        return self.lists["holds"].within(self.plain(words))

    def promises_action(self, words: Sequence[str]) -> bool:
        """Whether the agent promised to do something now ("let me look that up")."""
        return self.lists["promises"].within(self.plain(words))

    def promises_transfer(self, words: Sequence[str]) -> bool:
        """Whether the agent promised a hand-over ("I'll transfer you")."""
        return self.lists["transfers"].within(self.plain(words))

    def asks_presence(self, words: Sequence[str]) -> bool:
        """Whether the words ask if anybody is there, and nothing else ("hello?", "can you hear me?")."""
        return 0 < len(words) <= LONGEST_ASK and _asks_presence(self, tuple(words))

    def plain(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words with their lengthened forms ("yeahhh", "mmmm", "siii") as the lists have them."""
        known = self.vocabulary
        return tuple([w if w in known else _shortened(self, w) for w in words])


# A fold asks the same of the same words each time that it looks at a call again.


@lru_cache(maxsize=8192)
def _shortened(lists: Lexicon, word: str) -> str:
    if not _REPEATED.search(word):
        return word
    short = (_LONG.sub(r"\1\1", word), _LONG.sub(r"\1", word), _REPEATED.sub(r"\1", word))
    return next((s for s in short if s in lists.vocabulary), word)


@lru_cache(maxsize=8192)
def _is_backchannel(lists: Lexicon, words: tuple[str, ...]) -> bool:
    return lists.lists["backchannels"].cover(lists.plain(words))


@lru_cache(maxsize=8192)
def _asks_presence(lists: Lexicon, words: tuple[str, ...]) -> bool:
    plain = lists.plain(words)
    if lists.lists["presence"].within(plain):
        return True
    hellos = lists.lists["hellos"]
    return hellos.within(plain) and hellos.cover(plain, lists.lists["backchannels"])


_REPEATED = re.compile(r"(\w)\1+")
_LONG = re.compile(r"(\w)\1{2,}")


@cache
def language_of(tag: str | None) -> str:
    """The language of a tag, as the lists are named: ``en-US`` is ``en``, ``zh-Hans-CN`` is ``zh``, ``cmn`` too.

    Cantonese (``yue``, ``zh-HK``) is a language of its own. ``und``, ``mul`` and the like name none that has lists.
    """
    if tag is None or not tag.strip():
        return NOBODY_SAYS
    first, *rest = re.split(r"[-_]", tag.strip().casefold())
    first = _OTHER_CODES.get(first, first)
    if first == "zh" and {"yue", "hk", "mo"} & set(rest):
        return "yue"
    return first


def lexicon(tag: str | None, added: WordsAdded = ()) -> Lexicon:
    """The lists of a language tag (BCP 47), with a site's own additions. English where nobody names a language."""
    return _lexicon(language_of(tag), added)


@cache
def _lexicon(language: str, added: WordsAdded) -> Lexicon:
    lists = {name: set(map(tokens, texts)) for name, texts in _shipped(language).items()}
    own = {name: {p for p in map(tokens, phrases) if p} for lang, name, phrases in added if lang == language}
    known = bool(lists) or bool(own.get("backchannels"))
    for name, phrases in own.items():
        lists.setdefault(name, set()).update(phrases)
    # What a site calls a backchannel stops nobody there, and the other way round.
    stops = own.get("stops", set()) | own.get("stops_alone", set())
    lists["backchannels"] = lists.get("backchannels", set()) - stops
    for name in ("stops", "stops_alone"):
        lists[name] = lists.get(name, set()) - own.get("backchannels", set())
    found = {name: Phrases(lists.get(name, ())) for name in LISTS}
    vocabulary = frozenset(word for phrases in lists.values() for phrase in phrases for word in phrase)
    scripts = frozenset(s for word in vocabulary if (s := script(word)) is not None) | {"LATIN"}
    if scripts & _JAPANESE:
        scripts |= _JAPANESE | {"CJK"}
    return Lexicon(language, known, found, vocabulary, scripts)


def _shipped(language: str) -> dict[str, Iterable[str]]:
    if language not in SHIPPED:
        return {}
    text = files("earwitness.monitor.calls").joinpath("words", f"{language}.toml").read_text(encoding="utf-8")
    lists: dict[str, Iterable[str]] = tomllib.loads(text)
    return lists
