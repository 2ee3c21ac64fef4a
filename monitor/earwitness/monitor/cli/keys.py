"""Keys of a terminal, as words, without waiting for a line."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from types import TracebackType
from typing import Self

ESCAPE_KEYS = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x1b[5~": "page up", "\x1b[6~": "page down",
}  # fmt: skip
PLAIN_KEYS = {
    "q": "quit", "Q": "quit", "\x03": "quit", "\x04": "quit", "\r": "enter", "\n": "enter", "k": "up", "j": "down",
    " ": "page down", "\x1b": "back", "\x7f": "back",
}  # fmt: skip


class Keys:
    """Keys of standard input as they are pressed. Use as a context manager, in a running event loop."""

    def __init__(self) -> None:
        self.pressed: asyncio.Queue[str] = asyncio.Queue()
        self._fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._fd)

    def __enter__(self) -> Self:
        tty.setcbreak(self._fd)
        asyncio.get_running_loop().add_reader(self._fd, self._on_input)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def _on_input(self) -> None:
        text = os.read(self._fd, 64).decode("ascii", "ignore")
        if not text:
            self.pressed.put_nowait("quit")  # the terminal is gone
        for word in key_words(text):
            self.pressed.put_nowait(word)


def key_words(text: str) -> list[str]:
    """The keys in what a terminal sent; what is no key of ours is left out."""
    words: list[str] = []
    while text:
        for code, word in ESCAPE_KEYS.items():
            if text.startswith(code):
                words.append(word)
                text = text[len(code) :]
                break
        else:
            if text.startswith(("\x1b[", "\x1bO")):  # some other key: to its final letter
                text = text[2:].lstrip("0123456789;")[1:]
                continue
            if (word := PLAIN_KEYS.get(text[0], "")) != "":
                words.append(word)
            text = text[1:]
    return words
