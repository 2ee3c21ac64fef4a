from __future__ import annotations

import pytest

from earwitness.monitor.cli.keys import key_words


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("q", ["quit"]),
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOA\r", ["up", "enter"]),
        ("\x1b", ["back"]),
        ("\x1b[6~k", ["page down", "up"]),
        ("\x1b[1;5C\x1b[15~q", ["quit"]),
        ("xyz", []),
        ("\x03", ["quit"]),
        ("", []),
    ],
)
def test_keys_are_words(sent: str, words: list[str]) -> None:
    assert key_words(sent) == words
