"""Consumer groups in a log file: who is a member, who owns which partition, what is committed. Synchronous.

A member says every second or so that it lives; one that has been silent for a session is out, and one whose process is
known to have ended is out at once. Partition p belongs to member p modulo n in the order of their names, but changes
hands only when its owner has let go of it or is out: two members never own a partition at once, and a commit counts
only from the owner. Times are of the machine's monotonic clock, which all its processes share and nobody sets.
"""

from __future__ import annotations

from collections.abc import Mapping

from earwitness.monitor.log.embedded_file import LogFile, TopicRow
from earwitness.monitor.log.embedded_members import is_dead


def tend(
    file: LogFile, group: str, topic: TopicRow, member: str, *, now_ns: int, session_ns: int, hold: bool = False
) -> tuple[dict[int, int | None], frozenset[int]]:
    """Say that this member lives, take and give partitions; what it owns now, with the committed position of each, and
    what of it is due to others: nothing, unless the member would ``hold`` what it has for now.

    Raises sqlite3.Error.
    """
    us = (group, topic.name)
    db = file.db
    with file.writing():
        # A moment in the future was noted before the machine was started anew.
        db.execute(
            "DELETE FROM members WHERE grp = ? AND topic = ? AND (seen_ns < ? OR seen_ns > ?)",
            (*us, now_ns - session_ns, now_ns),
        )
        others = db.execute("SELECT member FROM members WHERE grp = ? AND topic = ? AND member != ?", (*us, member))
        dead = [(*us, other) for (other,) in others.fetchall() if is_dead(other)]
        db.executemany("DELETE FROM members WHERE grp = ? AND topic = ? AND member = ?", dead)
        db.execute("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?)", (*us, member, now_ns))
        db.execute(
            "DELETE FROM owners WHERE grp = ? AND topic = ? AND member NOT IN"
            " (SELECT member FROM members WHERE grp = ? AND topic = ?)",
            us + us,
        )
        members = [
            row[0] for row in db.execute("SELECT member FROM members WHERE grp = ? AND topic = ? ORDER BY 1", us)
        ]
        mine = range(members.index(member), len(topic.partition_ids), len(members))
        owned = {
            row[0]
            for row in db.execute("SELECT number FROM owners WHERE grp = ? AND topic = ? AND member = ?", (*us, member))
        }
        due = frozenset(owned - {*mine})
        if not hold:
            db.executemany(
                "DELETE FROM owners WHERE grp = ? AND topic = ? AND number = ?", [(*us, number) for number in due]
            )
        db.executemany("INSERT OR IGNORE INTO owners VALUES (?, ?, ?, ?)", [(*us, number, member) for number in mine])
        rows = db.execute(
            "SELECT number, position FROM owners LEFT JOIN commits USING (grp, topic, number)"
            " WHERE grp = ? AND topic = ? AND member = ? ORDER BY number",
            (*us, member),
        )
        return dict(rows.fetchall()), due if hold else frozenset()


def commit(file: LogFile, group: str, topic: str, member: str, positions: Mapping[int, int]) -> dict[int, int]:
    """Keep the positions of those partitions that this member owns at this moment; which those are."""
    with file.writing():
        owned = file.db.execute(
            "SELECT number FROM owners WHERE grp = ? AND topic = ? AND member = ?", (group, topic, member)
        ).fetchall()
        kept = {number: positions[number] for (number,) in owned if number in positions}
        file.db.executemany(
            "INSERT OR REPLACE INTO commits VALUES (?, ?, ?, ?)",
            [(group, topic, number, position) for number, position in kept.items()],
        )
    return kept


def committed(file: LogFile, group: str, topic: str) -> dict[int, int]:
    rows = file.db.execute("SELECT number, position FROM commits WHERE grp = ? AND topic = ?", (group, topic))
    return dict(rows.fetchall())


def names(file: LogFile, topic: str) -> list[str]:
    rows = file.db.execute("SELECT DISTINCT grp FROM commits WHERE topic = ? ORDER BY grp", (topic,))
    return [row[0] for row in rows]


def leave(file: LogFile, group: str, topic: str, member: str) -> None:
    """Let go of everything, so that the others need not wait for the session's end."""
    with file.writing():
        for table in ("members", "owners"):
            file.db.execute(f"DELETE FROM {table} WHERE grp = ? AND topic = ? AND member = ?", (group, topic, member))  # noqa: S608
