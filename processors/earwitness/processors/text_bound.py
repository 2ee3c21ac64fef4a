"""The bound on one text: what is longer is cut, and what no UTF-8 can hold is mended."""

from __future__ import annotations

DEFAULT_TEXT_BYTES = 64 * 1024


def bounded(text: str, most_bytes: int) -> tuple[str, bool]:
    """The text as at most ``most_bytes`` of UTF-8, cut behind a whole word where one is near, and whether it was cut.

    Half a surrogate pair, which no encoder takes, becomes ``?``.
    """
    if len(text) <= most_bytes // 4 and text.isascii():
        return text, False
    encoded = text[: most_bytes + 1].encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return encoded.decode(), False
    kept = encoded[:most_bytes].decode("utf-8", "ignore")
    # A word or number cut in two would be neither shown nor found.
    space = max(kept.rfind(" ", len(kept) - 200), kept.rfind("\n", len(kept) - 200))
    return (kept[:space] if space > 0 else kept), True
