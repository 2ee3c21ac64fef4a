"""The live view in a terminal: what is shown, keys, and drawing in place."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from earwitness.alerts.evaluator import Alert
from earwitness.alerts.lifecycle import Firing, Pending
from earwitness.alerts.message import PART_WORDS, amount, value
from earwitness.alerts.notification import Notice
from earwitness.alerts.store import AlertStore
from earwitness.consumers.replayed import RecordsFold
from earwitness.consumers.timeline import LogFold
from earwitness.monitor import wording
from earwitness.monitor.cli.keys import Keys
from earwitness.monitor.cli.views.call_view import call_view
from earwitness.monitor.cli.views.top_data import LogState, OpenAlert, TopData, gather_rows, trend, worst_of
from earwitness.monitor.cli.views.top_view import top_view
from earwitness.monitor.log.protocol import LogError
from earwitness.monitor.measures.reading import Labels
from earwitness.monitor.measures.windows import Windows

RESOLVED_SHOWN_NS = 300_000_000_000
LONGEST_LAG_NS = 30_000_000_000


class Model:
    """What the view looks at: the fold of the log, the alerts, and which agent is chosen."""

    def __init__(self, fold: LogFold | RecordsFold, store: AlertStore, url: str, window_s: int) -> None:
        self.fold = fold
        self.away: str | None = None
        self._store = store
        self._name = log_name(url)
        self._window_s = window_s
        self._chosen: Labels | None = None
        self._selected = 0
        self._trends: dict[Labels, tuple[int, list[float | None]]] = {}

    def now_ns(self) -> int:
        """The moment to look at: now, or where a rebuilt log ends."""
        return self.fold.manifest.until_ns if isinstance(self.fold, RecordsFold) else time.time_ns()

    async def refresh(self) -> None:
        """Take in what has come. Raises LogError."""
        while await self.fold.poll(0.0):
            pass
        await self._store.refresh()
        self.away = None

    def move(self, by: int) -> None:
        """Choose another agent."""
        self._selected += by
        self._chosen = None

    def frame(self, now_ns: int) -> TopData:
        """What is to be shown at a moment."""
        self.fold.advance(now_ns)
        windows = self.fold.windows
        now_ns = settled_ns(windows, now_ns)
        rows = gather_rows(windows, now_ns=now_ns, window_s=self._window_s)
        groups = [row.group for row in rows]
        if self._chosen is not None and self._chosen in groups:  # it stays chosen although others came before it
            self._selected = groups.index(self._chosen)
        self._selected = max(0, min(self._selected, len(rows) - 1))
        chosen = rows[self._selected].group if rows else None
        self._chosen = chosen
        stats = self.fold.stats
        state = LogState(
            self._name, stats.lag_s, stats.events_per_s, self.away, sum(stats.dead_letters.values()) + stats.set_aside
        )
        return TopData(
            now_ns=now_ns,
            window_s=self._window_s,
            log=state,
            rows=rows,
            selected=self._selected,
            alerts=open_alerts(self._store.kept.alerts.values(), now_ns),
            trend=self._trend(chosen, now_ns) if chosen is not None else (),
            notes=notes_of(self.fold),
            worst=worst_of(windows, chosen, now_ns=now_ns, window_s=self._window_s) if chosen is not None else None,
        )

    def call_lines(self, call_id: str, width: int) -> list[str]:
        """One call as text."""
        timeline = self.fold.calls.get(call_id)
        if timeline is None:
            return [
                f"{wording.printable(call_id)} is no longer held; try: earwitness calls {wording.printable(call_id)}"
            ]
        return call_view(timeline.records(), width=width)

    def _trend(self, group: Labels, now_ns: int) -> list[float | None]:
        """Worked out every 10 s: it reads many windows of the past."""
        step = now_ns // 10_000_000_000
        known = self._trends.get(group)
        if known is None or known[0] != step:
            known = (step, trend(self.fold.windows, group, now_ns=now_ns))
            self._trends = {group: known}
        return known[1]


def notes_of(fold: LogFold | RecordsFold) -> list[str]:
    """What is wrong with the fold itself, or out of the ordinary."""
    notes: list[str] = []
    if isinstance(fold, RecordsFold):
        notes.append(rebuilt_note(fold))
    if broken := fold.broken_calls if isinstance(fold, RecordsFold) else fold.handler.fold.broken_calls:
        notes.append(
            f"{wording.plural(broken, 'call')} could not be worked out: a fault of Earwitness, please report it"
        )
    if lost := fold.stats.lost:
        notes.append(f"{wording.plural(lost, 'event')} were gone before they were read")
    return notes


def rebuilt_note(fold: RecordsFold) -> str:
    """What a rebuilt log was rebuilt from, and up to when."""
    until = datetime.fromtimestamp(fold.manifest.until_ns / 1e9).astimezone().isoformat(" ", "minutes")
    unfinished = "" if fold.manifest.done else "; the replay was cut short, run it again"
    return f"rebuilt from {wording.printable(fold.manifest.source, 80)}, as of {until}{unfinished}"


def settled_ns(windows: Windows, now_ns: int) -> int:
    """The moment to read at: how far everything was folded, unless that lies far back."""
    mark_ns = windows.watermark_ns
    return mark_ns if mark_ns is not None and 0 <= now_ns - mark_ns <= LONGEST_LAG_NS else now_ns


def open_alerts(alerts: Iterable[Alert], now_ns: int) -> list[OpenAlert]:
    """Firing alerts first, the oldest on top, then pending ones and those just resolved."""
    shown = [one for alert in alerts if (one := _open_alert(alert, now_ns)) is not None]
    return sorted(shown, key=lambda one: ({"firing": 0, "pending": 1}.get(one.status, 2), one.since_ns))


def _open_alert(alert: Alert, now_ns: int) -> OpenAlert | None:
    notice = alert.notice
    if isinstance(alert.state, Pending):
        return OpenAlert("pending", alert.state.since_ns, None, wording.printable(alert.rule, 60), alert.group)
    if notice is None:
        return None
    what = f"{notice.title} {value(notice)}{_against_limit(notice)}"
    if isinstance(alert.state, Firing):
        part = notice.cause.part
        cause = f"{PART_WORDS.get(part.name, part.name)} {part.growth_s * 1000:+,.0f} ms" if part else None
        return OpenAlert("firing", alert.state.since_ns, None, what, notice.group, cause)
    if notice.until_ns is None or now_ns - notice.until_ns > RESOLVED_SHOWN_NS:
        return None
    return OpenAlert("resolved", notice.since_ns, notice.until_ns, notice.title, notice.group)


def _against_limit(notice: Notice) -> str:
    """`` > 1,500 ms (n 731)``. An alert fires on until its value is under ``clear``: then no sign would be true."""
    limit = amount(notice, notice.threshold)
    n = f"{notice.count} of {notice.n:,}" if notice.count is not None else f"n {notice.n:,}"
    above = notice.direction == "above"
    beyond = notice.more_than is not None or (
        notice.value is not None and (notice.value > notice.threshold if above else notice.value < notice.threshold)
    )
    return f" {'>' if above else '<'} {limit} ({n})" if beyond else f" (limit {limit}, {n})"


def log_name(url: str) -> str:
    """A log's name for the title: ``embedded log ~/...`` or the brokers."""
    if url.startswith("sqlite://"):
        path = url.removeprefix("sqlite://")
        home = str(Path.home())
        return f"embedded log {'~' + path.removeprefix(home) if path.startswith(home + '/') else path}"
    return url


