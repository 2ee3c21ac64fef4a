"""What was published of a call's records is found again, whatever else was."""

from __future__ import annotations

import pytest

from earwitness.consumers.revisions import MOST, PARTS, Published, Revisions


def digest(number: int) -> bytes:
    return number.to_bytes(8, "big")


def test_each_record_has_its_last_revision() -> None:
    found = Revisions()
    for revision in range(3):
        for number in range(2_000):
            found.put(f"m:{number}", Published(revision, digest(number * 3 + revision), revision == 2))

    assert len(found.saved()) == 20 * 2_000
    assert all(found.get(f"m:{n}") == Published(2, digest(n * 3 + 2), True) for n in range(2_000))
    assert found.get("m:2000") is None


def hash_of(record_id: str) -> bytes:
    found = Revisions()
    found.put(record_id, Published(0, bytes(8), False))
    return found.saved()[:8]


def test_what_looks_like_an_id_in_the_middle_of_an_entry_is_none() -> None:
    """A digest may read like the hash of an id."""
    other = next(f"t{n}" for n in range(2, 1_000) if hash_of(f"t{n}")[0] % PARTS == hash_of("t1")[0] % PARTS)
    found = Revisions()
    found.put(other, Published(1, hash_of("t1"), False))

    assert found.get("t1") is None
    found.put("t1", Published(5, digest(5), True))
    assert found.get("t1") == Published(5, digest(5), True)
    assert found.get(other) == Published(1, hash_of("t1"), False)


def test_only_the_first_of_a_record_is_put_as_the_first() -> None:
    found = Revisions()

    assert found.get("t1") is None
    assert found.put_first("t1", 0, digest(1), False)
    assert found.get("t1") == Published(0, digest(1), False)
    assert not found.put_first("t1", 3, digest(2), True)
    assert found.get("t1") == Published(0, digest(1), False)
    found.put("t1", Published(4, digest(4), True))
    assert found.get("t1") == Published(4, digest(4), True)
    assert len(found.saved()) == 20


def test_it_comes_back_from_bytes_and_half_of_it_does_not() -> None:
    found = Revisions()
    found.put("o1", Published(7, digest(9), False))
    found.put("o2", Published(10**12, digest(8), True))

    again = Revisions(found.saved())

    assert again.get("o1") == Published(7, digest(9), False)
    assert again.get("o2") == Published(MOST, digest(8), True)
    with pytest.raises(ValueError, match="ends in the middle"):
        Revisions(found.saved()[:-1])


def test_it_takes_twenty_bytes_a_record() -> None:
    found = Revisions()
    for number in range(3_000):
        found.put(f"m:stt:{number}", Published(1, digest(number), True))

    assert len(found.saved()) == 20 * 3_000
