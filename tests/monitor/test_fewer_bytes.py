"""Bytes that were made fewer come back as they were, or not at all."""

from __future__ import annotations

from collections.abc import Callable

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earwitness.monitor.fewer_bytes import MOST_BYTES, NotSqueezed, is_squeezed, squeezed, squeezed_well, unsqueezed

BOTH = pytest.mark.parametrize("squeeze", [squeezed, squeezed_well])


@BOTH
@given(plain=st.binary(max_size=2_000), times=st.integers(1, 20))
def test_they_come_back(squeeze: Callable[[bytes], bytes], plain: bytes, times: int) -> None:
    body = squeeze(plain * times)

    assert is_squeezed(body)
    assert unsqueezed(body) == plain * times


@BOTH
def test_they_are_fewer_and_do_not_begin_like_what_is_written_plain(squeeze: Callable[[bytes], bytes]) -> None:
    body = squeeze(b"a number of words, " * 50)

    assert len(body) < 100
    assert not is_squeezed(b"[1,2]")
    assert not is_squeezed(b"\x92\x01\x02")


@BOTH
@given(plain=st.binary(min_size=1, max_size=300), data=st.data())
def test_cut_anywhere_they_are_refused(squeeze: Callable[[bytes], bytes], plain: bytes, data: st.DataObject) -> None:
    body = squeeze(plain)
    cut = data.draw(st.integers(0, len(body) - 1))

    with pytest.raises(NotSqueezed):
        unsqueezed(body[:cut])


@BOTH
@given(plain=st.binary(min_size=1, max_size=300), data=st.data())
def test_broken_they_are_refused_or_as_many(
    squeeze: Callable[[bytes], bytes], plain: bytes, data: st.DataObject
) -> None:
    body = bytearray(squeeze(plain))
    body[data.draw(st.integers(1, len(body) - 1))] ^= data.draw(st.integers(1, 255))

    try:
        found = len(unsqueezed(bytes(body)))
    except NotSqueezed:
        found = int.from_bytes(body[1:5], "little")

    assert found == int.from_bytes(body[1:5], "little")


@pytest.mark.parametrize("first", [b"\x01", b"\x02"])
def test_a_claim_of_more_than_there_may_be_is_refused_before_room_is_made(first: bytes) -> None:
    with pytest.raises(NotSqueezed, match="nothing that was put away"):
        unsqueezed(first + (MOST_BYTES + 1).to_bytes(4, "little") + b"x")


def test_few_bytes_that_would_become_many_more_than_they_say_are_refused() -> None:
    bomb = b"\x02" + (100).to_bytes(4, "little") + bytes(cramjam.zstd.compress(bytes(10_000_000), 1))

    with pytest.raises(NotSqueezed):
        unsqueezed(bomb)


@pytest.mark.parametrize("other", [b"", b"x\x9c", b"[]", b"\x90"])
def test_what_nobody_made_fewer_is_refused(other: bytes) -> None:
    with pytest.raises(NotSqueezed):
        unsqueezed(other)
