from __future__ import annotations

from earwitness.monitor.call_names import call_name


def test_a_random_id_is_named_by_its_first_eight_digits() -> None:
    assert call_name("82764a0813e24c8eb203cf5e40c32d19") == "82764a08"
    assert call_name("82764a08-13e2-4c8e-b203-cf5e40c32d19") == "82764a08"


def test_any_other_id_stands_as_it_is_without_what_could_move_a_cursor() -> None:
    assert call_name("CA-2026\x1b[2J") == "CA-2026[2J"
    assert call_name("a" * 50, 10) == "aaaaaaaaa…"
