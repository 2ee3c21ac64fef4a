"""Takes personal data out of a bot's facts before an event is made of them.

Nothing that a redactor could not look at passes: where a finder fails, the whole text gives way to
``<unredactable:LEN>`` and is counted. Names and street addresses need a model of language: give one as ``extra``.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from earwitness.monitor.contract.events import EVENT_TYPES
from earwitness.monitor.errors import BadInput
from earwitness.processors.bot_settings import BotSettings
from earwitness.processors.personal_data import (
    DEFAULT_REGIONS,
    Finder,
    Found,
    NumberFinder,
    find_email,
    find_iban,
    find_spelled_email,
    value_of,
)
from earwitness.processors.placeholders import MAX_LENGTH, Piece, Placeholder, PlaceholderMaker
from earwitness.processors.sink import Redactor
from earwitness.processors.text_bound import DEFAULT_TEXT_BYTES, bounded
from earwitness.processors.text_fields import NEVER_TEXT, TEXT_FIELDS, Treatment
from earwitness.processors.worth_a_look import worth_a_look

log = logging.getLogger("earwitness.redaction")

Hook = Callable[[str], "str | Iterable[tuple[int, int, str]]"]
"""The user's own finder: gets a text; gives it back without personal data, or spans of it as (start, end, kind)."""

LONG_TEXT = 400
"""Characters beyond which nobody looks on the event loop whether a text holds anything to be taken out."""
_BREATH_S = 50e-6
_FOUND_A_BREATH = 8
_MOST_ROUNDS = 8
_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")
_UNREDACTABLE = re.compile(r"<unredactable:\d{1,5}>")
_JSON_START = re.compile(r'\s*[\[{"\d-]')
_TABLES: dict[str, tuple[tuple[str, Treatment], ...]] = {
    kind: tuple(table.items()) for kind, table in TEXT_FIELDS.items()
}
_SEARCHED = {
    kind: found
    for kind, table in TEXT_FIELDS.items()
    if (found := tuple(name for name, treatment in table.items() if treatment in {"text", "json"}))
}
"""Fields of each kind in which everything is looked for."""
_CAN_BE_TRUNCATED = frozenset(
    cls.model_fields["kind"].default for cls in EVENT_TYPES if "truncated" in cls.model_fields
)  # fmt: skip


