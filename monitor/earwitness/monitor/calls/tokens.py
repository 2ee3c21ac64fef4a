"""Words of a text in one form, in any script, so that two ways to write the same words compare as equal.

The form: compatibility composition (NFKC), no case, one apostrophe, no invisible characters, no vowel signs that
writers of Arabic leave out, one form of letters that writers do not tell apart. A redaction's placeholder is one word.
In a script without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) each character is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Final

_APOSTROPHES: Final = "’‘ʼʹ′`´"
_INVISIBLE: Final = "\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff"
_ARABIC_SIGNS: Final = "\u0640\u064b-\u0652\u0670"
"""Lengthening stroke and short vowels."""
_ONE_LETTER: Final = {
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
    "ё": "е",
    "\u0901": "\u0902",  # Hindi writes its nasal sign in two ways
    "\u093c": None, "\u0981": None,  # dots and signs that many leave out in Hindi and Bengali
}  # fmt: skip
_UNSPACED: Final = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)


def _ranges(characters: Iterable[int]) -> str:
    """Code points in order as the inside of a character class."""
    spans: list[list[int]] = []
    for point in characters:
        if spans and spans[-1][1] == point - 1:
            spans[-1][1] = point
        else:
            spans.append([point, point])
    return "".join(f"{chr(lo)}-{chr(hi)}" if hi > lo else chr(lo) for lo, hi in spans)


def _points(ranges: str) -> Iterable[int]:
    for first, last in re.findall(r"(.)(?:-(.))?", ranges):
        yield from range(ord(first), ord(last or first) + 1)


_ONE_FORM: Final[dict[int, str | None]] = {
    **dict.fromkeys(_points(_APOSTROPHES), "'"),
    **dict.fromkeys(_points(_INVISIBLE + _ARABIC_SIGNS)),
    **{ord(letter): other for letter, other in _ONE_LETTER.items()},
}
_PLACEHOLDER: Final = r"<[^<>\s]*>"
_ASCII_TOKEN: Final = re.compile(rf"{_PLACEHOLDER}|[a-z0-9]+(?:'[a-z0-9]+)*")
_ONE_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_MARK_BLOCKS: Final = ((0x300, 0x2000), (0x20D0, 0x2100), (0x2CEF, 0x3100), (0xA66F, 0xAC00), (0xFB1E, 0xFE30))


@cache
def _token() -> re.Pattern[str]:
    r"""Words of any script. ``\w`` knows letters and digits and no marks; Indic vowels and Thai tones are marks."""
    points = (p for lo, hi in _MARK_BLOCKS for p in range(lo, hi))
    marks = _ranges(p for p in points if unicodedata.category(chr(p))[0] == "M")
    letter = rf"[^\W_{_UNSPACED}][{marks}]*"
    character = rf"(?=[^\W_])[{_UNSPACED}][{marks}]*"
    return re.compile(rf"{_PLACEHOLDER}|{character}|(?:{letter})+(?:'(?:{letter})+)*")


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a text in their one form. Never raises."""
    if text.isascii():
        return tuple(_ASCII_TOKEN.findall(text.lower().replace("`", "'")))
    composed = unicodedata.normalize("NFKC", text.translate(_ONE_FORM)).casefold()
    return tuple(_token().findall(unicodedata.normalize("NFKC", composed).translate(_ONE_FORM)))


def word_count(words: Sequence[str]) -> int:
    """How many words a speaker would count: two characters of a script without spaces make about one."""
    if all(map(str.isascii, words)):
        return len(words)
    characters = sum(1 for word in words if _ONE_UNSPACED.match(word))
    return len(words) - characters + (characters + 1) // 2


@lru_cache(maxsize=4096)
def script(word: str) -> str | None:
    """The script of a word by the Unicode name of its first letter (``LATIN``, ``CJK``); None without a letter."""
    if word.startswith("<"):
        return None
    first = next((c for c in word if c.isalpha()), None)
    return None if first is None else unicodedata.name(first, "UNKNOWN").split()[0].split("-")[0]
