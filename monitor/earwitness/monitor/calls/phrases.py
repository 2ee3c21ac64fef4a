"""A list of phrases, matched word by word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Phrases:
    """Phrases of one or more words, each a tuple as `tokens` gives it."""

    __slots__ = ("_first", "_lengths", "phrases")

    def __init__(self, phrases: Iterable[tuple[str, ...]] = ()) -> None:
        self.phrases = frozenset(p for p in phrases if p)
        self._lengths = sorted({len(p) for p in self.phrases})
        self._first = frozenset(p[0] for p in self.phrases)

    def within(self, words: Sequence[str]) -> bool:
        """Whether any phrase stands somewhere in the words."""
        if self._first.isdisjoint(words):
            return False
        words = tuple(words)
        return any(words[i : i + n] in self.phrases for n in self._lengths for i in range(len(words) - n + 1))

    def begin(self, words: Sequence[str]) -> bool:
        """Whether the words begin with a phrase."""
        words = tuple(words)
        return any(words[:n] in self.phrases for n in self._lengths if n <= len(words))

    def cover(self, words: Sequence[str], *others: Phrases) -> bool:
        """Whether the words, one at least, are phrases from end to end, of this list or of the others."""
        words = tuple(words)
        reached = {0}
        for i in range(len(words)):
            if i in reached:
                for phrases in (self, *others):
                    reached |= {i + n for n in phrases._lengths if words[i : i + n] in phrases.phrases}
        return bool(words) and len(words) in reached