class Redaction:
    """The `Redactor` of a site.

    ``secret`` keys the hashes in placeholders; without one, equality holds only within this process, and a warning says
    so once. ``extra``: the user's own hooks, or (kind, pattern) pairs. ``keep_dtmf``: leave the keys pressed as they
    are. Text over ``text_bytes`` of UTF-8 is cut and the event marked ``truncated``. ``patient``: let other threads run
    now and then, as one should who works beside a call's event loop.

    Raises BadInput for a pattern or a kind that cannot be.
    """

    def __init__(
        self,
        secret: bytes | None = None,
        *,
        extra: Sequence[Hook | tuple[str, str | re.Pattern[str]]] = (),
        regions: Sequence[str] = DEFAULT_REGIONS,
        keep_dtmf: bool = False,
        text_bytes: int = DEFAULT_TEXT_BYTES,
        patient: bool = False,
    ) -> None:
        self.unredactable = 0
        """How many texts were replaced as a whole because a finder or hook failed on them."""
        self._nothing_in: Sequence[str] = ()
        """Texts that were just looked at."""
        self._placeholders = PlaceholderMaker(secret)
        self._keep_dtmf = keep_dtmf
        self._text_bytes = text_bytes
        self._patient = patient
        self._hooks: list[Hook] = [_hook(entry) for entry in extra]
        self._regions = tuple(regions)
        self._numbers = numbers = NumberFinder(regions, breathe=_breathe if patient else None)
        self._finders: tuple[Finder, ...] = (
            find_email, find_iban, numbers.by_comma, numbers.written, numbers.dictated, find_spelled_email,
        )  # fmt: skip
        self._identity_finders: tuple[Finder, ...] = (find_email, find_iban, numbers.identity)
        if not secret:
            _warn_once()

    def fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an event of this kind with every text field redacted. Never raises."""
        redacted = dict(fields)
        table = _TABLES[kind] if kind in _TABLES else _all_as_text(fields)
        begun = False
        for name, treatment in table:
            value = redacted.get(name)
            if value is not None:
                if not begun:
                    begun = True
                    self._numbers.begin()
                redacted[name], cut = self._value(value, treatment)
                if cut and kind in _CAN_BE_TRUNCATED:
                    redacted["truncated"] = True
        return redacted

    def takes_long(self, kind: str, fields: Mapping[str, Any]) -> bool:
        """Whether redacting these fields is too much work for an event loop that carries a call: whether they hold a
        long text, or one in which something may be found. Not so with hooks of the site's own, which may be no good in
        any other thread."""
        searched = _SEARCHED.get(kind)
        if searched is None or self._hooks:
            return False
        nothing_in: list[str] = []
        for name in searched:
            value = fields.get(name)
            if isinstance(value, str):
                if len(value) > LONG_TEXT or worth_a_look(value):
                    return True
                nothing_in.append(value)
        self._nothing_in = nothing_in
        return False

    def for_another_thread(self) -> Redaction:
        """One that redacts just so, for one other thread: what an event's numbers are asked about is counted apart."""
        return Redaction(
            self._placeholders.key,
            regions=self._regions,
            keep_dtmf=self._keep_dtmf,
            text_bytes=self._text_bytes,
            patient=True,
        )

    def text(self, text: str) -> str:
        """One text, redacted. Never raises."""
        self._numbers.begin()
        return cast("str", self._value(text, "text")[0])

    def hash_of(self, value: str) -> str:
        """The keyed hash of one value known to be personal, such as the caller's number: for ``caller_hash``.

        It equals the hash in the placeholder of the same number or address.
        """
        return self._placeholders.hash_of(value_of(value))

    def _value(self, value: object, treatment: Treatment) -> tuple[object, bool]:
        if isinstance(value, str):
            try:
                return self._text(value, treatment)
            except Exception as error:
                return self._give_up(value, treatment, error), False
        if isinstance(value, dict):
            entries = cast("dict[str, object]", value)
            return {key: self._value(inner, treatment)[0] for key, inner in entries.items()}, False
        if isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            return tuple(self._value(inner, treatment)[0] for inner in items), False
        return value, False

    def _give_up(self, text: str, treatment: Treatment, error: Exception) -> str:
        self.unredactable += 1
        if self.unredactable == 1:
            log.warning("a text could not be redacted and was replaced as a whole (%s)", type(error).__name__)
        word = f"<unredactable:{min(len(text), MAX_LENGTH)}>"
        return json.dumps(word) if treatment == "json" else word

    def _text(self, text: str, treatment: Treatment) -> tuple[str, bool]:
        text, cut = bounded(text, self._text_bytes)
        match treatment:
            case "text":
                return self._redact(text, self._finders), cut
            case "identity":
                return self._redact(text, self._identity_finders), cut
            case "json":
                return self._json(text, cut), cut
            case "keys":
                return (text if self._keep_dtmf else self._keys(text)), cut

    def _keys(self, text: str) -> str:
        """A placeholder without a hash of the keys: a hash of one key is no secret to who sees a few of them."""
        pieces = self._placeholders.split(text)
        if len(pieces) == 3 and isinstance(pieces[1], Placeholder) and pieces[0] == pieces[2] == "":
            return text
        return self._placeholders.make("dtmf", "", length=len(text)).text

    def _json(self, text: str, cut: bool) -> str:
        if not self._hooks and "\\" not in text and not worth_a_look(text):
            return json.dumps(text, ensure_ascii=False) if cut and _JSON_START.match(text) else text
        if _JSON_START.match(text):
            try:
                tree = json.loads(text)
            except ValueError:
                if cut:  # What is left of JSON is JSON no more; a JSON string holds it.
                    return json.dumps(self._redact(text, self._finders), ensure_ascii=False)
            else:
                return json.dumps(self._tree(tree), ensure_ascii=False)
        return self._redact(text, self._finders)

    def _tree(self, node: object) -> object:
        if isinstance(node, str):
            return self._redact(node, self._finders)
        if isinstance(node, dict):
            entries = cast("dict[str, object]", node)
            return {str(self._tree(key)): self._tree(value) for key, value in entries.items()}
        if isinstance(node, list):
            items = cast("list[object]", node)
            return [self._tree(item) for item in items]
        if isinstance(node, (int, float)) and not isinstance(node, bool):
            told = self._redact(written := repr(node), self._finders)
            return node if told == written else told
        return node

    def _redact(self, text: str, finders: Iterable[Finder]) -> str:
        if not self._hooks and (text in self._nothing_in or not worth_a_look(text)):
            return text
        if _UNREDACTABLE.fullmatch(text):
            return text
        pieces = self._placeholders.split(text)
        for hook in self._hooks:
            pieces = self._apply_hook(hook, pieces)
        # What one round takes out changes what stands beside what; the last round finds nothing.
        clean: set[tuple[Finder, str]] = set()
        for _ in range(_MOST_ROUNDS):
            before = len(pieces)
            for finder in finders:
                pieces = self._apply(finder, pieces, clean)
            if len(pieces) == before:
                break
        return "".join(map(str, pieces))

    def _apply(self, finder: Finder, pieces: list[Piece], clean: set[tuple[Finder, str]]) -> list[Piece]:
        """``clean``: what a finder has found nothing in, and will not the next time."""
        done: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, Placeholder) or (finder, piece) in clean:
                done.append(piece)
                continue
            cut = self._cut_out(piece, finder(piece))
            # Whether a number with slashes is one depends on how many were asked about before.
            if len(cut) == 1 and "/" not in piece:
                clean.add((finder, piece))
            done += cut
        return done

    def _cut_out(self, text: str, found: Iterable[Found]) -> list[Piece]:
        pieces: list[Piece] = []
        at = 0
        for start, end, kind, value in found:
            if self._patient and len(pieces) % (2 * _FOUND_A_BREATH) == 0:
                _breathe()
            pieces += [text[at:start], self._placeholders.make(kind, value)]
            at = end
        pieces.append(text[at:])
        return pieces

    def _apply_hook(self, hook: Hook, pieces: list[Piece]) -> list[Piece]:
        result = hook("".join(map(str, pieces)))
        if isinstance(result, str):
            return self._placeholders.split(result)
        spans = sorted(result)
        done: list[Piece] = []
        offset = 0
        for piece in pieces:
            if isinstance(piece, Placeholder):
                done.append(piece)
            else:
                done += self._cut_out(piece, _within(spans, offset, piece))
            offset += len(str(piece))
        return done


