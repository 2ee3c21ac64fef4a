"""Whether a member of a group is known to be dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from log_places import read

from earwitness.monitor.log.embedded import EmbeddedLog, EmbeddedSettings
from earwitness.monitor.log.embedded_members import is_dead, new_member
from earwitness.monitor.log.protocol import Outgoing, TopicSpec
from earwitness.monitor.log.url import SqliteUrl

MEMBER = """
import asyncio, sys
from pathlib import Path
from earwitness.monitor.log.embedded import EmbeddedLog
from earwitness.monitor.log.url import SqliteUrl

async def main():
    log = await EmbeddedLog.open(SqliteUrl(Path(sys.argv[1])))
    reader = await log.reader("events", group="g")
    print(*reader.positions(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="this system does not tell")


def test_this_process_lives_and_names_are_its_own() -> None:
    one, other = new_member(), new_member()

    assert one != other
    assert not is_dead(one)


def test_of_a_process_that_ended_it_is_known() -> None:
    _, space, *_ = new_member().split(".")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert is_dead(f"p.{space}.{gone.pid}.1.x")
    assert is_dead(f"p.{space}.{os.getpid()}.1.x")  # the number was given to another process since


@pytest.mark.parametrize("name", ["", "relay", "0" * 32, "p.1.2", "p.x.1.1.u", "p.1.1.1.u"])
def test_of_others_nothing_is_known(name: str) -> None:
    assert not is_dead(name)


async def test_what_a_killed_member_owned_is_taken_over_at_once(tmp_path: Path) -> None:
    url = SqliteUrl(tmp_path / "log.db")
    log = await EmbeddedLog.open(url, [TopicSpec("events", 2)], settings=EmbeddedSettings(session_s=3_600))
    await log.append("events", [Outgoing("a", b"1", 0), Outgoing("b", b"2", 1)])
    member = subprocess.Popen(  # noqa: ASYNC220 - it only has to be killed
        [sys.executable, "-c", MEMBER, str(url.path)], stdout=subprocess.PIPE, text=True
    )
    assert member.stdout is not None
    owned = member.stdout.readline()
    member.send_signal(signal.SIGKILL)
    member.wait()
    member.stdout.close()

    entries = await read(await log.reader("events", group="g"), 2)

    assert owned.split() == ["0", "1"]
    assert sorted(entry.key for entry in entries) == ["a", "b"]
    await log.close()
