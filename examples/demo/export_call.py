"""One call's events as JSON lines, for ``earwitness analyze``: ``python -m examples.demo.export_call LOG CALL``."""

from __future__ import annotations

import asyncio
import json
import sys

from earwitness.monitor.errors import BadInput
from earwitness.monitor.log.open import open_log
from earwitness.monitor.log.protocol import LogError
from earwitness.monitor.log.topics import EVENTS, topic_name
from earwitness.monitor.log.url import SqliteUrl, parse_log_url


async def events_of(url: str, call_id: str) -> list[str]:
    """The events of the call whose id begins with ``call_id``, in the order of their folding.

    Raises BadInput, LogError.
    """
    place = parse_log_url(url)
    if isinstance(place, SqliteUrl) and not place.path.exists():
        raise BadInput("there is no such log", where=str(place))
    log = await open_log(place)
    try:
        topic = topic_name(log.prefix, EVENTS)
        reader = await log.reader(topic)
        found: dict[tuple[int, str, int], str] = {}
        while entries := await reader.poll(timeout_s=0.2):
            for entry in entries:
                if entry.key.startswith(call_id) and entry.value:
                    event = json.loads(entry.value)
                    found[event["at_ns"], event["source"], event["seq"]] = entry.value.decode()
        await reader.close()
    finally:
        await log.close()
    if not found:
        raise BadInput(f"no call whose id begins with {call_id!r} is in {url}")
    return [found[place] for place in sorted(found)]


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: python -m examples.demo.export_call LOG CALL", file=sys.stderr)
        return 2
    try:
        lines = asyncio.run(events_of(sys.argv[1], sys.argv[2]))
    except (BadInput, LogError) as error:
        print(f"export_call: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
