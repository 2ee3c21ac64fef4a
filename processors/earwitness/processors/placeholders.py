"""The word that stands for a piece of personal data: ``<phone:12:1f3c9a0b7d2e>``, its kind, length and keyed hash.

Equal values under one secret give equal hashes, so that equality can still be measured; without the secret a hash
says nothing. The last four digits sign the rest: what only looks like a placeholder is known for what it is, and what
is one already is never redacted again.
"""

from __future__ import annotations

import hmac
import re
import secrets
import unicodedata
from dataclasses import dataclass

_SHAPE = re.compile(r"<([a-z][a-z0-9_]{0,31}):(\d{1,5}):([0-9a-f]{8})([0-9a-f]{4})>")
_LOOKALIKE = re.compile(r"<(?=[A-Za-z][A-Za-z0-9_]*:\d)")
_SIX_DIGITS = re.compile(r"\d{6}")
MAX_LENGTH = 99_999
_PROCESS_KEY = secrets.token_bytes(32)


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder, as text."""

    text: str

    def __str__(self) -> str:
        return self.text


Piece = str | Placeholder
"""A stretch of text that may still hold personal data, or a placeholder that is done."""


class PlaceholderMaker:
    """Makes and recognises the placeholders of one secret. Without a secret they hold within this process only."""

    def __init__(self, secret: bytes | None = None) -> None:
        self.key = secret or _PROCESS_KEY

    def make(self, kind: str, normalised: str, *, length: int | None = None) -> Placeholder:
        """``normalised`` is the value freed from how it was written; its length is told unless another is given."""
        told = min(len(normalised) if length is None else length, MAX_LENGTH)
        return Placeholder(self._signed(kind, told, self.hash_of(normalised)))

    def hash_of(self, normalised: str) -> str:
        """Eight hexadecimal digits that are equal for equal values.

        They end in a letter and hold no six decimal digits in a row, so that a search for numbers that slipped
        through never finds a placeholder.
        """
        value = unicodedata.normalize("NFC", normalised).encode("utf-8", "replace")
        turn = 0
        while True:
            digest = hmac.digest(self.key, b"value\0%d\0" % turn + value, "sha256").hex()[:8]
            if digest[-1] in "abcdef" and not _SIX_DIGITS.search(digest):
                return digest
            turn += 1

    def split(self, text: str) -> list[Piece]:
        """The text cut at its genuine placeholders; what only looks like one has its ``<`` turned into ``‹``."""
        if "<" not in text:
            return [text]
        pieces: list[Piece] = []
        at = 0
        for match in _SHAPE.finditer(text):
            kind, length, digest, _ = match.groups()
            if self._signed(kind, int(length), digest) == match.group():
                pieces += [_LOOKALIKE.sub("‹", text[at : match.start()]), Placeholder(match.group())]
                at = match.end()
        pieces.append(_LOOKALIKE.sub("‹", text[at:]))
        return pieces

    def _signed(self, kind: str, length: int, digest: str) -> str:
        body = f"{kind}:{length}:{digest}"
        return f"<{body}{hmac.digest(self.key, b'placeholder' + bytes(1) + body.encode(), 'sha256').hex()[:4]}>"
