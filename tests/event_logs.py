"""Calls as event logs on disk, for commands that read files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from earwitness.monitor.contract.events import AnyEvent
from earwitness.monitor.contract.wire import encode


def written(path: Path, *calls: Sequence[AnyEvent]) -> str:
    """Write the calls into one file, an event a line; the file's name."""
    path.write_bytes(b"\n".join(encode(event) for call in calls for event in call))
    return str(path)
