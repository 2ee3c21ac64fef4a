"""A lens makes what was asked for, as the whole decoder would, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from earwitness.monitor.contract.decoder import UnsupportedContractError, decode_record_fast
from earwitness.monitor.contract.lens import ALIKE, record_lens
from earwitness.monitor.contract.records import StageSample, Turn
from earwitness.monitor.contract.wire import UnreadableRecord, encode

BASE: dict[str, Any] = {"call_id": "c", "id": "t1", "agent": "a", "event_wall_ns": 7, "labels": {"route": "ivr"}}
TURN = encode(Turn(**BASE, u_on_ns=1, u_off_ns=2, response_latency_ns=3, parts_ns={"llm": 3}, text="né"))
FIELDS = ("call_id", "labels", "response_latency_ns", "unanswered", "reason")


def test_what_was_asked_for_reads_as_it_does_whole() -> None:
    found, whole = record_lens({"turn": FIELDS})(TURN), decode_record_fast(TURN)

    assert found is not None
    assert found.kind == "turn"
    assert {name: getattr(found, name) for name in FIELDS} == {name: getattr(whole, name) for name in FIELDS}
    assert not hasattr(found, "parts_ns")


def test_other_kinds_are_passed_over_in_any_order() -> None:
    stage = encode(StageSample(**BASE, service="S", metric="ttfb"))
    read = record_lens({"turn": FIELDS})

    for turns in (1, ALIKE - 1, ALIKE, ALIKE + 3):
        assert [read(one) is None for one in (stage, *[TURN] * turns, stage, stage)] == [
            True,
            *[False] * turns,
            True,
            True,
        ]


def test_of_two_kinds_each_is_read_as_itself_in_any_order() -> None:
    stage = encode(StageSample(**BASE, service="S", metric="ttfb"))
    read = record_lens({"turn": FIELDS, "stage_sample": ("service",)})

    for alike in (1, ALIKE - 1, ALIKE, ALIKE + 3):
        found = [read(one) for one in (stage, *[TURN] * alike, *[stage] * alike, TURN)]
        wanted = ["stage_sample", *["turn"] * alike, *["stage_sample"] * alike, "turn"]
        assert [one.kind for one in found if one is not None] == wanted


@pytest.mark.parametrize("route", ["ivr", '"},"bounds":"default-1","kind":"overlap","x":"', "é"])
@pytest.mark.parametrize("key", ["route", "kind", "bounds"])
@pytest.mark.parametrize("bounds", ["default-1", "b-1"])
@pytest.mark.parametrize("spaces", [False, True])
def test_the_kind_is_the_records_own_whatever_it_says_besides(route: str, key: str, bounds: str, spaces: bool) -> None:
    more: dict[str, Any] = {"labels": {key: route, "z": route}, "bounds": bounds}
    turn = Turn(**BASE | more, u_on_ns=1, u_off_ns=2, text=route)
    stage = StageSample(**BASE | more, service=route, metric="ttfb")
    told = [json.dumps(json.loads(encode(one))).encode() if spaces else encode(one) for one in (turn, stage)]

    found, other = map(record_lens({"turn": FIELDS}), told)

    assert found is not None
    assert found.labels == turn.labels
    assert other is None


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"[]",
        b'{"kind":"nonsense","v":1}',
        TURN.replace(b'"v":1', b'"v":9'),
        TURN.replace(b'"kind":"turn",', b""),
        TURN.replace(b'"response_latency_ns":3', b'"response_latency_ns":"3"'),
        b"\xff" + TURN,
    ],
)
def test_what_cannot_be_read_is_unreadable_for_the_same_reason(payload: bytes) -> None:
    with pytest.raises(UnreadableRecord) as whole:
        decode_record_fast(payload)
    lens = record_lens({"turn": FIELDS})
    for _ in range(3):
        with pytest.raises(UnreadableRecord) as found:
            lens(payload)
        assert (found.value.reason, found.value.detail) == (whole.value.reason, whole.value.detail)
        for _ in range(ALIKE):  # and with what it then expects, the same
            assert lens(TURN) is not None


def test_after_some_of_one_kind_the_next_is_taken_for_another_of_it() -> None:
    """Whose kind is not looked for: it may stand where `encode` never puts it."""
    told = json.loads(TURN)
    moved = json.dumps({"v": told.pop("v"), **told, "kind": told.pop("kind")}, separators=(",", ":")).encode()
    lens, looked_for = record_lens({"turn": FIELDS}), list[int]()

    class Watched(bytes):
        def find(self, *given: Any) -> int:
            looked_for.append(len(given))
            return super().find(*given)

    for _ in range(ALIKE):
        assert lens(Watched(TURN)) is not None
    seen = len(looked_for)

    assert lens(Watched(moved)) == lens(Watched(TURN))
    assert (seen > 0, len(looked_for) - seen) == (True, 0)


def test_where_kinds_alternate_none_is_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[bytes] = []

    class Watched:
        def __init__(self, kind: Any) -> None:
            self._decode = msgspec.json.decode
            self._kind = kind

        def decode(self, payload: bytes) -> Any:
            try:
                return self._decode(payload, type=self._kind)
            except msgspec.MsgspecError:
                refused.append(payload)
                raise

    monkeypatch.setattr(msgspec.json, "Decoder", Watched)
    stage, strange = encode(StageSample(**BASE, service="S", metric="ttfb")), b'{"v": 1, "kind": "overlap"}'
    lens = record_lens({"turn": FIELDS, "stage_sample": ("service",)})
    for payload in [TURN, stage] * (2 * ALIKE):
        assert lens(payload) is not None
    assert refused == []

    for payload in [TURN] * ALIKE:
        lens(payload)
    assert [lens(strange), lens(strange)] == [None, None]
    assert refused == [strange]  # as a turn, once


@pytest.mark.parametrize("kinds", [{"turn": ("latency",)}, {"trun": ("call_id",)}])
def test_a_lens_for_what_the_contract_does_not_have_is_refused(kinds: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(UnsupportedContractError):
        record_lens(kinds)
