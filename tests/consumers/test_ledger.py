"""Published revisions never fall, and nothing that the log has is published again."""

from __future__ import annotations

from typing import Any

from earwitness.consumers.ledger import Ledger
from earwitness.monitor.contract.records import Turn
from earwitness.monitor.contract.wire import decode_record, encode


def turn(revision: int = 0, **fields: Any) -> Turn:
    made: dict[str, Any] = {"call_id": "c", "id": "t1", "event_wall_ns": 5, "agent": "a", "u_on_ns": 0, "u_off_ns": 1}
    return Turn(**{**made, "revision": revision, **fields})


def test_each_revision_is_news_once() -> None:
    ledger = Ledger()

    assert ledger.news(turn(0)) is not None
    assert ledger.news(turn(0)) is None
    assert ledger.news(turn(1, overdue=True)) is not None


def test_what_was_read_back_is_no_news_whatever_number_this_run_gave_it() -> None:
    ledger = Ledger()
    published = turn(3, overdue=True)
    ledger.note(published, encode(published))

    assert ledger.news(turn(0, overdue=True)) is None


def test_a_change_after_a_restart_gets_a_revision_above_the_published_ones() -> None:
    ledger = Ledger()
    published = turn(3, overdue=True)
    ledger.note(published, encode(published))

    news = ledger.news(turn(1, unanswered=True))
    again = ledger.news(turn(2, unanswered=True, final=True))

    assert news is not None
    assert again is not None
    assert (news.record.revision, again.record.revision) == (4, 5)
    assert decode_record(again.payload) == again.record


def test_an_older_revision_read_later_changes_nothing() -> None:
    ledger = Ledger()
    for revision in (3, 1):
        ledger.note(turn(revision, overdue=revision == 3), encode(turn(revision, overdue=revision == 3)))

    assert ledger.news(turn(0, overdue=True)) is None


def test_only_the_first_final_revision_is_first() -> None:
    ledger = Ledger()
    news = [ledger.news(turn(i, final=i > 0, duplicate_reply=i)) for i in range(3)]

    assert [one and one.first_final for one in news] == [False, True, False]


def test_a_forgotten_call_is_forgotten() -> None:
    ledger = Ledger()
    ledger.news(turn())
    ledger.forget({"c"})

    assert ledger.calls() == set()
    assert ledger.news(turn()) is not None


def test_two_contents_under_one_number_are_superseded() -> None:
    """An owner of the partition and one who was none any more: readers could take either."""
    ledger = Ledger()
    ours, his = turn(2, unanswered=True, final=True), turn(2)
    for record in (ours, his, ours):
        ledger.note(record, encode(record))

    news = ledger.news(ours)

    assert news is not None
    assert news.record.revision == 3
    assert not news.first_final
    assert ledger.news(turn(0, unanswered=True, final=True)) is None
