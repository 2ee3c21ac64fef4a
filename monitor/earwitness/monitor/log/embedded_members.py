"""Names of a group's members that tell whether their process still lives, so that nobody waits for one that was killed.

The embedded log is used by the processes of one machine. A name says which process it is of, in which space of process
numbers; about one of another space (another container), or where the system does not tell, nothing is known.
"""

from __future__ import annotations

import os
import uuid
from functools import cache
from pathlib import Path

_MARK = "p"


def new_member() -> str:
    """A name of this process's own, another one each time."""
    space, began = _space(), _began(os.getpid())
    unique = uuid.uuid4().hex
    return unique if space is None or began is None else f"{_MARK}.{space}.{os.getpid()}.{began}.{unique}"


def is_dead(member: str) -> bool:
    """Whether a member's process is known to have ended."""
    mark, *rest = member.split(".")
    if mark != _MARK or len(rest) != 4 or not all(part.isdecimal() for part in rest[:3]):
        return False
    space, pid, began = rest[:3]
    return space == _space() and _began(int(pid)) != began


@cache
def _space() -> str | None:
    """The number of the space in which this process's number holds, for as long as the machine runs."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return None


def _began(pid: int) -> str | None:
    """When a process began, in ticks since the machine did; None where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in brackets may hold anything.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in ("Z", "X") or len(fields) < 19 else fields[18]
