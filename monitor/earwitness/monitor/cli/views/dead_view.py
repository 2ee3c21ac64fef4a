"""Dead letters as text: counts by reason and place, the newest, and one in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from earwitness.consumers.dead_letter_box import Box, Letter
from earwitness.monitor import wording

WITHHELD = "withheld: it may hold what somebody said, unredacted; --payload prints it"
LONGEST_PAYLOAD = 50_000

_TO_DO = {
    "unknown_version": "a newer bot wrote it: upgrade the monitor, then replay it",
    "unknown_kind": "a newer bot wrote it: upgrade the monitor, then replay it",
    "not_json": "whoever wrote it is at fault: see the key and the payload; it stays until retention takes it",
    "invalid": "whoever wrote it is at fault: see the detail and the payload; it stays until retention takes it",
    "handler_error": "a fault of Earwitness: the monitor's own log has the traceback; after a mend replay it",
}


def to_do(reason: str) -> str:
    """What helps with letters of a reason."""
    return _TO_DO.get(reason, "set aside by another version: upgrade, then replay it")


def list_lines(box: Box, limit: int) -> list[str]:
    """Counts and the newest letters."""
    if not box.letters:
        return ["no dead letters", *_broken(box)]
    replayed = len(box.letters) - len(box.waiting)
    lines = [f"{wording.plural(len(box.letters), 'dead letter')}, {replayed:,} of them replayed", ""]
    lines += _counts("reason", box.letters, lambda letter: letter.reason)
    lines += ["", *_counts("stood at", box.letters, lambda letter: f"{letter.topic}/{letter.partition}"), ""]
    newest = sorted(box.letters, key=lambda letter: letter.set_aside_ns, reverse=True)
    shown = newest[:limit]
    ids = [wording.printable(letter.id, 120) for letter in shown]
    width = max(map(len, [*ids, "id"]))
    lines.append(f"{'id':<{width}}  {'set aside':<20}  {'reason':<15}  {'bytes':>9}  detail")
    for name, letter in zip(ids, shown, strict=True):
        mark = "(replayed) " if letter.replayed_ns is not None else ""
        lines.append(
            f"{name:<{width}}  {wording.utc_text(letter.set_aside_ns)}  {wording.printable(letter.reason, 15):<15}  "
            f"{_size(letter):>9}  {mark}{wording.printable(letter.detail, 100)}"
        )
    if len(newest) > limit:
        lines.append(f"{len(newest) - limit:,} more: --limit {len(newest)} shows them")
    for reason in dict.fromkeys(letter.reason for letter in box.waiting):
        lines.append(f"→ {wording.printable(reason, 40)}: {to_do(reason)}")
    return [*lines, *_broken(box)]


def letter_lines(letter: Letter, *, now: str | None, payload: bytes | None, show_payload: bool) -> list[str]:
    """One letter. ``now``: why it cannot be put back at present; ``payload``: the bytes, wherever they were found."""
    replayed = "no" if letter.replayed_ns is None else wording.utc_text(letter.replayed_ns)
    size = f"{len(payload):,} bytes" if payload is not None else "its bytes are no longer kept"
    lines = [
        wording.printable(letter.id, 300),
        f"reason     {wording.printable(letter.reason, 60)}: {wording.printable(letter.detail, 400)}",
        f"stood at   {wording.printable(letter.topic, 250)}, partition {letter.partition}, offset {letter.offset:,}",
        f"arrived    {wording.utc_text(letter.arrived_ns)}, set aside {wording.utc_text(letter.set_aside_ns)}",
        f"key        {wording.printable(letter.key, 200)}",
        f"size       {size}",
        f"replayed   {replayed}",
        f"now        {'can be read: earwitness dead replay' if now is None else wording.printable(now, 400)}",
    ]
    if not show_payload:
        lines.append(f"payload    {WITHHELD}")
    elif payload is not None:
        # May hold anything: no character of it moves a cursor, and what is no text is written as escapes.
        lines.append(f"payload    {wording.printable(payload.decode(errors='backslashreplace'), LONGEST_PAYLOAD)}")
    if now is not None and letter.replayed_ns is None:
        lines.append(f"to do      {to_do(letter.reason)}")
    return lines


def _counts(heading: str, letters: Sequence[Letter], group: Callable[[Letter], str]) -> list[str]:
    groups: dict[str, list[Letter]] = {}
    for letter in letters:
        groups.setdefault(group(letter), []).append(letter)
    names = {name: wording.printable(name, 120) for name in groups}
    width = max(24, *map(len, names.values()))
    lines = [f"{heading:<{width}}  {'waiting':>8}  {'replayed':>8}  newest"]
    for name, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        waiting = sum(letter.replayed_ns is None for letter in members)
        newest = wording.utc_text(max(letter.set_aside_ns for letter in members))
        lines.append(f"{names[name]:<{width}}  {waiting:>8,}  {len(members) - waiting:>8,}  {newest}")
    return lines


def _size(letter: Letter) -> str:
    return "left out" if letter.left_out else f"{len(letter.payload or b''):,}"


def _broken(box: Box) -> list[str]:
    if not box.broken:
        return []
    return [f"{wording.plural(box.broken, 'record')} of the dead-letter topic could not be understood"]
