"""What the demo shows: one line for each call and alert, and the live view above them where there is a terminal."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from examples.demo.switchboard import Placed
from rich.console import Console, Group
from rich.live import Live
from rich.rule import Rule
from rich.text import Text

_LINES_SHOWN = 10
_PLAIN_EVERY_S = 15.0


class Screen(Protocol):
    """Where the demo's lines and numbers go."""

    def say(self, line: str) -> None: ...

    def numbers(self, view: Sequence[Text]) -> None: ...

    def close(self) -> None: ...


class Plain:
    """No terminal: lines as they come, the numbers every 15 s."""

    def __init__(self, write: Callable[[str], None] = print) -> None:
        self._write = write
        self._shown_s = time.monotonic()

    def say(self, line: str) -> None:
        self._write(line)
        sys.stdout.flush()

    def numbers(self, view: Sequence[Text]) -> None:
        if time.monotonic() - self._shown_s < _PLAIN_EVERY_S:
            return
        self._shown_s = time.monotonic()
        for line in view:
            self.say(f"  | {line.plain.rstrip()}")

    def close(self) -> None:
        pass


class Terminal:
    """A terminal: the view redrawn in place, the last lines under it; all lines stay behind when it closes."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._lines: deque[str] = deque(maxlen=_LINES_SHOWN)
        self._view: Text | None = None
        self._live: Live | None = None

    def say(self, line: str) -> None:
        if self._live is None and self._view is None:
            self._console.print(line, markup=False)
            return
        self._lines.append(line)
        self._draw()

    def numbers(self, view: Sequence[Text]) -> None:
        self._view = Text("\n").join(view)
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, vertical_overflow="crop")
            self._live.start()
        self._draw()

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._view = None

    def _draw(self) -> None:
        if self._live is not None and self._view is not None:
            room = self._console.height - self._view.plain.count("\n") - 3
            shown = list(self._lines)[-max(1, min(room, _LINES_SHOWN)) :]
            lines = Text("\n".join(shown), no_wrap=True, overflow="ellipsis")
            self._live.update(Group(self._view, Rule(style="dim"), lines), refresh=True)


def call_line(call: Placed) -> str:
    """One line for a call that begins or has ended."""
    at = time.strftime("%H:%M:%S", time.localtime(call.ended_s or call.started_s or 0.0))
    if call.ended_s is None or call.started_s is None:
        return f"{at}  {call.call} rings   {call.agent:<11} {call.scenario.title}"
    lagged = f", the machine lagged {call.worst_lag_s:.1f} s" if call.worst_lag_s > 0.25 else ""
    return f"{at}  {call.call} ended   {call.agent:<11} after {call.ended_s - call.started_s:.0f} s{lagged}"