def _all_as_text(fields: Mapping[str, Any]) -> tuple[tuple[str, Treatment], ...]:
    treatment: Treatment = "text"
    return tuple((name, treatment) for name in fields.keys() - NEVER_TEXT)


class NoRedaction:
    """Takes nothing out: for sites whose log may hold personal data, who say so by naming this class.

    Text over ``text_bytes`` of UTF-8 is cut and the event marked ``truncated``, as `Redaction` does.
    """

    def __init__(self, *, text_bytes: int = DEFAULT_TEXT_BYTES) -> None:
        self._text_bytes = text_bytes

    def fields(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields as they are, but for the bound on text."""
        kept = dict(fields)
        for name in TEXT_FIELDS.get(kind, fields.keys() - NEVER_TEXT):
            value = kept.get(name)
            if isinstance(value, str):
                kept[name], cut = bounded(value, self._text_bytes)
                if cut and kind in _CAN_BE_TRUNCATED:
                    kept["truncated"] = True
        return kept


def default_redactor(settings: BotSettings) -> Redactor:
    """What a bot uses unless told otherwise."""
    return Redaction(
        settings.secret_bytes,
        regions=settings.regions,
        keep_dtmf=settings.keep_dtmf,
        text_bytes=settings.text_bytes,
    )


def _breathe() -> None:
    """Let another thread have the interpreter, which would get it every 5 ms at the most. A moment of sleep, since
    waking up for it takes one."""
    time.sleep(_BREATH_S)


@cache
def _warn_once() -> None:
    log.warning(
        "no EARWITNESS_SECRET: equal numbers in redacted text get equal hashes within this process only; "
        "set one secret for all bots of the site"
    )


def _hook(entry: Hook | tuple[str, str | re.Pattern[str]]) -> Hook:
    if callable(entry):
        return entry
    kind, pattern = entry
    if not _KIND.fullmatch(kind):
        raise BadInput(f"kind {kind!r}: use small letters, digits and _, at most 32", where="redaction extra")
    try:
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
    except re.error as error:
        raise BadInput(f"pattern of {kind}: {error}", where="redaction extra") from None
    return _PatternHook(kind, compiled)


class _PatternHook:
    def __init__(self, kind: str, pattern: re.Pattern[str]) -> None:
        self._kind = kind
        self._pattern = pattern

    def __call__(self, text: str) -> list[tuple[int, int, str]]:
        return [(match.start(), match.end(), self._kind) for match in self._pattern.finditer(text)]


def _within(spans: Iterable[tuple[int, int, str]], offset: int, piece: str) -> Iterator[Found]:
    """The spans of a text as far as they lie in the piece of it that begins at ``offset``."""
    at = 0
    for start, end, kind in spans:
        if not _KIND.fullmatch(kind):
            raise ValueError("a hook's kind is no word of small letters")
        first, last = max(start - offset, at), min(end - offset, len(piece))
        if first < last:
            yield Found(first, last, kind, value_of(piece[first:last]))
            at = last
