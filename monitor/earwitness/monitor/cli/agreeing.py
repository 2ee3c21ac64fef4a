"""The agreement of evidence over the calls of a command, and recordings held against the live calls they are of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from earwitness.monitor import wording
from earwitness.monitor.call_names import recording_name
from earwitness.monitor.calls.agreement import EdgeAgreement, Json, agreements, pooled, witnesses
from earwitness.monitor.calls.bounds import Bounds
from earwitness.monitor.calls.recording_agreement import (
    LiveCall,
    RecordingAgreement,
    recording_agreement,
    recording_summary,
)
from earwitness.monitor.calls.sides import facts_of
from earwitness.monitor.calls.whole_call import fold
from earwitness.monitor.cli.call_files import CallFiles, Listening, read_calls
from earwitness.monitor.cli.opened_file import EMPTY, is_there
from earwitness.monitor.contract.records import AnyRecord
from earwitness.monitor.errors import BadInput


def agreement_of(
    files: CallFiles, records: Sequence[AnyRecord], bounds: Bounds, recordings: Mapping[str, CallFiles]
) -> Json:
    """What the report says under ``agreement``. ``recordings``: of live calls, by call id."""
    by_call: dict[str, list[AnyRecord]] = {call_id: [] for call_id in recordings}
    for record in records:
        if record.call_id in by_call:
            by_call[record.call_id].append(record)
    edges: list[list[EdgeAgreement]] = []
    found: list[RecordingAgreement] = []
    for call_id, events in files.calls.items():
        if call_id in files.recordings:
            continue  # one witness only
        facts, end_ns = facts_of(events)
        edges.append(agreements(witnesses(facts, horizon_ns=end_ns, bounds=bounds), bounds))
        if call_id in recordings:
            live = LiveCall(call_id, facts, end_ns, by_call[call_id])
            found.append(_held(live, recordings[call_id], bounds))
            edges.append(found[-1].edges)
    latency, each = recording_summary(found)
    return {"edges": pooled(edges), "response_latency": latency if found else None, "recordings": each}


def _held(live: LiveCall, recording: CallFiles, bounds: Bounds) -> RecordingAgreement:
    ((name, heard),) = recording.recordings.items()
    return recording_agreement(live, heard, fold(recording.calls[name], bounds=bounds), bounds)


def recordings_for(call_ids: Iterable[str], asked: str, listening: Listening) -> dict[str, CallFiles]:
    """The recordings named by ``--recording``: a file is of the one call, a folder holds one for each call by its name
    (as ``EARWITNESS_RECORD`` writes them). Raises BadInput."""
    live, path = sorted(call_ids), Path(asked)
    where = f"--recording {wording.printable(asked) or EMPTY}"
    if not live:
        raise BadInput("is held against a live call, and no event log is given", where=where)
    if is_there(asked) and path.is_dir():
        found = {call_id: file for call_id in live if (file := path / recording_name(call_id)).is_file()}
        if not found:
            raise BadInput(f"holds no recording of these calls, such as {recording_name(live[0])}", where=where)
        return {call_id: _one(str(file), listening) for call_id, file in found.items()}
    if len(live) > 1:
        raise BadInput(
            f"is one recording, and there are {len(live):,} live calls; name the folder that holds theirs", where=where
        )
    return {live[0]: _one(asked, listening)}


def _one(name: str, listening: Listening) -> CallFiles:
    read = read_calls([name], listening)
    if len(read.recordings) != 1:
        raise BadInput("is no recording of one call", where=f"--recording {wording.printable(name)}")
    return read