def plain_width() -> int:
    """Columns for plain lines: what COLUMNS says, else 100."""
    return max(60, shutil.get_terminal_size((100, 24)).columns)


class Screen:
    """The terminal while the view is shown: another screen, put back in the end."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._opened: str | None = None
        self._scroll = 0

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    async def run(self, model: Model, every_s: float) -> None:
        """Draw until ``q``."""
        with Keys() as keys:
            while True:
                data = model.frame(model.now_ns())
                self._draw(model, data)
                deadline = time.monotonic() + every_s
                while (left := deadline - time.monotonic()) > 0:
                    try:
                        key = await asyncio.wait_for(keys.pressed.get(), left)
                    except TimeoutError:
                        break
                    if key == "quit":
                        return
                    self._act(key, model, data)
                    data = model.frame(model.now_ns())
                    self._draw(model, data)
                try:
                    await model.refresh()
                except LogError as error:
                    model.away = str(error)

    def _act(self, key: str, model: Model, data: TopData) -> None:
        page = max(1, self._console.height - 4)
        step = {"up": -1, "down": 1, "page up": -page, "page down": page}.get(key, 0)
        if self._opened is not None:
            self._scroll = max(0, self._scroll + step)
            if key in ("back", "enter"):
                self._opened = None
        elif key == "enter" and data.worst is not None:
            self._opened, self._scroll = data.worst.call_id, 0
        elif step:
            model.move(step)

    def _draw(self, model: Model, data: TopData) -> None:
        width, height = self._console.width, self._console.height
        if self._opened is None:
            lines = top_view(data, width=width, height=height - 1)
            hint = " q quit · ↑ ↓ choose an agent · Enter opens its worst call"
        else:
            texts = model.call_lines(self._opened, width)
            self._scroll = min(self._scroll, max(0, len(texts) - height + 2))
            lines = [Text(text) for text in texts[self._scroll :]]
            hint = " q quit · ↑ ↓ scroll · Enter or Esc goes back"
        body = lines[: height - 1] + [Text()] * max(0, height - 1 - len(lines))
        whole = Text("\n", no_wrap=True, overflow="crop").join([*body, Text(hint, style="dim")])
        whole.no_wrap, whole.overflow = True, "crop"
        self._live.update(whole, refresh=True)
