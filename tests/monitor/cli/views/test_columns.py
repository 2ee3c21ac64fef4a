"""A line longer than a terminal is wide goes on below, and nothing of it is lost."""

from __future__ import annotations

import pytest

from earwitness.monitor.cli.views.columns import WIDTH, fitted

LABEL = f"  {'overlaps':<20}"


def test_a_line_that_fits_stays_as_it_is() -> None:
    line = LABEL + "x" * 78

    assert fitted(line, 22) == [line]


def test_a_longer_one_breaks_between_facts_and_goes_on_under_its_text() -> None:
    facts = ["1,234", "agent gave way 222 (stop 420 ms median)", "kept the floor 222", "ended by itself 11", "other 2"]

    lines = fitted(LABEL + " · ".join(facts), 22)

    assert lines == [LABEL + " · ".join(facts[:3]), " " * 22 + " · ".join(facts[3:])]


@pytest.mark.parametrize("between", [" · ", "   ", " "])
def test_nothing_is_lost(between: str) -> None:
    facts = [f"fact {n:,}" for n in range(0, 90_000, 1_234)]

    lines = fitted(LABEL + between.join(facts), 22)

    assert max(map(len, lines)) <= WIDTH
    assert " ".join(" ".join(lines).replace("·", "").split()) == "overlaps " + " ".join(facts)
    assert all(line.startswith(" " * 22) for line in lines[1:])


def test_a_name_is_never_broken() -> None:
    name = "x" * 150 + ".wav"

    assert fitted(f"{name}  16 kHz stereo  1m32s", 4) == [name, "    16 kHz stereo  1m32s"]
