from __future__ import annotations

import pytest

from earwitness.alerts.quantities import Unit, amount


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("2m", "s", 120.0), ("1.5s", "s", 1.5), ("300ms", "s", 0.3), ("6h", "s", 21600.0), ("7d", "s", 604800.0),
        ("5 min", "s", 300.0), (0, "s", 0.0), ("5%", "ratio", 0.05), ("0.5 %", "ratio", 0.005), (0.05, "ratio", 0.05),
        (3, "count", 3.0), (0, "count", 0.0),
    ],
)  # fmt: skip
def test_amounts_as_people_write_them(text: object, unit: Unit, value: float) -> None:
    assert amount(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit", "says"),
    [
        ("2", "s", "write a number and its unit"),
        (1.5, "s", "write a number and its unit"),
        ("2 weeks", "s", "no duration"),
        ("5%", "s", "no duration"),
        (5, "ratio", "no share"),
        ("105%", "ratio", "no share"),
        ("1.5s", "ratio", "no share"),
        ("x%", "ratio", "no share"),
        ("1s", "count", "no count"),
        (-1, "count", "no count"),
        (True, "count", "no count"),
        (float("nan"), "count", "no count"),
        (None, "s", "no duration"),
    ],
)
def test_anything_else_says_how_to_write_it(text: object, unit: Unit, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        amount(text, unit)
