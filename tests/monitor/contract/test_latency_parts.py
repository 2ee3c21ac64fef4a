"""The parts of a latency and their owners: one list, which the docs, the views and the alerts follow."""

from __future__ import annotations

import re
from pathlib import Path

from earwitness.alerts.message import PART_WORDS
from earwitness.monitor.cli.views.top_view import PARTS as SHOWN
from earwitness.monitor.contract.latency_parts import LATENCY_PARTS, OWNER_OF, by_owner

PAGE = Path(__file__).resolve().parents[3] / "docs" / "definitions.md"
NAMES = [part.name for part in LATENCY_PARTS]


def test_every_part_has_one_owner_and_the_owners_sum_to_what_the_parts_do() -> None:
    parts = {name: 10**n for n, name in enumerate(NAMES)}

    owned = by_owner(parts)

    assert len(set(NAMES)) == len(NAMES)
    assert sum(owned.values()) == sum(parts.values())
    assert owned["setting"] == parts["endpointing"] + parts["hold"]
    assert by_owner({"something newer": 5}) == {"unknown": 5}


def test_the_page_of_definitions_has_the_same_parts_and_owners() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (\w+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert [row for row in rows if row[0] in OWNER_OF] == [(part.name, part.owner) for part in LATENCY_PARTS]


def test_every_part_has_its_words_in_the_live_view_and_in_alerts() -> None:
    assert [name for name, _ in SHOWN] == NAMES
    assert list(PART_WORDS) == NAMES
